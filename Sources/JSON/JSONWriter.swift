// Appends a JSON text to one reusable buffer.

/// Writes JSON into a buffer, commas and escapes included.
///
///     writer.object {
///         $0.field("id", 3)
///         $0.field("name", name)
///         $0.array("invitees") { for user in invitees { $0.value(user) } }
///     }
///
/// Keys are literals (`field("id", …)`), which are not searched for escapes, so they must be plain
/// text; names from outside go through `key(text:)`. The closures do not escape and cost nothing.
/// Members are inlined where they are written: there the bytes of the name are known.
/// The writer does not check that names and values alternate: that is visible at the call site.
public struct JSONWriter: ~Copyable {
    @usableFromInline var buffer: TextBuffer
    /// Whether something stands before the next value in the same object or array.
    @usableFromInline var needsComma = false
    /// The moment that was written last and where its digits stand: what happens at one moment is
    /// written with it many times.
    private var recent = (moment: Int64.min, place: 0, count: 0)

    /// A writer with room for `capacity` bytes before it has to grow.
    public init(capacity: Int = 512) { buffer = TextBuffer(capacity: capacity) }

    /// A copy of what has been written.
    public var bytes: [UInt8] { Array(buffer.bytes) }

    /// What has been written, where it stands: valid until the writer changes.
    public var written: UnsafeRawBufferPointer { buffer.bytes }

    /// Bytes written so far.
    public var count: Int { buffer.count }

    /// Takes back what was written after the first `count` bytes: whole values of the array or
    /// object under way, but not its first.
    public mutating func cut(to count: Int) {
        buffer.cut(to: count)
        recent.moment = .min
    }

    /// Empties the buffer for the next text and keeps its memory.
    public mutating func removeAll() {
        cut(to: 0)
        needsComma = false
    }

    /// Appends bytes as they are, such as what frames a text. Nothing is checked, and no comma is
    /// set before them.
    public mutating func append(_ bytes: some Collection<UInt8>) {
        let done: Void? = bytes.withContiguousStorageIfAvailable { buffer.append(.init($0)) }
        if done == nil { for byte in bytes { append(byte) } }
    }

    /// Appends a byte as it is.
    public mutating func append(_ byte: UInt8) { append(room: 1) { $0.put(byte) } }

    /// Starts another text after the ones written, without a comma before it.
    public mutating func startText() { needsComma = false }

    // MARK: Objects and arrays

    /// Writes an object whose members `body` writes.
    @inlinable
    public mutating func object<E: Error>(
        _ body: (inout JSONWriter) throws(E) -> Void
    ) throws(E) {
        open(UInt8(ascii: "{"))
        try body(&self)
        close(UInt8(ascii: "}"))
    }

    /// Writes an array whose elements `body` writes.
    @inlinable
    public mutating func array<E: Error>(
        _ body: (inout JSONWriter) throws(E) -> Void
    ) throws(E) {
        open(UInt8(ascii: "["))
        try body(&self)
        close(UInt8(ascii: "]"))
    }

    /// Writes a member that is an object.
    @inlinable
    public mutating func object<E: Error>(
        _ key: StaticString, _ body: (inout JSONWriter) throws(E) -> Void
    ) throws(E) {
        self.key(key)
        try object(body)
    }

    /// Writes a member that is an array.
    @inlinable
    public mutating func array<E: Error>(
        _ key: StaticString, _ body: (inout JSONWriter) throws(E) -> Void
    ) throws(E) {
        self.key(key)
        try array(body)
    }

    /// Begins an object whose members follow one by one, until `endObject`.
    public mutating func beginObject() { open(UInt8(ascii: "{")) }

    /// Ends the object that was begun last.
    public mutating func endObject() { close(UInt8(ascii: "}")) }

    /// Begins an array whose elements follow one by one, until `endArray`.
    public mutating func beginArray() { open(UInt8(ascii: "[")) }

    /// Ends the array that was begun last.
    public mutating func endArray() { close(UInt8(ascii: "]")) }

    @usableFromInline
    mutating func open(_ bracket: UInt8) {
        let comma = needsComma
        needsComma = false
        append(room: 2) {
            if comma { $0.put(UInt8(ascii: ",")) }
            $0.put(bracket)
        }
    }

    @usableFromInline
    mutating func close(_ bracket: UInt8) {
        append(bracket)
        needsComma = true
    }

    // MARK: Member names

    /// Writes a member name; its value must follow. The literal must need no escapes.
    @inlinable @inline(__always)
    public mutating func key(_ key: StaticString) {
        let comma = needsComma
        needsComma = false
        append(room: JSONPen.room(forName: key)) { $0.name(key, comma: comma) }
    }

    /// Writes a member name from outside, escaped; its value must follow.
    public mutating func key(text: String) {
        value(text)
        append(UInt8(ascii: ":"))
        needsComma = false
    }

    // MARK: Values

    /// Writes a string.
    public mutating func value(_ value: String) {
        value.withBytes { bytes in
            let room = JSONPen.room(forString: bytes)
            write(nil, room: room) { $0.string(bytes, room: room) }
        }
    }

    /// Writes a string that needs no escapes, such as a name of the protocol.
    public mutating func value(literal: StaticString) {
        startValue()
        append(room: literal.utf8CodeUnitCount + 2) {
            $0.put(UInt8(ascii: "\""))
            $0.put(literal)
            $0.put(UInt8(ascii: "\""))
        }
    }

    /// Writes an integer.
    public mutating func value(_ value: Int64) {
        write(nil, room: JSONPen.roomForInteger) { $0.integer(value) }
    }

    /// Writes an integer.
    public mutating func value(_ value: Int) { self.value(Int64(value)) }

