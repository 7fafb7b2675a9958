// Nodes, a row and a network in virtual time, and a checker that sees all of it.

import CallModel
import ClusterCore
import StoreContract

/// Three nodes of which one owns, and front ends, with whatever happens to them.
struct LeaseWorld {
    /// What happens in this run.
    struct Weather {
        /// Processes stop for a while and go on.
        var pauses = false
        /// Processes are killed and start again.
        var kills = false
        /// The database does not answer anybody for a while.
        var outages = false
        /// Orders, or answers, of one node are lost.
        var losses = false
        /// The owner gives up now and then.
        var handOvers = false
        /// Commits fail now and then.
        var failures = false
        /// The network between nodes has holes, one way or both; their database is not concerned.
        var holes = false
    }

    private struct Node {
        var lease: Lease
        /// It is not there until then.
        var downUntil: Milliseconds = 0
        /// It does nothing until then.
        var pausedUntil: Milliseconds = 0
        /// The network loses what it sends until then.
        var lostUntil: Milliseconds = 0
        /// What is under way: executed at one moment, answered at another.
        var sent: Sent?
        /// Since when it wants a new epoch, and the epoch it had.
        var wanted: UInt32?
        /// When it wrote into the node table last.
        var notedAt: Milliseconds = -10_000
        /// What the node table says of links, as it read it with the order that is under way.
        var view: ClusterView?
    }

    private struct Sent {
        let order: LeaseOrder
        var executeAt: Milliseconds?
        let answerAt: Milliseconds
        var result = LeaseResult.failed
        var isAnswerLost = false
    }

    private(set) var now: Milliseconds = 0
    private var row = LeaseRow(
        term: .alone, token: [], beat: 0, isReleased: true, successor: "")
    private var nodes: [Node]
    private var dice: SeededGenerator
    private let weather: Weather
    private var outageUntil: Milliseconds = 0
    private var tokens: UInt8 = 0
    /// To whom the owner gave up last, and when.
    private var heir: (name: String, at: Milliseconds)?
    private var spokenAt: Milliseconds = 0
    private var troubleAt: Milliseconds = 0
    /// What the checker found.
    private(set) var findings: Set<String> = []
    private(set) var takeovers = 0
    private var ownedSince: Milliseconds = 0
    /// Whom each node reaches, by their places.
    private var network: [Set<Int>]
    /// Since when the network is as it is, and who gave up since because more nodes see another.
    private var networkSince: Milliseconds = 0
    private var outnumbered = 0

    private static let step: Milliseconds = 10
    /// How long a node may write nothing and be there.
    private static let silence: Milliseconds = 3_000
    private static let patience: Milliseconds = 2_000

    /// - Parameter fronts: nodes more, which may not own.
    init(seed: UInt64, _ weather: Weather, fault: LeaseFault? = nil, fronts: Int = 0) {
        self.weather = weather
        dice = SeededGenerator(seed: seed)
        let names = weather.holes ? ["a", "b", "c", "d"] : ["a", "b", "c"]
        nodes = names.map { Node(lease: Self.lease($0, isEligible: true, fault)) }
        for number in 0..<fronts {
            nodes.append(Node(lease: Self.lease("front\(number)", isEligible: false, fault)))
        }
        let places = nodes.indices
        network = places.map { Set(places).subtracting([$0]) }
        self.fault = fault
    }

    private static func lease(_ node: String, isEligible: Bool, _ fault: LeaseFault?) -> Lease {
        var lease = Lease(node: node, isEligible: isEligible)
        if let fault { lease.plant(fault) }
        return lease
    }

    private let fault: LeaseFault?

    /// Lets so much time pass.
    mutating func run(for time: Milliseconds) {
        let end = now + time
        while now < end {
            now += Self.step
            happen()
            for place in nodes.indices { turn(place) }
            check()
        }
    }

    private mutating func chance(_ oneIn: Int) -> Bool {
        Int.random(in: 0..<oneIn, using: &dice) == 0
    }

    private mutating func time(_ range: ClosedRange<Int>) -> Milliseconds {
        Milliseconds(Int.random(in: range, using: &dice))
    }

    // MARK: What happens

