// What the operator bounds, and how long the server waits.

import CallModel
import CallWire
import WebProtocols

/// Limits of the transport. Every one has a default; those without one here have it in the
/// operator's file.
public struct ServerLimits: Sendable, Equatable {
    /// Sizes of messages and their fields; `hello` announces them.
    public var wire = WireLimits()
    /// Sizes of HTTP requests.
    public var http = HTTPLimits()
    /// Times of connections and sessions, and what is kept for a resume.
    public var session = SessionLimits()
    /// Bytes that one connection may leave unread.
    public var unsentBytes = 1 << 20
    /// Bytes of answers over HTTP that one connection may leave unread before no further request of
    /// it is looked at.
    public var unsentAnswerBytes = 65_536
    /// Messages or requests of one connection that one turn of the loop carries out; then the
    /// others have theirs.
    public var messagesPerTurn = 32
    /// How long those who have not shown a good token may take of one turn of the loop together, in
    /// milliseconds.
    public var strangersTurn: Milliseconds = 1
    /// Newcomers that one turn lets in, and connections that it ends because their time is over.
    public var newcomersPerTurn = 16
    /// Requests of one user in a second; 0: as many as they like.
    public var requestsPerSecond = 200
    /// Bytes that one user may send in a second over all their connections; 0: any number. More is
    /// read later, when that is paid.
    public var bytesPerSecondMax = 4 << 20
    /// Bytes of a page of `call.list` that cost as much as one request.
    public var pagePart = 16 << 10
    /// Invitations of one user in a minute, each invitee counted; 0: as many as they like.
    public var invitationsPerMinute = 0
    /// Live calls that one user made; 0: as many as they like.
    public var callsPerUser = 1_000
    /// Weight of the requests that one connection may have under way before it must wait: one
    /// each, and `pageWeight` for what reads much: a page of `call.list`, names.
    public var requestsUnderWay = 128
    /// See `requestsUnderWay`.
    public var pageWeight = 32
    /// Requests of one user that are refused for their rate within `restFor`. After so many nothing
    /// is read from the connections over which the user asks, until that time is over.
    public var refusalsAtOnce = 32
    /// See `refusalsAtOnce`, in milliseconds.
    public var restFor: Milliseconds = 20
    /// Connections in all.
    public var connections = 100_000
    /// Connections from one address; over a Unix socket they are not counted.
    public var connectionsPerAddress = 10_000
    /// Connections in all that have not shown a good token; one more sends the oldest away.
    public var newcomers = 2_000
    /// The same of one address.
    public var newcomersPerAddress = 100
    /// Connections over which one user asks over HTTP; one more ends the one that was used longest
    /// ago.
    public var connectionsPerUser = 100
    /// Bytes that all connections of one user together may leave unread.
    public var unsentBytesPerUser = 4 << 20
    /// Devices of one user. Where much is unsent to a user, one device has at least its part of it.
    public var devicesPerUser = 10
    /// Names of people that are kept, those of the operator's file not counted.
    public var names = 1_000_000
    /// Whether a user is told what anybody is called; else only of those whom they met.
    public var namesForEverybody = false
    /// Newcomers in a second; more wait in the kernel.
    public var acceptsPerSecond = 2_000
    /// Tokens of one address that may be no good within `authWindow` before those that follow are
    /// answered late; over a Unix socket they are not counted.
    public var authFailures = 100
    /// See `authFailures`, in milliseconds.
    public var authWindow: Milliseconds = 30_000
    /// How much later, in milliseconds.
    public var authDelay: Milliseconds = 5_000
    /// TLS handshakes under way whose first word has come; for one more the oldest goes.
    public var handshakes = 1_000
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
    /// Bytes of messages under way, and of answers that wait to be read, of all those together who
    /// have not said who they are.
    public var strangersBytes = 40 << 20
    /// Bytes that the kernel takes for one of them who does not read.
    public var strangersSendBuffer = 128 << 10
    /// How long a connection that speaks HTTP may be idle, in milliseconds.
    public var idleMax: Milliseconds = 60_000
    /// How much later than its expiry a token still counts, in milliseconds (B29).
    public var tokenLeeway: Milliseconds = 5_000
    /// The longest life that a token may have left, in milliseconds. What was taken back is
    /// remembered for so long. Nil: any life, and remembered for ever.
    public var tokenLifetime: Milliseconds?
    /// Effects that wait for the store, in bytes as estimated, before changes are refused.
    public var heldBytes = 8 << 20
    /// Age of the oldest open commit before changes are refused, in milliseconds.
    public var commitWithin: Milliseconds = 1_000
    /// Events and questions that wait for the plugins before no call may begin or grow.
    public var policyBacklog = 100_000
    /// Reports that one account caused and that wait for the plugins. With more of them the account
    /// may begin no call and send no signal.
    public var reportsPerCause = 200
    /// Time until a store that failed is opened again, in milliseconds; half as much longer after
    /// each attempt in vain, up to five times.
    public var reopenAfter: Milliseconds = 1_000
    /// Live calls that are loaded at once after a start. If all of them are overdue, 64 take 3 ms
    /// of the loop, and with 500 whoever comes first waits for 30 ms. With 64, a database over the
    /// network takes so long for 200,000 calls that deadlines are 6 s late after a takeover.
    public var liveCallsPage = 256
    /// Time for clients to go at the end of the process, in milliseconds.
    public var drainWithin: Milliseconds = 10_000
    /// How long `readyz` says no before the first client is closed, where somebody asks for it.
    public var drainNotice: Milliseconds = 2_000

    /// The limits of a file that names none.
    public init() {}

    /// Time until a store is opened again after so many attempts in vain: each checks and reads all
    /// that a start does, before a full disk refuses to write.
    public func reopenPause(after attempts: Int) -> Milliseconds {
        reopenAfter + reopenAfter / 2 * Milliseconds(min(attempts, 8))
    }

    /// Bytes unsent to one connection from which on it is looked at.
    public var watchedBytes: Int { min(unsentBytes, unsentBytesPerUser / max(1, devicesPerUser)) }

    /// The same over HTTP.
    public var watchedAnswerBytes: Int {
        min(unsentAnswerBytes, unsentBytesPerUser / max(1, connectionsPerUser))
    }

    /// Pages over HTTP that one user may have under way: as many as over one WebSocket.
    public var pagesUnderWay: Int { max(1, requestsUnderWay / max(1, pageWeight)) }

    /// What an operation counts of `requestsUnderWay`.
    public func weight(of operation: Operation) -> Int {
        switch operation {
        case .list, .userGet: pageWeight
        case .invite, .call, .pushRegister, .pushUnregister, .userSet: 1
        }
    }
}
