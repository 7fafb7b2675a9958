// Pulls values out of a JSON text (RFC 8259) in the order in which they stand, without a tree.

/// A pull reader over bytes that somebody else owns.
///
/// It allocates nothing but the `String`s it is asked for, and is a plain value: a copy is a mark
/// to come back to. It is strict: no trailing commas, no comments, no leading zeros, no lone
/// surrogates, no invalid UTF-8, no raw control characters, no byte order mark. Everything that is
/// skipped is checked as thoroughly as what is read. Member names may repeat; which one counts is
/// the caller's business.
///
///     var reader = JSONReader(bytes)
///     try reader.beginObject()
///     while let key = try reader.nextKey() {
///         switch key {
///         case "op": op = try reader.readString()
///         case "data": data = try reader.readRaw()
///         default: try reader.skip()
///         }
///     }
///     try reader.expectEnd()
///
/// After `nextKey` returned a key, and after `nextElement` returned true, exactly one value must be
/// read or skipped. The input must stay alive and unchanged as long as the reader and what it hands
/// out (`JSONText`, raw slices) are used.
public struct JSONReader {
    /// More nesting than this is refused whatever the caller asks for: `skip` recurses.
    public static let highestDepth = 512

    let input: UnsafeRawBufferPointer
    var position = 0
    private var depth = 0
    private let maximumDepth: Int
    /// True between an opening bracket and the first member or element.
    private var isFirst = false

    /// A reader at the start of `input`.
    ///
    /// - Parameter maximumDepth: how many arrays and objects may stand inside each other;
    ///   0 allows scalars only. Values above `highestDepth` mean `highestDepth`.
    public init(_ input: UnsafeRawBufferPointer, maximumDepth: Int = 64) {
        self.input = input
        self.maximumDepth = min(max(maximumDepth, 0), Self.highestDepth)
    }

    /// The next unread byte, counted from the start of the input.
    public var offset: Int { position }

    // MARK: Looking ahead

    /// The type of the next value, which is not consumed.
    public mutating func peek() throws(JSONError) -> JSONKind {
        let byte = try nextByte()
        switch byte {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        default: throw JSONError(.unexpected(byte, wanted: .value), at: position)
        }
    }

    /// Checks that nothing but white space follows.
    public mutating func expectEnd() throws(JSONError) {
        skipWhitespace()
        guard position == input.count else {
            throw JSONError(.unexpected(input[position], wanted: .end), at: position)
        }
    }

    // MARK: Objects and arrays

    /// Enters an object; `nextKey` follows.
    public mutating func beginObject() throws(JSONError) {
        try begin(.object, UInt8(ascii: "{"))
    }

    /// The next member name of the object entered last, or nil after leaving it at its end.
    public mutating func nextKey() throws(JSONError) -> JSONText? {
        guard try advance(until: UInt8(ascii: "}"), wanted: .commaOrBrace) else { return nil }
        guard input[position] == UInt8(ascii: "\"") else {
            throw JSONError(.unexpected(input[position], wanted: .key), at: position)
        }
        let key = try scanString()
        let byte = try nextByte()
        guard byte == UInt8(ascii: ":") else {
            throw JSONError(.unexpected(byte, wanted: .colon), at: position)
        }
        position += 1
        return key
    }

    /// Enters an array; `nextElement` follows.
    public mutating func beginArray() throws(JSONError) {
        try begin(.array, UInt8(ascii: "["))
    }

    /// True before the next element of the array entered last, false after leaving it at its end.
    public mutating func nextElement() throws(JSONError) -> Bool {
        try advance(until: UInt8(ascii: "]"), wanted: .commaOrBracket)
    }

    private mutating func begin(_ kind: JSONKind, _ bracket: UInt8) throws(JSONError) {
        guard try nextByte() == bracket else { throw try mismatch(kind) }
        guard depth < maximumDepth else {
            throw JSONError(.tooDeep(limit: maximumDepth), at: position)
        }
        position += 1
        depth += 1
        isFirst = true
    }

    /// Moves to the next member or element; false after the closing bracket `close`.
    @inline(__always)
    private mutating func advance(
        until close: UInt8, wanted: JSONError.Wanted
    ) throws(JSONError) -> Bool {
        let byte = try nextByte()
        if byte == close {
            position += 1
            depth -= 1
            isFirst = false
            return false
        }
        guard !isFirst else {
            isFirst = false
            return true
        }
        guard byte == UInt8(ascii: ",") else {
            throw JSONError(.unexpected(byte, wanted: wanted), at: position)
        }
        position += 1
        // A closing bracket here is refused by whoever reads the name or value.
        _ = try nextByte()
        return true
    }

    // MARK: Whole values

    /// Checks and passes over the next value, whatever it is.
    public mutating func skip() throws(JSONError) {
        switch try peek() {
        case .object:
            try beginObject()
            while try nextKey() != nil { try skip() }
        case .array:
            try beginArray()
            while try nextElement() { try skip() }
        case .string: _ = try scanString()
        case .number: _ = try scanNumber()
        case .bool: _ = try readBool()
        case .null: try readNull()
        }
    }

    /// Checks the next value and hands out its bytes as they stand, without white space around.
    public mutating func readRaw() throws(JSONError) -> UnsafeRawBufferPointer {
        skipWhitespace()
        let start = position
        try skip()
        return UnsafeRawBufferPointer(rebasing: input[start..<position])
    }

    /// The same, and the value if it is an integer of 64 bits.
    public mutating func readRawOrInteger() throws(JSONError) -> (
        raw: UnsafeRawBufferPointer, integer: Int64?
    ) {
        guard try peek() == .number else { return (try readRaw(), nil) }
        let literal = try scanNumber()
        let raw = UnsafeRawBufferPointer(rebasing: input[literal.start..<literal.end])
        return (raw, literal.integer)
    }

    /// Checks that `input` is one JSON value and nothing else, and tells its type.
    @discardableResult
    public static func check(
        _ input: UnsafeRawBufferPointer, maximumDepth: Int = 64
    ) throws(JSONError) -> JSONKind {
        var reader = JSONReader(input, maximumDepth: maximumDepth)
        let kind = try reader.peek()
        try reader.skip()
        try reader.expectEnd()
        return kind
    }
}

extension JSONReader {
    /// The next byte that is not white space; the position is left on it.
    @inline(__always)
    mutating func nextByte() throws(JSONError) -> UInt8 {
        skipWhitespace()
        guard position < input.count else { throw JSONError(.endOfInput, at: position) }
        return input[position]
    }

    @inline(__always)
    mutating func skipWhitespace() {
        while position < input.count {
            switch input[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position &+= 1
            default: return
            }
        }
    }

    /// The error for a value that is not of the kind `wanted`.
    mutating func mismatch(_ wanted: JSONKind) throws(JSONError) -> JSONError {
        JSONError(.mismatch(wanted: wanted, found: try peek()), at: position)
    }
}
