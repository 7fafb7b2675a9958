// A node that does not own serves clients over its link: it has their connections, the owner has
// everything else.

import AgentCore
import CallModel
import CallWire
import ClusterCore
import Collections
import Configuration
import EventLoop
import WebProtocols

/// The clients of a front end, and its link. Owner: the loop's thread.
final class FrontEnd {
    let plan: LinkPlan
    let node: String
    let loop: EventLoop
    let log: Log
    let limits: ServerLimits
    let origins: Origins
    let proxies: TrustedProxies
    let hasDevelopmentTokens: Bool
    let servesPhone: Bool
    let decoder: WireDecoder
    /// Reads the files of plugins and settings that this node has; nil: nobody can.
    var ownFiles: OwnFiles?
    /// Answers what is asked about this node itself; nil: nobody does.
    var desk: ManagementDesk?
    /// The figures of this node, as one text.
    var tellFigures: () -> String = { "" }
    /// Hears which node it is linked to; nil: to none.
    var linked: (String?) -> Void = { _ in }
    /// Hears that the last client has gone.
    var emptied: () -> Void = {}
    private(set) var clients: [FrontClient] = []
    /// How many of them are tools of the operator.
    private var tools = 0
    /// How many are not.
    var connections: Int { clients.count - tools }
    var streams: [StreamID: FrontClient] = [:]
    /// Who waits for what the owner answers, beside clients; each has a stream of its own.
    var inquiries: [StreamID: (HTTPResponse) -> Void] = [:]
    private(set) var lastStream: UInt32 = 0
    var admission = AdmissionControl<Connection, PeerAddress.Source>()
    var beginners = Beginners<ClientLink>()
    var state: FrontEndState
    private(set) lazy var owner = OwnerLink(self)
    /// Who owned when the link was there last.
    private(set) var ownerName = ""
    /// Clients that the owner has still to be told of.
    private var returning: [FrontClient] = []
    var socketUsers = SocketUsers()
    /// Clients that are sent away, some at a time.
    private var goers: [FrontClient] = []
    private var wave = 1
    private var goingTimer: Timer?
    private(set) var housekeeping: Timer?
    var lookedAt = 0
    /// Clients that were told something in this turn, and in the one before.
    var told: [FrontClient] = []
    var judged: [FrontClient] = []
    /// Clients of whom something waits for the link, in order, and some that have gone meanwhile.
    var waiting = Queue<FrontClient>()
    /// Bytes of all that waits so.
    var waitingBytes = 0
    /// Clients that are not read until the owner has read what was said.
    private var resting: [FrontClient] = []
    /// Bytes of all clients' messages of which nothing is settled.
    private var unsettledBytes = 0
    var slowReaders: UInt64 = 0
    /// What anybody may fetch, by its path, as the owner told it last.
    var documents: [String: (response: HTTPResponse, askedAt: Moment)] = [:]
    private var isEnding = false
    private var ended: (() -> Void)?

    /// Clients are sent away over so many milliseconds, every so many.
    private static let goingTime: Int64 = 900
    private static let goingStep: Int64 = 30
    /// Bytes that may be with the owner. Beyond them each client has one message there, so that
    /// nobody waits long for what others say.
    private static let unsettledMax = 262_144

    init(
        _ plan: LinkPlan, node: String, _ configuration: Configuration, on loop: EventLoop, log: Log
    ) {
        (self.plan, self.node, self.loop, self.log) = (plan, node, loop, log)
        limits = ServerLimits(ofProcess: configuration)
        hasDevelopmentTokens = configuration.auth.isEmpty
        origins =
            hasDevelopmentTokens && configuration.origins == nil
            ? .loopback : Origins(configuration.origins)
        servesPhone = hasDevelopmentTokens || configuration.phone
        proxies = TrustedProxies(configuration.trustedProxies)
        decoder = WireDecoder(limits: limits.wire)
        state = FrontEndState(plan.times)
        goingTimer = Timer(on: loop) { [unowned self] in sendSomeAway() }
        housekeeping = Timer(on: loop) { [unowned self] in runHousekeeping() }
        housekeeping?.arm(after: Gateway.lookAroundEvery)
        loop.strangersTime = limits.strangersTurn
        loop.atEndOfTurn { [unowned self] in endTurn() }
    }

    var now: Moment { Moment(Clock.bootMilliseconds()) }

    /// Whether clients should come here.
    var isReady: Bool { !isEnding && state.isReady(at: Clock.bootMilliseconds()) }

    // MARK: Clients come and go

    /// Whether a new connection is accepted; see `Listener.admits`.
    func admits(_ peer: PeerAddress) -> Bool {
        !isEnding && admission.admits(from: proxies.source(of: peer), limits: limits)
    }

    func begins(_ connection: Connection) {
        let source = proxies.source(of: connection.peer)
        admission.begins(connection, from: source, limits: limits)
    }

