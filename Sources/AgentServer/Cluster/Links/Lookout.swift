// Which other nodes this one reaches. It keeps a connection to each of them that only shows that
// both are there, so that the node table can say which nodes see which.

import CallModel
import ClusterCore
import ClusterStorage
import EventLoop
import StoreContract

/// Another node that should be reached.
struct LookoutTarget: Sendable, Equatable {
    let name: String
    let place: NodePlace
}

/// Looks on a thread of its own, also while its process loads or ends. Any thread may call it.
///
/// Only nodes that do not own are looked at: the owner is seen by those that have a link to it.
final class Lookout: @unchecked Sendable {
    private enum Order: Sendable {
        case look([LookoutTarget])
        case end
    }

    let plan: LinkPlan
    let node: String
    fileprivate let loop: EventLoop
    /// Set before anybody else has this object.
    private var orders: Mailbox<Order>?
    private let thread = Locked<WorkerThread?>(nil)
    private let wanted = Locked<[LookoutTarget]>([])
    /// Hears which nodes it reaches, in order, when these change.
    private let tell: @Sendable ([String]) -> Void
    // The rest is of the thread alone.
    private var outlooks: [Outlook] = []
    private var told: [String] = []
    private var watch: Timer?

    /// How often it looks whether there is something to do, in milliseconds.
    private static let lookEvery: Int64 = 100

    /// Begins at once.
    init(
        _ plan: LinkPlan, node: String, _ tell: @escaping @Sendable ([String]) -> Void
    ) throws(EventLoopError) {
        (self.plan, self.node, self.tell) = (plan, node, tell)
        let loop = try EventLoop()
        self.loop = loop
        orders = try Mailbox(on: loop) { [unowned self] batch in
            for order in batch { carryOut(order) }
        }
        watch = Timer(on: loop) { [unowned self] in look() }
        watch?.arm(after: 0)
        let made = try WorkerThread(name: "lookout") { [self] in
            self.loop.run()
            self.loop.close()
        }
        thread.withLock { $0 = made }
    }

    /// These are the other nodes from now on.
    func look(at targets: [LookoutTarget]) {
        let isNew = wanted.withLock { known in
            defer { known = targets }
            return known != targets
        }
        if isNew { _ = orders?.post(.look(targets)) }
    }

    /// Ends it.
    func end() {
        _ = orders?.post(.end)
        thread.withLock { $0.take() }?.join()
    }

    private func carryOut(_ order: Order) {
        switch order {
        case .look(let targets):
            for outlook in outlooks where !targets.contains(outlook.target) { outlook.end() }
            outlooks.removeAll { !targets.contains($0.target) }
            let known = outlooks.map(\.target)
            outlooks += targets.filter { !known.contains($0) }.map { Outlook($0, self) }
            look()
        case .end:
            for outlook in outlooks { outlook.end() }
            (outlooks, watch) = ([], nil)
            loop.stop()
        }
    }

    private func look() {
        let now = Clock.bootMilliseconds()
        for outlook in outlooks { outlook.look(at: now) }
        tellWhatChanged()
        watch?.arm(after: Self.lookEvery)
    }

    fileprivate func tellWhatChanged() {
        let names = outlooks.filter(\.isSeen).map(\.target.name).sorted()
        guard names != told else { return }
        told = names
        tell(names)
    }
}

/// The connection to one other node, made anew as often as it breaks. Owner: the lookout's thread.
private final class Outlook: ConnectionHandler {
    let target: LookoutTarget
    /// Whether the node has said who it is, and is not silent.
    private(set) var isSeen = false
    private unowned let lookout: Lookout
    private let plan: LinkPlan
    private var attempt: Connector?
    private var transport: Connection?
    private var decoder = Outlook.decoder
    private var writer = LinkWriter(epoch: Outlook.epoch)
    private var heardAt: Int64 = 0
    private var saidAt: Int64 = 0
    private var retryAt: Int64 = 0

    /// No owner has it.
    static let epoch = Term.alone.epoch
    /// A frame says no more than who speaks.
    static let frameBytes = 1_024
    private static var decoder: LinkDecoder {
        LinkDecoder(
            from: .owner, space: OwnerLinks.space, epoch: epoch, frameBytes: frameBytes)
    }
    /// The pause between attempts, in milliseconds.
    private static let pause: Int64 = 500

    init(_ target: LookoutTarget, _ lookout: Lookout) {
        (self.target, self.lookout, plan) = (target, lookout, lookout.plan)
    }

    func look(at now: Int64) {
        if transport == nil, attempt == nil, now >= retryAt {
            retryAt = now + Self.pause
            connect()
        }
        guard transport != nil else { return }
        if now - heardAt >= plan.times.silence { return giveUp() }
        guard now - saidAt >= plan.times.pulse else { return }
        saidAt = now
        say(.lives)
    }

    private func connect() {
        guard let address = try? NetworkAddress(parsing: target.place.link),
            plan.connecting != nil || address.isLoopback
        else { return }
        var options = Connector.Options()
        options.timeout = plan.times.silence
        options.tls = plan.connecting
        options.serverName = target.name
        attempt = Connector.connect(to: address, on: lookout.loop, options: options) {
            [unowned self] in
            attempt = nil
            connected($0)
        }
    }

