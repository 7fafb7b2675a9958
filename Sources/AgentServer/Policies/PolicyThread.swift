// The policy thread, and the loop's side of it.

import AgentCore
import CallModel
import Decisions
import EventLoop
import Glibc
import JSON
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
    case prepare(Candidate)
    /// The generation that was tried out takes over at this place among the inputs.
    case cut

    /// A generation that is to take over.
    struct Candidate: Sendable {
        let generation: Generation
        let reason: ChangeReason
        /// Why probation may not go back from it (G82); nil: it may.
        var returnRefused: String?
        /// See `PolicyHost.prepare`.
        var control: Generation?
    }
}

/// What the policy thread tells the loop.
enum PolicyNews: Sendable {
    case effect(PolicyEffect)
    /// The generation given with `prepare` can take over, or why nothing will change.
    case prepared(PolicyProblems?)
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

    init(_ host: PolicyHost) {
        generation = host.generation.name
        plugins = host.status
        drainingHandlers = host.drainingHandlers
        isOnProbation = host.isOnProbation
    }
}

/// Runs the policy host on a thread of its own, so that no script delays the network. Owner of all
/// but the thread's body: the loop's thread.
final class PolicyThread: PolicyLink {
    private struct Batch: Sendable {
        let orders: [PolicyOrder]
        /// How many questions are among them.
        let questions: Int
        /// The core's time, and the boot clock's at the same moment.
        let now: Moment
        let boot: Int64
        let wallOffset: Milliseconds
    }

    /// Requests that do not wait behind the orders. Any thread.
    private final class Urgent: Sendable {
        /// Nothing more is carried out.
        let isClosing = Atomic(false)
        /// Somebody waits for `status`.
        let wantsStatus = Atomic(false)
        /// How many orders were carried out.
        let carriedOut = Atomic(0)
    }

