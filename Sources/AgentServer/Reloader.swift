// Puts another state of the operator's files into force without stopping anything.

import CallModel
import EventLoop
import PolicyHost
import Storage

/// Builds deployments on a thread of its own and swaps them in, one after the other. Owner: the
/// loop's thread.
final class Reloader {
    /// What came of a reload: the name of the generation in force, or why nothing changed.
    typealias Outcome = Result<String, AgentError>

    private struct Job: Sendable {
        let file: String?
        /// Kept files; nil: those on disk.
        let kept: StoredGeneration?
        let seed: UInt64

        func build() throws(AgentError) -> Deployment {
            guard let kept else { return try Deployment(file: file, seed: seed) }
            return try Deployment(kept, file: file, seed: seed)
        }
    }

    private enum Built: Sendable {
        case deployment(Deployment, ChangeReason)
        case failure(AgentError)
    }

    private let jobs = WorkerMailbox<Job>()
    private let file: String?
    private let log: Log
    private var thread: WorkerThread?
    /// Who waits, in order; the first one's deployment is being built or swapped in.
    private var waiting: [(Outcome) -> Void] = []
    private(set) var active: Deployment
    /// What was in force before.
    private var previous: Deployment?
    /// Makes a deployment the one in force; calls back when it is, or with what kept it from it.
    typealias Enforce =
        (Deployment, ChangeReason, @escaping (AgentError?) -> Void) throws(AgentError) -> Void
    private let enforce: Enforce

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - file: the operator's file; nil: the defaults.
    ///   - active: what is in force.
    init(
        file: String?, active: Deployment, loop: EventLoop, log: Log,
        enforce: @escaping Enforce
    ) throws(EventLoopError) {
        self.file = file
        self.active = active
        self.log = log
        self.enforce = enforce
        let results = try Mailbox<Built>(on: loop) { [unowned self] batch in
            for built in batch { take(built) }
        }
        let jobs = jobs
        thread = try WorkerThread(name: "warm", stackSize: 4 << 20) {
            var batch: [Job] = []
            while case .elements = jobs.takeAll(into: &batch) {
                for job in batch {
                    do throws(AgentError) {
                        let reason: ChangeReason = job.kept == nil ? .reload : .rollback
                        _ = results.post(.deployment(try job.build(), reason))
                    } catch {
                        _ = results.post(.failure(error))
                    }
                }
            }
        }
    }

    /// Reads the files and puts them into force if nothing is wrong with them. Reloads are
    /// carried out in order, never two at once (G7).
    func reload(_ done: @escaping (Outcome) -> Void) { build(nil, done) }

    /// Puts kept files into force again.
    func rollBack(to kept: StoredGeneration, _ done: @escaping (Outcome) -> Void) {
        build(kept, done)
    }

    private func build(_ kept: StoredGeneration?, _ done: @escaping (Outcome) -> Void) {
        waiting.append(done)
        var dice = SystemRandomNumberGenerator()
        _ = jobs.post(Job(file: file, kept: kept, seed: dice.next()))
    }

    /// The policies returned by themselves to the generation `name`.
    ///
    /// - Returns: what belongs to it; nil when that is no longer known.
    func returned(to name: String) -> Deployment? {
        guard let previous, previous.name == name else { return nil }
        active = previous
        self.previous = nil
        return previous
    }

    /// Ends the thread.
    func close() {
        jobs.close()
        thread?.join()
    }

    private func take(_ built: Built) {
        do throws(AgentError) {
            switch built {
            case .failure(let error): throw error
            case .deployment(let deployment, let reason):
                try refuseWhatNeedsRestart(deployment.configuration)
                try enforce(deployment, reason) { [unowned self] error in
                    if let error { return failed(error) }
                    previous = active
                    active = deployment
                    log.info("reloaded", ("generation", deployment.generation.name))
                    finish(.success(deployment.generation.name))
                }
            }
        } catch {
            failed(error)
        }
    }

    private func failed(_ error: AgentError) {
        log.error("reload failed: nothing has changed", ("error", "\(error)"))
        finish(.failure(error))
    }

    private func refuseWhatNeedsRestart(_ new: Configuration) throws(AgentError) {
        let old = active.configuration
        let changed = [
            ("listen", old.listen == new.listen), ("admin", old.admin == new.admin),
            ("state_dir", old.stateDirectory == new.stateDirectory),
        ].filter { !$0.1 }.map(\.0)
        guard let first = changed.first else { return }
        let place = new.lines[first].map { "\(new.file ?? ""):\($0): " } ?? ""
        throw .configuration("\(place)a change of \(first) needs a restart")
    }

    private func finish(_ outcome: Outcome) { waiting.removeFirst()(outcome) }
}
