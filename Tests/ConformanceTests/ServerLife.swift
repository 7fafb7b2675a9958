// One life of the server: its real exchange, gateway and store, from a start to a kill.

import AgentCore
import CallModel
import CallSimulator
import CallWire
import EventLoop
import Storage
import StoreContract

@testable import AgentServer

/// A server whose clock stands still and whose policies are played by the rig.
final class ServerLife: PolicyLink {
    let exchange: Exchange
    let gateway: Gateway
    let metrics = Metrics()
    private let store: WatchedStore
    private let limits: ServerLimits
    /// What the policies and the push sender see; replaced by nothing when the server is killed.
    var sees: (Observer, Sight) -> Void
    /// What the policies are asked and have not answered.
    private(set) var questions: [Question] = []

    /// Starts from what `directory` keeps.
    init(
        _ settings: Settings, in directory: StateDirectory, at now: Moment, on loop: EventLoop,
        sees: @escaping (Observer, Sight) -> Void
    ) throws {
        self.sees = sees
        var options = StoreOptions()
        options.synchronous = .off
        let disk = try Store(in: directory, options: options)
        let restored = try disk.restore(at: now)
        var limits = ServerLimits()
        // The rig's clock leaps: nobody is slow to speak because of that.
        limits.session.helloWithin = 1_000_000_000
        limits.session.pingInterval = 1_000_000_000
        limits.session.silenceMax = 2_000_000_000
        self.limits = limits
        let log = Log(level: .error, descriptor: -1)
        exchange = Exchange(
            settings, restored: restored, seed: UInt64(bitPattern: now.milliseconds),
            limits: limits, log: log, loop: loop, clock: CoreClock(standingAt: now))
        gateway = Gateway(
            exchange: exchange, loop: loop, limits: limits, modes: settings.modes,
            tokens: DevelopmentTokens(), log: log, metrics: metrics)
        store = try WatchedStore(disk, on: loop) { [unowned exchange] in exchange.receive($0) }
        exchange.store = store
        exchange.policies = self
        store.pushed = { [unowned self] in
            self.sees(.push, .job($0, now: exchange.now()))
        }
        exchange.restore(restored)
    }

    /// Whether its store's threads have nothing to do.
    var isStoreQuiet: Bool { store.awaited == 0 && !exchange.hasOpenCommits }

    /// From now on nothing that it does has any effect, and the next life may open its store.
    func kill() {
        guard !store.isDead else { return }
        store.isDead = true
        store.close()
        sees = { _, _ in }
    }

    /// Its clock stands at `now` from the next turn of the loop on.
    func stand(at now: Moment) { exchange.clock = CoreClock(standingAt: now) }

    func configure(_ settings: Settings) {
        exchange.configure(settings, limits)
        gateway.configure(limits, modes: settings.modes, origins: Origins(nil))
    }

    /// The policies answer the oldest question of this sort; false: there is none.
    func answer(_ sort: QuestionSort, _ answer: Answer) -> Bool {
        guard let index = questions.firstIndex(where: { $0.sort == sort }) else { return false }
        exchange.feed(.answered(questions.remove(at: index).id, answer))
        return true
    }

    /// A handler that is asked the newest question of this sort waits for something; false: there
    /// is none.
    func think(_ sort: QuestionSort) -> Bool {
        guard let question = questions.last(where: { $0.sort == sort }) else { return false }
        exchange.feed(.thinking(question.id))
        return true
    }

    // MARK: PolicyLink

    var isThinking: Bool { false }
    var backlog: Int { 0 }

    func ask(_ question: Question) {
        questions.append(question)
        sees(.policy, .question(question, now: exchange.now()))
    }

    func withdraw(_ question: QuestionID) {
        questions.removeAll { $0.id == question }
        sees(.policy, .withdrawn)
    }

    func tell(_ report: Report) { sees(.policy, .report(report)) }
    func flush() {}
}

/// The store on its threads, as in production: its push jobs are seen, and nothing more comes to
/// it after a kill.
private final class WatchedStore: StoreLink {
    var isDead = false
    var pushed: (PushJob) -> Void = { _ in }
    /// Orders that the threads have not answered.
    private(set) var awaited = 0
    private let link: StoreThreads
    private let news: Mailbox<StoreNews>

    init(
        _ store: any CallStore, on loop: EventLoop, told: @escaping (StoreNews) -> Void
    ) throws {
        var receive: (StoreNews) -> Void = { _ in }
        news = try Mailbox<StoreNews>(on: loop) { batch in
            for item in batch { receive(item) }
        }
        link = try StoreThreads(
            (store, try store.makeReader()), Settings(),
            open: { () throws(StoreError) in
                throw StoreError(.notOpen, path: "", operation: "reopen", detail: "not here")
            }, news: news)
        receive = { [unowned self] item in
            awaited -= 1
            told(item)
        }
    }

    var isCommitting: Bool { link.isCommitting }

    func commit(_ batch: [StoreChange], at now: Moment, as ticket: StoreTicket) {
        guard !isDead else { return }
        for case .push(.add(_, let job)) in batch { pushed(job) }
        awaited += 1
        link.commit(batch, at: now, as: ticket)
    }

    func find(_ query: StoreQuery, as ticket: StoreTicket) {
        guard !isDead else { return }
        awaited += 1
        link.find(query, as: ticket)
    }

    func open(at now: Moment, in term: Term, as ticket: StoreTicket) {
        preconditionFailure("the rig's store does not fail")
    }
    func limit(to limits: StoreLimits) { link.limit(to: limits) }

    func close() {
        link.close()
        news.close()
    }
}
