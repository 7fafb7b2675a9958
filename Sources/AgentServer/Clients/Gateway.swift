// Clients' connections: who is let in, whose token is good, who is sent away. Owner: the loop's
// thread.

import AgentCore
import CallModel
import CallWire
import EventLoop
import WebProtocols

/// Lets clients in over WebSocket and HTTP, and brings what they say to the desk.
final class Gateway {
    let exchange: Exchange
    let desk: ClientDesk
    let log: Log
    let metrics: Metrics
    private(set) var limits: ServerLimits
    private(set) var origins = Origins(nil)
    /// See `TokenChecker`; a reload may change it.
    var tokens: any TokenChecker
    /// Tokens that are good no more.
    var revocations = Revocations()
    /// The documents served beside the operations: of the protocol, and metrics where opened.
    var document: (_ path: String) -> HTTPResponse? = { _ in nil }

    private(set) var links: [ClientLink] = []
    var beginners = Beginners<ClientLink>()
    /// Those who have begun too much, and are sent away some in a turn.
    var greedy: [ClientLink] = []
    var sendingAway: Timer?
    /// Links with much unsent: found in this turn, and in the one before.
    var watched: [ClientLink] = []
    var judged: [ClientLink] = []
    var admission = AdmissionControl<Connection, PeerAddress.Source>()
    /// Peers whose word about their clients is taken.
    var proxies = TrustedProxies()
    /// A proxy on this machine that says for whom it asks, and is not named; nil: there was none.
    var unnamedProxy: String?
    /// Refusals that are told later, in the order in which they are due.
    var lateRefusals: [(due: Moment, tell: () -> Void)] = []
    /// Clients that are still to be moved away at the end.
    var staying: [ClientLink] = []
    /// How many of them go at once.
    var wave = 0
    /// How many each user may still invite. The loop's thread counts those of requests, the policy
    /// thread those to whom a plugin forwards: several that are decided at once cannot all have the
    /// last place.
    let invitations: Locked<InvitationRates>
    private var housekeeping: Timer?
    /// How many links this look around has been at.
    var lookedAt = 0
    /// Requests of each user that were refused for its rate, since the timer fired last.
    private var refusals: [UserID: Int] = [:]
    /// Links of which nothing is read until the timer fires: they ask faster than they may.
    private var resting: [ClientLink] = []
    private var restTimer: Timer?
    /// A crash would not bring back yet what decides about calls; nobody is to rely on it.
    var isStarting = false
    /// New clients are turned away: the process is about to end.
    var isDraining = false
    /// Whether calls are accepted, for whoever watches the process or waits for it.
    var isReady: Bool { exchange.isReady && !isStarting && !isDraining }

    init(
        exchange: Exchange, loop: EventLoop, limits: ServerLimits, modes: [Mode],
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
        housekeeping = Timer(on: loop) { [unowned self] in keepHouse() }
        restTimer = Timer(on: loop) { [unowned self] in endRest() }
        sendingAway = Timer(on: loop) { [unowned self] in sendGreedyAway() }
        loop.atEndOfTurn { [unowned self] in judgeSlowReaders() }
    }

    /// Goes on with other limits; connections that are there keep the sizes of theirs.
    func configure(_ limits: ServerLimits, modes: [Mode], origins: Origins) {
        self.limits = limits
        invitations.withLock { $0.configure(perMinute: limits.invitationsPerMinute) }
        unnamedProxy = nil
        self.origins = origins
        desk.configure(limits, modes: modes)
    }

    /// Takes over a new connection from a listener that has asked whether it `admits` it.
    func accept(_ transport: Connection) {
        let link = ClientLink(transport, owner: self, limits: limits, at: exchange.now())
        link.index = links.count
        links.append(link)
        scheduleHousekeeping()
    }

    /// See `keepHouse`, in milliseconds.
    static let lookAroundEvery = Pace.lookEvery

    /// Looks around again in a while, unless that is planned already.
    func scheduleHousekeeping(after pause: Milliseconds = Gateway.lookAroundEvery) {
        guard housekeeping?.isArmed == false else { return }
        housekeeping?.arm(at: Clock.bootMilliseconds() + pause)
    }

    /// What waits here for clients to read it.
    var unsentBytes: Int { links.reduce(0) { $0 + $1.unsentBytes } }

    /// The link has shown a good token; room for those who come back is kept free of others.
    private func admit(_ address: Address, _ link: ClientLink) throws(Refusal) {
        let isReturning = desk.sessions[address] != nil
        guard admission.makeRoom(isReturning: isReturning, limits: limits) else {
            metrics.refusedConnections += 1
            throw Refusal(
                .unavailable, "too many connections", retryAfter: Self.lookAroundEvery * 10)
        }
        admission.isKnown(link.transport)
        link.transport.isKnown = true
    }

    private func identity(of hello: Hello) throws(Refusal) -> Identity {
        let identity = try identity(in: hello.token, on: hello.device)
        guard !identity.isServer else {
            throw Refusal(.forbidden, "a server's token is for HTTP only")
        }
        return identity
    }

    /// Lets a link rest whose user has asked too much too often, over whatever connection: refusals
    /// cost little, and whoever sends without pause would fill the loop with them.
    func refusedForRate(_ user: UserID, over link: ClientLink) {
        if restTimer?.isArmed == false { restTimer?.arm(after: limits.restFor) }
        refusals[user, default: 0] += 1
        guard refusals[user, default: 0] >= limits.refusalsAtOnce, !link.isResting else { return }
        link.rest()
        resting.append(link)
    }

    private func endRest() {
        refusals.removeAll(keepingCapacity: true)
        let rested = resting
        resting = []
        for link in rested { link.restEnds() }
    }
}

extension Gateway: ClientDeskOwner {
    func check(_ hello: Hello, _ id: MessageID, of line: Line) {
        guard let link = line.endpoint as? ClientLink else { return }
        guard exchange.isReady, !isDraining else { return desk.turnAway(id, of: line) }
        do throws(Refusal) {
            let identity = try self.identity(of: hello)
            try admit(Address(identity.user, hello.device), link)
            beginners.forget(link)
            desk.admit(identity, hello, id, over: line)
        } catch {
            refuse(link, error, hello.token) { [unowned self] in
                desk.handle(.refused(error), of: line)
            }
        }
    }

    func asksTooOften(_ user: UserID, over endpoint: any Endpoint) {
        if let link = endpoint as? ClientLink { refusedForRate(user, over: link) }
    }

    func dropEverybody() {
        for link in links where link.isWebSocket { link.close(.draining, "the store is away") }
    }
}

extension Gateway: ClientLinkOwner {
    func link(_ link: ClientLink, says message: UnsafeRawBufferPointer) {
        desk.message(message, over: link.line)
    }

    func linkSaysBinary(_ link: ClientLink) { desk.handle(.binary, of: link.line) }

    func linkIsAlive(_ link: ClientLink) { link.line.keepAlive.heard(at: exchange.now()) }

    func linkKeeps(_ link: ClientLink) {
        guard !link.line.isIdentified else { return }
        if link.transport.unsentBytes > 0 { watch(link) } else { link.unreadBytes = 0 }
        noteBeginning(of: link)
    }

    /// What is kept of a link that may be a stranger's may have changed.
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