    func accept(_ transport: Connection) {
        add(FrontClient(ClientLink(transport, owner: self, limits: limits, at: now)))
    }

    /// A tool connects to the socket of this node.
    func acceptTool(_ transport: Connection) {
        transport.isKnown = true
        var limits = limits
        limits.http.body = max(limits.http.body, 1 << 20)
        let link = ClientLink(transport, owner: self, limits: limits, at: now)
        tools += 1
        add(FrontClient(link, isTool: true))
    }

    private func add(_ client: FrontClient) {
        client.link.index = clients.count
        clients.append(client)
    }

    func client(of link: ClientLink) -> FrontClient { clients[link.index] }

    /// The client has a stream from now on, if it had none. Whoever has a session of before this
    /// link is presented with it.
    func stream(of client: FrontClient) -> StreamID {
        if let stream = client.stream { return stream }
        let host =
            admission.source(of: client.link.transport) == nil
            ? "" : client.link.transport.peer.host
        let stream = newStream(StreamOpening(host: host, agent: client.link.agent ?? ""))
        client.stream = stream
        streams[stream] = client
        if let before = client.state.returns() {
            owner.send { $0.append(.returns(stream, before)) }
        }
        return stream
    }

    /// A number that the link has not had before.
    func newStream(_ opening: StreamOpening) -> StreamID {
        lastStream += 1
        let stream = StreamID(lastStream)
        owner.send { $0.append(.opens(stream, opening)) }
        return stream
    }

    /// It says nothing more to the owner.
    func leave(_ client: FrontClient, isSilent: Bool = false) {
        forgetMessages(of: client)
        forgetWaiting(of: client)
        guard let stream = client.stream else { return }
        client.stream = nil
        streams[stream] = nil
        owner.send { $0.append(.leaves(stream, isSilent: isSilent)) }
    }

    func remove(_ link: ClientLink) {
        let client = clients[link.index]
        leave(client)
        beginners.forget(link)
        clients.swapAt(link.index, clients.count - 1)
        clients[link.index].link.index = link.index
        clients.removeLast()
        if client.isTool { tools -= 1 } else { admission.leaves(link.transport) }
        if clients.isEmpty { emptied() }
    }

    // MARK: The owner comes and goes

    /// The link to the owner of `epoch` is there.
    func linkBegins(to name: String, _ epoch: UInt32) {
        log.info("linked", ("owner", name), ("epoch", "\(epoch)"))
        ownerName = name
        linked(name)
        forgetStreams()
        guard case .present(let isSame) = state.links(epoch) else { return }
        returning = clients.filter { $0.link.isWebSocket && !$0.isLeaving }
        if !isSame { sendAway(returning.filter(\.state.isBusy)) }
        presentSome()
    }

    /// Presents clients to the owner, as many as the link takes; when it has room again, others
    /// follow.
    func presentSome() {
        while !owner.isBusy, let client = returning.popLast() {
            guard client.link.isWebSocket, !client.isLeaving, client.state.session != nil else {
                continue
            }
            _ = stream(of: client)
        }
    }

    /// Numbers of streams mean something over one link only.
    private func forgetStreams() {
        (streams, lastStream, returning) = ([:], 0, [])
        let asked = inquiries
        inquiries = [:]
        for done in asked.values { done(ownerLost) }
        for client in clients {
            client.stream = nil
            (client.toldBytes, client.reportedBytes) = (0, 0)
        }
    }

    /// The link broke: nothing came over it since this moment of the boot clock.
    func linkBreaks(since moment: Int64) {
        linked(nil)
        forgetStreams()
        waitingTurnBack()
        for client in clients where client.isAsking {
            client.isAsking = false
            client.link.respond(client.isTool ? ownerLost : HTTPResponse(HTTPReply(.notReady)))
        }
        if let order = state.breaks(at: moment) { carryOut(order) }
        for client in clients { settle(client, client.messages.count) }
        restEnds()
    }

    /// What is due without a link.
    func look() {
        if let order = state.due(at: Clock.bootMilliseconds()) { carryOut(order) }
    }

    private func carryOut(_ order: FrontEndOrder) {
        let talking = clients.filter { $0.link.isWebSocket && !$0.isLeaving }
        switch order {
        case .closeAsking: sendAway(talking.filter(\.isUnderWay))
        case .closeBusy: sendAway(talking.filter(\.state.isBusy))
        case .closeAll: sendAway(talking)
        case .present: break
        }
    }

    /// Closes these within a second, so that they do not all come to the next node at once.
    private func sendAway(_ some: [FrontClient]) {
        guard !some.isEmpty else { return }
        for client in some { client.isLeaving = true }
        goers += some
        wave = max(wave, goers.count / Int(Self.goingTime / Self.goingStep) + 1)
        if goingTimer?.isArmed == false { goingTimer?.arm(after: Self.goingStep) }
    }

