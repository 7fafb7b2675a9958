// One step of an invented test, and how it is written.

import CallModel
import Lua
import LuaSource
import PolicyHost

/// `t.NAME(ARGUMENTS)`.
struct FuzzStep: Equatable {
    let name: String
    var arguments: [LuaValue]

    /// As a plugin's author would write it.
    var source: String {
        if arguments.count == 1, case .table = arguments[0] {
            return "t.\(name) \(LuaText.of(arguments[0]))"
        }
        if arguments.count == 1, case .text = arguments[0] {
            return "t.\(name) \(LuaText.of(arguments[0]))"
        }
        return "t.\(name)(\(arguments.map(LuaText.of).joined(separator: ", ")))"
    }

    /// Whether it asks for a decision.
    var isQuestion: Bool { ["invite", "again", "dial"].contains(name) }
}

/// Values as they are written in Lua.
enum LuaText {
    static func of(_ value: LuaValue) -> String {
        switch value {
        case .text(let text): return quoted(text)
        case .integer(.min): return "math.mininteger"
        case .number(let number) where number.isNaN: return "0/0"
        case .number(let number) where number.isInfinite: return number > 0 ? "1/0" : "-1/0"
        case .list(let values):
            return values.isEmpty ? "{}" : "{ \(values.map(of).joined(separator: ", ")) }"
        case .table(let pairs):
            let members = pairs.map { pair in
                let name = pair.key.text.flatMap { isName($0) ? $0 : nil }
                return "\(name ?? "[\(of(pair.key))]") = \(of(pair.value))"
            }
            return members.isEmpty ? "{}" : "{ \(members.joined(separator: ", ")) }"
        default: return value.literal
        }
    }

    /// A decision as its constructor makes it.
    static func decision(_ value: LuaValue) -> String {
        guard case .decision(let payload) = value else { return "nil" }
        return payload.withUnsafeBytes { bytes in
            var reader = PlainReader(bytes)
            let name = Returned.name(of: Int(reader.byte()))
            return "\(name)(\(reader.values().map(of).joined(separator: ", ")))"
        }
    }

    private static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return !LuaLexer.keywords.contains(text)
            && text.utf8.allSatisfy { byte in
                byte == 0x5F || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte)
            }
    }

    static func quoted(_ text: String) -> String {
        var shown = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": shown += "\\\""
            case "\\": shown += "\\\\"
            case "\n": shown += "\\n"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            default: shown.unicodeScalars.append(scalar)
            }
        }
        // Long rows of one letter are shown as what they are.
        if let first = text.first, text.utf8.count > 200, text.allSatisfy({ $0 == first }) {
            return "(\(quoted(String(first)))):rep(\(text.count))"
        }
        return "\"\(shown)\""
    }
}

/// What is wrong with a plugin, and the test that shows it.
public struct FuzzFinding: Sendable, Equatable {
    /// What kind of fault it is.
    public enum Kind: String, Sendable {
        /// It fails, is killed, or gives no usable answer.
        case failure
        /// It takes over half of a budget.
        case slow
        /// It decides by the time zone, not by the time on the clock.
        case zone
        /// It decides otherwise than the other generation.
        case different
    }

    /// What kind of fault it is.
    public let kind: Kind
    /// One line for a person.
    public let text: String
    /// The block to paste: it fails while the fault is there.
    public let test: String
}
