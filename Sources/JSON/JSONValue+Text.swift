// Between trees and JSON text, within limits.

/// How much of a text a tree is built from.
public struct JSONLimits: Sendable, Equatable {
    /// The longest text in bytes.
    public var bytes: Int
    /// The most arrays and objects inside each other.
    public var depth: Int

    /// Limits; the defaults are 1 MiB and 64 levels.
    public init(bytes: Int = 1 << 20, depth: Int = 64) {
        self.bytes = bytes
        self.depth = depth
    }
}

extension JSONValue {
    /// Reads one whole text. Of members with the same name the last one counts.
    public init(
        parsing text: UnsafeRawBufferPointer, limits: JSONLimits = JSONLimits()
    ) throws(JSONError) {
        guard text.count <= limits.bytes else {
            throw JSONError(.tooLarge(limit: limits.bytes), at: limits.bytes)
        }
        var reader = JSONReader(text, maximumDepth: limits.depth)
        try self.init(from: &reader)
        try reader.expectEnd()
    }

    /// Reads one whole text. Of members with the same name the last one counts.
    public init(parsing text: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONError) {
        let result = text.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in try JSONValue(parsing: bytes, limits: limits) }
        }
        self = try result.get()
    }

    /// Reads one whole text. Of members with the same name the last one counts.
    public init(parsing text: String, limits: JSONLimits = JSONLimits()) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), limits: limits)
    }

    /// Reads the next value of `reader`.
    public init(from reader: inout JSONReader) throws(JSONError) {
        switch try reader.peek() {
        case .null:
            try reader.readNull()
            self = .null
        case .bool: self = .bool(try reader.readBool())
        case .string: self = .string(try reader.readString())
        case .number:
            switch try reader.readNumber() {
            case .integer(let value): self = .integer(value)
            case .double(let value): self = .number(value)
            }
        case .array:
            var elements: [JSONValue] = []
            try reader.beginArray()
            while try reader.nextElement() { elements.append(try JSONValue(from: &reader)) }
            self = .array(elements)
        case .object:
            var members: [JSONObject.Member] = []
            try reader.beginObject()
            while let key = try reader.nextKey() {
                let name = key.string
                members.append(.init(key: name, value: try JSONValue(from: &reader)))
            }
            self = .object(JSONObject(members))
        }
    }

    /// The value as JSON text without white space.
    public var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.bytes
    }
}

extension JSONWriter {
    /// Writes a tree.
    public mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let value): self.value(value)
        case .integer(let value): self.value(value)
        case .number(let value): self.value(value)
        case .string(let value): self.value(value)
        case .array(let elements): array { for element in elements { $0.value(element) } }
        case .object(let object):
            self.object {
                for member in object.members {
                    $0.key(text: member.key)
                    $0.value(member.value)
                }
            }
        }
    }

    /// Writes a member that is a tree.
    public mutating func field(_ key: StaticString, _ value: JSONValue) {
        self.key(key)
        self.value(value)
    }
}
