// Clients: who is connected, what they ask, and what they are told. Owner: the loop's thread.

import AgentCore
import CallModel
import CallWire
import EventLoop
import JSON
import Storage
import WebProtocols

/// Serves clients over WebSocket and HTTP.
final class Gateway {
    let exchange: Exchange
    let log: Log
    let metrics: Metrics
    let encoder: WireEncoder
    private(set) var limits: ServerLimits
    private(set) var decoder: WireDecoder
    private(set) var origins = Origins(nil)
    private(set) var welcomeSettings: WelcomeSettings
    /// See `TokenChecker`; a reload may change it.
    var tokens: any TokenChecker
    /// Tokens that are good no more.
    var revocations = Revocations()
    /// Told of replies to plugins.
    var policyReplied: (RequestID, Reply) -> Void = { _, _ in }
    /// Why a device cannot register for pushes like that; nil: it can.
    var registrationRefusal: (PushRegistration) -> Refusal? = { _ in nil }
    /// The documents served beside the operations: of the protocol, and metrics where opened.
    var document: (_ path: String) -> HTTPResponse? = { _ in nil }

    private(set) var links: [ClientLink] = []
    var beginners = Beginners<ClientLink>()
    /// Those who have begun too much, and are sent away some in a turn.
    var greedy: [ClientLink] = []
    var sendingAway: Timer?
    var sessions = SessionTable<ClientLink>()
    var awaited = RequestRegistry()
    var rates: [UserID: RequestRate] = [:]
    var writer = JSONWriter(capacity: 4_096)
    /// See `CallText`.
    var callText = CallText()
    /// Users with a device to which so many signals are unsent that one sender may be too many.
    var crowded: Set<UserID> = []
    /// Links with much unsent: found in this turn, and in the one before.
    var watched: [ClientLink] = []
    var judged: [ClientLink] = []
    private var dice = SystemRandomNumberGenerator()
    /// Tells of missed calls; nil: nobody does.
    var missedCalls: MissedCalls?
    var admission = AdmissionControl<Connection, PeerAddress.Source>()
    /// Peers whose word about their clients is taken.
    var proxies = TrustedProxies()
    /// Pages that were asked for over HTTP.
    var pages = PageTurns<(Request, ClientLink)>()
    /// A proxy on this machine that says for whom it asks, and is not named; nil: there was none.
    var unnamedProxy: String?
    /// Refusals that are told later, in the order in which they are due.
    var lateRefusals: [(due: Moment, tell: () -> Void)] = []
    /// Clients that are still to be moved away at the end.
    var staying: [ClientLink] = []
    /// How many of them go at once.
    var wave = 0
    /// See `forgetRates`.
    var ratesMark = 1_024
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
        decoder = WireDecoder(limits: limits.wire, modes: modes)
        encoder = WireEncoder(modes: modes)
        welcomeSettings = WelcomeSettings(limits, modes)
        invitations = Locked(InvitationRates(perMinute: limits.invitationsPerMinute))
        housekeeping = Timer(on: loop) { [unowned self] in keepHouse() }
        restTimer = Timer(on: loop) { [unowned self] in endRest() }
        sendingAway = Timer(on: loop) { [unowned self] in sendGreedyAway() }
        exchange.deliverer = self
        loop.atEndOfTurn { [unowned self] in judgeSlowReaders() }
    }

    /// Goes on with other limits; connections that are there keep the sizes of theirs.
    func configure(_ limits: ServerLimits, modes: [Mode], origins: Origins) {
        self.limits = limits
        invitations.withLock { $0.configure(perMinute: limits.invitationsPerMinute) }
        unnamedProxy = nil
        self.origins = origins
        decoder = WireDecoder(limits: limits.wire, modes: modes)
        welcomeSettings = WelcomeSettings(limits, modes)
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

    /// How many devices are connected or may resume.
    var sessionCount: Int { sessions.count }

    func newRequest(_ requester: Requester) -> RequestID {
        let id = awaited.add(requester)
        if case .connection(let endpoint, _, let weight, _) = requester { endpoint.begins(weight) }
        return id
    }

    // MARK: What clients say

    func handle(_ input: ClientConnection.Input, of link: ClientLink) {
        switch link.machine.handle(input, at: exchange.now()) {
        case .nothing: break
        case .check(let id, let hello): check(hello, id, of: link)
        case .request(let id, let key, let operation):
            request(id, key: key, operation, from: link)
        case .acknowledge(let seq):
            link.session?.session.acknowledge(seq)
            if let live = link.session, live.missed != nil { missedCalls?.acknowledged(live, seq) }
        case .logOut(let id): logOut(id, link)
        case .reply(let id, let reply): send(reply, to: id, over: link)
        case .refuseAndClose(let id, let refusal, let code):
            send(.refused(refusal), to: id, over: link)
            link.close(code, refusal.message)
        case .close(let code): link.close(code)
        }
    }

    private func check(_ hello: Hello, _ id: MessageID, of link: ClientLink) {
        guard exchange.isReady, !isDraining else {
            send(.refused(.notReady), to: id, over: link)
            return link.close(.draining, "not ready")
        }
        do throws(Refusal) {
            let identity = try self.identity(of: hello)
            try admit(Address(identity.user, hello.device), link)
            link.identity = identity
            beginners.forget(link)
            handle(.admitted, of: link)
            open(Address(identity.user, hello.device), hello, id, over: link)
        } catch {
            refuse(link, error, hello.token) { [unowned self] in handle(.refused(error), of: link) }
        }
    }

    /// The link has shown a good token; room for those who come back is kept free of others.
    private func admit(_ address: Address, _ link: ClientLink) throws(Refusal) {
        let isReturning = sessions[address] != nil
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

    private func open(
        _ address: Address, _ hello: Hello, _ id: MessageID, over link: ClientLink
    ) {
        let newID = SessionID(high: dice.next(), low: dice.next())
        let opening = sessions.open(
            address, over: link, hello.resume, newID: newID, at: exchange.now())
        let live = opening.live
        if let older = opening.replaced {
            older.session = nil
            older.close(.replaced, "a newer connection of this device")
        }
        if opening.isResumed, let resume = hello.resume {
            missedCalls?.acknowledged(live, Int64(clamping: resume.seq))
            missedCalls?.replay(to: live, after: resume.seq)
        } else {
            live.missed = nil
        }
        live.wantsMissed = hello.wantsMissed
        link.session = live
        let request = newRequest(.hello(link, id, address))
        exchange.feed(
            .deviceConnected(request, address.user, address.device, resumed: opening.isResumed))
    }

    private func request(
        _ id: MessageID, key: IdempotencyKey?, _ operation: Operation, from link: ClientLink
    ) {
        guard let live = link.session else { return }
        if exchange.isLoading {
            // Only then his limits are exact.
            return exchange.whenLoaded(live.address.user) { [weak self] in
                self?.admit(id, key: key, operation, from: link)
            }
        }
        admit(id, key: key, operation, from: link)
    }

    private func admit(
        _ id: MessageID, key: IdempotencyKey?, _ operation: Operation, from link: ClientLink
    ) {
        guard let live = link.session, let identity = link.identity else { return }
        if let refusal = obstacle(to: operation, key, of: identity) {
            if refusal.code == .rateLimited { refusedForRate(identity.user, over: link) }
            return send(.refused(refusal), to: id, over: link)
        }
        metrics.requests += 1
        let request = newRequest(
            .connection(
                link, id, weight: limits.weight(of: operation), payer: identity.payer))
        exchange.feed(
            .request(
                Request(
                    id: request, user: live.address.user, device: live.address.device, key: key,
                    operation: operation)))
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

    /// Why a request does not reach the switchboard: capabilities, rate, overload.
    func obstacle(
        to operation: Operation, _ key: IdempotencyKey?, of identity: Identity
    ) -> Refusal? {
        let name = operation.name
        guard identity.allows(name.rawValue) else {
            return Refusal(.forbidden, "the token does not allow \(name.rawValue)")
        }
        if identity.isRateLimited, !isRepetition(operation, key, by: identity.user),
            let refusal = rateRefusal(operation, of: identity.user)
        {
            return refusal
        }
        if case .pushRegister(let registration) = operation,
            let refusal = registrationRefusal(registration)
        {
            return refusal
        }
        guard !operation.isReading else { return nil }
        if let refusal = exchange.overload { return refusal }
        if !crowded.isEmpty, !isRepetition(operation, key, by: identity.user),
            let refusal = crowding(operation, by: identity.user)
        {
            return refusal
        }
        if case .call(_, .signal, _) = operation {
            return exchange.reportOverload(of: identity.user)
        }
        guard operation.inviteeCount > 0 else { return nil }
        return exchange.policyOverload ?? exchange.reportOverload(of: identity.user)
    }

    private func logOut(_ id: MessageID, _ link: ClientLink) {
        send(.done, to: id, over: link)
        guard let live = link.session else { return link.close(.normal) }
        _ = sessions.end(live.address)
        link.session = nil
        exchange.feed(.deviceGone(live.address.user, live.address.device, bye: true))
        link.close(.normal)
    }

    /// `bye` of a device over HTTP: its connection, if there is one, ends too.
    func logOut(_ address: Address) {
        if let link = sessions.end(address) {
            link.session = nil
            link.close(.normal)
        }
        exchange.feed(.deviceGone(address.user, address.device, bye: true))
    }

    // MARK: Going

    /// The device's connection speaks for it no more; its session waits for another one. One that
    /// ends for silence ended at its last frame (A20).
    func part(_ link: ClientLink, forSilence isSilent: Bool = false) {
        guard let live = link.session else { return }
        link.session = nil
        let mayReturn = sessions.detach(live, at: exchange.now(), limits: limits.session)
        let address = live.address
        // Another device of the user is found again with the next signal to it.
        if !crowded.isEmpty { crowded.remove(address.user) }
        let heard = link.keepAlive.heardAt
        exchange.feed(
            .deviceDisconnected(
                address.user, address.device, heard: heard,
                ended: isSilent ? heard : exchange.now()))
        if !mayReturn {
            exchange.feed(.deviceGone(address.user, address.device, bye: false))
        }
    }
}

extension Gateway: ClientLinkOwner {
    func link(_ link: ClientLink, says message: UnsafeRawBufferPointer) {
        do throws(Malformed) {
            handle(.message(try decoder.message(message)), of: link)
        } catch {
            metrics.malformed += 1
            handle(.malformed(error), of: link)
        }
    }

    func linkSaysBinary(_ link: ClientLink) { handle(.binary, of: link) }

    func linkIsAlive(_ link: ClientLink) { link.keepAlive.heard(at: exchange.now()) }

    func linkKeeps(_ link: ClientLink) {
        guard link.identity == nil else { return }
        if link.transport.unsentBytes > 0 { watch(link) } else { link.unreadBytes = 0 }
        noteBeginning(of: link)
    }

    /// What is kept of a link that may be a stranger's may have changed.
    func noteBeginning(of link: ClientLink) {
        beginners.note(link)
        if beginners.bytes > limits.strangersBytes { boundStrangers() }
    }

    func linkIsGone(_ link: ClientLink) {
        beginners.forget(link)
        links.swapAt(link.index, links.count - 1)
        links[link.index].index = link.index
        links.removeLast()
        admission.leaves(link.transport)
        part(link)
    }
}

extension WelcomeSettings {
    fileprivate init(_ limits: ServerLimits, _ modes: [Mode]) {
        self.init(
            session: limits.session, limits: AnnouncedLimits(limits.wire, modes: modes),
            server: "callagent/\(Agent.version)")
    }
}
