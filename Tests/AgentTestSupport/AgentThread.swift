// A server on a thread of its own, as tests with clients of their own need it.

import AgentServer
import CallClient
import EventLoop

/// An agent that runs on a thread of its own until `close`.
public final class AgentThread {
    /// Something to be done on the agent's thread.
    public typealias Job = @Sendable (Agent) -> Void

    /// Why an agent did not start.
    public struct Failure: Error, CustomStringConvertible {
        /// What the agent said.
        public let description: String
    }

    private enum Report: Sendable {
        case ready(NetworkAddress, Mailbox<Job>)
        case failed(String)
    }

    /// The first address on which it listens.
    public let endpoint: NetworkAddress
    private let jobs: Mailbox<Job>
    private let thread: WorkerThread
    private let waiter: LoopWaiter

    /// Starts the agent that `make` returns, and waits until it listens, at most `limit`
    /// milliseconds.
    public init(
        _ waiter: LoopWaiter, upTo limit: Int64 = 10_000,
        _ make: @escaping @Sendable () throws -> Agent
    ) throws {
        self.waiter = waiter
        var report: Report?
        let reports = try Mailbox<Report>(on: waiter.loop) { report = $0.last }
        thread = try WorkerThread(name: "agent", stackSize: 2 << 20) { Self.serve(make, reports) }
        try waiter.wait(for: "the server", upTo: limit) { report != nil }
        reports.close()
        switch report {
        case .ready(let endpoint, let jobs)?: (self.endpoint, self.jobs) = (endpoint, jobs)
        case .failed(let text)?: throw Failure(description: text)
        case nil: throw Failure(description: "the server did not start")
        }
    }

    private static func serve(
        _ make: @Sendable () throws -> Agent, _ reports: Mailbox<Report>
    ) {
        do {
            let agent = try make()
            let jobs = try Mailbox<Job>(on: agent.loop) { batch in
                for job in batch { job(agent) }
            }
            // It comes to this when the loop runs, and so when the server listens.
            jobs.post { agent in
                guard let endpoint = agent.endpoints.first else { return }
                reports.post(.ready(endpoint, jobs))
            }
            try agent.run()
        } catch {
            reports.post(.failed("\(error)"))
        }
    }

    /// Does something on the server's thread, and waits until it is done.
    public func run(_ job: @escaping Job) throws {
        var isDone = false
        let reports = try Mailbox<Bool>(on: waiter.loop) { _ in isDone = true }
        jobs.post { agent in
            job(agent)
            reports.post(true)
        }
        try waiter.wait(for: "the server's thread") { isDone }
        reports.close()
    }

    /// Ends the agent at once, and waits for its thread.
    public func close() {
        jobs.post { agent in
            // Once to drain, once more not to wait for clients.
            agent.stop()
            agent.stop()
        }
        thread.join()
    }
}
