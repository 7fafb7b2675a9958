// The policy thread, and the loop's side of it.

import AgentCore
import CallModel
import Collections
import EventLoop
import Lua
import PolicyHost
import Synchronization

/// An order to the policy thread.
enum PolicyOrder: Sendable {
    case input(PolicyInput)
    /// The process starts with these timers.
    case start([PolicyTimer])
    /// The process ends: tell what waits until this moment of the boot clock, then `on.stop`.
    case stop(by: Int64)
    /// Wake up: something urgent is wanted.
    case look
    /// Try out another generation; `prepared` answers.
    indirect case prepare(Candidate)
    /// The generation that was tried out takes over at this place among the inputs; a canary for
    /// whoever comes into a call from this moment on.
    case cut(since: Moment?)
    /// The canary decides for others.
    indirect case extend(CanaryOrder)
    /// The canary decides no more.
    case endCanary

    /// A generation that is to take over.
    struct Candidate: Sendable {
        let generation: Generation
        let reason: ChangeReason
        /// Why probation may not go back from it (G82); nil: it may.
        var returnRefused: String?
        /// See `PolicyHost.prepare`.
        var control: Generation?
        /// For whom it is to decide, beside the one in force; nil: for all.
        var canary: CanaryOrder?
    }
}

/// What the policy thread tells the loop.
enum PolicyNews: Sendable {
    case effect(PolicyEffect)
    /// The generation given with `prepare` can take over, or why nothing will change.
    case prepared(ScriptProblems?)
    /// The plugins were told that the process ends; so many events before that were left out.
    case stopped(leftOut: Int)
    case status(PolicyStatus)
    /// All questions of a batch were looked at; those that are not answered wait for something.
    case thought
    /// So many reports were told, counted by the account that caused them.
    case reported([UserID: Int])
}

/// How a policy host is doing.
struct PolicyStatus: Sendable {
    let generation: String
    let plugins: [PluginStatus]
    let drainingHandlers: Int
    let isOnProbation: Bool
    let canary: CanaryStatus?

    init(_ host: PolicyHost) {
        generation = host.generation.name
        plugins = host.status
        drainingHandlers = host.drainingHandlers
        isOnProbation = host.isOnProbation
        canary = host.canaryStatus
    }
}

/// Runs the policy host on a thread of its own, so that no script delays the network. Owner of all
/// but the thread's body: the loop's thread.
final class PolicyThread: PolicyLink {
    /// Processor time that the fast lane has of one turn of the loop, in two parts, in nanoseconds.
    private static let laneTime: UInt64 = 1_000_000

    private let mailbox = WorkerMailbox<PolicyWorker.Batch>()
    private let urgent = PolicyWorker.Urgent()
    private let worker: Locked<PolicyWorker>
    /// Whether questions that are quick are answered on the loop's thread.
    var isLaneOpen = true
    /// How many were.
    private(set) var answeredInLane = 0
    /// Performs on the loop what the fast lane leads to.
    var carryOut: (PolicyEffect) -> Void = { _ in }
    private var thread: WorkerThread?
    private var gathered: [PolicyOrder] = []
    private var gatheredQuestions = 0
    private var posted = 0
    /// Reports that wait, counted by the account that caused them and not by the caller: a caller
    /// does not pay for what others do in the call.
    private var reports: [UserID: Int] = [:]
    /// Batches with questions that the thread has not finished looking at.
    private var thoughtsOpen = 0
    /// How many answers and waits were carried out.
    private var heard: UInt64 = 0
    private let clock: () -> (now: Moment, wallOffset: Milliseconds)

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - host: from now on of the thread, and of the fast lane while that one sleeps.
    ///   - clock: the core's time and how far the wall clock is ahead; called on the loop.
    ///   - news: where effects go, except for lines of the log.
    ///   - mayBegin: whether timers and what else is due may be begun now; called on any thread.
    ///   - write: writes a line of the log, on whatever thread the plugin runs.
    init(
        _ host: PolicyHost, clock: @escaping () -> (now: Moment, wallOffset: Milliseconds),
        news: Mailbox<PolicyNews>, mayBegin: @escaping @Sendable () -> Bool = { true },
        write: @escaping @Sendable (PolicyLog) -> Void
    ) throws(EventLoopError) {
        self.clock = clock
        host.cutsForOthers = true
        let worker = Locked(
            PolicyWorker(
                host: host, news: news, urgent: urgent, mayBegin: mayBegin, write: write))
        self.worker = worker
        let mailbox = mailbox
        // Lua's own limit of nested C calls needs about 200 KiB; patterns and sorts some more.
        thread = try WorkerThread(name: "policy", stackSize: 4 << 20, yields: true) {
            var batches: [PolicyWorker.Batch] = []
            var wakeAt: Int64?
            while mailbox.takeAll(into: &batches, until: wakeAt) != .closed {
                wakeAt = worker.withLock { $0.work(batches) }
            }
        }
    }

