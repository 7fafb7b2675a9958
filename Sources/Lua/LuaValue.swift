// Values as they come out of Lua.

import CallModel
import JSON

/// One value from a script. Only large and rare values are stored separately: memory of its own for
/// each value would cost a decision more than its hook.
public enum LuaValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    /// A string that is not UTF-8.
    case bytes([UInt8])
    case list([LuaValue])
    /// Pairs sorted by key; keys are texts and integers.
    case table([Pair])
    case function(Int32)
    case call(CallID)
    indirect case user(UserFacts)
    case handle(kind: UInt8, number: UInt32)
    /// What a decision constructor wrote.
    case decision([UInt8])

    /// One member of a table.
    public struct Pair: Equatable, Sendable {
        /// What it stands under.
        public let key: LuaValue
        /// What stands there.
        public let value: LuaValue

        /// `value` under `key`.
        public init(key: LuaValue, value: LuaValue) {
            self.key = key
            self.value = value
        }
    }
}

extension LuaValue {
    /// Whether it is nil.
    @inlinable public var isNull: Bool { if case .null = self { true } else { false } }
    /// Its text; nil: it is no string, or not in UTF-8.
    @inlinable public var text: String? { if case .text(let value) = self { value } else { nil } }
    /// Its whole number; nil: it is none.
    @inlinable public var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }
    /// Whether it is true; nil: it is no boolean.
    @inlinable public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The reference of the function; nil: it is none.
    @inlinable public var function: Int32? {
        if case .function(let value) = self { value } else { nil }
    }
    /// The elements of the list; nil: it is none.
    @inlinable public var list: [LuaValue]? {
        if case .list(let value) = self { value } else { nil }
    }
    /// The members of the table; nil: it is none.
    @inlinable public var table: [Pair]? {
        if case .table(let value) = self { value } else { nil }
    }

    /// A text, or the id of a user.
    public var id: String? { if case .user(let facts) = self { facts.user.text } else { text } }

    /// The number, whole or not.
    public var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        case .null, .bool, .text, .bytes, .list, .table, .function, .call, .user, .handle,
            .decision:
            nil
        }
    }

    /// The member `key` of a table.
    public subscript(key: String) -> LuaValue {
        guard case .table(let pairs) = self else { return .null }
        for pair in pairs {
            if case .text(let own) = pair.key, own == key { return pair.value }
        }
        return .null
    }

    /// The word for the value's type in messages.
    public var typeName: String {
        switch self {
        case .null: "nil"
        case .bool: "boolean"
        case .integer, .number: "number"
        case .text, .bytes: "string"
        case .list, .table: "table"
        case .function: "function"
        case .call: "call"
        case .user: "user"
        case .handle: "object"
        case .decision: "decision"
        }
    }

    /// The type with its article.
    public var typePhrase: String {
        if isNull { return typeName }
        if case .handle = self { return "an \(typeName)" }
        return "a \(typeName)"
    }

    /// The value as JSON, or the path of what cannot be.
    public func json() throws(LuaProblem) -> JSONValue { try json(path: "") }

    private func json(path: String) throws(LuaProblem) -> JSONValue {
        switch self {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .integer(let value): return .integer(value)
        case .number(let value):
            guard value.isFinite else { throw LuaProblem(path, "not a finite number") }
            return .number(value)
        case .text(let value): return .string(value)
        case .user(let facts): return .string(facts.user.text)
        case .call(let id): return .string(id.description)
        case .list(let values):
            var elements: [JSONValue] = []
            for (index, value) in values.enumerated() {
                elements.append(try value.json(path: "\(path)[\(index + 1)]"))
            }
            return .array(elements)
        case .table(let pairs):
            var members: [JSONObject.Member] = []
            for pair in pairs {
                guard case .text(let key) = pair.key else {
                    throw LuaProblem(path, "an object of JSON has only strings as keys")
                }
                let below = path.isEmpty ? key : "\(path).\(key)"
                members.append(.init(key: key, value: try pair.value.json(path: below)))
            }
            return .object(JSONObject(members))
        case .bytes: throw LuaProblem(path, "a string that is not UTF-8")
        case .function, .handle, .decision: throw LuaProblem(path, "\(typePhrase) is not data")
        }
    }

    /// The value of some JSON; null is absent.
    public init(_ json: JSONValue) {
        switch json {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .integer(let value): self = .integer(value)
        case .number(let value): self = .number(value)
        case .string(let value): self = .text(value)
        case .array(let values): self = .list(values.filter { !$0.isNull }.map(LuaValue.init))
        case .object(let object):
            self = .table(
                object.members.compactMap {
                    $0.value.isNull ? nil : Pair(key: .text($0.key), value: LuaValue($0.value))
                })
        }
    }
}

extension LuaValue {
    /// The value for a person: strings as they are, anything else as JSON.
    public var shown: String {
        switch self {
        case .text(let text): text
        case .null: "nil"
        case .user(let facts): facts.user.text
        case .call(let id): id.description
        case .bool, .integer, .number, .list, .table:
            (try? json()).map(\.description) ?? typeName
        case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
        case .function, .handle, .decision: typeName
        }
    }
}

extension LuaValue {
    /// The value as Lua source.
    public var literal: String {
        switch self {
        case .text(let text): return JSONValue.string(text).description
        case .list(let values):
            return values.isEmpty
                ? "{}" : "{ \(values.map(\.literal).joined(separator: ", ")) }"
        case .table(let pairs):
            let members = pairs.map { "[\($0.key.literal)] = \($0.value.literal)" }
            return members.isEmpty ? "{}" : "{ \(members.joined(separator: ", ")) }"
        case .null, .bool, .integer, .number: return shown
        case .bytes, .function, .call, .user, .handle, .decision: return "nil"
        }
    }
}

/// What is wrong with a value, and where in it.
public struct LuaProblem: Error, Equatable {
    /// The place and what is wrong there.
    public let message: String
    /// Bytes of a message that holds a long value. What is wrong stands before and behind it.
    private static let bytesMax = 500

    /// A problem with the value as a whole.
    public init(_ message: String) {
        self.message = message.leavingOutMiddle(beyond: Self.bytesMax).escapingUnshown
    }
    /// A problem at `path` of the value; empty: with the whole.
    public init(_ path: String, _ message: String) {
        self.init(path.isEmpty ? message : "\(path): \(message)")
    }
}
