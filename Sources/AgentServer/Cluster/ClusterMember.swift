// This process as a node of a cluster: it keeps its lease on a thread of its own.

import CallModel
import ClusterCore
import ClusterStorage
import Configuration
import EventLoop
import Glibc
import Outbound
import Storage
import StoreContract
import Synchronization

/// The lease of this process. Any thread may ask it.
public final class ClusterMember: Sendable {
    private enum Wish: Sendable {
        case newEpoch
        case giveUp(String)
        case settings([String: String])
        case links([String])
        case sees([String])
        case table(ClusterState)
        case fingerprints(asked: Int)
        case warmed(WarmState)
        case generation(String)
    }

    /// The node's name.
    public let node: String
    let address: DatabaseAddress
    let times: LeaseTimes
    /// Whether it may own.
    let isEligible: Bool
    /// How other nodes and this one reach each other; nil: they do not.
    let linkPlan: LinkPlan?
    private let wishes = WorkerMailbox<Wish>()
    private let grants = WorkerMailbox<Grant>()
    private let ears = Locked(MemberEars())
    /// Until when it may speak as the owner, by `Clock.bootMilliseconds`.
    private let silentAt = Atomic<Int64>(.min)
    /// What the loop of an owner said last: when, and why it takes no calls; nil: it has not begun.
    private let service = Locked<(at: Int64, trouble: String)?>(nil)
    /// The takeover since which it owned last; 0: it never did.
    private let ownEpoch = Atomic<UInt32>(0)
    /// When the lease's thread ends, if it has not given up before; `max`: it does not.
    private let leavesBy = Atomic<Int64>(.max)
    private let thread = Locked<WorkerThread?>(nil)
    private let upkeep = Locked<Upkeep?>(nil)
    /// Looks which other nodes this one reaches; nil: it has no links.
    private let lookout = Locked<Lookout?>(nil)
    /// Whether front ends can link to this node: who sees it does not count before.
    private let isListening = Atomic<Bool>(false)
    /// What it owns; nil: it does not.
    private let held = Locked<Grant?>(nil)
    /// The grant that no store was opened with yet.
    private let fresh = Locked<Grant?>(nil)

    private let lastSetBack = Locked<SetBack?>(nil)
    /// The last time that the database went back; nil: it never did.
    var setBack: SetBack? { lastSetBack.withLock { $0 } }

    /// The clients that this node had before it owned; nil: it has none of them.
    private let kept = Locked<KeptFront?>(nil)
    var keptFront: KeptFront? {
        get { kept.withLock { $0 } }
        set { kept.withLock { $0 = newValue } }
    }

    /// What the note says of settings at first.
    private let settings: [String: String]
    /// Loads the generation in force while this node waits; nil: it may not own, or takes the files
    /// on disk.
    private let warmer: Warmer?

    /// A node of `cluster`; nothing happens before `keep`.
    init(
        _ cluster: Configuration.Cluster, settings: [String: String] = [:],
        file: String? = nil, takingFilesOnDisk: Bool = false
    ) throws(AgentError) {
        self.settings = settings
        do throws(StoreError) {
            address = try DatabaseAddress(cluster.database.text)
        } catch {
            throw .store(error)
        }
        node = cluster.node ?? Machine.name
        isEligible = cluster.isEligible
        var times = LeaseTimes()
        (times.beat, times.lease) = (cluster.beat, cluster.lease)
        self.times = times
        if let problem = times.problem { throw .configuration("cluster.\(problem)") }
        linkPlan = try LinkPlan(cluster, file: file)
        warmer = isEligible && !takingFilesOnDisk ? Warmer(from: address, file: file) : nil
    }

    /// From now on this hears all news, on the lease's thread; first what nobody has heard.
    func tell(_ listener: (@Sendable (MemberNews) -> Void)?) {
        ears.withLock {
            ($0.listener, $0.endsWhenItOwns) = (listener, false)
            let unheard = $0.unheard
            if let listener {
                $0.unheard = []
                for news in unheard { listener(news) }
            }
        }
    }

    /// The same up to `owns`: what comes after it is for whoever serves.
    func tellUntilItOwns(_ listener: @escaping @Sendable (MemberNews) -> Void) {
        tell(listener)
        ears.withLock { $0.endsWhenItOwns = true }
    }

    /// Begins to look, and to take over when it may.
    func keep() throws(AgentError) {
        var note = NodeNote(
            node, process: "\(Machine.name):\(getpid())", program: Agent.version,
            settings: settings, link: linkPlan?.link.description ?? "")
        note.isEligible = isEligible
        note.fingerprint = linkPlan?.fingerprint ?? []
        let (address, node, times, silence) = (address, node, times, silence)
        let isReadyAtOnce = isEligible && warmer == nil
        do throws(EventLoopError) {
            let made = try linkPlan.map { plan throws(EventLoopError) in
                try Lookout(plan, node: node) { [weak self] in _ = self?.wishes.post(.sees($0)) }
            }
            lookout.withLock { $0 = made }
            let thread = try WorkerThread(name: "lease") { [self, note] in
                let connection = LeaseConnection(to: address, of: note, silence: silence)
                // It may own as soon as it can: when the generation in force is loaded.
                var lease = Lease(node: node, times: times, isEligible: isReadyAtOnce)
                while turn(&lease, connection) {}
                connection.noteLeaving()
            }
            self.thread.withLock { $0 = thread }
            try warmer?.begin { [weak self] in _ = self?.wishes.post(.warmed($0)) }
            let upkeep = Upkeep(of: address, silence: silence) { [weak self] in
                if case .sight(let sight) = $0 { _ = self?.wishes.post(.table(sight.state)) }
                self?.hear($0)
            }
            try upkeep.begin()
            self.upkeep.withLock { $0 = upkeep }
        } catch {
            throw .system(error)
        }
    }

