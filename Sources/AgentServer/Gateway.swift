// Clients: who is connected, what they ask, and what they are told. Owner: the loop's thread.

import CallCore
import CallWire
import EventLoop
import JSON
import Storage
import WebProtocols

/// A device's session with the link that speaks for it at the moment.
final class LiveSession {
    let address: Address
    var session: ClientSession
    var link: ClientLink?

    init(_ address: Address, _ session: ClientSession) {
        self.address = address
        self.session = session
    }
}

/// Serves clients over WebSocket and HTTP.
final class Gateway {
    let exchange: Exchange
    let limits: ServerLimits
    let log: Log
    let metrics: Metrics
    let decoder: WireDecoder
    let encoder: WireEncoder
    private let loop: EventLoop
    private var dice: SystemRandomNumberGenerator
    /// See `TokenChecker`; a reload may change it.
    var tokens: any TokenChecker
    /// Told of replies to plugins.
    var policyReplied: (RequestID, Reply) -> Void = { _, _ in }
    /// The documents served beside the operations: of the protocol, and metrics where opened.
    var document: (_ path: String) -> HTTPResponse? = { _ in nil }

    private(set) var links: [ClientLink] = []
    private var sessions: [Address: LiveSession] = [:] { didSet { recent = nil } }
    /// The session that was told something last: mostly it is told the next thing too.
    private var recent: LiveSession?
    private var awaited = AwaitedRequests()
    private var rates: [UserID: RequestRate] = [:]
    /// Sessions that may be resumed, in the order in which they expire.
    private var detached: [(address: Address, id: SessionID, until: Moment)] = []
    private var housekeeping: Timer?
    private let welcomeSettings: WelcomeSettings
    private var writer = JSONWriter(capacity: 4_096)
    /// New clients are turned away: the process is about to end.
    private(set) var isDraining = false

    init(
        exchange: Exchange, loop: EventLoop, limits: ServerLimits, modes: [Mode],
        tokens: any TokenChecker, log: Log, metrics: Metrics
    ) {
        self.exchange = exchange
        self.loop = loop
        self.limits = limits
        self.tokens = tokens
        self.log = log
        self.metrics = metrics
        decoder = WireDecoder(limits: limits.wire, modes: modes)
        encoder = WireEncoder(modes: modes)
        welcomeSettings = WelcomeSettings(
            session: limits.session, limits: AnnouncedLimits(limits.wire, modes: modes),
            server: "callagent/\(Agent.version)")
        dice = SystemRandomNumberGenerator()
        housekeeping = Timer(on: loop) { [unowned self] in keepHouse() }
        exchange.deliverer = self
    }

    /// Takes a new connection over.
    func accept(_ transport: Connection) {
        guard links.count < limits.connections, !isDraining else { return transport.abort() }
        let link = ClientLink(transport, owner: self, limits: limits, at: exchange.now())
        link.index = links.count
        links.append(link)
        if links.count == 1 { housekeeping?.arm(at: Clock.bootMilliseconds() + 500) }
    }

    /// How many devices are connected or may resume.
    var sessionCount: Int { sessions.count }

    func newRequest(_ who: Awaited) -> RequestID { awaited.add(who) }

    // MARK: What clients say

    private func handle(_ input: ClientConnection.Input, of link: ClientLink) {
        switch link.machine.handle(input, at: exchange.now()) {
        case .nothing: break
        case .check(let id, let hello): check(hello, id, of: link)
        case .request(let id, let key, let operation):
            request(id, key: key, operation, from: link)
        case .acknowledge(let seq): link.session?.session.acknowledge(seq)
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
            link.identity = identity
            handle(.admitted, of: link)
            open(Address(identity.user, hello.device), hello.resume, id, over: link)
        } catch {
            metrics.refusedTokens += 1
            handle(.refused(error), of: link)
        }
    }

    private func identity(of hello: Hello) throws(Refusal) -> Identity {
        let identity = try tokens.identity(in: hello.token, at: Clock.wallMilliseconds())
        guard !identity.isServer else {
            throw Refusal(.forbidden, "a server's token is for HTTP only")
        }
        if let device = identity.device, device != hello.device {
            throw Refusal(.forbidden, "the token is for the device \(device)")
        }
        return identity
    }