    /// Writes a number in the shortest form that reads back the same; JSON has no infinities and
    /// no NaN, they become `null`.
    public mutating func value(_ value: Double) {
        guard value.isFinite else { return null() }
        startValue()
        append(value.description.utf8)
    }

    /// Writes a string of the 32 lower-case hexadecimal digits of a number of 128 bits.
    public mutating func value(hex high: UInt64, _ low: UInt64) {
        write(nil, room: 34) {
            $0.put(UInt8(ascii: "\""))
            $0.digits(ofHex: high)
            $0.digits(ofHex: low)
            $0.put(UInt8(ascii: "\""))
        }
    }

    /// Writes a member that is a string of the sixteen hexadecimal digits of `word`.
    public mutating func field(_ key: StaticString, hex word: UInt64) {
        self.key(key)
        write(nil, room: 18) {
            $0.put(UInt8(ascii: "\""))
            $0.digits(ofHex: word)
            $0.put(UInt8(ascii: "\""))
        }
    }

    /// Writes `true` or `false`.
    public mutating func value(_ value: Bool) {
        write(nil, room: 5) { $0.put(value ? "true" : "false") }
    }

    /// Writes `null`.
    public mutating func null() {
        write(nil, room: 4) { $0.put("null") }
    }

    /// Writes a value that already is JSON, byte for byte. Nothing is checked.
    public mutating func value(raw: UnsafeRawBufferPointer) {
        startValue()
        buffer.append(raw)
    }

    /// Writes a value that already is JSON, byte for byte. Nothing is checked.
    public mutating func value(raw: some Collection<UInt8>) {
        startValue()
        append(raw)
    }

    @inline(__always)
    private mutating func startValue() {
        if needsComma { append(UInt8(ascii: ",")) }
        needsComma = true
    }
}

// MARK: Writing a member at once

extension JSONWriter {
    /// Writes a value of at most `room` bytes, as a member if there is a `key`.
    @inlinable @inline(__always)
    mutating func write(
        _ key: StaticString?, room: Int, _ value: (inout JSONPen) -> Void
    ) {
        let comma = needsComma
        needsComma = true
        append(room: room + (key.map { JSONPen.room(forName: $0) } ?? 1)) {
            if let key {
                $0.name(key, comma: comma)
            } else if comma {
                $0.put(UInt8(ascii: ","))
            }
            value(&$0)
        }
    }

    /// Appends what `body` writes, at most `room` bytes.
    @inlinable @inline(__always)
    mutating func append(room: Int, _ body: (inout JSONPen) -> Void) {
        let start = buffer.reserve(room)
        var pen = JSONPen(start)
        body(&pen)
        buffer.commit(pen.distance(from: start))
    }
}

extension JSONWriter {
    /// Writes a member that is a string.
    @inlinable @inline(__always)
    public mutating func field(_ key: StaticString, _ value: String) {
        self.key(key)
        self.value(value)
    }

    /// Writes a member that is a string needing no escapes.
    public mutating func field(_ key: StaticString, literal: StaticString) {
        self.key(key)
        value(literal: literal)
    }

    /// Writes a member that is a string of our own, known to need no escapes.
    @inlinable @inline(__always)
    public mutating func field(_ key: StaticString, plain text: String) {
        text.withBytes { bytes in
            write(key, room: bytes.count + 2) { $0.string(bytes, room: bytes.count + 2) }
        }
    }

    /// Writes a member that is a string, or `null`.
    @inlinable @inline(__always)
    public mutating func field(_ key: StaticString, _ value: String?) {
        if let value { field(key, value) } else { null(key) }
    }

    /// Writes a member that is an integer.
    @inlinable @inline(__always)
    public mutating func field(_ key: StaticString, _ value: Int64) {
        write(key, room: JSONPen.roomForInteger) { $0.integer(value) }
    }

    /// Writes a member that is a moment in milliseconds.
    @inlinable @inline(__always)
    public mutating func field(_ key: StaticString, moment: Int64) {
        self.key(key)
        value(moment: moment)
    }

    /// Writes a moment behind its name.
    @usableFromInline
    mutating func value(moment: Int64) {
        needsComma = true
        let start = buffer.reserve(JSONPen.roomForInteger)
        if moment == recent.moment {
            copy(buffer.start + recent.place, recent.count, to: start)
        } else {
            var pen = JSONPen(start)
            pen.integer(moment)
            recent = (moment, start - buffer.start, pen.distance(from: start))
        }
        buffer.commit(recent.count)
    }

    /// Writes a member that is an integer.
    public mutating func field(_ key: StaticString, _ value: Int) { field(key, Int64(value)) }

    /// Writes a member that is an integer, or `null`.
    @inlinable @inline(__always)
    public mutating func field(_ key: StaticString, _ value: Int64?) {
        if let value { field(key, value) } else { null(key) }
    }

    /// Writes a member that is a number; see `value(_:)`.
    public mutating func field(_ key: StaticString, _ value: Double) {
        self.key(key)
        self.value(value)
    }

    /// Writes a member that is `true` or `false`.
    @inlinable @inline(__always)
    public mutating func field(_ key: StaticString, _ value: Bool) {
        write(key, room: 5) { $0.put(value ? "true" : "false") }
    }

    /// Writes a member that is `null`.
    @inlinable @inline(__always)
    public mutating func null(_ key: StaticString) {
        write(key, room: 4) { $0.put("null") }
    }

    /// Writes a member whose value already is JSON, byte for byte.
    public mutating func field(_ key: StaticString, raw: UnsafeRawBufferPointer) {
        self.key(key)
        value(raw: raw)
    }

    /// Writes a member whose value already is JSON, byte for byte.
    public mutating func field(_ key: StaticString, raw: some Collection<UInt8>) {
        self.key(key)
        value(raw: raw)
    }
}