    private func sendSomeAway() {
        for client in goers.suffix(wave) { client.link.close(.draining, "no owner for this call") }
        goers.removeLast(min(wave, goers.count))
        guard goers.isEmpty else {
            goingTimer?.arm(after: Self.goingStep)
            return
        }
        wave = 1
        if isEnding { ended?() }
    }

    /// Sends all clients away within a second, then calls `done`.
    func end(_ done: @escaping () -> Void) {
        isEnding = true
        ended = done
        for client in clients where !client.link.isWebSocket { client.link.endWhenAnswered() }
        sendAway(clients.filter { $0.link.isWebSocket && !$0.isLeaving })
        if goers.isEmpty { done() }
    }

    // MARK: What the owner says

    /// Carries out what the owner says; what is about a client that is gone is dropped.
    func hear(_ message: LinkMessage) {
        switch message {
        case .tells(let stream, let text):
            guard let client = streams[stream] else { return }
            client.state.hears(text)
            client.toldBytes += UInt64(text.count)
            text.withUnsafeBytes { client.link.send($0) }
            watch(client)
        case .begins(let stream, let session):
            guard let client = streams[stream] else { return }
            client.state.begins(session)
            clientIsIdentified(client)
            client.link.noteGreeted()
        case .settles(let stream, let mark):
            guard let client = streams[stream] else { return }
            settle(client, client.state.settles(mark))
        case .answers(let stream, let reply) where inquiries[stream] != nil:
            answer(stream, HTTPResponse(reply))
        case .answers(let stream, let reply):
            guard let client = streams[stream], client.isAsking else { return }
            client.isAsking = false
            var reply = reply
            if reply.headers.dropLast().last == RemoteClient.askerHeader {
                keepPlace(of: client, for: reply.headers.removeLast())
                reply.headers.removeLast()
            }
            var response = HTTPResponse(reply)
            if client.isTool { response.headers.append(Self.nodeHeader, ownerName) }
            let path = client.fetches
            client.fetches = nil
            // A refusal is for whoever asked, not for all.
            if let path, response.status == 200 { documents[path] = (response, now) }
            client.link.respond(response, isShared: path != nil)
            watch(client)
        case .ends(let stream, _, _) where inquiries[stream] != nil:
            inquiries.removeValue(forKey: stream)?(ownerLost)
        case .ends(let stream, let code, let reason):
            guard let client = streams.removeValue(forKey: stream) else { return }
            client.stream = nil
            client.isLeaving = true
            forgetMessages(of: client)
            forgetWaiting(of: client)
            client.link.close(CloseCode(rawValue: code) ?? .draining, reason)
        case .inquires(let number, let manager, let request): inquired(number, manager, request)
        case .keeps, .greets, .lives, .opens, .returns, .says, .asks, .took, .leaves, .manages,
            .reports:
            break
        }
    }

    private func clientIsIdentified(_ client: FrontClient) {
        admission.identifies(client.link.transport)
        client.link.transport.isKnown = true
        beginners.forget(client.link)
    }

    // MARK: What is with the owner

    /// The client has said something that is not settled.
    func notes(_ message: (weight: Int, bytes: Int), of client: FrontClient) {
        client.messages.append(message)
        unsettledBytes += message.bytes
        client.link.begins(message.weight)
        guard unsettledBytes > Self.unsettledMax, !client.isHeld else { return }
        client.isHeld = true
        client.link.rest()
    }

    /// The client says nothing more, so that nothing of it counts.
    private func forgetMessages(of client: FrontClient) {
        unsettledBytes -= client.messages.reduce(0) { $0 + $1.bytes }
        client.messages = []
    }

    private func settle(_ client: FrontClient, _ count: Int) {
        guard count > 0 else { return }
        let settled = client.messages.prefix(count)
        client.messages.removeFirst(settled.count)
        unsettledBytes -= settled.reduce(0) { $0 + $1.bytes }
        client.link.ends(settled.reduce(0) { $0 + $1.weight })
        guard client.isHeld, client.messages.isEmpty else { return }
        client.isHeld = false
        client.link.restEnds()
    }

    /// Whoever asked over HTTP with a good token may stay, if there is room.
    private func keepPlace(of client: FrontClient, for user: String) {
        let link = client.link
        (link.transport.isKnown, link.unreadBytes) = (true, 0)
        guard admission.asks(link.transport, for: UserID(checking: user), limits: limits) else {
            return link.endWhenAnswered()
        }
    }

    /// The owner has not read what was said: those who say more wait.
    func rest(_ client: FrontClient) {
        guard !client.link.isResting else { return }
        client.link.rest()
        resting.append(client)
    }

    func restEnds() {
        let rested = resting
        resting = []
        for client in rested { client.link.restEnds() }
    }
}
