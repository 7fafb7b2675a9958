// Reads values in the form in which they leave Lua (CLuaPlain.h).

import CLua
import CallModel

/// Reads what C wrote; damaged bytes are a broken invariant.
public struct PlainReader {
    @usableFromInline let bytes: UnsafeRawBufferPointer
    @usableFromInline var place = 0

    /// Reads what the C side wrote, which must stay there meanwhile.
    @inlinable
    public init(_ bytes: callua_bytes) {
        self.bytes = UnsafeRawBufferPointer(start: bytes.start, count: bytes.count)
    }

    /// Reads these bytes, which must stay there meanwhile.
    @inlinable
    public init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Whether nothing is left.
    @inlinable
    public var isAtEnd: Bool { place >= bytes.count }

    /// One byte.
    @inlinable
    public mutating func byte() -> UInt8 {
        defer { place += 1 }
        return bytes[place]
    }

    /// The length of what follows: 4 bytes.
    @inlinable
    public mutating func length() -> Int {
        defer { place += 4 }
        return Int(bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
    }

    /// The reference of a function: 4 bytes.
    @inlinable
    public mutating func reference() -> Int32 {
        defer { place += 4 }
        return bytes.loadUnaligned(fromByteOffset: place, as: Int32.self)
    }

    /// A number or a double as its bits: 8 bytes.
    @inlinable
    public mutating func word() -> UInt64 {
        defer { place += 8 }
        return bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
    }

    /// The next `count` bytes, which are not copied.
    @inlinable
    public mutating func block(_ count: Int) -> UnsafeRawBufferPointer {
        defer { place += count }
        return UnsafeRawBufferPointer(rebasing: bytes[place..<place + count])
    }

    /// Whether an array comes next that holds this text and nothing else.
    public func isAtOnly(_ text: StaticString) -> Bool {
        let head = 10
        let count = text.utf8CodeUnitCount
        guard bytes.count - place == head + count, bytes[place] == UInt8(PLAIN_ARRAY),
            bytes.loadUnaligned(fromByteOffset: place + 1, as: UInt32.self) == 1,
            bytes[place + 5] == UInt8(PLAIN_STRING)
        else { return false }
        // The text fills what is left, so its length need not be looked at.
        for index in 0..<count where bytes[place + head + index] != text.utf8Start[index] {
            return false
        }
        return true
    }

    /// The values of an array.
    public mutating func values() -> [LuaValue] {
        guard !isAtEnd else { return [] }
        precondition(byte() == UInt8(PLAIN_ARRAY), "arguments are an array")
        let count = length()
        // Most arrays of arguments and results have one value.
        return count == 1 ? [value()] : (0..<count).map { _ in value() }
    }

    /// The next value as a whole, of any kind.
    public mutating func value() -> LuaValue {
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
        let name = value().text
        guard let user = id.text.flatMap({ UserID(checking: $0) }) else { return id }
        return .user(UserFacts(user, calls: calls, devices: devices, name: name))
    }

    private mutating func string() -> LuaValue {
        let block = block(length())
        // Most texts are short and of ASCII; the general check costs as much as the hook itself.
        if Self.isASCII(block) { return .text(String(decoding: block, as: UTF8.self)) }
        if let text = String(validating: block, as: UTF8.self) { return .text(text) }
        return .bytes(Array(block))
    }

    /// Eight bytes at a time.
    private static func isASCII(_ block: UnsafeRawBufferPointer) -> Bool {
        var (place, seen): (Int, UInt64) = (0, 0)
        while place + 8 <= block.count {
            seen |= block.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            place += 8
        }
        while place < block.count {
            seen |= UInt64(block[place])
            place += 1
        }
        return seen & 0x8080_8080_8080_8080 == 0
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
