// What is wrong with a JSON text, and where.

/// A refusal of the reader: what was wrong and the byte at which it was noticed.
///
/// Two families: `isSyntax` errors mean that the text is not JSON (RFC 8259) or beyond a limit;
/// the others mean that a value is well-formed but not what the caller asked for. After one of the
/// latter the reader still stands before the value, so the caller may skip it or read it otherwise.
public struct JSONError: Error, Equatable, Sendable {
    /// What was wrong.
    public let reason: Reason
    /// Where: bytes from the start of the reader's input, 0 for the first.
    public let offset: Int

    /// An error with `reason`, noticed at the byte `offset`.
    public init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// True when the text as such is refused, false when only the caller's expectation failed.
    public var isSyntax: Bool {
        switch reason {
        case .mismatch, .notAnInteger, .integerOutOfRange, .numberOutOfRange: false
        case .endOfInput, .unexpected, .leadingZero, .controlCharacter, .invalidEscape,
            .loneSurrogate, .invalidUTF8, .tooDeep, .tooLarge:
            true
        }
    }
}

extension JSONError.Reason {
    /// True for what the grammar of RFC 8259 allows and this reader does not accept.
    public var isOwnLimit: Bool {
        switch self {
        case .loneSurrogate, .tooDeep, .tooLarge: true
        case .endOfInput, .unexpected, .leadingZero, .controlCharacter, .invalidEscape,
            .invalidUTF8, .numberOutOfRange, .mismatch, .notAnInteger, .integerOutOfRange:
            false
        }
    }
}

extension JSONError {
    /// The closed list of refusals.
    public enum Reason: Equatable, Sendable {
        /// The text ends inside a value, or where one was expected.
        case endOfInput
        /// A byte that cannot stand here, and what could.
        case unexpected(UInt8, wanted: Wanted)
        /// A number such as `01` (RFC 8259 section 6).
        case leadingZero
        /// A raw byte below 0x20 in a string (section 7).
        case controlCharacter(UInt8)
        /// A backslash followed by something else than the escapes of section 7.
        case invalidEscape
        /// `\uD800`…`\uDFFF` without its partner.
        case loneSurrogate
        /// Bytes of a string that are not UTF-8 (section 8.1).
        case invalidUTF8
        /// A number whose value is beyond a `Double`.
        case numberOutOfRange
        /// More than `limit` arrays and objects inside each other.
        case tooDeep(limit: Int)
        /// More than `limit` bytes of text.
        case tooLarge(limit: Int)
        /// A value of another type than the one asked for.
        case mismatch(wanted: JSONKind, found: JSONKind)
        /// A number with fraction or exponent where an integer was asked for.
        case notAnInteger
        /// An integer beyond `Int64`.
        case integerOutOfRange
    }

    /// What the grammar allows at the place of an unexpected byte.
    public enum Wanted: String, Equatable, Sendable {
        /// The first byte of any value.
        case value = "a value"
        /// A member name in quotes.
        case key = "a member name in quotes"
        /// The colon after a member name.
        case colon = "':'"
        /// What follows a member.
        case commaOrBrace = "',' or '}'"
        /// What follows an element.
        case commaOrBracket = "',' or ']'"
        /// One of `true`, `false`, `null`.
        case literal = "true, false or null"
        /// A digit of a number.
        case digit = "a digit"
        /// Nothing but white space until the end.
        case end = "the end of the text"
    }
}

extension JSONError: CustomStringConvertible {
    /// One line for people, such as `expected ':' but found '1' at byte 7`.
    public var description: String { "\(reason) at byte \(offset)" }
}

extension JSONError.Reason: CustomStringConvertible {
    /// The reason alone, without the place.
    public var description: String {
        switch self {
        case .endOfInput: "the text ends too early"
        case .unexpected(let byte, let wanted):
            "expected \(wanted.rawValue) but found \(Self.printable(byte))"
        case .leadingZero: "a number has a leading zero"
        case .controlCharacter(let byte):
            "a string holds the raw control character \(Self.printable(byte))"
        case .invalidEscape: "a string holds an invalid escape"
        case .loneSurrogate: "a string holds half of a surrogate pair"
        case .invalidUTF8: "a string is not valid UTF-8"
        case .numberOutOfRange: "a number is out of range"
        case .tooDeep(let limit): "more than \(limit) levels of nesting"
        case .tooLarge(let limit): "more than \(limit) bytes"
        case .mismatch(let wanted, let found): "expected \(wanted) but found \(found)"
        case .notAnInteger: "expected an integer but found a fraction or exponent"
        case .integerOutOfRange: "an integer does not fit into 64 bits"
        }
    }

    private static func printable(_ byte: UInt8) -> String {
        guard (0x20..<0x7F).contains(byte) else {
            let digits = String(byte, radix: 16, uppercase: true)
            return "0x" + (digits.count == 1 ? "0" : "") + digits
        }
        return "'\(Character(Unicode.Scalar(byte)))'"
    }
}

/// The type of a JSON value, as its first byte tells it.
public enum JSONKind: String, Equatable, Sendable, CustomStringConvertible {
    /// `{…}`
    case object
    /// `[…]`
    case array
    /// `"…"`
    case string
    /// Any number, integer or not.
    case number
    /// `true` or `false`
    case bool
    /// `null`
    case null

    /// The name with its article, for messages.
    public var description: String {
        switch self {
        case .object, .array: "an \(rawValue)"
        case .string, .number: "a \(rawValue)"
        case .bool: "true or false"
        case .null: "null"
        }
    }
}
