// Expressions of people who look. They are worked out here, so that nothing of the script runs and
// nothing changes: there are no calls and no metamethods.

import Lua
import LuaSource

/// Works out an expression where a function stands.
struct Evaluator {
    /// What a name stands for.
    let name: (String) throws(DebugProblem) -> SeenValue
    /// The member of a value.
    let member: (LuaValue, SeenValue) throws(DebugProblem) -> SeenValue

    /// The value of `text`.
    func value(of text: String) throws(DebugProblem) -> SeenValue {
        guard text.utf8.count <= 64 << 10 else { throw DebugProblem("this expression is too long") }
        let file = LuaParser.file(Array("return \(text)".utf8))
        if let trouble = file.troubles.first { throw DebugProblem(trouble.text) }
        guard file.body.statements.count == 1, case .back(let values, _) = file.body.statements[0],
            values.count == 1
        else { throw DebugProblem("one expression is expected") }
        return try value(values[0])
    }

    private func value(_ expression: LuaExpression) throws(DebugProblem) -> SeenValue {
        switch expression.kind {
        case .nothing: return .nothing
        case .truth(let truth): return SeenValue(plain: .bool(truth))
        case .number(let text): return try number(text)
        case .text(let text):
            guard let text else { throw DebugProblem("escapes in strings are not read here") }
            return SeenValue(plain: .text(text))
        case .local(let local): return try name(local.name.text)
        case .global(let text): return try name(text)
        case .varargs: return try name("(vararg 1)")
        case .member(let owner, let key): return try member(.text(key.text), value(owner))
        case .index(let owner, let key):
            let key = try value(key)
            guard !key.isObject, !key.isCut else { throw DebugProblem("this is no plain key") }
            return try member(key.plain, value(owner))
        case .brackets(let inner): return try value(inner)
        case .unary(let sign, let operand): return try unary(sign, value(operand))
        case .binary(let sign, let left, let right): return try binary(sign, left, right)
        case .call, .method:
            throw DebugProblem("functions are not called here: to look changes nothing")
        case .function, .table, .missing, .unread:
            throw DebugProblem("only values, names, fields and operators are worked out here")
        }
    }

    private func number(_ text: String) throws(DebugProblem) -> SeenValue {
        if let integer = Int64(text) { return SeenValue(plain: .integer(integer)) }
        let isHex = text.lowercased().hasPrefix("0x")
        if isHex, let bits = UInt64(text.dropFirst(2), radix: 16) {
            return SeenValue(plain: .integer(Int64(bitPattern: bits)))
        }
        guard let number = Double(text) else { throw DebugProblem("'\(text)' is no number") }
        return SeenValue(plain: .number(number))
    }

    // MARK: Operators

    private func unary(_ sign: String, _ value: SeenValue) throws(DebugProblem) -> SeenValue {
        switch (sign, value.plain) {
        case ("not", _): return SeenValue(plain: .bool(!value.isTrue))
        case ("#", _) where value.type == "string" || value.type == "table":
            return SeenValue(plain: .integer(Int64(value.length)))
        case ("-", .integer(let integer)): return SeenValue(plain: .integer(0 &- integer))
        case ("-", .number(let number)): return SeenValue(plain: .number(-number))
        case ("~", .integer(let integer)): return SeenValue(plain: .integer(~integer))
        default: throw DebugProblem("'\(sign)' has no meaning for a \(value.type) value")
        }
    }

    private func binary(
        _ sign: String, _ left: LuaExpression, _ right: LuaExpression
    ) throws(DebugProblem) -> SeenValue {
        let first = try value(left)
        switch sign {
        case "and": return first.isTrue ? try value(right) : first
        case "or": return first.isTrue ? first : try value(right)
        default: break
        }
        let second = try value(right)
        if first.isCut || second.isCut { throw DebugProblem("this string is too long for that") }
        switch sign {
        case "==": return SeenValue(plain: .bool(Self.isEqual(first, second)))
        case "~=": return SeenValue(plain: .bool(!Self.isEqual(first, second)))
        case "<": return try order(first, second) { $0 < 0 }
        case "<=": return try order(first, second) { $0 <= 0 }
        case ">": return try order(second, first) { $0 < 0 }
        case ">=": return try order(second, first) { $0 <= 0 }
        case "..": return try joined(first, second)
        default: return try arithmetic(sign, first, second)
        }
    }