    /// How long a living node may say nothing.
    private var silence: Milliseconds { max(3_000, times.lease) }

    /// The loop of an owner turns; `trouble`: why it takes no calls, empty where it does.
    func serves(_ trouble: String) {
        service.withLock { $0 = (Clock.bootMilliseconds(), trouble) }
    }

    /// It serves no more.
    func endsServing() { service.withLock { $0 = nil } }

    /// A loop that has not turned for so long stands still, in milliseconds.
    private static let stillAfter: Int64 = 5_000

    /// One that has not turned for so long beats no more, in milliseconds: another node takes over.
    private static let leavesAfter: Int64 = 10_000

    /// Why the owner takes no calls; empty: it does. The thread of the lease goes on without the
    /// loop, so that nobody would see it by that.
    private var whyNotServing: String {
        guard let (_, trouble) = service.withLock({ $0 }) else { return "" }
        return standsStill(for: Self.stillAfter) ? "its process stands still" : trouble
    }

    /// Whether an owner's loop has not turned for so long, in milliseconds.
    private func standsStill(for time: Int64) -> Bool {
        service.withLock { $0.map { Clock.bootMilliseconds() - $0.at > time } ?? false }
    }

    /// One order, or a pause; false: it is over.
    private func turn(_ lease: inout Lease, _ connection: LeaseConnection) -> Bool {
        if epoch != 0 { connection.note.whyNot = whyNotServing }
        // Nobody takes over from an owner that beats.
        let isLeft = standsStill(for: Self.leavesAfter)
        if !isLeft, let order = lease.next(at: Clock.bootMilliseconds(), token: Self.newToken()) {
            let (hadTrouble, before) = (connection.trouble != nil, lease.seen?.term)
            let past = lease.setBack
            let result = connection.carryOut(order)
            var view: ClusterView?
            if order == .look, case .row(let row) = result {
                view = hear(connection.nodes, owner: row.term.owner, &lease)
            }
            let news = lease.came(result, at: Clock.bootMilliseconds())
            publish(lease)
            if hadTrouble != (connection.trouble != nil) { hear(.trouble(connection.trouble)) }
            if let row = lease.seen, row.term != before, lease.grant == nil { hear(.sees(row)) }
            if let back = lease.setBack, back != past { hear(back) }
            if let news { hear(news, lease) }
            if order == .look, let row = lease.seen, case .row = result {
                if let view { hear(.looked(row, owner: connection.ownerPlace, view)) }
                if epoch == 0 { warmer?.warm(connection.generation) }
            }
        }
        let now = Clock.bootMilliseconds()
        let leavesBy = leavesBy.load(ordering: .acquiring)
        if leavesBy < .max, lease.grant == nil || now >= leavesBy { return false }
        var batch: [Wish] = []
        let next = isLeft ? now + times.beat : lease.nextDeadline ?? now
        _ = wishes.takeAll(into: &batch, until: next)
        for wish in batch {
            switch wish {
            case .newEpoch: lease.takeNewEpoch()
            case .giveUp(let target): lease.giveUp(to: target)
            case .settings(let settings): connection.note.settings = settings
            case .links(let names): connection.note.links = names
            case .sees(let names): connection.note.sees = names
            case .table(let state): hear(state.nodes, owner: state.term.owner, &lease)
            case .fingerprints(let asked):
                hear(.fingerprints(connection.fingerprints(), asked: asked))
            case .warmed(let state): warmed(state, &lease, connection)
            case .generation(let name): connection.note.generation = name
            }
        }
        publish(lease)
        return true
    }

    /// The node table was read: at whom this node has to look.
    ///
    /// - Returns: who sees whom; nil: this node has no links.
    @discardableResult
    private func hear(
        _ nodes: [ClusterNodeState], owner: String, _ lease: inout Lease
    ) -> ClusterView? {
        guard linkPlan != nil else { return nil }
        let view = ClusterView(owner: owner, nodes)
        let others = nodes.filter {
            $0.isAlive && !$0.note.link.isEmpty && $0.note.name != node && $0.note.name != owner
        }
        lookout.withLock { $0 }?.look(
            at: others.map { LookoutTarget(name: $0.note.name, place: $0.place) })
        if lease.grant == nil || isListening.load(ordering: .acquiring),
            let news = lease.sees(view, at: Clock.bootMilliseconds())
        {
            hear(news, lease)
        }
        return view
    }

