// Why a connection ended, and what a client does then.

import CallModel
import CallWire
import WebProtocols

/// What the network, or a library in between, says is wrong.
public struct NetworkFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// One sentence without the final stop.
    public let description: String
    /// Whether the next attempt would end in the same way, as with an address that is none.
    public let isLasting: Bool

    /// A fault of these parts.
    public init(_ description: String, isLasting: Bool = false) {
        self.description = description
        self.isLasting = isLasting
    }
}

/// Why there is no connection, or no longer one.
public enum ConnectionLoss: Error, Sendable, Equatable {
    /// It was not made, or broke.
    case network(NetworkFault)
    /// The server ended it without a word.
    case dropped
    /// The server closed it with this code and reason.
    case closed(UInt16, String)
    /// The server answered the request for a WebSocket with another status than 101.
    case status(HTTPStatus)
    /// The other end speaks HTTP, but not WebSocket as RFC 6455 has it; what was wrong.
    case notWebSocket(String)
    /// The server broke the protocol; what was wrong.
    case violation(String)
    /// Nothing was heard for too long.
    case silence

    /// What the client does next.
    public var reaction: CloseCode.Reaction {
        switch self {
        case .network(let error): error.isLasting ? .stop : .reconnect
        case .dropped, .violation, .silence: .reconnect
        case .closed(let code, _): CloseCode.reaction(to: code)
        case .status(let status): Self.mayPass(status) ? .reconnect : .stop
        case .notWebSocket: .stop
        }
    }

    /// Whether a server or a proxy that answers so may answer otherwise later.
    private static func mayPass(_ status: HTTPStatus) -> Bool {
        status.rawValue >= 500 || status == 408 || status == 429
    }
}

extension ConnectionLoss: CustomStringConvertible {
    /// One sentence without the final stop.
    public var description: String {
        switch self {
        case .network(let error): "\(error)"
        case .dropped: "the server ended the connection"
        case .closed(let code, let reason):
            "the server closed the connection with \(code)" + (reason.isEmpty ? "" : " (\(reason))")
        case .status(let status):
            "the server answered \(status.rawValue) \(status.reason) instead of a WebSocket"
        case .notWebSocket(let problem): "the server does not speak WebSocket: \(problem)"
        case .violation(let problem): "the server broke the protocol: \(problem)"
        case .silence: "nothing was heard of the server for too long"
        }
    }
}

extension Refusal {
    /// Whether `hello` was refused for a token that was good once: with another one the client may
    /// come, whatever the close code says of bad tokens.
    var wantsNewToken: Bool {
        code == .unauthenticated && [.code("expired"), .code("revoked")].contains(detail)
    }
}