    private static func isEqual(_ first: SeenValue, _ second: SeenValue) -> Bool {
        if first.isObject || second.isObject { return first.place == second.place }
        if let one = first.plain.bytes { return one == second.plain.bytes }
        switch (first.plain, second.plain) {
        case (.integer(let one), .integer(let other)): return one == other
        default: break
        }
        if let one = first.plain.number, let other = second.plain.number { return one == other }
        return first.plain == second.plain
    }

    /// `test` gets a negative number, 0 or a positive one; nothing is true of what is not a number.
    private func order(
        _ first: SeenValue, _ second: SeenValue, _ test: (Int) -> Bool
    ) throws(DebugProblem) -> SeenValue {
        if let one = first.bytes, let other = second.bytes {
            let sign = one == other ? 0 : one.lexicographicallyPrecedes(other) ? -1 : 1
            return SeenValue(plain: .bool(test(sign)))
        }
        if let one = first.plain.integer, let other = second.plain.integer {
            return SeenValue(plain: .bool(test(one == other ? 0 : one < other ? -1 : 1)))
        }
        guard let one = first.plain.number, let other = second.plain.number else {
            throw DebugProblem("a \(first.type) and a \(second.type) have no order")
        }
        let isKnown = !one.isNaN && !other.isNaN
        return SeenValue(
            plain: .bool(isKnown && test(one == other ? 0 : one < other ? -1 : 1)))
    }

    private func joined(
        _ first: SeenValue, _ second: SeenValue
    ) throws(DebugProblem) -> SeenValue {
        let parts = try [first, second].map { value throws(DebugProblem) in
            if let bytes = value.bytes { return bytes }
            guard value.plain.number != nil else {
                throw DebugProblem("a \(value.type) value cannot be joined")
            }
            return Array(value.plain.shownPlain.utf8)
        }
        guard let text = String(validating: parts[0] + parts[1], as: UTF8.self) else {
            return SeenValue(plain: .bytes(parts[0] + parts[1]))
        }
        return SeenValue(plain: .text(text))
    }

    private func arithmetic(
        _ sign: String, _ first: SeenValue, _ second: SeenValue
    ) throws(DebugProblem) -> SeenValue {
        let problem = DebugProblem(
            "'\(sign)' has no meaning for a \(first.type) and a \(second.type)")
        if let one = first.plain.integer, let other = second.plain.integer {
            if let whole = try whole(sign, one, other) { return SeenValue(plain: .integer(whole)) }
        }
        guard let one = first.plain.number, let other = second.plain.number else { throw problem }
        switch sign {
        case "+": return SeenValue(plain: .number(one + other))
        case "-": return SeenValue(plain: .number(one - other))
        case "*": return SeenValue(plain: .number(one * other))
        case "/": return SeenValue(plain: .number(one / other))
        case "//": return SeenValue(plain: .number((one / other).rounded(.down)))
        case "%":
            let rest = one.truncatingRemainder(dividingBy: other)
            let isOtherSide = rest != 0 && (rest < 0) != (other < 0)
            return SeenValue(plain: .number(isOtherSide ? rest + other : rest))
        default: throw problem
        }
    }

    /// What stays whole; nil: it does not.
    private func whole(_ sign: String, _ one: Int64, _ other: Int64) throws(DebugProblem) -> Int64?
    {
        switch sign {
        case "+": return one &+ other
        case "-": return one &- other
        case "*": return one &* other
        case "&": return one & other
        case "|": return one | other
        case "~": return one ^ other
        case "//", "%":
            guard other != 0 else { throw DebugProblem("a division by zero") }
            if other == -1 { return sign == "%" ? 0 : 0 &- one }
            let (quotient, rest) = one.quotientAndRemainder(dividingBy: other)
            let isOtherSide = rest != 0 && (rest < 0) != (other < 0)
            if sign == "%" { return isOtherSide ? rest + other : rest }
            return isOtherSide ? quotient - 1 : quotient
        default: return nil
        }
    }
}
