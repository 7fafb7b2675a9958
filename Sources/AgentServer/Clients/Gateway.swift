// Clients' connections: which are accepted, whose token is valid, which are closed. Owner: the
// loop's thread.

import AgentCore
import CallModel
import CallWire
import EventLoop
import WebProtocols

/// Accepts clients over WebSocket and HTTP, and hands their messages to the desk.
final class Gateway {
    let exchange: Exchange
    let desk: ClientDesk
    let log: Log
    let metrics: Metrics
    private(set) var limits: ServerLimits
    private(set) var origins = Origins(nil)
    /// See `TokenChecker`; a reload may change it.
    var tokens: any TokenChecker
    /// Revoked tokens.
    var revocations = Revocations()
    /// Documents served beside the operations: those of the protocol, and metrics where they are
    /// open.
    var document: (_ path: String) -> HTTPResponse? = { _ in nil }

    /// Whether the phone's page is served.
    var servesPhone = false
    /// Whether everybody may say who they are.
    var hasDevelopmentTokens = false
    /// The public key of Web Push, in base64url; nil: none is configured.
    var webPushPublicKey: String?

    private(set) var links: [ClientLink] = []
    /// Clients of other nodes; nil: there are none.
    weak var remote: OwnerLinks?
    /// Falls silent where the lease was lost, called before anything is answered: a process that
    /// stood still may have lost its calls to another node, and does not know. Nil: no lease.
    var looksAtLease: (() -> Void)?
    var beginners = Beginners<ClientLink>()
    /// Links that have begun too much and are closed, a few in each turn.
    var greedy: [ClientLink] = []
    var sendingAway: Timer?
    /// Ends sessions, some in each turn.
    private(set) var expiring: Timer?
    /// Links with much unsent: those found in this turn, and in the one before.
    var watched: [ClientLink] = []
    var judged: [ClientLink] = []
    var admission = AdmissionControl<Connection, PeerAddress.Source>()
    /// Peers that may say which client's address they speak for.
    var proxies = TrustedProxies()
    /// A proxy on this machine that sends `X-Forwarded-For` and is not configured; nil: none was
    /// seen.
    var unnamedProxy: String?
    /// Names of clients' programs, each kept once.
    var agents: [String: String] = [:]
    /// Refusals that are sent later, in the order in which they are due.
    var lateRefusals: [(due: Moment, tell: () -> Void)] = []
    /// Clients that are still to be closed while the server stops.
    var staying: [ClientLink] = []
    /// How many of them are closed at once.
    var wave = 0
    /// How many invitations each user has left. The loop's thread counts those of requests, the
    /// policy thread those that plugins forward: several that are decided at once must not all take
    /// the last one.
    let invitations: Locked<InvitationRates>
    private var housekeeping: Timer?
    /// How many links this round has checked.
    var lookedAt = 0
    /// Requests of each user that were refused for their rate since the timer last fired.
    var refusals: [UserID: Int] = [:]
    /// What users have sent since then.
    var receivedBytes = ReceivedBytes()
    /// Those of whom nothing is read until the timer fires, because their users ask faster than
    /// they may or send too many bytes.
    var resting: [(client: any RestingClient, user: UserID)] = []
    private(set) var restTimer: Timer?
    /// What was begun since the store has written last.
    var crowd = Crowd()
    /// Ends a crowd that the store does not end.
    var crowdTimer: Timer?
    /// The settings in force are not stored yet, so a crash would lose them: no client may rely on
    /// them.
    var isStarting = false
    /// New clients are refused: the process is about to end.
    var isDraining = false
    /// Whether calls are accepted, for `readyz`.
    var isReady: Bool { exchange.isReady && !isStarting && !isLeaving && !isDraining }
    /// `readyz` says no already, and clients are still served: whoever sends them here looks there.
    var isLeaving = false
    /// When somebody was told last that calls are accepted, and how often that was within
    /// `askedWithin` of each other.
    private var askedAt = Moment(0)
    private var timesAsked = 0

    init(
        exchange: Exchange, loop: EventLoop, limits: ServerLimits, modes: [ModeRow],
        tokens: any TokenChecker, log: Log, metrics: Metrics
    ) {
        self.exchange = exchange
        self.limits = limits
        self.tokens = tokens
        self.log = log
        self.metrics = metrics
        desk = ClientDesk(
            exchange, limits: limits, modes: modes, server: "callagent/\(Agent.version)",
            dice: SystemRandomNumberGenerator())
        let invitations = Locked(InvitationRates(perMinute: limits.invitationsPerMinute))
        self.invitations = invitations
        desk.owner = self
        desk.invitationWait = { count, user, now in
            invitations.withLock { $0.admit(count, of: user, at: now) }
        }
        housekeeping = Timer(on: loop) { [unowned self] in runHousekeeping() }
        restTimer = Timer(on: loop) { [unowned self] in endRest() }
        sendingAway = Timer(on: loop) { [unowned self] in sendGreedyAway() }
        crowdTimer = Timer(on: loop) { [unowned self] in endCrowd() }
        expiring = Timer(on: loop) { [unowned self] in endSessions() }
        loop.atEndOfTurn { [unowned self] in
            judgeSlowReaders()
            if !self.exchange.hasOpenCommits { endCrowd() }
        }
        exchange.batchEnded = { [unowned self] in endCrowd() }
    }