    private func open(
        _ address: Address, _ resume: Hello.Resume?, _ id: MessageID, over link: ClientLink
    ) {
        let newID = SessionID(high: dice.next(), low: dice.next())
        var isResumed = false
        let live: LiveSession
        if let known = sessions[address] {
            live = known
            if let older = known.link {
                known.link = nil
                older.session = nil
                older.close(.replaced, "a newer connection of this device")
            }
            isResumed = live.session.reconnect(resume, newID: newID, at: exchange.now())
        } else {
            live = LiveSession(address, ClientSession(id: newID))
            sessions[address] = live
        }
        live.link = link
        link.session = live
        let request = newRequest(.hello(link, id))
        exchange.feed(
            .deviceConnected(request, address.user, address.device, resumed: isResumed))
    }

    private func request(
        _ id: MessageID, key: IdempotencyKey?, _ operation: Operation, from link: ClientLink
    ) {
        guard let live = link.session, let identity = link.identity else { return }
        if let refusal = obstacle(to: operation, of: identity) {
            return send(.refused(refusal), to: id, over: link)
        }
        metrics.requests += 1
        let request = newRequest(.message(link, id))
        exchange.feed(
            .request(
                Request(
                    id: request, user: live.address.user, device: live.address.device, key: key,
                    operation: operation)))
    }

    /// Why a request does not reach the switchboard: capabilities, rate, overload.
    func obstacle(to operation: Operation, of identity: Identity) -> Refusal? {
        let name = operation.name
        if let allowed = identity.capabilities, !allowed.contains(name.rawValue) {
            return Refusal(.forbidden, "the token does not allow \(name.rawValue)")
        }
        if identity.isRateLimited, limits.requestsPerSecond > 0,
            let wait = rates[identity.user, default: RequestRate()]
                .admit(perSecond: limits.requestsPerSecond, at: exchange.now())
        {
            return RequestRate.refusal(retryAfter: wait)
        }
        return operation.isReading ? nil : exchange.overload
    }

    private func logOut(_ id: MessageID, _ link: ClientLink) {
        send(.done, to: id, over: link)
        guard let live = link.session else { return link.close(.normal) }
        live.session.logOut()
        live.link = nil
        link.session = nil
        sessions[live.address] = nil
        exchange.feed(.deviceGone(live.address.user, live.address.device, bye: true))
        link.close(.normal)
    }

    /// `bye` of a device over HTTP: its connection, if there is one, ends too.
    func logOut(_ address: Address) {
        if let live = sessions.removeValue(forKey: address) {
            live.session.logOut()
            live.link?.session = nil
            live.link?.close(.normal)
        }
        exchange.feed(.deviceGone(address.user, address.device, bye: true))
    }

    // MARK: Housekeeping

    /// Silence, unfinished beginnings, sessions that nobody resumed.
    private func keepHouse() {
        let now = exchange.now()
        for link in links {
            if let deadline = link.machine.nextDeadline, deadline <= now {
                if link.isWebSocket {
                    handle(.deadlineReached, of: link)
                } else if link.isWaiting {
                    link.end()
                }
            }
            guard link.isWebSocket else { continue }
            switch link.keepAlive.due(at: now, limits: limits.session) {
            case .nothing: break
            case .ping: link.ping()
            case .close: link.close(.pingTimeout, "nothing heard")
            }
        }
        expireSessions(at: now)
        if rates.count > 10_000 { rates.removeAll() }
        if !links.isEmpty || !detached.isEmpty {
            housekeeping?.arm(at: Clock.bootMilliseconds() + 500)
        }
    }

    private func expireSessions(at now: Moment) {
        let count = detached.prefix { $0.until <= now }.count
        guard count > 0 else { return }
        for (address, id, _) in detached.prefix(count) {
            guard let live = sessions[address], live.session.id == id,
                live.session.expire(at: now)
            else { continue }
            sessions[address] = nil
            exchange.feed(.deviceGone(address.user, address.device, bye: false))
        }
        detached.removeFirst(count)
    }

