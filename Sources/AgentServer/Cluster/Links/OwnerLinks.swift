// The owner's links: it listens for front ends and serves the clients that they bring.

import AgentCore
import CallModel
import CallWire
import ClusterCore
import ClusterStorage
import Collections
import EventLoop
import WebProtocols

/// What the links of an owner know of the cluster, and what they tell it.
protocol LinkHome: AnyObject {
    /// This node's name.
    var node: String { get }
    /// The takeover since which it owns.
    var epoch: UInt32 { get }
    /// Whether it may speak as the owner.
    var maySpeak: Bool { get }
    /// Whether this is the token of what it owns.
    func isToken(_ shown: [UInt8]) -> Bool
    /// It has links to these nodes.
    func note(links: [String])
    /// Asks the database for the certificates' digests; `OwnerLinks.fingerprintsAre` hears them.
    func readFingerprints(asked: Int)
}

/// All links of an owner. Owner: the loop's thread.
final class OwnerLinks {
    /// Links at once. For one more the oldest goes that has not said who it is.
    static let linksMax = 256
    /// Newcomers in a second: all nodes are there again within three.
    static let acceptsPerSecond = 100
    /// The space whose calls the links are about.
    static let space = Space.usual

    let plan: LinkPlan
    unowned let gateway: Gateway
    let desk: ManagementDesk
    /// This node's name.
    let node: String
    private let home: any LinkHome
    private let loop: EventLoop
    private let log: Log
    private var listener: Listener?
    private var links: [FrontLink] = []
    /// Links of whose certificates the database is asked, and with which question.
    private var unconfirmed: [(link: FrontLink, number: Int)] = []
    private var confirmations = 0
    private var watch: Timer?
    /// Looks after the rest of the clients.
    private var lookTimer: Timer?
    /// Makes the loop turn for the rest of those that are gone.
    private var partTimer: Timer?
    /// Clients of whom something is to be told at the end of this turn.
    var touched: [RemoteClient] = []
    /// Clients that are gone, and whose lines end with this turn.
    var leaving = Queue<RemoteClient>()
    private lazy var trouble = LinkTrouble(log)
    private var lookedAt: Int64 = 0
    /// Links whose clients are still to be looked after in this round.
    private var unseen: [FrontLink] = []

    /// Clients that are looked after in one turn.
    private static let looksAtOnce = 4_096
    /// Clients that part in one turn: with a link all of a node are gone.
    static let partingsMax = 128

    /// Listens at once.
    init(
        _ plan: LinkPlan, _ home: any LinkHome, _ gateway: Gateway, _ desk: ManagementDesk,
        on loop: EventLoop, log: Log
    ) throws(EventLoopError) {
        (self.plan, self.home, self.gateway, self.desk) = (plan, home, gateway, desk)
        (self.loop, self.log, node) = (loop, log, home.node)
        listener = try plan.listen(atMost: Self.linksMax, on: loop, trouble) {
            [unowned self] in accept($0)
        }
        watch = Timer(on: loop) { [unowned self] in look() }
        lookTimer = Timer(on: loop) { [unowned self] in lookAfterSome() }
        partTimer = Timer(on: loop) {}
        watch?.arm(after: plan.times.pulse)
        loop.atEndOfTurn { [unowned self] in endTurn() }
        gateway.remote = self
        log.info("listens for front ends", ("bind", "\(plan.bind)"))
    }

    /// Whether it may speak as the owner.
    var maySpeak: Bool { home.maySpeak }

    /// Whether a node that shows this holds the database's password.
    func isProof(_ shown: [UInt8]) -> Bool { home.isToken(shown) }

    /// Where it listens, with the port that the system chose; nil: no more.
    var endpoint: NetworkAddress? { listener?.endpoint }

    /// Clients of all front ends.
    var clients: [RemoteClient] { links.flatMap(\.clients) }
    var clientCount: Int { links.reduce(0) { $0 + $1.clientCount } }
    /// Other nodes that have a link.
    var nodes: [String] {
        links.filter { $0.isJoined && $0.node != node }.map(\.node).sorted()
    }

    /// A node has shown its certificate: whether it is the one that stands in the database is asked
    /// there, because the node has written it just before it connected.
    func confirm(_ link: FrontLink) {
        confirmations += 1
        unconfirmed.append((link, confirmations))
        home.readFingerprints(asked: confirmations)
    }

    /// The digests of all certificates, as they were after `confirm` was called so many times.
    func fingerprintsAre(_ found: [String: [UInt8]]?, asked: Int) {
        let judged = unconfirmed.prefix { $0.number <= asked }
        unconfirmed.removeFirst(judged.count)
        for (link, _) in judged {
            if let found {
                link.check(fingerprint: found[link.node])
            } else {
                // It tries again.
                link.end()
            }
        }
    }

