// Why a connection is closed, as a WebSocket status code.

/// The status of a closing handshake. The hundreds say what the client should do next.
public enum CloseCode: UInt16, CaseIterable, Sendable {
    /// Done: after `bye`.
    case normal = 1000
    /// A binary frame (RFC 6455, 7.4.1).
    case unsupportedData = 1003
    /// The server goes away soon.
    case draining = 4001
    /// The client does not read what it is sent (B27).
    case tooSlow = 4008
    /// Nothing was heard of the client for too long.
    case pingTimeout = 4009
    /// The token ran out.
    case expired = 4101
    /// The token was taken back.
    case revoked = 4102
    /// The client does not speak this protocol.
    case protocolError = 4200
    /// The token is not good.
    case forbidden = 4203
    /// A newer connection took the device's place, or another device the user's.
    case replaced = 4209
    /// Too many requests, again and again.
    case rateLimited = 4229

    /// What the author of a client is told where there is no more to say; empty: the code says it.
    public var usualReason: String {
        switch self {
        case .unsupportedData: "messages are text"
        case .protocolError: "hello comes first, within its time; every message is a JSON object"
        case .normal, .draining, .tooSlow, .pingTimeout, .expired, .revoked, .forbidden, .replaced,
            .rateLimited:
            ""
        }
    }

    /// What a client does after a connection was closed.
    public enum Reaction: Sendable, Equatable {
        /// Connect again and resume.
        case reconnect
        /// Connect again with a new token.
        case renewToken
        /// Stay away.
        case stop
    }

    /// What a client does after `status`; other codes mean a lost connection.
    public static func reaction(to status: UInt16) -> Reaction {
        switch status {
        case 1000, 1003, 4200...4299: .stop
        case 4100...4199: .renewToken
        default: .reconnect
        }
    }
}