    private mutating func happen() {
        let place = Int.random(in: 0..<nodes.count, using: &dice)
        if weather.pauses, chance(700) { trouble(place) { $0.pausedUntil = $1 } }
        if weather.losses, chance(700) { trouble(place) { $0.lostUntil = $1 } }
        if weather.kills, chance(900) { kill(place) }
        if weather.outages, chance(600) {
            outageUntil = now + time(500...9_000)
            troubleAt = max(troubleAt, outageUntil + Self.patience)
        }
        if weather.holes, chance(2_500) { changeNetwork() }
        guard nodes[place].lease.grant != nil, now >= nodes[place].pausedUntil else { return }
        if weather.handOvers, chance(300) {
            let target = ["", "a", "b", "c"].randomElement(using: &dice) ?? ""
            nodes[place].lease.giveUp(to: target)
            troubleAt = max(troubleAt, now)
        }
        if weather.failures, chance(300), nodes[place].wanted == nil {
            nodes[place].wanted = nodes[place].lease.grant?.term.epoch
            nodes[place].lease.takeNewEpoch()
            troubleAt = max(troubleAt, now)
        }
    }

    private mutating func changeNetwork() {
        let isWhole = chance(3)
        let share = Int.random(in: 1...4, using: &dice)
        for one in nodes.indices {
            for other in nodes.indices where other != one {
                let isThere = isWhole || Int.random(in: 0..<share, using: &dice) == 0
                if isThere { network[one].insert(other) } else { network[one].remove(other) }
            }
        }
        (networkSince, outnumbered) = (now, 0)
    }

    private mutating func trouble(
        _ place: Int, _ set: (inout Node, Milliseconds) -> Void
    ) {
        let until = now + time(200...9_000)
        set(&nodes[place], until)
        troubleAt = max(troubleAt, until + Self.patience)
    }

    private mutating func kill(_ place: Int) {
        let until = now + time(100...9_000)
        outnumbered = 0
        let before = nodes[place].lease
        let lost = nodes[place].sent
        nodes[place] = Node(
            lease: Self.lease(before.node, isEligible: before.isEligible, fault),
            downUntil: until)
        // What it has sent may still arrive.
        if let lost, lost.executeAt != nil { execute(lost.order, of: nodes[place].lease.node) }
        troubleAt = max(troubleAt, until)
    }

    // MARK: Orders

    private mutating func turn(_ place: Int) {
        executeSent(place)
        let node = nodes[place]
        guard now >= node.downUntil, now >= node.pausedUntil else { return }
        if let sent = node.sent, now >= sent.answerAt {
            nodes[place].sent = nil
            let result = sent.isAnswerLost ? LeaseResult.failed : sent.result
            look(place, after: sent.order, result)
            let news = nodes[place].lease.came(result, at: now)
            if let news { heard(news, place) }
        }
        tokens &+= 1
        let token = [UInt8(place), tokens, UInt8.random(in: 0...255, using: &dice)]
        guard nodes[place].sent == nil, let order = nodes[place].lease.next(at: now, token: token)
        else { return }
        send(order, place)
    }

    private mutating func send(_ order: LeaseOrder, _ place: Int) {
        let isLost = now < nodes[place].lostUntil
        // Lost on the way there, or on the way back.
        let isExecuted = now >= outageUntil && (!isLost || chance(2))
        let there = now + time(0...(chance(20) ? 1_500 : 40))
        let isSlow = isLost || now < outageUntil
        nodes[place].sent = Sent(
            order: order, executeAt: isExecuted ? there : nil,
            answerAt: isSlow ? now + Self.patience : there + time(0...(chance(20) ? 1_500 : 40)),
            isAnswerLost: isLost)
    }

    private mutating func executeSent(_ place: Int) {
        guard let sent = nodes[place].sent, let at = sent.executeAt, now >= at else { return }
        nodes[place].sent?.executeAt = nil
        let result = execute(sent.order, of: nodes[place].lease.node)
        nodes[place].sent?.result = result
        nodes[place].notedAt = now
        if weather.holes { nodes[place].view = view }
    }

    // MARK: Links

    private func isThere(_ place: Int) -> Bool {
        now >= nodes[place].downUntil && now >= nodes[place].pausedUntil
    }

    /// The node table now.
    private var view: ClusterView {
        ClusterView(
            owner: row.term.owner,
            nodes.indices.map { place in
                let others = network[place].filter { isThere($0) }.map { nodes[$0].lease.node }
                var node = SeenNode(nodes[place].lease.node, reaches: Set(others))
                node.isAlive = now - nodes[place].notedAt < Self.silence
                node.mayOwn = nodes[place].lease.isEligible
                return node
            })
    }

    /// The node reads who sees whom, as often as it looks or beats.
    private mutating func look(_ place: Int, after order: LeaseOrder, _ result: LeaseResult) {
        guard weather.holes, let view = nodes[place].view, result != .failed else { return }
        switch order {
        case .look, .beat: break
        case .take, .release: return
        }
        guard case .outnumbered(let other)? = nodes[place].lease.sees(view, at: now) else { return }
        nodes[place].lease.giveUp(to: other)
        troubleAt = max(troubleAt, now)
        outnumbered += 1
        let node = nodes[place].lease.node
        if now - networkSince < 9_000, isCalm { findings.insert("\(node) gave up at once") }
        if outnumbered > nodes.count { findings.insert("ownership goes to and fro") }
    }