    /// Whoever cannot load what is in force may not own.
    private func warmed(
        _ state: WarmState, _ lease: inout Lease, _ connection: LeaseConnection
    ) {
        // Whoever has owned says itself what it has in force.
        guard epoch == 0 else { return }
        (connection.note.generation, connection.note.whyNot) = (state.generation, state.whyNot)
        lease.setEligible(state.whyNot.isEmpty)
        hear(.warmed(state))
    }

    private func publish(_ lease: Lease) {
        let now = Clock.bootMilliseconds()
        let until = lease.maySpeak(at: now) ? lease.silentAt ?? .min : .min
        silentAt.store(until, ordering: .releasing)
    }

    private func hear(_ news: LeaseNews, _ lease: Lease) {
        switch news {
        case .asked, .outnumbered: break
        case .owns, .lost, .replaced, .gaveUp: upkeep.withLock { $0 }?.owns(lease.grant)
        }
        held.withLock { $0 = lease.grant }
        switch news {
        case .owns(let grant):
            ownEpoch.store(grant.term.epoch, ordering: .releasing)
            fresh.withLock { $0 = grant }
            _ = grants.post(grant)
            hear(.owns(grant))
        case .lost(let term): hear(.lost(to: term))
        case .replaced(let term): hear(.replaced(by: term))
        case .asked(let target): hear(.asked(to: target))
        case .outnumbered(let other): hear(.outnumbered(by: other))
        case .gaveUp: break
        }
    }

    private func hear(_ back: SetBack) {
        lastSetBack.withLock { $0 = back }
        hear(.setBack(back))
    }

    private func hear(_ news: MemberNews) {
        ears.withLock { $0.hear(news) }
    }

    private static func newToken() -> [UInt8] {
        var dice = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &dice) }
    }

    /// Whether this process may tell anybody anything as the owner.
    var maySpeak: Bool { Clock.bootMilliseconds() <= silentAt.load(ordering: .acquiring) }

    /// The takeover since which it owns, or owned last.
    var epoch: UInt32 { ownEpoch.load(ordering: .acquiring) }

    /// Whether this is the token of what it owns.
    func isToken(_ shown: [UInt8]) -> Bool {
        guard let token = held.withLock({ $0 })?.token else { return false }
        return ConstantTime.equal(shown, token)
    }

    /// Front ends can link to this node from now on.
    func listens() { isListening.store(true, ordering: .releasing) }

    /// It has links to these nodes.
    func note(links: [String]) { _ = wishes.post(.links(links.sorted())) }

    /// This generation is in force here, where it owns.
    func note(generation: String) { _ = wishes.post(.generation(generation)) }

    /// What a waiting node has loaded, once; nil: it is not this generation with these settings.
    func takeWarm(
        _ name: String, _ configuration: Configuration, _ grants: Grants?
    ) -> Deployment? {
        warmer?.take(name, configuration, grants)
    }

    /// Whether the generation in force was loaded while this node waited.
    var isWarm: Bool { warmer?.isWarm ?? false }

    /// Reads what certificates the nodes have; `fingerprints` comes with this number.
    func readFingerprints(asked: Int) { _ = wishes.post(.fingerprints(asked: asked)) }

    /// The settings in force have changed.
    func note(_ configuration: Configuration) {
        _ = wishes.post(.settings(configuration.settingsOfAllNodes))
    }

    // MARK: The store

    /// Opens the store of the term in which this node owns; after a failure that is a new one.
    ///
    /// - Throws: `unreachable` when there is no new term in time.
    func openStore(_ limits: StoreLimits) throws(StoreError) -> ClusterStore {
        let unused = fresh.withLock { $0.take() }
        let grant = if let unused { unused } else { try newGrant() }
        var options = ClusterStoreOptions()
        (options.limits, options.grant) = (limits, grant)
        return try ClusterStore(at: address, options)
    }

    private func newGrant() throws(StoreError) -> Grant {
        silentAt.store(.min, ordering: .releasing)
        var old: [Grant] = []
        _ = grants.takeAll(into: &old, until: Clock.bootMilliseconds())
        _ = wishes.post(.newEpoch)
        var new: [Grant] = []
        _ = grants.takeAll(into: &new, until: Clock.bootMilliseconds() + Self.grantPatience)
        guard let grant = new.last else {
            throw StoreError(
                .unreachable, path: address.name, operation: "taking a new epoch",
                detail: "no answer within \(Self.grantPatience) ms")
        }
        _ = fresh.withLock { $0.take() }
        return grant
    }

    private static let grantPatience: Int64 = 3_000
    private static let leavePatience: Int64 = 2_000

    /// Gives up to `target`, empty: to anybody, and ends. The store is closed before. If the
    /// database does not answer, the lease runs out instead.
    public func leave(to target: String) {
        upkeep.withLock { $0.take() }?.end()
        warmer?.end()
        let end = Clock.bootMilliseconds() + Self.leavePatience
        leavesBy.store(end, ordering: .releasing)
        _ = wishes.post(.giveUp(target))
        thread.withLock { $0.take() }?.join()
        lookout.withLock { $0.take() }?.end()
    }
}

extension ClusterMember: LinkHome {}
