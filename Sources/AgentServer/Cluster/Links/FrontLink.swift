// The owner's end of a link: one front end, with the clients that it brings.

import AgentCore
import CallModel
import CallWire
import ClusterCore
import Collections
import EventLoop
import StoreContract
import WebProtocols

/// Reads what a front end says, and tells it what its clients are told. Owner: the loop's thread.
final class FrontLink: ConnectionHandler {
    /// Bytes of a message that waits, beside its own.
    static let waitingOverhead = 64

    let transport: Connection
    /// Nil when the link is gone.
    private weak var owner: OwnerLinks?
    private var decoder: LinkDecoder
    private var writer: LinkWriter
    private var streams: StreamTable<RemoteClient>
    /// When something came last, by the boot clock.
    private(set) var heardAt: Int64
    /// Whether both sides have said who they are.
    private(set) var isJoined = false
    private var isOver = false
    /// Bytes of messages that wait because their clients have enough under way.
    private var waitingBytes = 0
    private var lookedAt = 0
    /// What the node was asked about itself.
    private var questions: [StreamID: (HTTPResponse) -> Void] = [:]
    private var lastQuestion: UInt32 = 0
    /// Bytes of one answer at most.
    var most: Int { plan.buffer / 2 }
    private let plan: LinkPlan

    init(_ transport: Connection, owner: OwnerLinks, epoch: UInt32) {
        (self.transport, self.owner) = (transport, owner)
        plan = owner.plan
        decoder = LinkDecoder(
            from: .frontEnd, space: OwnerLinks.space, epoch: epoch, frameBytes: plan.buffer)
        writer = LinkWriter(epoch: epoch)
        streams = StreamTable(most: owner.gateway.limits.connections)
        heardAt = Clock.bootMilliseconds()
        transport.handler = self
    }

    /// The node's name; empty: it has not said it.
    var node: String { decoder.peer?.node ?? "" }

    /// Answers what is asked of the management API; nil: the link is gone.
    var desk: ManagementDesk? { owner?.desk }

    /// Whether a node that shows this holds the database's password.
    func isProof(_ shown: [UInt8]) -> Bool { owner?.isProof(shown) ?? false }

    /// Clients that it has brought and that are not gone.
    var clients: [RemoteClient] { streams.all }
    var clientCount: Int { streams.count }

