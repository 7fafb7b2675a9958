// A value of a script as a debugger sees it.

import CLua
import Lua

/// One value; what it is made of is looked at later, if anybody asks.
struct SeenValue: Equatable {
    /// `integer`, `table`, `call`, …
    let type: String
    /// What it is, where that is plain; else a text about it. Strings may be cut.
    let plain: LuaValue
    /// Bytes of the whole string, or the length of a list.
    let length: Int
    /// 0: it has no members.
    let reference: Int64
    /// Members beside the list, counted up to a bound.
    let named: Int
    /// Tells objects apart.
    let place: Int64

    static let nothing = SeenValue(plain: .null)

    /// A value that a debugger itself has made.
    init(plain: LuaValue) {
        self.plain = plain
        let isInteger = plain.integer != nil
        type = isInteger ? "integer" : plain.typeName
        length = plain.bytes?.count ?? 0
        (reference, named, place) = (0, 0, 0)
    }

    init(_ row: LuaValue) {
        let parts = row.list ?? []
        func number(_ index: Int) -> Int64 {
            index < parts.count ? parts[index].integer ?? 0 : 0
        }
        type = parts.first?.text ?? "nil"
        plain = parts.count > 1 ? parts[1] : .null
        length = Int(number(2))
        (reference, named, place) = (number(3), Int(number(4)), number(5))
    }

    /// Whether it is told apart from others by its place alone.
    var isObject: Bool { place != 0 }
    /// The bytes of a string.
    var bytes: [UInt8]? { isObject ? nil : plain.bytes }
    /// Only nil and false are not.
    var isTrue: Bool { type != "nil" && plain != .bool(false) }
    /// Whether it is a string of which only the beginning is here.
    var isCut: Bool { type == "string" && (plain.bytes?.count ?? 0) < length }

    /// For a person, on one line; of a string at most so many bytes.
    func shown(_ most: Int) -> String {
        switch type {
        case "string":
            let bytes = plain.bytes ?? []
            let text = Self.quoted(Array(bytes.prefix(most)))
            return isCut || bytes.count > most ? "\(text)… (\(length) bytes)" : text
        case "table" where length > 0 || named > 0:
            let parts = [
                length > 0 ? "\(length) in a list" : nil, named > 0 ? "\(named) named" : nil,
            ]
            return "\(plain.text ?? "table"): \(parts.compactMap { $0 }.joined(separator: ", "))"
        case "table": return "\(plain.text ?? "table"): empty"
        default: return isObject ? plain.text ?? type : plain.shownPlain
        }
    }

    /// A string as Lua would write it.
    static func quoted(_ bytes: [UInt8]) -> String {
        var text = "\""
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            default:
                if scalar.value < 32 || scalar.value == 127 {
                    text +=
                        "\\x\(scalar.value < 16 ? "0" : "")"
                        + String(scalar.value, radix: 16, uppercase: true)
                } else {
                    text.unicodeScalars.append(scalar)
                }
            }
        }
        return text + "\""
    }
}

/// A value with its name.
struct SeenRow {
    /// A text or integer, or a list of one text for what has no name.
    let key: LuaValue
    let value: SeenValue

    /// What a text names in an expression, as `a.b` does.
    var isName: Bool {
        guard let text = key.text, let first = text.utf8.first else { return false }
        let isLetter: (UInt8) -> Bool = { $0 | 32 >= 97 && $0 | 32 <= 122 || $0 == 95 }
        return isLetter(first) && text.utf8.allSatisfy { isLetter($0) || $0 >= 48 && $0 <= 57 }
    }

    /// For a person.
    var shownKey: String {
        if case .list(let parts) = key { return parts.first?.text ?? "" }
        if key.text?.hasPrefix("(") == true || isName { return key.text ?? "" }
        if let bytes = key.bytes { return "[\(SeenValue.quoted(bytes))]" }
        return "[\(key.shownPlain)]"
    }

    /// How an expression reaches it from `owner`.
    func expression(in owner: String?) -> String? {
        guard let owner else { return nil }
        if case .list = key { return nil }
        if key.text?.hasPrefix("(") == true { return nil }
        return isName ? "\(owner).\(shownKey)" : "\(owner)\(shownKey)"
    }
}

extension LuaValue {
    /// The bytes of a string.
    var bytes: [UInt8]? {
        switch self {
        case .text(let text): Array(text.utf8)
        case .bytes(let bytes): bytes
        default: nil
        }
    }

    /// What is no object, as Lua writes it; and data that came from outside, as text.
    var shownPlain: String {
        switch self {
        case .null: return "nil"
        case .bool(let value): return "\(value)"
        case .integer(let value): return "\(value)"
        case .number(let value): return value.shownAsLua
        case .text, .bytes: return SeenValue.quoted(bytes ?? [])
        case .list(let values): return "list of \(values.count)"
        case .table(let pairs): return "table of \(pairs.count)"
        default: return typeName
        }
    }
}

extension Double {
    /// As Lua writes it.
    fileprivate var shownAsLua: String {
        if isNaN { return sign == .minus ? "-nan" : "nan" }
        return isInfinite ? (self < 0 ? "-inf" : "inf") : "\(self)"
    }
}
