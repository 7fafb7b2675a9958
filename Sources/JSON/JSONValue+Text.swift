// Between trees and JSON text, within limits; and the canonical form for comparing bodies.

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

/// One spelling for each JSON value, so that bodies can be compared by a hash of their bytes.
///
/// Members are sorted by the UTF-8 bytes of their names, white space and optional escapes are gone,
/// and a number that is an integer within 64 bits is written as one: `1`, `1.0` and `10e-1` are the
/// same, and so are `0` and `-0`.
public enum JSONCanonical {
    /// The canonical bytes of `value`.
    public static func bytes(of value: JSONValue) -> [UInt8] {
        var writer = JSONWriter()
        write(value, into: &writer)
        return writer.bytes
    }

    /// The canonical bytes of the JSON text `text`.
    public static func bytes(
        parsing text: UnsafeRawBufferPointer, limits: JSONLimits = JSONLimits()
    ) throws(JSONError) -> [UInt8] {
        bytes(of: try JSONValue(parsing: text, limits: limits))
    }

    private static func write(_ value: JSONValue, into writer: inout JSONWriter) {
        switch value {
        case .null, .bool, .integer, .string: writer.value(value)
        case .number(let number):
            if let integer = number.wholeInteger {
                writer.value(integer)
            } else {
                writer.value(number)
            }
        case .array(let elements):
            writer.array { for element in elements { write(element, into: &$0) } }
        case .object(let object):
            writer.object {
                for member in object.sortedMembers {
                    $0.key(text: member.key)
                    write(member.value, into: &$0)
                }
            }
        }
    }
}

extension Double {
    /// The same number as an integer, if it is one within 64 bits. `Int64(exactly:)` would pull in
    /// the C mathematics library in debug builds.
    var wholeInteger: Int64? {
        guard self >= -0x1p63, self < 0x1p63 else { return nil }
        let integer = Int64(self)
        return Double(integer) == self ? integer : nil
    }
}
