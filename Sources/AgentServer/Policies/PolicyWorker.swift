// The policy host at work, on the policy thread or in the fast lane.

import CallModel
import Collections
import Decisions
import EventLoop
import Glibc
import Lua
import PolicyHost
import Synchronization

/// What the policy thread does. Owner: the policy thread while it works; the loop's thread in the
/// fast lane, while that one sleeps.
final class PolicyWorker {
    /// An order to work, with others of the same turn of the loop.
    struct Batch: Sendable {
        let orders: [PolicyOrder]
        /// How many questions are among them.
        let questions: Int
        let time: PolicyTime
    }

    /// Requests that do not wait behind the orders. Any thread.
    final class Urgent: Sendable {
        /// Nothing more is carried out.
        let isClosing = Atomic(false)
        /// Somebody waits for `status`.
        let wantsStatus = Atomic(false)
        /// How many orders were carried out.
        let carriedOut = Atomic(0)
    }

    /// For so much processor time inputs are carried out as they come; the rest waits for its
    /// turn.
    private static let patience: UInt64 = 2_000_000
    /// Processor time after which the thread looks for new inputs.
    private static let turn: UInt64 = 1_000_000
    /// After so many milliseconds it is asked again whether what is due may be begun.
    private static let pause: Int64 = 50

    private let host: PolicyHost
    private let news: Mailbox<PolicyNews>
    private let urgent: Urgent
    /// Writes a line of a plugin. The thread that runs a plugin writes them, so that one who logs
    /// much does not keep the loop busy.
    private let write: @Sendable (PolicyLog) -> Void
    /// Whether what is due may be begun now. A process that was stopped may find much that is due,
    /// and another node has done it.
    private let mayBegin: @Sendable () -> Bool
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
    /// Until when the policy thread sleeps at most, by the boot clock; nil: until it gets orders.
    private var sleepsUntil: Int64?

    init(
        host: PolicyHost, news: Mailbox<PolicyNews>, urgent: Urgent,
        mayBegin: @escaping @Sendable () -> Bool, write: @escaping @Sendable (PolicyLog) -> Void
    ) {
        self.mayBegin = mayBegin
        self.write = write
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

    /// Carries out `batches` and what is due; returns when the thread wants to go on, by the boot
    /// clock.
    func work(_ batches: [Batch]) -> Int64? {
        spentBefore = host.spent
        if host.hasLeftInLane { tell(host.afterLane(at: now)) }
        for batch in batches { carryOut(batch) }
        goOn()
        sleepsUntil = wakeAt
        return sleepsUntil
    }

    private var wakeAt: Int64? {
        if !queue.isEmpty { return 0 }
        guard let due = host.nextDeadline.map({ $0.milliseconds - offset }) else { return nil }
        return mayBegin() ? due : max(due, Clock.bootMilliseconds() + Self.pause)
    }

    private func tell(_ time: PolicyTime) {
        offset = time.now.milliseconds - time.boot
        host.wallOffset = time.wallOffset
    }

    private func carryOut(_ batch: Batch) {
        tell(batch.time)
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
            case .cut(let since): tell(host.cut(at: now, since: since))
            case .extend(let order): host.extendCanary(order)
            case .endCanary: tell(host.endCanary(at: now))
            }
            urgent.carriedOut.wrappingAdd(1, ordering: .relaxed)
        }
    }

    /// Carries out what is due and what waits, for a short time.
    private func goOn() {
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
        var job = PolicyQueue.Job(input: input, generation: host.generation(for: input))
        if case .due = input { job.isCounted = false }
        // A question that waits for its turn must not delay the commits of others.
        defer { if case .asked = input { lookedAt(questions) } }
        let isBehind = !queue.isEmpty || host.spent - spentBefore >= Self.patience
        if isBehind, queue.add(job, host) {
            // Its work is done: the question that it withdraws will not be asked.
            if case .withdrawn = input { end(job) }
            return
        }
        tell(host.handle(input, at: now, in: job.generation))
        end(job)
        var rest = host.takeRest()
        while let input = rest {
            tell(host.handle(input, at: now, in: job.generation))
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
        while mayBegin(), let due = host.takeDue(at: now) { take(.due(due), nil) }
        if urgent.wantsStatus.load(ordering: .relaxed) {
            urgent.wantsStatus.store(false, ordering: .relaxed)
            told.append(.status(PolicyStatus(host)))
        }
        if now != flushedAt { flush() }
    }

    private func prepare(_ candidate: PolicyOrder.Candidate) {
        do throws(ScriptProblems) {
            let control = candidate.control.map { Replay($0, cryptography: .system) }
            if let order = candidate.canary {
                try host.prepareCanary(candidate.generation, order, control: control, at: now)
            } else {
                try host.prepare(
                    candidate.generation, reason: candidate.reason,
                    returnRefused: candidate.returnRefused, control: control, at: now)
            }
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
        carryOut(effects) { told.append(.effect($0)) }
    }

    /// Writes lines of the log at once; the account for whom they are has that time from its turn.
    private func carryOut(
        _ effects: consuming [PolicyEffect], _ another: (PolicyEffect) -> Void
    ) {
        var begin: UInt64?
        for place in effects.indices {
            let effect = effects.take(at: place, leaving: .thinking(QuestionID(0)))
            if case .log(let line) = effect {
                begin = begin ?? Self.processorTime
                write(line)
            } else {
                another(effect)
            }
        }
        if let begin { host.spent += Self.processorTime - begin }
        host.reuse(effects)
    }

    /// Of this thread, in nanoseconds.
    private static var processorTime: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    // MARK: The fast lane

    /// Takes inputs as long as the fast lane can have them: those that are quick, and nothing
    /// waits before them; for at most `time` of processor time.
    ///
    /// - Parameters:
    ///   - next: takes the input at a place, if it is one and is quick; more may come meanwhile.
    ///   - carryOut: what an input leads to; called before the next input.
    /// - Returns: how many of them were taken.
    func takeLane(
        _ time: PolicyTime, for nanoseconds: UInt64,
        _ next: (_ place: Int, _ isQuick: (PolicyInput) -> Bool) -> PolicyInput?,
        _ carryOut: (PolicyEffect) -> Void
    ) -> Int {
        guard queue.isEmpty, told.isEmpty, stopsAt == nil, !isClosing else { return 0 }
        tell(time)
        let end = host.spent + nanoseconds
        var taken = 0
        while host.spent < end, let input = next(taken, { host.isQuick($0, at: time.now) }) {
            taken += 1
            let effects = host.handleInLane(input, at: time.now)
            self.carryOut(effects, carryOut)
        }
        host.collectInLane(until: end)
        return taken
    }

    /// Whether the policy thread has something to do before it wakes up by itself.
    var isWanted: Bool {
        guard !host.hasLeftInLane else { return true }
        guard let wakeAt else { return false }
        return sleepsUntil.map { wakeAt < $0 } ?? true
    }
}

/// The time of what is given to the policies.
struct PolicyTime: Sendable {
    /// The core's time, and the boot clock's at the same moment.
    let now: Moment
    let boot: Int64
    let wallOffset: Milliseconds
}
