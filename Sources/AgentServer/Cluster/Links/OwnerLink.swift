// A front end's end of its link: it finds the owner, connects to it, and says what its clients say.

import AgentCore
import CallModel
import ClusterCore
import ClusterStorage
import EventLoop
import StoreContract

/// The link of a front end, made anew as often as it breaks. Owner: the loop's thread.
final class OwnerLink: ConnectionHandler {
    /// An owner that can be reached.
    struct Target: Equatable {
        let term: Term
        let token: [UInt8]
        let place: NodePlace
    }

    private unowned let front: FrontEnd
    private let plan: LinkPlan
    private let log: Log
    private lazy var trouble = LinkTrouble(log)
    private var target: Target?
    private var attempt: Connector?
    private var transport: Connection?
    /// Which target the transport leads to.
    private var reached: Target?
    private var decoder: LinkDecoder?
    private var writer = LinkWriter(epoch: 0)
    private var heardAt: Int64 = 0
    private var saidAt: Int64 = 0
    private var watch: Timer?
    /// When the next attempt may be made, and how long after it another one.
    private var retryAt: Int64 = 0
    private var pause = OwnerLink.lookEvery
    /// Whether both sides have said who they are.
    private(set) var isOpen = false
    private var isOver = false
    /// Grows with each link: numbers mean something over one only.
    private(set) var linkNumber = 0

    /// How often it looks whether there is something to do, in milliseconds.
    private static let lookEvery: Int64 = 100
    /// The pause between attempts grows to this.
    private static let slowPause: Int64 = 1_000

    init(_ front: FrontEnd) {
        self.front = front
        (plan, log) = (front.plan, front.log)
        watch = Timer(on: front.loop) { [unowned self] in look() }
        watch?.arm(after: 0)
    }

    /// Whether so much waits for the owner that no more should be said.
    var isFull: Bool { (transport?.unsentBytes ?? 0) > plan.buffer / 2 }

    /// Whether long messages should let short ones pass.
    var isBusy: Bool { (transport?.unsentBytes ?? 0) > LinkPlan.onTheWay }

    /// What shows the owner that this node reads the database; see `StreamManager`.
    var proof: [UInt8] { reached?.token ?? [] }

    /// Bytes that wait for the owner.
    var unsentBytes: Int { transport?.unsentBytes ?? 0 }

    /// Who owns, and where it is reached.
    func sees(_ row: LeaseRow, at place: NodePlace) {
        let now = Clock.bootMilliseconds()
        front.state.sees(row.term, beat: row.beat, at: now)
        guard !row.isReleased, row.term.owner != front.node, !place.link.isEmpty else {
            target = nil
            return
        }
        follow(Target(term: row.term, token: row.token, place: place))
    }

    /// This is the owner from now on.
    func follow(_ new: Target) {
        guard new != target else { return }
        target = new
        (retryAt, pause) = (0, Self.lookEvery)
        if reached != nil, reached != new { giveUp("\(new.term) owns", isTrouble: false) }
        look()
    }

    private func look() {
        guard !isOver else { return }
        let now = Clock.bootMilliseconds()
        if transport == nil, attempt == nil, now >= retryAt, let target {
            retryAt = now + pause
            pause = min(pause * 2, Self.slowPause)
            connect(to: target)
        }
        if transport != nil, now - heardAt >= plan.times.silence {
            giveUp("nothing was heard of it for \(now - heardAt) ms")
        }
        if isOpen, now - saidAt >= plan.times.pulse {
            saidAt = now
            send { $0.append(.lives) }
        }
        front.look()
        watch?.arm(after: Self.lookEvery)
    }

