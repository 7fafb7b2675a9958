// What the operator bounds, and how long the server waits.

import CallModel
import CallWire
import PolicyHost
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
    public var unsentBytes: Int
    /// Bytes of answers over HTTP that one connection may leave unread before no further request of
    /// it is looked at.
    public var unsentAnswerBytes: Int
    /// Messages or requests of one connection that one turn of the loop carries out; then the
    /// others have theirs.
    public var messagesPerTurn: Int
    /// How long those who have not shown a good token may take of one turn of the loop together, in
    /// milliseconds.
    public var strangersTurn: Milliseconds
    /// Newcomers that one turn lets in, and connections that it ends because their time is over.
    public var newcomersPerTurn: Int
    /// Requests of one user in a second; 0: as many as it likes.
    public var requestsPerSecond: Int
    /// Bytes of a page of `call.list` that cost as much as one request.
    public var pagePart: Int
    /// Invitations of one user in a minute, each invitee counted; 0: as many as it likes.
    public var invitationsPerMinute: Int
    /// Live calls that one user made; 0: as many as it likes.
    public var callsPerUser: Int
    /// Weight of the requests that one connection may have under way before it must wait: one
    /// each, and `pageWeight` for a page of `call.list`.
    public var requestsUnderWay: Int
    /// See `requestsUnderWay`.
    public var pageWeight = 32
    /// Requests of one user that are refused for its rate within `restFor`, before nothing more is
    /// read from the connections over which it asks until that is over.
    public var refusalsAtOnce: Int
    /// See `refusalsAtOnce`, in milliseconds.
    public var restFor: Milliseconds = 20
    /// Connections in all.
    public var connections: Int
    /// Connections from one address; over a Unix socket they are not counted.
    public var connectionsPerAddress: Int
    /// Connections in all that have not shown a good token; one more sends the oldest away.
    public var newcomers: Int
    /// The same of one address.
    public var newcomersPerAddress: Int
    /// Connections over which one user asks over HTTP; one more ends the one that was used longest
    /// ago.
    public var connectionsPerUser: Int
    /// Bytes that all connections of one user together may leave unread.
    public var unsentBytesPerUser: Int
    /// Devices of one user; of whom much is unsent, one device has at least its part of it.
    public var devicesPerUser: Int
    /// Newcomers in a second; more wait in the kernel.
    public var acceptsPerSecond: Int
    /// Tokens of one address that may be no good within `authWindow` before those that follow are
    /// answered late; over a Unix socket they are not counted.
    public var authFailures: Int
    /// See `authFailures`, in milliseconds.
    public var authWindow: Milliseconds = 30_000
    /// How much later, in milliseconds.
    public var authDelay: Milliseconds
    /// TLS handshakes under way whose first word has come; for one more the oldest goes.
    public var handshakes: Int
    /// Time for a TLS handshake, in milliseconds.
    public var handshakeWithin: Milliseconds
    /// Time for a whole HTTP request from its first byte, in milliseconds.
    public var requestWithin: Milliseconds
    /// Time for a whole WebSocket message from when its beginning was seen, in milliseconds.
    public var messageWithin: Milliseconds
    /// Bytes of a message under way that must come in a second, on average over `rateWindow`; 0:
    /// as few as it likes.
    public var bytesPerSecondMin: Int
    /// See `bytesPerSecondMin`, in milliseconds; at least one look around long.
    public var rateWindow: Milliseconds
    /// Bytes of messages under way, and of answers that wait to be read, of all those together who
    /// have not said who they are.
    public var strangersBytes: Int
    /// Bytes that the kernel takes for one of them who does not read.
    public var strangersSendBuffer: Int
    /// How long a connection that speaks HTTP may be idle, in milliseconds.
    public var idleMax: Milliseconds
    /// How much later than its expiry a token still counts, in milliseconds (B29).
    public var tokenLeeway: Milliseconds
    /// The longest life that a token may have left, in milliseconds; so long it is remembered that
    /// something was taken back. Nil: any, and for ever.
    public var tokenLifetime: Milliseconds?
    /// Effects that wait for the store, in bytes as estimated, before changes are refused.
    public var heldBytes: Int
    /// Age of the oldest open commit before changes are refused, in milliseconds.
    public var commitWithin: Milliseconds
    /// Events and questions that wait for the plugins before no call may begin or grow.
    public var policyBacklog: Int
    /// Reports that one account brought about and that wait for the plugins before it may begin no
    /// call and send no signal.
    public var reportsPerCause: Int
    /// Time until a store that failed is opened again, in milliseconds; half as much longer after
    /// each attempt in vain, up to five times.
    public var reopenAfter: Milliseconds = 1_000
    /// Time for clients to go at the end of the process, in milliseconds.
    public var drainWithin: Milliseconds

    /// The limits of a file that names none.
    public init() { self.init(Configuration()) }

    /// The operator's limits.
    init(_ configuration: Configuration) {
        let limits = configuration.limits
        unsentBytes = limits.unsent
        unsentAnswerBytes = limits.unsentAnswers
        messagesPerTurn = limits.turnMessages
        (strangersTurn, newcomersPerTurn) = (limits.turnStrangers, limits.turnNewcomers)
        (requestsPerSecond, pagePart) = (limits.requestsPerSecond, limits.pagePart)
        invitationsPerMinute = limits.invitationsPerMinute
        callsPerUser = limits.callsPerUser
        requestsUnderWay = limits.requestsUnderWay
        refusalsAtOnce = limits.refusalsAtOnce
        connections = limits.connections
        connectionsPerAddress = limits.connectionsPerAddress
        (newcomers, newcomersPerAddress) = (limits.newcomers, limits.newcomersPerAddress)
        unsentBytesPerUser = limits.unsentPerUser
        connectionsPerUser = limits.connectionsPerUser
        devicesPerUser = configuration.devicesPerUser
        acceptsPerSecond = limits.acceptsPerSecond
        authFailures = limits.authFailures
        authDelay = limits.authDelay
        (handshakeWithin, handshakes) = (limits.tlsTime, limits.tlsHandshakes)
        requestWithin = limits.requestTime
        messageWithin = limits.messageTime
        bytesPerSecondMin = limits.minRate
        rateWindow = limits.minRateTime
        (strangersBytes, strangersSendBuffer) = (limits.strangers, limits.strangersBuffer)
        idleMax = limits.idleTime
        tokenLeeway = limits.tokenLeeway
        tokenLifetime = limits.tokenLifetime
        drainWithin = limits.drain
        (policyBacklog, reportsPerCause) = (limits.policyBacklog, limits.reportsPerCause)
        (commitWithin, heldBytes) = (limits.commitTime, limits.commitBacklog)
        wire.messageBytes = limits.message
        http.body = limits.message
        wire.extendedDataBytes = limits.extendedData
        wire.signalBytes = limits.signal
        wire.keys = limits.keysPerUser
        wire.items = limits.items
        session.helloWithin = limits.helloTime
        (session.pingInterval, session.silenceMax) = (limits.ping, limits.silence)
        session.resumeWindow = limits.resumeTime
        (session.heldEvents, session.heldBytes) = (limits.resumeEvents, limits.resumeBytes)
    }

    /// Time until a store is opened again after so many attempts in vain: each checks and reads all
    /// that a start does, before a full disk refuses to write.
    func reopenPause(after attempts: Int) -> Milliseconds {
        reopenAfter + reopenAfter / 2 * Milliseconds(min(attempts, 8))
    }

    /// Bytes unsent to one connection from which on it is looked at.
    var watchedBytes: Int { min(unsentBytes, unsentBytesPerUser / max(1, devicesPerUser)) }

    /// The same over HTTP.
    var watchedAnswerBytes: Int {
        min(unsentAnswerBytes, unsentBytesPerUser / max(1, connectionsPerUser))
    }

    /// Pages over HTTP that one user may have under way: as many as over one WebSocket.
    var pagesUnderWay: Int { max(1, requestsUnderWay / max(1, pageWeight)) }

    /// What an operation counts of `requestsUnderWay`.
    func weight(of operation: CallModel.Operation) -> Int {
        if case .list = operation { pageWeight } else { 1 }
    }
}
