// Nodes, a row and a network in virtual time, and a checker that sees all of it.

import CallModel
import ClusterCore
import StoreContract

/// Three nodes of which one owns, with whatever happens to them.
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

    private static let step: Milliseconds = 10
    private static let patience: Milliseconds = 2_000

    init(seed: UInt64, _ weather: Weather, fault: LeaseFault? = nil) {
        self.weather = weather
        dice = SeededGenerator(seed: seed)
        nodes = ["a", "b", "c"].map { name in
            var lease = Lease(node: name)
            if let fault { lease.plant(fault) }
            return Node(lease: lease)
        }
        self.fault = fault
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
        if weather.outages, chance(1_500) {
            outageUntil = now + time(500...9_000)
            troubleAt = max(troubleAt, outageUntil + Self.patience)
        }
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

    private mutating func trouble(
        _ place: Int, _ set: (inout Node, Milliseconds) -> Void
    ) {
        let until = now + time(200...9_000)
        set(&nodes[place], until)
        troubleAt = max(troubleAt, until + Self.patience)
    }

    private mutating func kill(_ place: Int) {
        let until = now + time(100...9_000)
        var lease = Lease(node: nodes[place].lease.node)
        if let fault { lease.plant(fault) }
        let lost = nodes[place].sent
        nodes[place] = Node(lease: lease, downUntil: until)
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
        let there = now + time(0...40)
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
            row = LeaseRow(
                term: Term(owner: node, epoch: row.term.epoch + 1), token: token, beat: 0)
            takeovers += 1
            return .taken(Grant(row.term, token: token))
        case .release(let grant, let target):
            guard row.term == grant.term, row.token == grant.token else { return .row(row) }
            (row.isReleased, row.successor) = (true, target)
            heir = (target, now)
            return .released
        }
    }

    /// Nobody is taken over who has had no trouble.
    private mutating func judgeTakeover(of node: String) {
        guard row.term.epoch > 0, !row.isReleased, row.term.owner != node else { return }
        let isCalm = now - troubleAt > 6_000
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
        let quiet = max(spokenAt, troubleAt)
        if now - quiet > 7_000 { findings.insert("nobody serves, and nothing is wrong") }
    }
}
