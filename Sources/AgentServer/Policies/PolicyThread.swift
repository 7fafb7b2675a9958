// The policy thread, and the loop's side of it.

import CallModel
import EventLoop
import JSON
import PolicyHost
import Synchronization

/// Something for the policy thread.
enum PolicyOrder: Sendable {
    case input(PolicyInput)
    /// The process starts with these timers, or ends.
    case start([PolicyTimer])
    case stop
    /// Looks up: something urgent is wanted.
    case look
    /// Another generation takes over between two inputs; `swapped` answers.
    case swap(Generation, ChangeReason)
}

/// What the policy thread tells the loop.
enum PolicyNews: Sendable {
    case effect(PolicyEffect)
    /// The generation given with `swap` is active, or why nothing has changed.
    case swapped(PolicyProblems?)
    /// The plugins were told that the process ends.
    case stopped
    case status(PolicyStatus)
    /// The questions of a batch were looked at; those that are not answered wait for something.
    case thought
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

/// Runs the policy host on a thread of its own, so that no script keeps the network waiting.
/// Owner of all but the thread's body: the loop's thread.
final class PolicyThread: PolicyLink {
    private struct Batch: Sendable {
        let orders: [PolicyOrder]
        /// Whether there are questions among them.
        let asks: Bool
        /// The core's time, and the boot clock's at the same moment.
        let now: Moment
        let boot: Int64
        let wallOffset: Milliseconds
    }

    /// What does not wait behind the orders. Any thread.
    private final class Urgent: Sendable {
        /// Nothing more is carried out.
        let isClosing = Atomic(false)
        /// `status` answers.
        let wantsStatus = Atomic(false)
        /// Orders that were carried out.
        let carriedOut = Atomic(0)
    }

    private let mailbox = WorkerMailbox<Batch>()
    private let urgent = Urgent()
    private var thread: WorkerThread?
    private var gathered: [PolicyOrder] = []
    private var gathersQuestions = false
    private var posted = 0
    /// Batches with questions that the thread has not been through.
    private var thoughtsOpen = 0
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
        let body = Body(host: host, news: news, urgent: urgent)
        let mailbox = mailbox
        // Lua's own limit of nested C calls needs about 200 KiB; patterns and sorts some more.
        thread = try WorkerThread(name: "policy", stackSize: 4 << 20) {
            var batches: [Batch] = []
            while true {
                switch mailbox.takeAll(into: &batches, until: body.wakeAt) {
                case .elements: for batch in batches { body.carryOut(batch) }
                case .deadline: body.deadlineReached()
                case .closed: return
                }
                body.flush()
            }
        }
    }

    func ask(_ question: Question) {
        gathered.append(.input(.asked(question)))
        gathersQuestions = true
    }

    func withdraw(_ question: QuestionID) { gathered.append(.input(.withdrawn(question))) }

    func tell(_ report: Report) {
        gathered.append(.input(.told(report)))
    }

    /// Something that the core does not know of.
    func tell(_ input: PolicyInput) { gathered.append(.input(input)) }

    /// A handler's wait is over.
    func reply(_ wait: WaitID, _ reply: WaitReply) {
        gathered.append(.input(.replied(wait, reply)))
    }

    /// A call is over.
    func callEnded(_ call: CallID) { gathered.append(.input(.callEnded(call))) }

    /// Another generation takes over behind everything gathered so far.
    func swap(to generation: Generation, _ reason: ChangeReason) {
        gathered.append(.swap(generation, reason))
    }

    /// The plugins begin, with the timers that were kept.
    func start(_ timers: [PolicyTimer]) { gathered.append(.start(timers)) }

    func flush() {
        guard !gathered.isEmpty else { return }
        let (now, wallOffset) = clock()
        _ = mailbox.post(
            Batch(
                orders: gathered, asks: gathersQuestions, now: now,
                boot: Clock.bootMilliseconds(), wallOffset: wallOffset))
        posted += gathered.count
        gathered = []
        if gathersQuestions { thoughtsOpen += 1 }
        gathersQuestions = false
    }

    /// Tells the plugins that the process ends; `stopped` answers.
    func stop() { gathered.append(.stop) }

    var isThinking: Bool { thoughtsOpen > 0 }

    var backlog: Int { gathered.count + posted - urgent.carriedOut.load(ordering: .relaxed) }

    /// The thread has been through a batch with questions.
    func thought() { thoughtsOpen -= 1 }

    /// Asks how the plugins are doing.
    func askStatus() {
        urgent.wantsStatus.store(true, ordering: .relaxed)
        gathered.append(.look)
    }

    /// Ends the thread after what it is doing; what waits is dropped.
    func close() {
        urgent.isClosing.store(true, ordering: .relaxed)
        mailbox.close()
        thread?.join()
    }

    /// What the thread does. Owner: the policy thread.
    private final class Body: @unchecked Sendable {
        private let host: PolicyHost
        private let news: Mailbox<PolicyNews>
        private let urgent: Urgent
        private var told: [PolicyNews] = []
        private var flushedAt = Moment(0)
        /// The core's time less the boot clock's.
        private var offset: Int64 = 0

        init(host: PolicyHost, news: Mailbox<PolicyNews>, urgent: Urgent) {
            self.host = host
            self.news = news
            self.urgent = urgent
        }

        /// When the host wants to be called, by the boot clock.
        var wakeAt: Int64? { host.nextDeadline.map { $0.milliseconds - offset } }

        func carryOut(_ batch: Batch) {
            offset = batch.now.milliseconds - batch.boot
            host.wallOffset = batch.wallOffset
            for place in batch.orders.indices {
                if urgent.isClosing.load(ordering: .relaxed) { return }
                let now = now
                lookUp(at: now)
                switch batch.orders[place] {
                case .input(let input): tell(host.handle(input, at: now))
                case .start(let timers):
                    tell(host.restore(timers, at: now))
                    tell(host.start(at: now))
                case .stop:
                    tell(host.stop(at: now))
                    told.append(.stopped)
                case .look: break
                case .swap(let generation, let reason): swap(to: generation, reason)
                }
            }
            urgent.carriedOut.wrappingAdd(batch.orders.count, ordering: .relaxed)
            if batch.asks { told.append(.thought) }
        }

        /// However much waits: what is due is done, what was found is told, and who asks how the
        /// plugins are doing hears it.
        private func lookUp(at now: Moment) {
            if let due = host.nextDeadline, due <= now { deadlineReached() }
            if urgent.wantsStatus.load(ordering: .relaxed) {
                urgent.wantsStatus.store(false, ordering: .relaxed)
                told.append(.status(PolicyStatus(host)))
            }
            if now != flushedAt { flush() }
        }

        private func swap(to generation: Generation, _ reason: ChangeReason) {
            do throws(PolicyProblems) {
                tell(try host.activate(generation, reason: reason, at: now))
                told.append(.swapped(nil))
            } catch {
                told.append(.swapped(error))
            }
        }

        func deadlineReached() { tell(host.handle(.deadlineReached, at: now)) }

        func flush() {
            flushedAt = now
            _ = news.post(&told)
        }

        private var now: Moment { Moment(Clock.bootMilliseconds() + offset) }

        private func tell(_ effects: [PolicyEffect]) {
            for effect in effects { told.append(.effect(effect)) }
        }
    }
}
