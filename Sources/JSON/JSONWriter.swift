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
/// The writer does not check that names and values alternate: that is visible at the call site.
public struct JSONWriter: ~Copyable {
    var buffer: TextBuffer
    /// Whether something stands before the next value in the same object or array.
    private var needsComma = false

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
    public mutating func cut(to count: Int) { buffer.cut(to: count) }

    /// Empties the buffer for the next text and keeps its memory.
    public mutating func removeAll() {
        buffer.removeAll()
        needsComma = false
    }

    /// Appends bytes as they are, such as what frames a text. Nothing is checked, and no comma is
    /// set before them.
    public mutating func append(_ bytes: some Collection<UInt8>) {
        let done: Void? = bytes.withContiguousStorageIfAvailable { buffer.append(.init($0)) }
        if done == nil { for byte in bytes { buffer.append(byte) } }
    }

    /// Appends a byte as it is.
    public mutating func append(_ byte: UInt8) { buffer.append(byte) }

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

    @usableFromInline
    mutating func open(_ bracket: UInt8) {
        startValue()
        buffer.append(bracket)
        needsComma = false
    }

    @usableFromInline
    mutating func close(_ bracket: UInt8) {
        buffer.append(bracket)
        needsComma = true
    }

    // MARK: Member names

    /// Writes a member name; its value must follow. The literal must need no escapes.
    public mutating func key(_ key: StaticString) {
        let size = key.utf8CodeUnitCount
        assert(key.needsNoEscapes, "a name with escapes")
        var room = buffer.reserve(size &+ 4)
        room[0] = UInt8(ascii: ",")
        if needsComma { room += 1 }
        room[0] = UInt8(ascii: "\"")
        copy(key.utf8Start, size, to: room + 1)
        room[size &+ 1] = UInt8(ascii: "\"")
        room[size &+ 2] = UInt8(ascii: ":")
        buffer.commit(size &+ (needsComma ? 4 : 3))
        needsComma = false
    }

    /// Writes a member name from outside, escaped; its value must follow.
    public mutating func key(text: String) {
        startValue()
        appendString(text)
        buffer.append(UInt8(ascii: ":"))
        needsComma = false
    }

    // MARK: Values

    /// Writes a string.
    public mutating func value(_ value: String) {
        startValue()
        appendString(value)
    }

    /// Writes a string that needs no escapes, such as a name of the protocol.
    public mutating func value(literal: StaticString) {
        startValue()
        literal.withUTF8Buffer { appendPlain(UnsafeRawBufferPointer($0)) }
    }

    /// Writes an integer.
    public mutating func value(_ value: Int64) {
        startValue()
        appendInteger(value)
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
        startValue()
        buffer.append(UInt8(ascii: "\""))
        appendDigits(ofHex: high)
        appendDigits(ofHex: low)
        buffer.append(UInt8(ascii: "\""))
    }

    /// Writes `true` or `false`.
    public mutating func value(_ value: Bool) {
        startValue()
        append(word: value ? "true" : "false")
    }

    /// Writes `null`.
    public mutating func null() {
        startValue()
        append(word: "null")
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
    private mutating func append(word: StaticString) {
        let size = word.utf8CodeUnitCount
        copy(word.utf8Start, size, to: buffer.reserve(size))
        buffer.commit(size)
    }

    @inline(__always)
    private mutating func startValue() {
        if needsComma { buffer.append(UInt8(ascii: ",")) }
        needsComma = true
    }
}

extension JSONWriter {
    /// Writes a member that is a string.
    public mutating func field(_ key: StaticString, _ value: String) {
        self.key(key)
        self.value(value)
    }

    /// Writes a member that is a string needing no escapes.
    public mutating func field(_ key: StaticString, literal: StaticString) {
        self.key(key)
        value(literal: literal)
    }

    /// Writes a member that is a string, or `null`.
    public mutating func field(_ key: StaticString, _ value: String?) {
        self.key(key)
        if let value { self.value(value) } else { null() }
    }

    /// Writes a member that is an integer.
    public mutating func field(_ key: StaticString, _ value: Int64) {
        self.key(key)
        self.value(value)
    }

    /// Writes a member that is an integer.
    public mutating func field(_ key: StaticString, _ value: Int) { field(key, Int64(value)) }

    /// Writes a member that is an integer, or `null`.
    public mutating func field(_ key: StaticString, _ value: Int64?) {
        self.key(key)
        if let value { self.value(value) } else { null() }
    }

    /// Writes a member that is a number; see `value(_:)`.
    public mutating func field(_ key: StaticString, _ value: Double) {
        self.key(key)
        self.value(value)
    }

    /// Writes a member that is `true` or `false`.
    public mutating func field(_ key: StaticString, _ value: Bool) {
        self.key(key)
        self.value(value)
    }

    /// Writes a member that is `null`.
    public mutating func null(_ key: StaticString) {
        self.key(key)
        null()
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

extension StaticString {
    fileprivate var needsNoEscapes: Bool {
        withUTF8Buffer { $0.allSatisfy { $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C } }
    }
}