    /// Whether nothing but the network between nodes is in the way.
    private var isCalm: Bool { now - troubleAt > 6_000 }

    /// A node that nobody sees leaves it to those who see each other.
    private mutating func judgeSight(of node: String) {
        guard weather.holes, now - networkSince > 5_000, row.term.owner != node else { return }
        let isSteady = nodes.allSatisfy {
            let until = max($0.downUntil, $0.pausedUntil, $0.lostUntil, outageUntil)
            return $0.lease.node == row.term.owner || now - until > 5_000
        }
        guard isSteady, let other = view.betterHeir(than: node) else { return }
        findings.insert("\(node) took over instead of \(other), and nobody sees it")
    }

    @discardableResult
    private mutating func execute(_ order: LeaseOrder, of node: String) -> LeaseResult {
        switch order {
        case .look: return .row(row)
        case .beat(let grant):
            guard row.term == grant.term, row.token == grant.token else { return .row(row) }
            row.beat += 1
            return .beaten(wish: nil)
        case .take(let seen, let token):
            var other = row
            if row.term.owner == node { other.beat = seen.beat }
            guard other == seen else { return .row(row) }
            if let heir, row.isReleased, heir.name != "", heir.name != node,
                now - heir.at < 2_500
            {
                findings.insert("\(node) took what was given to another")
            }
            judgeTakeover(of: node)
            judgeSight(of: node)
            row = LeaseRow(
                term: Term(owner: node, epoch: row.term.epoch + 1), token: token, beat: 0)
            takeovers += 1
            ownedSince = now
            return .taken(Grant(row.term, token: token))
        case .release(let grant, let target):
            guard row.term == grant.term, row.token == grant.token else { return .row(row) }
            // One whose answer was lost is sent again, and changes nothing.
            if !row.isReleased || row.successor != target { heir = (target, now) }
            (row.isReleased, row.successor) = (true, target)
            return .released
        }
    }

    /// Nobody is taken over who has had no trouble.
    private mutating func judgeTakeover(of node: String) {
        guard row.term.epoch > 0, !row.isReleased, row.term.owner != node else { return }
        if isCalm { findings.insert("a healthy owner was taken over") }
        let isBack = outageUntil > 0 && now > outageUntil && now - outageUntil < 900
        let owner = nodes.first { $0.lease.node == row.term.owner }
        let isWell = owner.map {
            now > $0.downUntil && now > $0.pausedUntil && now > $0.lostUntil && $0.downUntil == 0
                && $0.pausedUntil == 0 && $0.lostUntil == 0
        }
        if isBack, isWell == true { findings.insert("the owner had no time after an outage") }
    }

    private mutating func heard(_ news: LeaseNews, _ place: Int) {
        guard case .owns(let grant) = news else {
            nodes[place].wanted = nil
            return
        }
        if !nodes[place].lease.isEligible { findings.insert("a front end owns") }
        nodes[place].wanted = nil
        let isReal = row.term == grant.term && row.token == grant.token
        if !isReal, grant.term.epoch >= row.term.epoch {
            findings.insert("\(nodes[place].lease.node) believes in a takeover that was none")
        }
    }

    // MARK: Checks

    private mutating func check() {
        let speaking = nodes.filter {
            now >= $0.downUntil && now >= $0.pausedUntil && $0.lease.maySpeak(at: now)
        }
        if speaking.count > 1 { findings.insert("two nodes speak at once") }
        if let one = speaking.first {
            spokenAt = now
            if let epoch = one.wanted, one.lease.grant?.term.epoch == epoch {
                findings.insert("\(one.lease.node) goes on in the epoch of a failed commit")
            }
        }
        if let one = speaking.first { judgeOwner(one.lease.node) }
        let quiet = max(spokenAt, troubleAt)
        if now - quiet > 7_000 { findings.insert("nobody serves, and nothing is wrong") }
    }

    /// Whether it goes on to own though it should have given up. Now and then: the table is long.
    private mutating func judgeOwner(_ node: String) {
        // A node that has come back is seen anew.
        let sinceChange = now - max(networkSince, ownedSince, troubleAt)
        guard weather.holes, now % 500 == 0, sinceChange > 16_000,
            let other = view.betterOwner()
        else { return }
        findings.insert("\(node) goes on to own, and more nodes see \(other)")
    }
}