    deinit { (desk.owner, exchange.batchEnded) = (nil, {}) }

    /// Applies other limits; open connections keep their buffer sizes.
    func configure(_ limits: ServerLimits, modes: [ModeRow], origins: Origins) {
        self.limits = limits
        invitations.withLock { $0.configure(perMinute: limits.invitationsPerMinute) }
        unnamedProxy = nil
        self.origins = origins
        desk.configure(limits, modes: modes)
    }

    /// Whether calls are accepted, for somebody who asks.
    func tellReadiness() -> Bool {
        guard isReady else { return false }
        let now = exchange.now()
        timesAsked = now - askedAt < Self.askedWithin ? timesAsked + 1 : 1
        askedAt = now
        return true
    }

    /// Whether somebody asks again and again, as a load balancer does. It has to hear that the
    /// server will stop, before the server stops.
    var isAskedAgain: Bool {
        timesAsked > 1 && exchange.now() - askedAt < Self.askedWithin
    }

    /// A load balancer asks more often than once in so many milliseconds.
    private static let askedWithin: Milliseconds = 60_000

    /// Takes over a new connection from a listener that has asked `admits`.
    func accept(_ transport: Connection) {
        let link = ClientLink(transport, owner: self, limits: limits, at: exchange.now())
        link.index = links.count
        links.append(link)
        scheduleHousekeeping()
    }

    /// Milliseconds between two rounds of checks.
    static let lookAroundEvery = Pace.lookEvery

    /// Plans the next check, unless it is planned already.
    func scheduleHousekeeping(after pause: Milliseconds = Gateway.lookAroundEvery) {
        guard housekeeping?.isArmed == false else { return }
        housekeeping?.arm(at: Clock.bootMilliseconds() + pause)
    }

    /// Bytes that clients have not read.
    var unsentBytes: Int { links.reduce(0) { $0 + $1.unsentBytes } }

    /// The link has shown a valid token. Some room is kept free for users who come back.
    private func admit(_ address: Address, _ link: ClientLink) throws(Refusal) {
        let isReturning = desk.sessions[address] != nil
        guard admission.makeRoom(isReturning: isReturning, limits: limits) else {
            metrics.refusedConnections += 1
            let refusal = Refusal(
                .unavailable, "too many connections", retryAfter: Self.lookAroundEvery * 10)
            exchange.journal?.noteTurnedAway(address, refusal.message, at: exchange.now())
            throw refusal
        }
        admission.identifies(link.transport)
        link.transport.isKnown = true
    }

    func identity(of hello: Hello) throws(Refusal) -> Identity {
        let identity = try identity(in: hello.token, on: hello.device)
        guard !identity.isServer else {
            throw Refusal(.forbidden, "a server's token is for HTTP only")
        }
        return identity
    }
}

extension Gateway: ClientDeskOwner {
    func check(_ hello: Hello, _ id: MessageID, of line: Line) {
        if let client = line.endpoint as? RemoteClient { return check(hello, id, of: client) }
        guard let link = line.endpoint as? ClientLink else { return }
        guard exchange.isReady, !isDraining else { return desk.turnAway(id, of: line) }
        do throws(Refusal) {
            let identity = try self.identity(of: hello)
            try admit(Address(identity.user, hello.device), link)
            beginners.forget(link)
            desk.admit(identity, hello, id, over: line)
        } catch {
            refuse(link, from: admission.source(of: link.transport), error, hello.token) {
                [unowned self] in
                desk.handle(.refused(error), of: line)
            }
        }
    }

    func asksTooOften(_ user: UserID, over endpoint: any Endpoint) {
        refusedForRate(user, over: endpoint)
    }

    func dropEverybody() {
        for link in links where link.isWebSocket { link.close(.draining, "the store is away") }
        remote?.endAll()
    }
}

extension Gateway {
    func link(_ link: ClientLink, says message: UnsafeRawBufferPointer) {
        looksAtLease?()
        // A lost lease sends everybody away.
        guard link.isWebSocket else { return }
        desk.message(message, over: link.line)
        noteMessage(of: message.count, over: link.line)
    }

    func linkSaysBinary(_ link: ClientLink) { desk.handle(.binary, of: link.line) }

    func linkIsAlive(_ link: ClientLink) { link.line.keepAlive.heard(at: exchange.now()) }

    func linkKeeps(_ link: ClientLink) {
        guard !link.line.isIdentified else { return }
        if link.transport.unsentBytes > 0 { watch(link) } else { link.unreadBytes = 0 }
        noteBeginning(of: link)
    }

    /// The bytes kept for a link without a session may have changed.
    func noteBeginning(of link: ClientLink) {
        beginners.note(link)
        if beginners.bytes > limits.strangersBytes { boundStrangers() }
    }

    func linkWasTold(_ link: ClientLink) { watch(link) }

    func linkIsGone(_ link: ClientLink) {
        beginners.forget(link)
        links.swapAt(link.index, links.count - 1)
        links[link.index].index = link.index
        links.removeLast()
        admission.leaves(link.transport)
        desk.part(link.line)
    }
}
