// Writes values in the form in which they cross into Lua (CLuaPlain.h).

import CLua
import CallModel
import JSON

/// A growing row of bytes that is written again and again without giving its memory back. A
/// decision writes hundreds of values: what is short is inlined where they are written. That takes
/// `public`, here and in what reads: nothing of `package` is inlined in another module.
public final class PlainWriter {
    @usableFromInline var size = 0
    @usableFromInline var capacity = 1024
    /// Where the users of the call at hand stand.
    public var places: [Int] = []
    @usableFromInline var base = UnsafeMutableRawPointer.allocate(byteCount: 1024, alignment: 16)

    /// Nothing written yet.
    public init() {}

    deinit { base.deallocate() }

    /// Bytes written.
    @inlinable public var count: Int { size }

    /// What was written; valid until the next change.
    @inlinable
    public var written: callua_bytes {
        callua_bytes(start: base.assumingMemoryBound(to: UInt8.self), count: count)
    }

    /// A copy of what was written.
    public var copy: [UInt8] { Array(UnsafeRawBufferPointer(start: base, count: count)) }

    /// Forgets what was written from `place` on.
    @inlinable
    public func cut(to place: Int = 0) { size = place }

    @inlinable @inline(__always)
    func room(_ size: Int) -> UnsafeMutableRawPointer {
        if count + size > capacity { grow(by: size) }
        let place = base + count
        self.size += size
        return place
    }

    @usableFromInline
    func grow(by size: Int) {
        var wanted = capacity * 2
        while wanted < count + size { wanted *= 2 }
        let grown = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
        grown.copyMemory(from: base, byteCount: count)
        base.deallocate()
        base = grown
        capacity = wanted
    }

    /// Which kind of value follows.
    @inlinable @inline(__always)
    public func tag(_ tag: some BinaryInteger) {
        room(1).storeBytes(of: UInt8(truncatingIfNeeded: tag), as: UInt8.self)
    }

    /// The length of what follows: 4 bytes.
    @inlinable @inline(__always)
    public func length(_ count: Int) {
        room(4).storeBytes(of: UInt32(truncatingIfNeeded: count), as: UInt32.self)
    }

    /// Overwrites a count written before.
    @inlinable
    public func setCount(_ count: Int, at place: Int) {
        base.storeBytes(of: UInt32(truncatingIfNeeded: count), toByteOffset: place, as: UInt32.self)
    }

    /// A number or a double as its bits: 8 bytes.
    @inlinable
    public func word(_ word: UInt64) { room(8).storeBytes(of: word, as: UInt64.self) }

    /// A value that is not there.
    @inlinable
    public func null() { tag(PLAIN_NIL) }

    /// True or false.
    @inlinable
    public func bool(_ value: Bool) { tag(value ? PLAIN_TRUE : PLAIN_FALSE) }

    /// A whole number.
    @inlinable
    public func integer(_ value: some BinaryInteger) {
        let place = room(9)
        place.storeBytes(of: UInt8(PLAIN_INTEGER), as: UInt8.self)
        place.storeBytes(of: Int64(value), toByteOffset: 1, as: Int64.self)
    }

    /// A number.
    @inlinable
    public func number(_ value: Double) {
        let place = room(9)
        place.storeBytes(of: UInt8(PLAIN_NUMBER), as: UInt8.self)
        place.storeBytes(of: value, toByteOffset: 1, as: Double.self)
    }

    /// A string.
    @inlinable
    public func text(_ value: String) {
        value.withBytes { bytes($0) }
    }

    /// A string of whatever bytes.
    @inlinable
    public func bytes(_ value: UnsafeBufferPointer<UInt8>) {
        let place = room(5 + value.count)
        place.storeBytes(of: UInt8(PLAIN_STRING), as: UInt8.self)
        place.storeBytes(
            of: UInt32(truncatingIfNeeded: value.count), toByteOffset: 1, as: UInt32.self)
        if let start = value.baseAddress, !value.isEmpty {
            (place + 5).copyMemory(from: start, byteCount: value.count)
        }
    }

    /// A list; its `count` elements follow.
    @inlinable
    public func list(_ count: Int) {
        tag(PLAIN_ARRAY)
        length(count)
    }

    /// A table; `count` pairs of key and value follow.
    @inlinable
    public func table(_ count: Int) {
        tag(PLAIN_OBJECT)
        length(count)
    }

    /// Writes JSON: null is absent, so members and elements that are null are left out. A hole
    /// in a list would end every loop over it, and could not be written as JSON again.
    public func json(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let value): bool(value)
        case .integer(let value): integer(value)
        case .number(let value): number(value)
        case .string(let value): text(value)
        case .array(let values):
            list(values.count { !$0.isNull })
            for value in values where !value.isNull { json(value) }
        case .object(let object):
            table(object.members.count { !$0.value.isNull })
            for member in object.members where !member.value.isNull {
                text(member.key)
                json(member.value)
            }
        }
    }

    /// A whole value.
    public func value(_ value: LuaValue) {
        switch value {
        case .null: null()
        case .bool(let value): bool(value)
        case .integer(let value): integer(value)
        case .number(let value): number(value)
        case .text(let value): text(value)
        case .bytes(let value): value.withUnsafeBufferPointer { bytes($0) }
        case .list(let values):
            list(values.count)
            for element in values { self.value(element) }
        case .table(let pairs):
            table(pairs.count)
            for pair in pairs {
                self.value(pair.key)
                self.value(pair.value)
            }
        case .function(let reference):
            tag(PLAIN_FUNCTION)
            length(Int(reference))
        case .handle(let kind, let number):
            tag(PLAIN_HANDLE)
            tag(kind)
            length(Int(number))
        case .decision(let payload):
            tag(PLAIN_DECISION)
            length(payload.count)
            for byte in payload { tag(byte) }
        case .user(let facts): user(facts)
        // Only its host makes a call; one that went through a script's hands is its id.
        case .call(let id): text(id.description)
        }
    }

    /// A user, as scripts see one.
    @inlinable
    public func user(_ facts: UserFacts) {
        tag(PLAIN_USER)
        text(facts.user.text)
        integer(facts.calls)
        integer(facts.devices)
        if let name = facts.name { text(name) } else { null() }
    }

    /// Writes text without tag and length.
    public func raw(_ text: String) { for byte in text.utf8 { tag(byte) } }
}
