// Heavy work for the management API: one at a time, at low priority.

import AgentCore
import EventLoop
import JSON

/// What a job and whoever waits for it share.
final class JobControl: Sendable {
    private struct State {
        var progress = 0.0
        var isCancelled = false
    }

    private let state = Locked(State())

    /// From 0 to 1.
    var progress: Double {
        get { state.withLock { $0.progress } }
        set { state.withLock { $0.progress = min(1, max(0, newValue)) } }
    }

    /// Whether nobody wants it any more: it ends at the next place where it can.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func cancel() { state.withLock { $0.isCancelled = true } }
}

/// Jobs in the order in which they were asked for. Owner: the loop's thread.
final class JobQueue {
    typealias Outcome = Result<JSONValue, AgentError>
    /// The work of a job, on a thread of its own.
    typealias Work = @Sendable (JobControl) throws(AgentError) -> JSONValue

    /// Jobs that wait; one more is refused.
    static let waitingMax = 16
    /// How long a result is kept, in milliseconds.
    static let keptFor: Int64 = 600_000
    /// How many of those that have ended.
    static let keptMax = 64

    private enum State: String {
        case waiting, running, done, failed, cancelled
    }

    private enum Body {
        case thread(Work)
        /// On the loop, step by step.
        case loop((JobControl, @escaping (Outcome) -> Void) -> Void)
    }

    private struct Job {
        let kind: String
        let by: String
        let body: Body
        /// Who waits for the result; nil: it is kept, to be asked for.
        var done: ((Outcome) -> Void)?
        let control = JobControl()
        var state = State.waiting
        var result: JSONValue = .null
        var error: String?
        var endedAt: Int64?
    }

    private struct Ended: Sendable {
        let number: Int
        let outcome: Outcome
    }

    private let orders = WorkerMailbox<(number: Int, work: Work, control: JobControl)>()
    private let loop: EventLoop
    private var news: Mailbox<Ended>?
    private var thread: WorkerThread?
    private var jobs: [Int: Job] = [:]
    private var order: [Int] = []
    private var last = 0
    private var running: Int?

    init(on loop: EventLoop) { self.loop = loop }

    /// Adds a job for a thread of its own; nil: too many wait.
    func add(_ kind: String, by identity: ManagementIdentity, _ work: @escaping Work) -> Int? {
        add(kind, identity, .thread(work))
    }

    /// Adds a job whose steps the loop carries out.
    func add(
        _ kind: String, by identity: ManagementIdentity,
        steps: @escaping (JobControl, @escaping (Outcome) -> Void) -> Void
    ) -> Int? {
        add(kind, identity, .loop(steps))
    }

    /// Carries out work whose result somebody waits for; nil: too many jobs wait.
    func carryOut(_ work: @escaping Work, _ done: @escaping (Outcome?) -> Void) {
        if add("", .socket, .thread(work), done) == nil { done(nil) }
    }

    private func add(
        _ kind: String, _ identity: ManagementIdentity, _ body: Body,
        _ done: ((Outcome) -> Void)? = nil
    ) -> Int? {
        forgetOld()
        guard order.count < Self.waitingMax + (running == nil ? 1 : 0) else { return nil }
        last += 1
        jobs[last] = Job(kind: kind, by: identity.name, body: body, done: done)
        order.append(last)
        begin()
        return last
    }

    private func begin() {
        guard running == nil, !order.isEmpty else { return }
        let number = order.removeFirst()
        guard let job = jobs[number] else { return begin() }
        running = number
        jobs[number]?.state = .running
        switch job.body {
        case .loop(let steps):
            steps(job.control) { [weak self] in self?.ended(number, $0) }
        case .thread(let work):
            do throws(EventLoopError) {
                try startThread()
                _ = orders.post((number, work, job.control))
            } catch {
                ended(number, .failure(.system(error)))
            }
        }
    }

    private func startThread() throws(EventLoopError) {
        guard thread == nil else { return }
        let news = try Mailbox<Ended>(on: loop) { [unowned self] batch in
            for one in batch { ended(one.number, one.outcome) }
        }
        self.news = news
        let orders = orders
        thread = try WorkerThread(name: "jobs", stackSize: 4 << 20, yields: true) {
            var batch: [(number: Int, work: Work, control: JobControl)] = []
            while case .elements = orders.takeAll(into: &batch) {
                for one in batch {
                    _ = news.post(
                        Ended(number: one.number, outcome: Self.result(one.work, one.control)))
                }
            }
        }
    }

    private static func result(_ work: Work, _ control: JobControl) -> Outcome {
        do throws(AgentError) {
            return .success(try work(control))
        } catch {
            return .failure(error)
        }
    }

    private func ended(_ number: Int, _ outcome: Outcome) {
        running = nil
        if let done = jobs[number]?.done {
            jobs[number] = nil
            done(outcome)
        } else if var job = jobs[number] {
            job.endedAt = Clock.bootMilliseconds()
            switch outcome {
            case _ where job.control.isCancelled: job.state = .cancelled
            case .success(let result): (job.state, job.result) = (.done, result)
            case .failure(let error): (job.state, job.error) = (.failed, "\(error)")
            }
            jobs[number] = job
        }
        begin()
    }

    /// Ends a job as soon as it can be ended; false: there is no such job.
    func cancel(_ number: Int) -> Bool {
        guard let job = jobs[number], job.done == nil else { return false }
        guard job.endedAt == nil else { return true }
        job.control.cancel()
        if let place = order.firstIndex(of: number) {
            order.remove(at: place)
            jobs[number]?.state = .cancelled
            jobs[number]?.endedAt = Clock.bootMilliseconds()
        }
        return true
    }

    /// `state`, `progress`, and `result` or `error`; nil: there is no such job, or no more.
    func shown(_ number: Int) -> JSONValue? {
        forgetOld()
        guard let job = jobs[number], job.done == nil else { return nil }
        var json: JSONObject = [
            "job": .integer(Int64(number)), "kind": .string(job.kind), "by": .string(job.by),
            "state": .string((job.state == .waiting ? .running : job.state).rawValue),
            "progress": .number(job.endedAt == nil ? job.control.progress : 1),
        ]
        if job.state == .done { json["result"] = job.result }
        if let error = job.error { json["error"] = .string(error) }
        return .object(json)
    }

    private func forgetOld() {
        let oldest = Clock.bootMilliseconds() - Self.keptFor
        jobs = jobs.filter { ($0.value.endedAt ?? .max) > oldest }
        // Jobs that are begun in a loop must not fill the memory with their results.
        for number in jobs.filter({ $0.value.endedAt != nil }).keys.sorted().dropLast(Self.keptMax)
        {
            jobs[number] = nil
        }
    }

    /// Ends the thread with the job that it is at; nobody waits for it.
    func close() {
        for job in jobs.values { job.control.cancel() }
        orders.close()
        news?.close()
    }
}