    private func connect(to target: Target) {
        let address: NetworkAddress
        do throws(EventLoopError) {
            address = try NetworkAddress(parsing: target.place.link)
        } catch {
            return trouble.tell("no link", target.term.owner, "\(error)")
        }
        guard plan.connecting != nil || address.isLoopback else {
            return trouble.tell(
                "no link", target.term.owner, "\(address): ca, cert and key are needed")
        }
        var options = Connector.Options()
        options.timeout = plan.times.silence
        options.tls = plan.connecting
        options.serverName = target.term.owner
        attempt = Connector.connect(to: address, on: front.loop, options: options) {
            [unowned self] in
            attempt = nil
            connected($0, to: target)
        }
    }

    private func connected(_ result: Result<Connection, EventLoopError>, to target: Target) {
        do throws(EventLoopError) {
            let made = try result.get()
            guard !isOver, target == self.target else { return made.abort() }
            guard plan.connecting == nil || made.peerFingerprint == target.place.fingerprint else {
                made.abort()
                let reason = "its certificate is not the one that the node has now"
                return trouble.tell("no link", target.term.owner, reason)
            }
            made.isKnown = true
            made.boundSendBuffer(to: LinkPlan.onTheWay)
            made.handler = self
            (transport, reached) = (made, target)
            linkNumber += 1
            heardAt = Clock.bootMilliseconds()
            saidAt = heardAt
            let epoch = target.term.epoch
            decoder = LinkDecoder(
                from: .owner, space: OwnerLinks.space, epoch: epoch, frameBytes: plan.buffer)
            writer = LinkWriter(epoch: epoch)
            send { $0.append(.greets(LinkGreeting(space: OwnerLinks.space, node: front.node))) }
        } catch {
            trouble.tell("no link", target.term.owner, "\(error)")
        }
    }

    // MARK: Talking

    /// Sends what `write` writes; nothing where there is no link.
    func send(_ write: (inout LinkWriter) -> Void) {
        guard let transport else { return }
        write(&writer)
        writer.bytes.withUnsafeBytes { transport.send($0) }
        writer.removeAll()
        if transport.unsentBytes > plan.buffer { transport.sendNow() }
        if transport.unsentBytes > plan.buffer { return giveUp("it does not read") }
        if isBusy { transport.notifyWhenDrained() }
    }

    func connectionDrained(_ connection: Connection) {
        front.presentSome()
        front.waitingGoOn()
        front.restEnds()
    }

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        guard connection === transport, let reached else { return }
        heardAt = Clock.bootMilliseconds()
        decoder?.add(bytes)
        do throws(LinkFault) {
            while connection === transport, let message = try decoder?.next() {
                guard case .greets(let greeting) = message else {
                    front.hear(message)
                    continue
                }
                guard greeting.node == reached.term.owner else { throw .noGreeting }
                isOpen = true
                pause = Self.lookEvery
                front.linkBegins(to: greeting.node, reached.term.epoch)
            }
        } catch {
            giveUp("\(error)")
        }
    }

    // MARK: Its end

    private func giveUp(_ reason: String, isTrouble: Bool = true) {
        guard let transport else { return }
        if isTrouble { trouble.tell("link lost", reached?.term.owner ?? "", reason) }
        self.transport = nil
        transport.abort()
        linkIsLost()
    }

    private func linkIsLost() {
        (reached, decoder) = (nil, nil)
        guard isOpen else { return }
        isOpen = false
        // The owner may have given up first a link that has long been silent.
        let now = Clock.bootMilliseconds()
        front.linkBreaks(since: now - heardAt > plan.times.silence / 2 ? heardAt : now)
    }

    func connectionClosed(_ connection: Connection, error: EventLoopError?) {
        guard connection === transport else { return }
        trouble.tell("link lost", reached?.term.owner ?? "", error.map { "\($0)" } ?? "it ended")
        transport = nil
        linkIsLost()
    }

    /// Makes another link.
    func renew() { giveUp("made anew", isTrouble: false) }

    /// Ends it for good.
    func end() {
        isOver = true
        watch = nil
        attempt?.cancel()
        attempt = nil
        transport?.abort()
        transport = nil
    }
}