    /// Asks every client to go elsewhere; new ones are turned away.
    func drain() {
        isDraining = true
        for link in links {
            if link.isWebSocket {
                link.close(.draining, "the server is going away")
            } else if link.isWaiting {
                link.end()
            }
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

    func linkIsGone(_ link: ClientLink) {
        links.swapAt(link.index, links.count - 1)
        links[link.index].index = link.index
        links.removeLast()
        guard let live = link.session else { return }
        link.session = nil
        live.link = nil
        live.session.detach(at: exchange.now(), limits: limits.session)
        let address = live.address
        exchange.feed(.deviceDisconnected(address.user, address.device))
        if case .detached(let until) = live.session.state {
            detached.append((address, live.session.id, until))
        } else {
            sessions[address] = nil
            exchange.feed(.deviceGone(address.user, address.device, bye: false))
        }
    }
}

extension Gateway: Deliverer {
    func deliver(_ reply: Reply, to request: RequestID) {
        switch awaited.remove(request) {
        case .message(let link, let id), .hello(let link, let id):
            send(reply, to: id, over: link)
        case .http(let link): link.respond(HTTPResponse(HTTPReply(tail: encoder.kept(reply))))
        case .policy: policyReplied(request, reply)
        case nil: break
        }
    }

    private func send(_ reply: Reply, to id: MessageID?, over link: ClientLink) {
        writer.removeAll()
        WireEncoder.replyHead(id, into: &writer)
        encoder.replyTail(reply, into: &writer)
        link.sendText(writer.written)
    }

    func deliver(welcome calls: [Call], more: Bool, to request: RequestID) {
        guard case .hello(let link, let id) = awaited.remove(request),
            let live = link.session, live.link === link
        else { return }
        var isResumed = false
        if case .welcoming(let resumed) = live.session.state { isResumed = resumed }
        let welcome = Welcome(
            live.address, session: live.session.id, resumed: isResumed,
            serverTime: exchange.now(), settings: welcomeSettings, calls: calls,
            hasMoreCalls: more)
        writer.removeAll()
        WireEncoder.replyHead(id, into: &writer)
        encoder.welcomeTail(welcome, into: &writer)
        link.sendText(writer.written)
        for event in live.session.welcomed(limits: limits.session) {
            send(event.tail, seq: event.seq, over: link)
        }
    }

    func deliver(_ event: CallEvent, to receivers: [Address]) {
        var tail: [UInt8]?
        var viewer: UserID?
        for address in receivers {
            guard let live = session(of: address) else { continue }
            if tail == nil || (event.kind.dependsOnViewer && viewer != address.user) {
                writer.removeAll()
                encoder.eventTail(event, for: address.user, into: &writer)
                tail = writer.bytes
                viewer = address.user
            }
            guard let text = tail,
                let seq = live.session.number(text, limits: limits.session),
                let link = live.link
            else { continue }
            metrics.events += 1
            send(text, seq: seq, over: link)
            if link.transport.unsentBytes > limits.unsentBytes {
                metrics.slowReaders += 1
                link.close(.tooSlow, "events are not read")
                link.abort()
            }
        }
    }

    private func session(of address: Address) -> LiveSession? {
        if let recent, recent.address == address { return recent }
        guard let live = sessions[address] else { return nil }
        recent = live
        return live
    }

    private func send(_ tail: [UInt8], seq: UInt64, over link: ClientLink) {
        writer.removeAll()
        WireEncoder.eventHead(seq, into: &writer)
        tail.withUnsafeBytes { link.sendText(writer.written, $0) }
    }

    func deliver(_ page: CallPage, to request: RequestID, of user: UserID) {
        switch awaited.remove(request) {
        case .message(let link, let id), .hello(let link, let id):
            writer.removeAll()
            WireEncoder.replyHead(id, into: &writer)
            encoder.pageTail(
                page.calls, cursor: page.cursor, for: user, limits: limits.wire, into: &writer)
            link.sendText(writer.written)
        case .http(let link):
            writer.removeAll()
            encoder.pageTail(
                page.calls, cursor: page.cursor, for: user, limits: limits.wire, into: &writer)
            link.respond(HTTPResponse(HTTPReply(tail: writer.bytes)))
        case .policy, nil: break
        }
    }

    func replace(_ address: Address) {
        guard let live = sessions.removeValue(forKey: address) else { return }
        live.session.logOut()
        live.link?.session = nil
        live.link?.close(.replaced, "too many devices of this user")
        live.link = nil
    }

    func dropEverything() {
        for who in awaited.removeAll() {
            switch who {
            case .message(let link, let id), .hello(let link, let id):
                send(.refused(.notReady), to: id, over: link)
            case .http(let link):
                link.respond(HTTPResponse(HTTPReply(.notReady)))
            case .policy: break
            }
        }
        sessions = [:]
        detached = []
        for link in links {
            link.session = nil
            if link.isWebSocket { link.close(.draining, "the store is away") }
        }
    }
}