    private let mailbox = WorkerMailbox<Batch>()
    private let urgent = Urgent()
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
    ///   - host: moves to the thread.
    ///   - clock: the core's time and how far the wall clock is ahead; called on the loop.
    ///   - news: where effects go.
    init(
        _ host: PolicyHost, clock: @escaping () -> (now: Moment, wallOffset: Milliseconds),
        news: Mailbox<PolicyNews>
    ) throws(EventLoopError) {
        self.clock = clock
        host.cutsForOthers = true
        let body = Body(host: host, news: news, urgent: urgent)
        let mailbox = mailbox
        // Lua's own limit of nested C calls needs about 200 KiB; patterns and sorts some more.
        thread = try WorkerThread(name: "policy", stackSize: 4 << 20, yields: true) {
            var batches: [Batch] = []
            while true {
                switch mailbox.takeAll(into: &batches, until: body.wakeAt) {
                case .elements:
                    body.begin()
                    for batch in batches { body.carryOut(batch) }
                case .deadline: body.begin()
                case .closed: return
                }
                body.goOn()
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
    func cut() { gathered.append(.cut) }

    /// The plugins begin, with the timers that were kept.
    func start(_ timers: [PolicyTimer]) { gathered.append(.start(timers)) }

    func flush() {
        guard !gathered.isEmpty else { return }
        let (now, wallOffset) = clock()
        _ = mailbox.post(
            Batch(
                orders: gathered, questions: gatheredQuestions, now: now,
                boot: Clock.bootMilliseconds(), wallOffset: wallOffset))
        posted += gathered.count
        gathered = []
        if gatheredQuestions > 0 { thoughtsOpen += 1 }
        gatheredQuestions = 0
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

    /// The thread's body. Owner: the policy thread.
    private final class Body: @unchecked Sendable {
        /// For so much processor time inputs are carried out as they come; the rest waits for its
        /// turn.
        private static let patience: UInt64 = 2_000_000
        /// Processor time after which the thread looks for new inputs.
        private static let turn: UInt64 = 1_000_000

        private let host: PolicyHost
        private let news: Mailbox<PolicyNews>
        private let urgent: Urgent
        private var queue = PolicyQueue()
        private var told: [PolicyNews] = []
        /// Reports that were told and not yet counted to the loop.
        private var reported: [UserID: Int] = [:]
        private var flushedAt = Moment(0)
        /// The host's processor time when the thread woke up.
        private var spentBefore: UInt64 = 0
        /// The core's time less the boot clock's.
        private var offset: Int64 = 0
        /// The latest moment at which the plugins are told that the process ends, by the boot
        /// clock.
        private var stopsAt: Int64?
        private var isStopped = false

        init(host: PolicyHost, news: Mailbox<PolicyNews>, urgent: Urgent) {
            self.host = host
            self.news = news
            self.urgent = urgent
            host.patience = Self.patience
            // An answer must not wait behind a run of another account.
            host.runIsLong = { [unowned self] in flush() }
        }

        /// Whether everything is told, or the time for it is over.
        private var mayStop: Bool {
            guard let stopsAt, !isStopped else { return false }
            return queue.isEmpty || Clock.bootMilliseconds() >= stopsAt
        }

        private func stop() {
            isStopped = true
            var leftOut = 0
            while let job = queue.next() {
                if job.isCounted, case .told = job.input { leftOut += 1 }
                end(job)
                for next in queue.done(job, rest: nil, nanoseconds: 0) { end(next) }
            }
            tell(host.stop(at: now))
            told.append(.stopped(leftOut: leftOut))
        }

        /// When the thread wants to go on, by the boot clock.
        var wakeAt: Int64? {
            if !queue.isEmpty { return 0 }
            return host.nextDeadline.map { $0.milliseconds - offset }
        }

        /// The thread has woken up.
        func begin() { spentBefore = host.spent }

        func carryOut(_ batch: Batch) {
            offset = batch.now.milliseconds - batch.boot
            host.wallOffset = batch.wallOffset
            let questions = batch.questions > 0 ? QuestionCount(batch.questions) : nil
            for place in batch.orders.indices {
                if isClosing { return }
                lookUp()
                switch batch.orders[place] {
                case .input(let input):
                    take(input, questions)
                    continue
                case .start(let timers):
                    tell(host.restore(timers, at: now))
                    tell(host.start(at: now))
                case .stop(let moment): stopsAt = min(moment, stopsAt ?? moment)
                case .look: break
                case .prepare(let candidate): prepare(candidate)
                case .cut: tell(host.cut(at: now))
                }
                urgent.carriedOut.wrappingAdd(1, ordering: .relaxed)
            }
        }

        /// Carries out what is due and what waits, for a short time.
        func goOn() {
            lookUp()
            let end = host.spent + Self.turn
            for _ in 0..<64 where !isClosing && host.spent < end {
                if !told.isEmpty, queue.takesLong() { return letAskAgain() }
                guard let job = queue.next() else { break }
                serve(job)
            }
            if mayStop, !isClosing { stop() }
            if queue.isEmpty || now != flushedAt { flush() }
        }

        /// An account that gets an answer may ask again at once, and should not wait for the next
        /// run: an invitation has several questions, one after the other.
        private func letAskAgain() {
            flush()
            sched_yield()
        }

        /// Carries out an input, or lets it wait for its turn while the thread is behind.
        private func take(_ input: PolicyInput, _ questions: QuestionCount?) {
            var job = PolicyQueue.Job(input: input, generation: host.generation)
            if case .due = input { job.isCounted = false }
            // A question that waits for its turn must not delay the commits of others.
            defer { if case .asked = input { lookedAt(questions) } }
            let isBehind = !queue.isEmpty || host.spent - spentBefore >= Self.patience
            if isBehind, queue.add(job, host) {
                // Its work is done: the question that it withdraws will not be asked.
                if case .withdrawn = input { end(job) }
                return
            }
            tell(host.handle(input, at: now))
            end(job)
            var rest = host.takeRest()
            while let input = rest {
                tell(host.handle(input, at: now))
                rest = host.takeRest()
            }
        }

        private func serve(_ job: PolicyQueue.Job) {
            let before = host.spent
            if !job.isWithdrawn { tell(host.handle(job.input, at: now, in: job.generation)) }
            end(job)
            let ends = queue.done(
                job, rest: host.takeRest(), nanoseconds: host.spent - before)
            for next in ends {
                tell(host.handle(next.input, at: now))
                end(next)
            }
        }

        /// An input was carried out.
        private func end(_ job: PolicyQueue.Job) {
            if job.isCounted { urgent.carriedOut.wrappingAdd(1, ordering: .relaxed) }
            if job.isCounted, case .told(let report, _) = job.input,
                let account = report.cause.user
            {
                reported[account, default: 0] += 1
            }
        }

        private func lookedAt(_ questions: QuestionCount?) {
            questions?.lookedAt()
            if questions?.left == 0 { told.append(.thought) }
        }

        /// Even with much waiting, due inputs get their turn, results are told, and `status` is
        /// answered.
        private func lookUp() {
            let now = now
            while let due = host.takeDue(at: now) { take(.due(due), nil) }
            if urgent.wantsStatus.load(ordering: .relaxed) {
                urgent.wantsStatus.store(false, ordering: .relaxed)
                told.append(.status(PolicyStatus(host)))
            }
            if now != flushedAt { flush() }
        }

        private func prepare(_ candidate: PolicyOrder.Candidate) {
            do throws(PolicyProblems) {
                try host.prepare(
                    candidate.generation, reason: candidate.reason,
                    returnRefused: candidate.returnRefused,
                    control: candidate.control.map { Replay($0, cryptography: .system) }, at: now)
                told.append(.prepared(nil))
            } catch {
                told.append(.prepared(error))
            }
        }

        private func flush() {
            flushedAt = now
            if !reported.isEmpty {
                told.append(.reported(reported))
                reported = [:]
            }
            _ = news.post(&told)
        }

        private var isClosing: Bool { urgent.isClosing.load(ordering: .relaxed) }

        private var now: Moment { Moment(Clock.bootMilliseconds() + offset) }

        private func tell(_ effects: [PolicyEffect]) {
            for effect in effects { told.append(.effect(effect)) }
        }
    }
}