    func ask(_ question: Question) {
        var question = question
        question.heard = heard
        gathered.append(.input(.asked(question)))
        gatheredQuestions += 1
    }

    func withdraw(_ question: QuestionID) { gathered.append(.input(.withdrawn(question))) }

    func tell(_ report: Report) {
        if let account = report.cause.user { reports[account, default: 0] += 1 }
        gathered.append(.input(.told(report)))
    }

    /// Tells the plugins something that the core does not know of.
    func tell(_ input: PolicyInput) { gathered.append(.input(input)) }

    /// A handler's wait is over.
    func reply(_ wait: WaitID, _ reply: WaitReply) {
        gathered.append(.input(.replied(wait, reply)))
    }

    /// A call is over.
    func callEnded(_ call: CallID) { gathered.append(.input(.callEnded(call))) }

    /// Has another generation tried out behind everything gathered so far.
    func prepare(_ candidate: PolicyOrder.Candidate) { gathered.append(.prepare(candidate)) }

    /// Lets it take over: the inputs gathered so far go to the generation before, all later ones to
    /// it.
    func cut(since: Moment? = nil) { gathered.append(.cut(since: since)) }

    /// The canary decides for others from here on.
    func extend(_ order: CanaryOrder) { gathered.append(.extend(order)) }

    /// The canary decides no more.
    func endCanary() { gathered.append(.endCanary) }

    /// The plugins begin, with the timers that were kept.
    func start(_ timers: [PolicyTimer]) { gathered.append(.start(timers)) }

    func flush() {
        guard !gathered.isEmpty else { return }
        let (now, wallOffset) = clock()
        let time = PolicyTime(now: now, boot: Clock.bootMilliseconds(), wallOffset: wallOffset)
        if isLaneOpen { takeLane(time) }
        guard !gathered.isEmpty else { return }
        _ = mailbox.post(
            PolicyWorker.Batch(orders: gathered, questions: gatheredQuestions, time: time))
        posted += gathered.count
        gathered = []
        if gatheredQuestions > 0 { thoughtsOpen += 1 }
        gatheredQuestions = 0
    }

    /// Answers what is quick at once, if the policy thread has nothing to do before it. What is
    /// carried out may lead to more questions, which come behind the others.
    private func takeLane(_ time: PolicyTime) {
        guard posted == urgent.carriedOut.load(ordering: .relaxed) else { return }
        _ = worker.withLockIfFree { worker in
            let taken = worker.takeLane(
                time, for: Self.laneTime, { takeInput(at: $0, if: $1) }, carryOut)
            if taken == gathered.count {
                gathered.removeTaken()
            } else {
                gathered.removeFirst(taken)
            }
            if worker.isWanted { gathered.append(.look) }
        }
    }

    /// Takes the order at `place` out, if it is an input that `isQuick`: to look at a copy of it
    /// would cost more than to put it back.
    private func takeInput(at place: Int, if isQuick: (PolicyInput) -> Bool) -> PolicyInput? {
        guard place < gathered.count else { return nil }
        switch gathered.take(at: place, leaving: .look) {
        case .input(let input):
            guard isQuick(input) else {
                gathered[place] = .input(input)
                return nil
            }
            guard case .asked = input else { return input }
            gatheredQuestions -= 1
            answeredInLane += 1
            return input
        case let order:
            gathered[place] = order
            return nil
        }
    }

    /// Tells the plugins what waits, until `moment` of the boot clock, and then `on.stop`;
    /// `stopped` answers.
    func stop(by moment: Int64) { gathered.append(.stop(by: moment)) }

    var isThinking: Bool { thoughtsOpen > 0 }

    var backlog: Int { gathered.count + posted - urgent.carriedOut.load(ordering: .relaxed) }

    func reportsWaiting(for account: UserID) -> Int { reports[account] ?? 0 }

    /// The thread has told these reports.
    func reported(_ counts: [UserID: Int]) {
        for (account, count) in counts {
            let left = (reports[account] ?? 0) - count
            reports[account] = left > 0 ? left : nil
        }
    }

    /// The core was given an answer, or was told that a handler waits.
    func hears() { heard += 1 }

    /// The thread has looked at all questions of a batch.
    func thought() { thoughtsOpen -= 1 }

    /// Asks how the plugins are doing.
    func askStatus() {
        urgent.wantsStatus.store(true, ordering: .relaxed)
        gathered.append(.look)
    }

    /// Ends the thread after the input that it is at; what waits is dropped.
    func close() {
        urgent.isClosing.store(true, ordering: .relaxed)
        mailbox.close()
        thread?.join()
    }
}