    private func connected(_ result: Result<Connection, EventLoopError>) {
        guard case .success(let made) = result else { return }
        guard plan.connecting == nil || made.peerFingerprint == target.place.fingerprint else {
            return made.abort()
        }
        made.isKnown = true
        made.handler = self
        transport = made
        (decoder, writer) = (Self.decoder, LinkWriter(epoch: Self.epoch))
        heardAt = Clock.bootMilliseconds()
        saidAt = heardAt
        say(.greets(LinkGreeting(space: OwnerLinks.space, node: lookout.node)))
    }

    private func say(_ message: LinkMessage) {
        writer.append(message)
        transport?.send(writer.take())
    }

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        guard connection === transport else { return }
        heardAt = Clock.bootMilliseconds()
        decoder.add(bytes)
        do throws(LinkFault) {
            while let message = try decoder.next() {
                switch message {
                case .greets(let greeting) where greeting.node == target.name: isSeen = true
                case .lives: break
                default: throw .noGreeting
                }
            }
            lookout.tellWhatChanged()
        } catch {
            giveUp()
        }
    }

    private func giveUp() {
        transport?.abort()
        connectionIsGone()
    }

    private func connectionIsGone() {
        (transport, isSeen) = (nil, false)
        lookout.tellWhatChanged()
    }

    func connectionClosed(_ connection: Connection, error: EventLoopError?) {
        if connection === transport { connectionIsGone() }
    }

    /// Looks no more.
    func end() {
        attempt?.cancel()
        attempt = nil
        transport?.abort()
        (transport, isSeen) = (nil, false)
    }
}

/// Answers other nodes that look whether they reach this one, while it does not own. Owner: the
/// loop's thread.
final class LookoutDoor {
    /// Nodes that look at once; for one more the one goes that came first.
    static let lookersMax = 256

    private let plan: LinkPlan
    private let node: String
    private var listener: Listener?
    private var lookers: [Looker] = []
    private var watch: Timer?

    /// Listens at once, where other nodes have their links to this one when it owns.
    init(_ plan: LinkPlan, node: String, on loop: EventLoop, log: Log) throws(EventLoopError) {
        (self.plan, self.node) = (plan, node)
        listener = try plan.listen(atMost: Self.lookersMax, on: loop, LinkTrouble(log)) {
            [weak self] in self?.accept($0)
        }
        watch = Timer(on: loop) { [unowned self] in endTheSilent() }
        watch?.arm(after: plan.times.silence)
    }

    private func accept(_ transport: Connection) {
        if lookers.count >= Self.lookersMax { lookers.removeFirst().transport.abort() }
        // A node of the cluster is no stranger.
        transport.isKnown = true
        lookers.append(Looker(transport, plan, node) { [weak self] in self?.forget($0) })
    }

    private func forget(_ looker: Looker) { lookers.removeAll { $0 === looker } }

    private func endTheSilent() {
        let now = Clock.bootMilliseconds()
        for looker in lookers where now - looker.heardAt > 2 * plan.times.silence {
            looker.transport.abort()
        }
        watch?.arm(after: plan.times.silence)
    }

    /// Answers nobody any more.
    func close() {
        listener?.close()
        watch = nil
        for looker in lookers { looker.transport.abort() }
        lookers = []
    }
}

/// One node that looks. Owner: the loop's thread.
private final class Looker: ConnectionHandler {
    let transport: Connection
    private(set) var heardAt = Clock.bootMilliseconds()
    private let plan: LinkPlan
    private let node: String
    private let left: (Looker) -> Void
    private var decoder = LinkDecoder(
        from: .frontEnd, space: OwnerLinks.space, epoch: Outlook.epoch,
        frameBytes: Outlook.frameBytes)
    private var writer = LinkWriter(epoch: Outlook.epoch)

    init(
        _ transport: Connection, _ plan: LinkPlan, _ node: String,
        _ left: @escaping (Looker) -> Void
    ) {
        (self.transport, self.plan, self.node, self.left) = (transport, plan, node, left)
        transport.handler = self
    }

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        heardAt = Clock.bootMilliseconds()
        decoder.add(bytes)
        do throws(LinkFault) {
            while let message = try decoder.next() { try answer(message) }
        } catch {
            // A node that takes this one for the owner finds out with its next look at the row.
            transport.abort()
        }
    }

    private func answer(_ message: LinkMessage) throws(LinkFault) {
        // Whoever does not read answers gets no more of them, and so fills no memory here.
        guard transport.unsentBytes == 0 else { return }
        switch message {
        case .greets(let greeting):
            guard plan.accepting == nil || transport.peerIsNamed(greeting.node) else {
                throw .noGreeting
            }
            writer.append(.greets(LinkGreeting(space: OwnerLinks.space, node: node)))
        case .lives: writer.append(.lives)
        default: throw .wrongSide
        }
        transport.send(writer.take())
    }

    func connectionClosed(_ connection: Connection, error: EventLoopError?) { left(self) }
}
