// Why a WebSocket connection must be failed, and with which close code.

/// A close code of RFC 6455 section 7.4 or of an application (3000-4999).
public struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    public let rawValue: UInt16

    /// The code with this number, whether or not it may be sent.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// 1000: the purpose is fulfilled.
    public static let normal = Self(rawValue: 1000)
    /// 1001: the endpoint goes away.
    public static let goingAway = Self(rawValue: 1001)
    /// 1002: the peer broke the protocol.
    public static let protocolError = Self(rawValue: 1002)
    /// 1003: a type of data that is not taken here.
    public static let unsupportedData = Self(rawValue: 1003)
    /// 1007: a text that is not UTF-8.
    public static let invalidPayload = Self(rawValue: 1007)
    /// 1009: a message that is too big.
    public static let messageTooBig = Self(rawValue: 1009)

    /// Whether the code may stand in a close frame: those of section 7.4.1 that are not for local
    /// use only, 1012-1014 of the IANA registry, and 3000-4999.
    public var isValidOnTheWire: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}

/// A violation of RFC 6455 by the peer. The connection must be failed: send a close frame with
/// `closeCode`, read nothing more.
public enum WebSocketError: Error, Equatable, Sendable {
    /// RSV1-3 set without an extension (section 5.2).
    case reservedBits
    /// An opcode that is not defined (section 5.2).
    case reservedOpcode(UInt8)
    /// A client's frame without a mask (section 5.1).
    case maskMissing
    /// A server's frame with a mask (section 5.1).
    case maskUnexpected
    /// A length in more bytes than it needs, or with its highest bit set (section 5.2).
    case badLength
    /// A control frame that is fragmented (section 5.5).
    case fragmentedControl
    /// A control frame with more than 125 bytes (section 5.5).
    case controlTooLong
    /// A continuation without a message to continue (section 5.4).
    case unexpectedContinuation
    /// A new message inside a fragmented one (section 5.4).
    case expectedContinuation
    /// A close frame with half a code (section 5.5.1).
    case closePayloadTooShort
    /// A close code that must not be sent (section 7.4).
    case badCloseCode(UInt16)
    /// A text or a close reason that is not UTF-8 (section 8.1).
    case invalidUTF8
    /// A message of more than `limit` bytes.
    case messageTooBig(limit: Int)

    /// The code for the close frame.
    public var closeCode: WebSocketCloseCode {
        switch self {
        case .reservedBits, .reservedOpcode, .maskMissing, .maskUnexpected, .badLength,
            .fragmentedControl, .controlTooLong, .unexpectedContinuation, .expectedContinuation,
            .closePayloadTooShort, .badCloseCode:
            .protocolError
        case .invalidUTF8: .invalidPayload
        case .messageTooBig: .messageTooBig
        }
    }
}

extension WebSocketError: CustomStringConvertible {
    /// A short reason, fit for the close frame.
    public var description: String {
        switch self {
        case .reservedBits: "reserved bits are set"
        case .reservedOpcode(let opcode): "opcode \(opcode) is reserved"
        case .maskMissing: "a client's frame must be masked"
        case .maskUnexpected: "a server's frame must not be masked"
        case .badLength: "a length is not in its shortest form"
        case .fragmentedControl: "a control frame is fragmented"
        case .controlTooLong: "a control frame has more than 125 bytes"
        case .unexpectedContinuation: "a continuation without a message"
        case .expectedContinuation: "a new message inside a fragmented one"
        case .closePayloadTooShort: "a close frame with half a code"
        case .badCloseCode(let code): "close code \(code) must not be sent"
        case .invalidUTF8: "text is not valid UTF-8"
        case .messageTooBig(let limit): "a message has more than \(limit) bytes"
        }
    }
}
