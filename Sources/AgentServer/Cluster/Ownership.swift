// A serving process as the owner of its cluster: silent when it must be, gone when another owns.

import AgentCore
import CallModel
import ClusterCore
import ClusterStorage
import EventLoop
import StoreContract

/// What becomes of a process after it has served.
public enum Aftermath: Sendable, Equatable {
    /// It ends.
    case ends
    /// It stands by: the program is to be started anew, in the same process.
    case standsBy
    /// Another process of its name goes on; this text says so.
    case replaced(String)
}

/// Watches the lease for a serving process. Owner: the loop's thread.
final class Ownership {
    let member: ClusterMember
    /// What becomes of the process.
    var aftermath: Aftermath { isToldToEnd && meant == .standsBy ? .ends : meant }
    private var meant = Aftermath.ends
    private var isToldToEnd = false
    /// To whom it gives up at its end; empty: to anybody.
    private(set) var successor = ""
    /// What it saw of the cluster last.
    private(set) var sight: ClusterSight?
    /// Hears the digests of the nodes' certificates; see `MemberNews`.
    var fingerprintsRead: (([String: [UInt8]]?, Int) -> Void)?
    /// Hears of what the operator should know until a reload.
    var alarmed: ((Alarm) -> Void)?
    private let exchange: Exchange
    private let log: Log
    private let loop: EventLoop
    private var news: Mailbox<MemberNews>?
    private var watch: Timer?
    private var repeated = RepeatedLine()
    private var isSilent = false
    private var isOver = false
    /// Ends the process in good order.
    private let stop: () -> Void

    /// How often it looks whether it may still speak, in milliseconds.
    private static let lookEvery: Int64 = 50
    /// How long clients have to hear that they must connect elsewhere.
    private static let farewell: Int64 = 1_200

    init(
        _ member: ClusterMember, _ exchange: Exchange, on loop: EventLoop, log: Log,
        stop: @escaping () -> Void
    ) throws(EventLoopError) {
        (self.member, self.exchange, self.loop, self.log) = (member, exchange, loop, log)
        self.stop = stop
        let news = try Mailbox<MemberNews>(on: loop) { [unowned self] batch in
            for one in batch { hear(one) }
        }
        self.news = news
        member.tell { _ = news.post($0) }
        watch = Timer(on: loop) { [unowned self] in look() }
        look()
    }

    /// The process ends after it has served, whatever else is wanted before or after.
    func endForGood() { isToldToEnd = true }

    /// Hears nothing more.
    func close() {
        member.tell(nil)
        member.endsServing()
        watch = nil
    }

    private func look() {
        lookAtLease()
        let trouble = exchange.isReady ? nil : exchange.storeTrouble
        member.serves(trouble.map { "its store is away: \($0)" } ?? "")
        watch?.arm(at: Clock.bootMilliseconds() + Self.lookEvery)
    }

    /// Sends everybody away if this process may not speak as the owner.
    func lookAtLease() {
        if member.maySpeak {
            isSilent = false
        } else if !isSilent, exchange.isReady {
            isSilent = true
            log.error("silent: the lease was not kept", ("node", member.node))
            exchange.receive(
                .lost(
                    StoreError(
                        .unreachable, path: member.address.name, operation: "keeping the lease",
                        detail: "no beat within \(member.times.voice) ms")))
        }
    }

    private func hear(_ news: MemberNews) {
        switch news {
        case .owns(let grant):
            guard let left = repeated.admit("epoch", at: Moment(Clock.bootMilliseconds())) else {
                return
            }
            log.info(
                "owns in a new epoch", ("epoch", "\(grant.term.epoch)"), ("left_out", "\(left)"))
        case .trouble(let error?):
            log.warn("the database does not answer", ("error", "\(error)"))
        case .trouble(nil): log.info("the database answers")
        case .sees, .looked, .warmed: break
        case .sight(let sight): saw(sight)
        case .fingerprints(let found, let asked): fingerprintsRead?(found, asked)
        case .days(let error?):
            log.warn("the days of calls are not kept", ("error", "\(error)"))
        case .days(nil): log.info("the days of calls are kept again")
        case .asked(let target):
            log.info("hands over", ("to", target.isEmpty ? "any node" : target))
            (meant, successor) = (.standsBy, target)
            stop()
        case .outnumbered(let other):
            log.warn("gives up: more nodes see another one than this one", ("node", other))
            (meant, successor) = (.standsBy, other)
            stop()
        case .lost(let term):
            log.warn("another node owns: standing by", ("owner", "\(term)"))
            end(.standsBy, term)
        case .setBack(let back): alarmed?(.setBack(back))
        case .replaced(let term):
            let text = "another process of node \(member.node) has taken over (\(term))"
            log.error("ends", ("why", text))
            end(.replaced(text), term)
        }
    }

    private func saw(_ new: ClusterSight) {
        let before = alarms
        sight = new
        for alarm in alarms where !before.contains(alarm) {
            log.warn("alarm", ("alarm", "\(alarm)"))
        }
        guard let timeline = new.timelineBefore else { return }
        if new.mayHaveLost {
            alarmed?(.lossOfCommits(from: timeline, to: new.state.timeline))
        } else {
            let change = "from timeline \(timeline) to \(new.state.timeline)"
            log.info("the database changed, and nothing is lost", ("change", change))
        }
    }

    /// What is wrong with the other nodes.
    var alarms: [Alarm] {
        guard let state = sight?.state else { return [] }
        return state.nodes.compactMap { node in
            if node.isLost { return .lostNode(node.note.name) }
            if node.isAlive, let why = node.trouble { return .unfitNode(node.note.name, why) }
            let names = state.differing(node)
            guard node.isAlive, !names.isEmpty else { return nil }
            return .differingNode(node.note.name, names)
        }
    }

    private func end(_ aftermath: Aftermath, _ term: Term) {
        guard !isOver else { return }
        isOver = true
        meant = aftermath
        member.keptFront?.end()
        if exchange.isReady {
            exchange.receive(
                .lost(
                    StoreError(
                        .notOwner(since: term), path: member.address.name,
                        operation: "keeping the lease", detail: member.node)))
        }
        let watch = Timer(on: loop) { [unowned self] in loop.stop() }
        watch.arm(at: Clock.bootMilliseconds() + Self.farewell)
        self.watch = watch
    }
}