    // MARK: What the front end says

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        guard !isOver else { return }
        // What it would say after it stood still may be of before.
        guard owner?.maySpeak == true else { return end() }
        heardAt = Clock.bootMilliseconds()
        decoder.add(bytes)
        hear()
    }

    func connectionHasTurn(_ connection: Connection) {
        guard owner?.maySpeak == true else { return end() }
        hear()
    }

    /// Carries out what came, as much as a turn has time for: after a takeover all clients of a
    /// node show their tokens at once.
    private func hear() {
        let begun = transport.loop.mark
        do throws(LinkFault) {
            while !isOver, let message = try decoder.next() {
                try carryOut(message)
                guard transport.loop.isLong(since: begun) else { continue }
                transport.pauseReading()
                return transport.notifyInNextTurn()
            }
            transport.resumeReading()
        } catch .foreignEpoch(Term.alone.epoch) {
            // It has looked at this node before that owned.
            end()
        } catch {
            giveUp("\(error)")
        }
    }

    private func carryOut(_ message: LinkMessage) throws(LinkFault) {
        switch message {
        case .greets: begin()
        case .lives: break
        case _ where !isJoined: throw .tooMuch("what it says before it is let in")
        case .opens(let stream, let opening): try open(stream, opening)
        case .returns(let stream, let client): try streams.client(stream)?.returns(client)
        case .says(let stream, let text): try streams.client(stream)?.says(text)
        case .asks(let stream, let request): try streams.client(stream)?.asks(request)
        case .manages(let stream, let manager, let request):
            try streams.client(stream)?.manages(manager, request)
        case .reports(let number, let reply):
            questions.removeValue(forKey: number)?(HTTPResponse(reply))
        case .took(let stream, let count): try streams.client(stream)?.took(count)
        case .leaves(let stream, let isSilent):
            _ = try streams.client(stream)
            streams.close(stream)?.connectionIsGone(isSilent: isSilent)
        case .tells, .begins, .keeps, .settles, .answers, .ends, .inquires:
            throw .wrongSide
        }
    }

    private func begin() {
        guard plan.accepting != nil else { return join() }
        guard transport.peerIsNamed(node) else {
            return giveUp("its certificate is not that of node \(node)")
        }
        owner?.confirm(self)
    }

    /// What the node has written into the node table: whoever has another certificate of its name
    /// is not this node, or an earlier one of it.
    func check(fingerprint: [UInt8]?) {
        guard !isOver else { return }
        guard let fingerprint, fingerprint == transport.peerFingerprint else {
            return giveUp("its certificate is not the one that node \(node) has now")
        }
        join()
    }

    private func join() {
        guard let owner else { return }
        guard owner.gateway.exchange.isReady else { return end() }
        isJoined = true
        send { $0.append(.greets(LinkGreeting(space: OwnerLinks.space, node: owner.node))) }
        owner.linkHasJoined(self)
    }

    private func open(_ stream: StreamID, _ opening: StreamOpening) throws(LinkFault) {
        guard let owner else { return }
        let client = RemoteClient(stream, opening, over: self, of: owner.gateway)
        try streams.open(stream, client)
    }

    // MARK: What it is told

    /// Asks the node about itself.
    func ask(
        _ request: HTTPRequest, by identity: ManagementIdentity,
        _ done: @escaping (HTTPResponse) -> Void
    ) {
        guard questions.count < FrontEnd.inquiriesMax else {
            return done(.refused(.rateLimited, "\(questions.count) questions to node \(node) wait"))
        }
        lastQuestion += 1
        let number = StreamID(lastQuestion)
        questions[number] = done
        let manager = StreamManager(name: identity.name, role: identity.role.rawValue, proof: [])
        send { $0.append(.inquires(number, manager, StreamRequest(request))) }
    }

    /// Sends what `write` writes.
    func send(_ write: (inout LinkWriter) -> Void) {
        guard !isOver else { return }
        write(&writer)
        writer.bytes.withUnsafeBytes { transport.send($0) }
        writer.removeAll()
        guard transport.unsentBytes > plan.buffer else { return }
        // What the kernel takes at once does not wait.
        transport.sendNow()
        guard transport.unsentBytes > plan.buffer else { return }
        giveUp("it does not read what it is told")
    }

    /// One of its clients is not served any more.
    func close(_ client: RemoteClient, _ code: CloseCode, _ reason: String) {
        guard streams.close(client.stream) != nil else { return }
        send { $0.append(.ends(client.stream, code.rawValue, reason)) }
        owner?.leaving.append(client)
    }

    /// The client has something to be told at the end of this turn.
    func touch(_ client: RemoteClient) { owner?.touched.append(client) }

    /// So many bytes more wait at their clients, or less. Others of this node must not feel it:
    /// when it is too much, those with most are sent away.
    func waits(_ change: Int) {
        waitingBytes += change
        guard change > 0, waitingBytes > plan.buffer else { return }
        let greedy = streams.all.filter { $0.waitingBytes > 0 }
            .sorted { $0.waitingBytes > $1.waitingBytes }
        for client in greedy where waitingBytes > plan.buffer / 2 {
            client.close(.draining, "too much that it said waits")
        }
        owner?.tell(
            "clients sent away", node, "\(transport.peer)",
            "more than \(plan.buffer) bytes that they said waited")
    }

    /// Looks after the next clients, at most so many.
    ///
    /// - Returns: whether these were the last ones.
    func lookAfterSome(_ count: Int, _ look: (RemoteClient) -> Void) -> Bool {
        let some = streams.some(count, from: lookedAt)
        lookedAt += count
        for client in some where client.isTalking { look(client) }
        guard lookedAt >= streams.count else { return false }
        lookedAt = 0
        return true
    }

    /// Whether nothing was heard for too long.
    func isSilent(at now: Int64) -> Bool { now - heardAt >= plan.times.silence }

    // MARK: Its end

    /// Ends the link, saying why in the log.
    func giveUp(_ reason: String) {
        guard !isOver else { return }
        owner?.tell("link given up", node, "\(transport.peer)", reason)
        end()
    }

    /// Ends the link at once; its clients go when the connection is gone.
    func end() {
        guard !isOver else { return }
        isOver = true
        transport.abort()
        part()
    }

    private func part() {
        let asked = questions
        questions = [:]
        for done in asked.values {
            done(.refused(.unavailable, "the link to node \(node) is gone"))
        }
        let clients = streams.removeAll()
        for client in clients { owner?.leaving.append(client) }
        owner?.linkHasLeft(self)
    }

    func connectionClosed(_ connection: Connection, error: EventLoopError?) {
        if !isOver {
            isOver = true
            part()
        }
        owner = nil
    }
}
