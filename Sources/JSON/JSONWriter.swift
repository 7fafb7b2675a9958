// Appends a JSON text to one reusable buffer.

/// Writes JSON into `bytes`, commas and escapes included.
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
public struct JSONWriter {
    /// What has been written, after what was there before.
    public var bytes: [UInt8]
    /// Whether something stands before the next value in the same object or array.
    private var needsComma = false

    /// A writer with room for `capacity` bytes before it has to grow.
    public init(capacity: Int = 512) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// A writer that goes on after `bytes`, for example after a frame header.
    public init(appendingTo bytes: consuming [UInt8]) {
        self.bytes = bytes
    }

    /// Empties the buffer for the next text and keeps its memory.
    public mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        needsComma = false
    }

    /// Starts another text after the ones in `bytes`, without a comma before it.
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
        bytes.append(bracket)
        needsComma = false
    }

    @usableFromInline
    mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    // MARK: Member names

    /// Writes a member name; its value must follow. The literal must need no escapes.
    public mutating func key(_ key: StaticString) {
        key.withUTF8Buffer { appendName($0) }
    }

    /// Writes a member name from outside, escaped; its value must follow.
    public mutating func key(text: String) {
        startValue()
        appendString(text)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    private mutating func appendName(_ name: UnsafeBufferPointer<UInt8>) {
        assert(name.allSatisfy { $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C }, "a name with escapes")
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: name)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
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
        bytes.append(UInt8(ascii: "\""))
        literal.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
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
        bytes.append(contentsOf: value.description.utf8)
    }

    /// Writes `true` or `false`.
    public mutating func value(_ value: Bool) {
        startValue()
        bytes.append(contentsOf: value ? "true".utf8 : "false".utf8)
    }

    /// Writes `null`.
    public mutating func null() {
        startValue()
        bytes.append(contentsOf: "null".utf8)
    }

    /// Writes a value that already is JSON, byte for byte. Nothing is checked.
    public mutating func value(raw: UnsafeRawBufferPointer) {
        startValue()
        bytes.append(contentsOf: raw)
    }

    /// Writes a value that already is JSON, byte for byte. Nothing is checked.
    public mutating func value(raw: some Collection<UInt8>) {
        startValue()
        bytes.append(contentsOf: raw)
    }

    @inline(__always)
    private mutating func startValue() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
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
