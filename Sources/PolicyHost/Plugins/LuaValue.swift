// Values as they come out of Lua.

import CLua
import CallModel
import JSON

/// One value from a script.
package indirect enum LuaValue: Equatable, Sendable {
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
    case user(UserFacts)
    case handle(kind: UInt8, number: UInt32)
    /// What a decision constructor wrote.
    case decision([UInt8])

    /// One member of a table.
    package struct Pair: Equatable, Sendable {
        package let key: LuaValue
        package let value: LuaValue

        /// `value` under `key`.
        package init(key: LuaValue, value: LuaValue) {
            self.key = key
            self.value = value
        }
    }
}

extension LuaValue {
    package var isNull: Bool { self == .null }
    package var text: String? { if case .text(let value) = self { value } else { nil } }
    package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    package var function: Int32? { if case .function(let value) = self { value } else { nil } }
    package var list: [LuaValue]? { if case .list(let value) = self { value } else { nil } }
    package var table: [Pair]? { if case .table(let value) = self { value } else { nil } }

    /// A text, or the id of a user.
    package var id: String? { if case .user(let facts) = self { facts.user.text } else { text } }

    /// The number, whole or not.
    package var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        case .null, .bool, .text, .bytes, .list, .table, .function, .call, .user, .handle,
            .decision:
            nil
        }
    }

    /// The member `key` of a table.
    package subscript(key: String) -> LuaValue {
        table?.first { $0.key == .text(key) }?.value ?? .null
    }

    /// The word for the value's type in messages.
    package var typeName: String {
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
    package var typePhrase: String {
        if isNull { return typeName }
        if case .handle = self { return "an \(typeName)" }
        return "a \(typeName)"
    }

    /// The value as JSON, or the path of what cannot be.
    package func json() throws(LuaProblem) -> JSONValue { try json(path: "") }

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
    package init(_ json: JSONValue) {
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

/// What is wrong with a value, and where in it.
package struct LuaProblem: Error, Equatable {
    package let message: String

    package init(_ message: String) { self.message = message }
    package init(_ path: String, _ message: String) {
        self.message = path.isEmpty ? message : "\(path): \(message)"
    }
}

/// Reads what C wrote; damaged bytes are a broken invariant.
package struct PlainReader {
    private let bytes: UnsafeRawBufferPointer
    private var place = 0

    package init(_ bytes: callua_bytes) {
        self.bytes = UnsafeRawBufferPointer(start: bytes.start, count: bytes.count)
    }

    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    package var isAtEnd: Bool { place >= bytes.count }

    package mutating func byte() -> UInt8 {
        defer { place += 1 }
        return bytes[place]
    }

    package mutating func length() -> Int {
        defer { place += 4 }
        return Int(bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
    }

    package mutating func reference() -> Int32 {
        defer { place += 4 }
        return bytes.loadUnaligned(fromByteOffset: place, as: Int32.self)
    }

    package mutating func word() -> UInt64 {
        defer { place += 8 }
        return bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
    }

    package mutating func block(_ count: Int) -> UnsafeRawBufferPointer {
        defer { place += count }
        return UnsafeRawBufferPointer(rebasing: bytes[place..<place + count])
    }

    /// The values of an array.
    package mutating func values() -> [LuaValue] {
        guard !isAtEnd else { return [] }
        precondition(byte() == UInt8(PLAIN_ARRAY), "arguments are an array")
        let count = length()
        return (0..<count).map { _ in value() }
    }

    package mutating func value() -> LuaValue {
        let tag = Int(byte())
        switch tag {
        case PLAIN_NIL: return .null
        case PLAIN_FALSE: return .bool(false)
        case PLAIN_TRUE: return .bool(true)
        case PLAIN_INTEGER: return .integer(Int64(bitPattern: word()))
        case PLAIN_NUMBER: return .number(Double(bitPattern: word()))
        case PLAIN_STRING: return string()
        case PLAIN_ARRAY:
            let count = length()
            return .list((0..<count).map { _ in value() })
        case PLAIN_OBJECT: return pairs()
        case PLAIN_FUNCTION: return .function(reference())
        case PLAIN_USER: return user()
        case PLAIN_CALL:
            precondition(length() == 16, "a call leaves Lua as its id")
            let high = word()
            return .call(CallID(high: high, low: word()))
        case PLAIN_HANDLE:
            let kind = byte()
            return .handle(kind: kind, number: UInt32(bitPattern: reference()))
        case PLAIN_DECISION: return .decision(Array(block(length())))
        default: preconditionFailure("unknown tag \(tag) in data from Lua")
        }
    }

    private mutating func user() -> LuaValue {
        _ = byte()
        let id = string()
        _ = byte()
        let calls = Int(Int64(bitPattern: word()))
        _ = byte()
        let devices = Int(Int64(bitPattern: word()))
        guard let user = id.text.flatMap({ UserID(checking: $0) }) else { return id }
        return .user(UserFacts(user, calls: calls, devices: devices))
    }

    private mutating func string() -> LuaValue {
        let block = block(length())
        // Most texts are short and of ASCII; the general check costs as much as the hook itself.
        if block.allSatisfy({ $0 < 0x80 }) { return .text(String(decoding: block, as: UTF8.self)) }
        if let text = String(validating: block, as: UTF8.self) { return .text(text) }
        return .bytes(Array(block))
    }

    private mutating func pairs() -> LuaValue {
        let count = length()
        var pairs: [LuaValue.Pair] = []
        pairs.reserveCapacity(count)
        for _ in 0..<count {
            let key = value()
            pairs.append(LuaValue.Pair(key: key, value: value()))
        }
        if count > 1 { pairs.sort { $0.key.isBefore($1.key) } }
        return .table(pairs)
    }
}

extension LuaValue {
    /// Integers in order, then strings in order: tables always read the same way.
    fileprivate func isBefore(_ other: LuaValue) -> Bool {
        switch (self, other) {
        case (.integer(let a), .integer(let b)): a < b
        case (.text(let a), .text(let b)): a.utf8.lexicographicallyPrecedes(b.utf8)
        case (.integer, _): true
        case (_, .integer): false
        case (.text, _): true
        default: false
        }
    }
}
