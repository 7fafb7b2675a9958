// Puts another state of the operator's files into force without stopping anything.

import CallModel
import EventLoop
import PolicyHost
import Storage

/// What came of a reload that worked.
struct Reloaded: Sendable {
    /// The generation that is in force, or that is asked as a shadow.
    let generation: String
    /// What it decides otherwise; nil: nothing was asked again.
    var replay: ReplayReport?
    /// Tests of plugins that passed; nil: none were run.
    var tests: Int?
    var isShadow = false
}

/// Builds deployments on a thread of its own and swaps them in, one after the other. Owner: the
/// loop's thread.
final class Reloader {
    /// What came of a reload, or why nothing changed.
    typealias Outcome = Result<Reloaded, AgentError>

    /// What is wanted of the files.
    enum Aim: Sendable {
        /// Those on disk are put into force.
        case reload
        /// Those on disk are asked beside the active ones, without any effect.
        case shadow
        /// Kept files are put into force again.
        case rollBack(StoredGeneration)
    }

    /// Where the recorded decisions are that a generation is asked before it is in force.
    struct Records: Sendable {
        /// Those in memory that can be asked again, where there are no files.
        let own: [DecisionRecord]
        /// Where the files are.
        let directory: String?

        /// The newest ones, at most `count`.
        func newest(_ count: Int) -> [DecisionRecord] {
            let kept = directory.map { DecisionFiles(directory: $0).newest(count) } ?? []
            return kept.isEmpty ? own.suffix(count) : kept
        }
    }

    fileprivate struct Job: Sendable {
        let ticket: Int
        let aim: Aim
        let file: String?
        let records: Records
        let seed: UInt64
    }

    private struct Built: Sendable {
        let ticket: Int
        let aim: Aim
        let result: Result<(Deployment, Reloaded), AgentError>
    }

    private let jobs = WorkerMailbox<Job>()
    private let file: String?
    private let log: Log
    private let records: () -> Records
    private var thread: WorkerThread?
    private var lastTicket = 0
    /// Who waits for which job.
    private var waiting: [Int: (Outcome) -> Void] = [:]
    private(set) var active: Deployment
    /// What was in force before.
    private var previous: Deployment?
    /// Makes a deployment the one in force; calls back when it is, or with what kept it from it.
    typealias Enforce =
        (Deployment, ChangeReason, @escaping (AgentError?) -> Void) throws(AgentError) -> Void
    private let enforce: Enforce
    /// Asks a generation beside the active one from now on.
    var beginShadow: (Generation) throws(AgentError) -> Void = { _ in }
    /// A deployment is in force, and which one was taken back for it; calls back when a crash does
    /// not undo that.
    var enforced: (Deployment, _ takenBack: String?, @escaping () -> Void) -> Void = { $2() }

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - file: the operator's file; nil: the defaults.
    ///   - active: what is in force.
    ///   - records: the decisions recorded so far.
    init(
        file: String?, active: Deployment, log: Log, records: @escaping () -> Records,
        enforce: @escaping Enforce
    ) {
        self.file = file
        self.active = active
        self.log = log
        self.records = records
        self.enforce = enforce
    }

    /// Starts the thread. To be called once.
    func start(on loop: EventLoop) throws(EventLoopError) {
        let results = try Mailbox<Built>(on: loop) { [unowned self] batch in
            for built in batch { take(built) }
        }
        let jobs = jobs
        thread = try WorkerThread(name: "warm", stackSize: 4 << 20) {
            var batch: [Job] = []
            while case .elements = jobs.takeAll(into: &batch) {
                for job in batch {
                    _ = results.post(
                        Built(ticket: job.ticket, aim: job.aim, result: job.build()))
                }
            }
        }
    }

    /// Carries out one aim after the other, never two at once (G7). `done` is told of success when
    /// the store has it.
    func carryOut(_ aim: Aim, _ done: @escaping (Outcome) -> Void) {
        lastTicket += 1
        waiting[lastTicket] = done
        var dice = SystemRandomNumberGenerator()
        _ = jobs.post(
            Job(
                ticket: lastTicket, aim: aim, file: file, records: records(), seed: dice.next()))
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
            let (deployment, reloaded) = try built.result.get()
            switch built.aim {
            case .shadow:
                try beginShadow(deployment.generation)
                log.info("shadow begun", ("generation", reloaded.generation))
                finish(built.ticket, .success(reloaded))
            case .reload: try swap(to: deployment, .reload, reloaded, built.ticket)
            case .rollBack: try swap(to: deployment, .rollback, reloaded, built.ticket)
            }
        } catch {
            failed(built.ticket, error)
        }
    }

    private func swap(
        to deployment: Deployment, _ reason: ChangeReason, _ reloaded: Reloaded, _ ticket: Int
    ) throws(AgentError) {
        try refuseWhatNeedsRestart(deployment.configuration)
        try enforce(deployment, reason) { [unowned self] error in
            if let error { return failed(ticket, error) }
            // Whoever asks for the one in force takes nothing back.
            let old = active.name
            let takenBack = reason == .rollback && old != deployment.name ? old : nil
            previous = active
            active = deployment
            log.info(
                "reloaded", ("generation", reloaded.generation),
                ("replayed", "\(reloaded.replay?.asked ?? 0)"),
                ("changed", "\(reloaded.replay?.changed ?? 0)"))
            enforced(deployment, takenBack) { [unowned self] in
                finish(ticket, .success(reloaded))
            }
        }
    }

    private func failed(_ ticket: Int, _ error: AgentError) {
        log.error("reload failed: nothing has changed", ("error", "\(error)"))
        finish(ticket, .failure(error))
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

    private func finish(_ ticket: Int, _ outcome: Outcome) {
        waiting.removeValue(forKey: ticket)?(outcome)
    }
}

extension Reloader.Job {
    /// Reads, checks, tests and replays. On the warm thread.
    fileprivate func build() -> Result<(Deployment, Reloaded), AgentError> {
        do throws(AgentError) {
            let deployment: Deployment
            switch aim {
            case .rollBack(let kept): deployment = try Deployment(kept, file: file, seed: seed)
            case .reload, .shadow: deployment = try Deployment(file: file, seed: seed)
            }
            var reloaded = Reloaded(generation: deployment.name)
            if case .shadow = aim { reloaded.isShadow = true }
            if deployment.configuration.testOnReload {
                reloaded.tests = try PluginTests.pass(deployment.plan)
            }
            reloaded.replay = try replay(on: deployment)
            return .success((deployment, reloaded))
        } catch {
            return .failure(error)
        }
    }

    /// Asks the new generation what was asked last; a second copy of it, because asking leaves
    /// traces in `state`.
    private func replay(on deployment: Deployment) throws(AgentError) -> ReplayReport? {
        let count = deployment.configuration.decisionLog.replay
        guard count > 0 else { return nil }
        let records = records.newest(count)
        guard !records.isEmpty else { return nil }
        return ReplayReport(
            records, by: try deployment.copy(seed: seed), cryptography: .system)
    }
}
