// What the operator bounds, and how long the server waits.

import CallModel
import CallWire
import WebProtocols

/// Limits of the transport. Every one has a default and a place in the operator's file.
public struct ServerLimits: Sendable, Equatable {
    /// Sizes of messages and their fields; `hello` announces them.
    public var wire = WireLimits()
    /// Sizes of HTTP requests.
    public var http = HTTPLimits()
    /// Times of connections and sessions, and what is kept for a resume.
    public var session = SessionLimits()
    /// Bytes that one connection may leave unread.
    public var unsentBytes = 1 << 20
    /// Requests of one user in a second; 0: as many as it likes.
    public var requestsPerSecond = 200
    /// Invitations of one user in a minute, each invitee counted; 0: as many as it likes.
    public var invitationsPerMinute = 120
    /// Weight of the requests that one connection may have under way before it must wait: one
    /// each, and `pageWeight` for a page of `call.list`.
    public var requestsUnderWay = 128
    /// See `requestsUnderWay`.
    public var pageWeight = 32
    /// Connections in all.
    public var connections = 100_000
    /// Connections from one address; over a Unix socket they are not counted.
    public var connectionsPerAddress = 10_000
    /// Newcomers in a second; more wait in the kernel.
    public var acceptsPerSecond = 2_000
    /// Tokens of one address that may be no good within `authWindow` before those that follow are
    /// answered late; over a Unix socket they are not counted.
    public var authFailures = 5
    /// See `authFailures`, in milliseconds.
    public var authWindow: Milliseconds = 30_000
    /// How much later, in milliseconds.
    public var authDelay: Milliseconds = 5_000
    /// Time for a TLS handshake, in milliseconds.
    public var handshakeWithin: Milliseconds = 10_000
    /// Time for a whole HTTP request from its first byte, in milliseconds.
    public var requestWithin: Milliseconds = 10_000
    /// Time for a whole WebSocket message from when its beginning was seen, in milliseconds.
    public var messageWithin: Milliseconds = 60_000
    /// Bytes of a message under way that must come in a second, on average over `rateWindow`; 0:
    /// as few as it likes.
    public var bytesPerSecondMin = 1_024
    /// See `bytesPerSecondMin`, in milliseconds; at least one look around long.
    public var rateWindow: Milliseconds = 5_000
    /// Bytes of messages under way of all those together who have not said who they are.
    public var strangersBytes = 64 << 20
    /// How long a connection that speaks HTTP may be idle, in milliseconds.
    public var idleMax: Milliseconds = 60_000
    /// How much later than its expiry a token still counts, in milliseconds (B29).
    public var tokenLeeway: Milliseconds = 5_000
    /// The longest life that a token may have left, in milliseconds; so long it is remembered that
    /// something was taken back.
    public var tokenLifetime: Milliseconds = 30 * 86_400_000
    /// Effects that wait for the store, in bytes as estimated, before changes are refused.
    public var heldBytes = 8 << 20
    /// Age of the oldest open commit before changes are refused, in milliseconds.
    public var commitWithin: Milliseconds = 1_000
    /// Time between two attempts to open a store that failed, in milliseconds.
    public var reopenEvery: Milliseconds = 1_000
    /// Time for clients to go at the end of the process, in milliseconds.
    public var drainWithin: Milliseconds = 10_000

    /// The defaults.
    public init() {}

    /// What an operation counts of `requestsUnderWay`.
    func weight(of operation: CallModel.Operation) -> Int {
        if case .list = operation { pageWeight } else { 1 }
    }
}