    private func accept(_ transport: Connection) {
        if links.count >= Self.linksMax {
            guard let stranger = links.first(where: { !$0.isJoined }) else {
                return transport.abort()
            }
            stranger.end()
        }
        // A node of the cluster is no stranger.
        transport.isKnown = true
        transport.boundReceiveBuffer(to: LinkPlan.onTheWay)
        links.append(FrontLink(transport, owner: self, epoch: home.epoch))
    }

    /// A front end has said who it is: an earlier link of it is over.
    func linkHasJoined(_ link: FrontLink) {
        for old in links where old !== link && old.node == link.node { old.end() }
        trouble.note("front end linked", link.node)
        home.note(links: nodes)
    }

    /// The link is over.
    func linkHasLeft(_ link: FrontLink) {
        links.removeAll { $0 === link }
        if link.isJoined {
            trouble.note("front end gone", link.node)
            home.note(links: nodes)
        }
    }

    /// Asks a front end about itself; false: it has no link.
    func ask(
        _ node: String, _ request: HTTPRequest, by identity: ManagementIdentity,
        _ done: @escaping (HTTPResponse) -> Void
    ) -> Bool {
        guard let link = links.first(where: { $0.isJoined && $0.node == node }) else {
            return false
        }
        link.ask(request, by: identity, done)
        return true
    }

    /// Enters why a link was given up.
    func tell(_ line: StaticString, _ node: String, _ peer: String, _ reason: String) {
        trouble.tell(line, node, "\(reason) (\(peer))")
    }

    /// Ends all links: nothing more is said as the owner.
    func endAll() {
        for link in links { link.end() }
    }

    /// Accepts no links and ends those that are there.
    func close() {
        listener?.close()
        endAll()
        (watch, lookTimer, partTimer) = (nil, nil, nil)
    }

    // MARK: Looking after them

    private func look() {
        let now = Clock.bootMilliseconds()
        for link in links where link.isSilent(at: now) {
            link.giveUp("nothing was heard of it for \(now - link.heardAt) ms")
        }
        for link in links where link.isJoined { link.send { $0.append(.lives) } }
        if now - lookedAt >= Gateway.lookAroundEvery, unseen.isEmpty {
            lookedAt = now
            // All clients may be those of other nodes.
            gateway.scheduleHousekeeping()
            unseen = links
            lookAfterSome()
        }
        watch?.arm(after: plan.times.pulse)
    }

    private func lookAfterSome() {
        let (now, wall) = (gateway.exchange.now(), Clock.wallMilliseconds())
        guard let link = unseen.last else { return }
        if link.lookAfterSome(Self.looksAtOnce, { look(after: $0, at: now, wall) }) {
            unseen.removeLast()
        }
        if !unseen.isEmpty { lookTimer?.arm(after: 1) }
    }

    private func look(after client: RemoteClient, at now: Moment, _ wall: Int64) {
        if client.line.isLate(at: now) {
            gateway.desk.handle(.deadlineReached, of: client.line)
        } else if let end = client.line.identity?.token?.expiresAt,
            wall >= end + gateway.limits.tokenLeeway
        {
            client.close(.expired, "the token has run out")
        }
    }

    private func endTurn() {
        // What ends may end others: they come behind them.
        for _ in 0..<Self.partingsMax {
            guard let client = leaving.removeFirst() else { break }
            client.connectionIsGone()
        }
        if leaving.count > 0 { partTimer?.arm(after: 1) }
        guard !touched.isEmpty else { return }
        let clients = touched
        touched = []
        for client in clients { client.settle() }
    }
}

/// Enters what is wrong with links, each kind now and then. Owner: the loop's thread.
final class LinkTrouble {
    private let log: Log
    private var repeated = RepeatedLine()

    init(_ log: Log) { self.log = log }

    /// A front end comes or goes. Where nothing comes back over its network, it does so for ever.
    func note(_ line: StaticString, _ node: String) {
        guard let left = leftOut(line, node) else { return }
        log.info(line, ("node", node), ("left_out", "\(left)"))
    }

    private func leftOut(_ line: StaticString, _ node: String) -> Int? {
        repeated.admit("\(line) \(node)", at: Moment(Clock.bootMilliseconds()))
    }

    func tell(_ line: StaticString, _ node: String, _ reason: String) {
        guard let left = leftOut(line, node) else { return }
        log.warn(line, ("node", node), ("why", reason), ("left_out", "\(left)"))
    }
}
