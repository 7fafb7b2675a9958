// Operators, and values that they can do nothing with.

import CallModel
import Lua
import LuaSource

extension MistakeFinder {
    mutating func judgeOperator(
        _ sign: String, _ left: LuaExpression, _ right: LuaExpression, _ range: Range<Int>
    ) {
        switch sign {
        case "==", "~=":
            judgeEquality(left, right, range)
            judgeBounds(sign, left, right, range)
        case "<", ">", "<=", ">=":
            judgeOrder(left, right, range)
            judgeBounds(sign, left, right, range)
        case "..": for side in [left, right] { judgeJoined(side) }
        case "and", "or": break
        default: for side in [left, right] { judgeOperand(sign, side) }
        }
    }

    private mutating func judgeEquality(
        _ left: LuaExpression, _ right: LuaExpression, _ range: Range<Int>
    ) {
        let (a, b) = (type(of: left), type(of: right))
        // Whether something is there may always be asked.
        guard a != .nothing, b != .nothing else { return }
        // Of `x and y` what is missing may be nil or false.
        if a.cases.contains(.nothing), b.mayBeFalse { return }
        if b.cases.contains(.nothing), a.mayBeFalse { return }
        let kinds = (a.present.kinds, b.present.kinds)
        guard let first = kinds.0, let second = kinds.1 else { return }
        if first.isDisjoint(with: second) {
            let isUser = first == ["User"] && second == ["text"]
            if isUser || first == ["text"] && second == ["User"] {
                return report("a user object never equals a text: compare its 'id'", range)
            }
            return report("\(a.present.phrase) never equals \(b.present.phrase)", range)
        }
        for (words, side, other) in [(a, b, right), (b, a, left)] {
            guard let words = words.present.words, words.count > 1, case .text(let text?) = side,
                !words.contains(text)
            else { continue }
            let list = words.joined(separator: ", ")
            let hint = Suggestion.text(for: text, among: words)
            report("'\(text)' is none of \(list)\(hint)", other.range)
        }
    }

    private mutating func judgeOrder(
        _ left: LuaExpression, _ right: LuaExpression, _ range: Range<Int>
    ) {
        let (a, b) = (type(of: left), type(of: right))
        guard let first = a.kinds, let second = b.kinds else { return }
        let ordered: Set<String> = ["number", "text"]
        guard
            first.isDisjoint(with: ordered) || second.isDisjoint(with: ordered)
                || first.isDisjoint(with: second)
        else { return }
        // One that may be missing is another matter.
        guard !a.present.isOrdered(with: b.present) else { return }
        report("\(a.phrase) cannot be compared with \(b.phrase)", range)
    }

    private mutating func judgeJoined(_ side: LuaExpression) {
        let type = type(of: side)
        guard let kinds = type.kinds, kinds.isDisjoint(with: ["text", "number", "User"]) else {
            return
        }
        report("\(type.phrase) cannot be joined to a text", side.range)
    }

    /// Arithmetic.
    mutating func judgeOperand(_ sign: String, _ side: LuaExpression) {
        guard sign != "not" else { return }
        let type = type(of: side)
        if sign == "#" {
            guard let kinds = type.kinds, kinds.isDisjoint(with: ["text", "table", "Users"])
            else { return }
            return report("\(type.phrase) has no length", side.range)
        }
        switch type {
        case .duration:
            report(
                "\(type.phrase) is a text: time.seconds gives its seconds", side.range)
        case .text(let text?) where Double(text) != nil || text.hasPrefix("0x"): break
        case .text(nil): break
        default:
            guard let kinds = type.kinds, !kinds.contains("number"),
                type.cases.allSatisfy({ if case .text(nil) = $0 { false } else { true } })
            else { return }
            report("\(type.phrase) is no number", side.range)
        }
    }
}

extension ScriptType {
    /// What it is as operators see it; nil: it may be anything.
    var kinds: Set<String>? {
        var all: Set<String> = []
        for part in cases {
            switch part {
            case .any: return nil
            case .nothing: all.insert("nil")
            case .boolean: all.insert("boolean")
            case .integer, .number: all.insert("number")
            case .text, .duration, .timeOfDay: all.insert("text")
            case .function: all.insert("function")
            case .decision: all.insert("decision")
            case .object(let name):
                let isOwn = ["Call", "User", "Hours", "Users", "Test"].contains(name)
                all.insert(isOwn ? name : "table")
            case .list, .map, .table, .shape, .library, .options: all.insert("table")
            case .either: return nil
            }
        }
        return all
    }

    /// The texts that it can be, if it is nothing else.
    fileprivate var words: [String]? {
        let words = cases.compactMap { if case .text(let word?) = $0 { word } else { nil } }
        return words.count == cases.count ? words : nil
    }

    fileprivate func isOrdered(with other: ScriptType) -> Bool {
        guard let first = kinds, let second = other.kinds else { return true }
        return !first.intersection(second).isDisjoint(with: ["number", "text"])
    }
}
