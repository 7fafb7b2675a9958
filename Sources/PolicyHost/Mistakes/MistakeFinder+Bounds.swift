// Numbers that a value never reaches: milliseconds where seconds are meant, less than nothing.

import CallModel
import Lua
import LuaSource

extension MistakeFinder {
    /// `call.timeout > 30000`.
    mutating func judgeBounds(
        _ sign: String, _ left: LuaExpression, _ right: LuaExpression, _ range: Range<Int>
    ) {
        if let number = right.constant, let bounds = bounds(of: left) {
            judge(sign, bounds, number, Self.shown(left), range)
        } else if let number = left.constant, let bounds = bounds(of: right) {
            judge(Self.turned[sign] ?? sign, bounds, number, Self.shown(right), range)
        }
    }

    private static let turned = ["<": ">", ">": "<", "<=": ">=", ">=": "<="]

    private mutating func judge(
        _ sign: String, _ bounds: ClosedRange<Double>, _ number: Double, _ name: String,
        _ range: Range<Int>
    ) {
        guard let result = Self.result(sign, bounds, number) else { return }
        // What ends somewhere is a time.
        let most =
            bounds.upperBound < .infinity
            ? "in seconds, at most \(Int(bounds.upperBound))" : "never below 0"
        report("'\(name)' is \(most): this is always \(result)", range)
    }

    /// What a comparison always gives; nil: it depends.
    private static func result(
        _ sign: String, _ bounds: ClosedRange<Double>, _ number: Double
    ) -> Bool? {
        let (least, most) = (bounds.lowerBound, bounds.upperBound)
        switch sign {
        case "<": return number <= least ? false : number > most ? true : nil
        case "<=": return number < least ? false : number > most ? true : nil
        case ">": return number < least ? true : number > most ? false : nil
        case ">=": return number < least ? true : number > most ? false : nil
        case "==": return bounds.contains(number) ? nil : false
        case "~=": return bounds.contains(number) ? nil : true
        default: return nil
        }
    }

    /// What the number in a field can be.
    private func bounds(of value: LuaExpression) -> ClosedRange<Double>? {
        switch value.kind {
        case .brackets(let inside): return bounds(of: inside)
        case .local(let local):
            guard !local.isReassigned, let value = local.value else { return nil }
            // One step is plenty: what is said names the local.
            if case .local = value.kind { return nil }
            return bounds(of: value)
        case .unary("#", let list): return type(of: list).kinds == nil ? nil : 0 ... .infinity
        case .member(let owner, let name):
            switch (type(of: owner).present, name.text) {
            case (.object("Call"), "timeout"), (.object("Call"), "remaining"):
                return 0...600
            case (.object("User"), "calls"), (.object("User"), "devices"),
                (.object("Summary"), "duration"):
                return 0 ... .infinity
            default: return nil
            }
        default: return nil
        }
    }
}

extension LuaExpression {
    /// The number that is written.
    fileprivate var constant: Double? {
        switch kind {
        case .number(let text): Double(text)
        case .unary("-", let inside): inside.constant.map { -$0 }
        case .brackets(let inside): inside.constant
        default: nil
        }
    }
}
