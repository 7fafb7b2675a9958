// Puts changed files of the operator into force while the server runs.

import AgentCore
import CallModel
import Configuration
import Decisions
import EventLoop
import PolicyHost
import StoreContract

/// The result of a reload that worked.
struct Reloaded: Sendable {
    /// The generation that is in force, or that is asked as a shadow.
    let generation: String
    /// Lines about what is allowed but probably not meant.
    var warnings: [String] = []
    /// The decisions that it would make differently; nil: none were replayed.
    var replay: ReplayReport?
    /// Tests of plugins that passed; nil: none were run.
    var tests: Int?
    var isShadow = false
    /// For whom it decides, beside the generation in force; nil: for all.
    var canary: CanaryOrder?
    /// The canary that decides no more.
    var takenBack: String?
}

/// How reloads went.
struct ReloadFigures {
    /// What came of one.
    enum Result: String, Sendable, CaseIterable {
        case success, failure
        /// Probation took back what a reload had put into force.
        case rolledBack = "rolled_back"
    }

    /// Since the start.
    var results = Tally<Result>()
    /// Whether the last one worked; a start counts as one that did, if its files were good.
    private(set) var isLastGood = true
    /// When the last one that worked was in force, in milliseconds of the wall clock.
    private(set) var lastGoodAt = Clock.wallMilliseconds()

    mutating func noteBadFiles() { isLastGood = false }

    mutating func note(_ outcome: Reloader.Outcome) {
        switch outcome {
        case .success:
            results.note(.success)
            (isLastGood, lastGoodAt) = (true, Clock.wallMilliseconds())
        case .failure:
            results.note(.failure)
            isLastGood = false
        }
    }
}

/// Builds deployments on a thread of its own and swaps them in, one after the other. Owner: the
/// loop's thread.
final class Reloader {
    /// The result of a reload, or why nothing changed.
    typealias Outcome = Result<Reloaded, AgentError>

    /// What to do with the files.
    enum Aim: Sendable {
        /// Put those on disk into force, or those that another node has read.
        case reload(given: StoredGeneration?)
        /// Ask those on disk beside the active ones, without any effect.
        case shadow(given: StoredGeneration?)
        /// Put kept files into force again.
        case rollBack(StoredGeneration)
        /// Let those on disk decide for some accounts, or the canary that they are for others.
        case tryOut(CanaryWish)
        /// Put the canary into force for all.
        case promote
        /// Let the generation in force decide for all again.
        case abort
    }

    /// What an operator wants of a canary.
    struct CanaryWish: Sendable {
        /// See `CanaryExtent`.
        let accounts: String
        /// Nil: the name of the generation.
        var salt: String?
        /// See `CanaryOrder`.
        var abortOnFailure: Int?
        /// Instead of those on disk.
        var given: StoredGeneration?
    }

    /// Where recorded decisions are found for a replay before a reload.
    struct Records: Sendable {
        /// Those in memory, with their input where the files do not have it.
        let own: [DecisionRecord]
        /// Where the files are.
        let directory: String?
        /// Waits until the files have all decisions made so far.
        let settle: (@Sendable () -> Void)?

        /// Identifies a decision.
        private struct Identity: Hashable {
            let call: CallID
            let hook: Hook
            let user: UserID
            let at: Moment

            init(_ record: DecisionRecord) {
                (call, hook) = (record.call, record.hook)
                (user, at) = (record.user, record.at)
            }
        }

        /// The newest ones, at most `count`.
        func newest(_ count: Int) -> [DecisionRecord] {
            settle?()
            let kept = directory.map { DecisionFiles(directory: $0).newest(count) } ?? []
            guard !kept.isEmpty else { return own.suffix(count) }
            // Adds those that were left out of the files.
            let known = Set(kept.map { Identity($0) })
            let others = own.filter { $0.input != nil && !known.contains(Identity($0)) }
            guard !others.isEmpty else { return kept }
            return (kept + others).sorted { $0.at < $1.at }.suffix(count)
        }
    }

    fileprivate struct Job: Sendable {
        let ticket: Int
        let aim: Aim
        /// The generation that the files must make; nil: any.
        let expected: String?
        let file: String?
        /// The deployment in force, and the grants that plugins may have: a rollback changes
        /// neither.
        let active: Deployment
        let canary: Deployment?
        let grants: Grants?
        let records: Records
        let seed: UInt64
    }

    private struct Built: Sendable {
        let ticket: Int
        let aim: Aim
        let result: Result<(Deployment, Reloaded), AgentError>
    }

    private let jobs = WorkerMailbox<Job>()
    let file: String?
    let log: Log
    private let records: () -> Records
    private var thread: WorkerThread?
    private var lastTicket = 0
    /// The callbacks that wait for each job.
    private var waiting: [Int: (Outcome) -> Void] = [:]
    private var wanted: [(ticket: Int, aim: Aim, expected: String?)] = []
    private var isBusy = false
    /// What is in force and waits to be stored, and until when whoever asked for it does.
    private var unstored: [(ticket: Int, due: Int64, reloaded: Reloaded)] = []
    private var patience: Timer?
    /// Whoever asked for it waits so long, in milliseconds.
    private static let storedWithin: Int64 = 5_000
    /// The grants that plugins may have at most; nil: not known.
    var grants: () -> Grants? = { nil }
    /// The decisions recorded so far.
    var kept: Records { records() }
    /// How reloads went.
    private(set) var figures = ReloadFigures()
    private(set) var active: Deployment
    /// The deployment that was in force before.
    private var previous: Deployment?
    /// What decides for some accounts beside `active`.
    var canary: CanaryInForce?
    /// Carries out what becomes of a canary; nil: there can be none.
    var stage: CanaryStage?
    /// Puts a deployment into force; calls back when it is, or with the reason why not.
    typealias Enforce =
        (Deployment, ChangeReason, @escaping (AgentError?) -> Void) throws(AgentError) -> Void
    private let enforce: Enforce
    /// Asks a generation beside the active one from now on, as a shadow.
    var beginShadow: (Generation) throws(AgentError) -> Void = { _ in }
    /// A deployment is in force, in place of one that was rolled back if `takenBack` names it;
    /// calls back when that is stored, so that a crash does not undo it.
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

    /// Starts the thread. Must be called once.
    func start(on loop: EventLoop) throws(EventLoopError) {
        let results = try Mailbox<Built>(on: loop) { [unowned self] batch in
            for built in batch { take(built) }
        }
        patience = Timer(on: loop) { [unowned self] in losePatience() }
        let jobs = jobs
        thread = try WorkerThread(name: "warm", stackSize: 4 << 20, yields: true) {
            var batch: [Job] = []
            while case .elements = jobs.takeAll(into: &batch) {
                for job in batch {
                    _ = results.post(
                        Built(ticket: job.ticket, aim: job.aim, result: job.build()))
                }
            }
        }
    }

    /// Carries out one aim after the other, never two at once (G7): each one builds on what the one
    /// before has put into force. `done` is told of success when it is stored.
    ///
    /// - Parameter generation: the one that the files must make, or nothing changes; nil: any.
    func carryOut(
        _ aim: Aim, expecting generation: String? = nil, _ done: @escaping (Outcome) -> Void
    ) {
        lastTicket += 1
        waiting[lastTicket] = { [unowned self] outcome in
            switch (aim, outcome) {
            case (.reload, _), (.promote, .success): figures.note(outcome)
            default: break
            }
            done(outcome)
        }
        wanted.append((lastTicket, aim, generation))
        begin()
    }

    private func begin() {
        guard !isBusy, !wanted.isEmpty else { return }
        isBusy = true
        let (ticket, aim, expected) = wanted.removeFirst()
        if let why = refusal(of: aim) { return failed(ticket, .refused(why)) }
        if case .abort = aim { return endCanary(ticket) }
        var dice = SystemRandomNumberGenerator()
        _ = jobs.post(
            Job(
                ticket: ticket, aim: aim, expected: expected, file: file, active: active,
                canary: canary?.deployment, grants: grants(), records: records(),
                seed: dice.next()))
    }

    /// An aim is carried out, or has failed.
    func end() {
        isBusy = false
        begin()
    }

    /// What is in force did worse than what was before, and is taken back.
    func noteTakenBack() { figures.results.note(.rolledBack) }

    /// The start found files that are not good, so what was in force before goes on.
    func noteBadFiles() { figures.noteBadFiles() }

    /// The deployment of the generation `name`, to which probation goes back, with the server's
    /// present part; nil: it is not known any more.
    func returning(to name: String) -> Deployment? {
        guard let previous, previous.name == name else { return nil }
        let deployment = previous.under(active)
        active = deployment
        self.previous = nil
        return deployment
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
                end()
                finish(built.ticket, .success(reloaded))
            case .reload: try swap(to: deployment, .reload, reloaded, built.ticket)
            case .rollBack: try swap(to: deployment, .rollback, reloaded, built.ticket)
            case .tryOut(let wish):
                try refuseWhatNeedsRestart(deployment.configuration)
                try tryOut(deployment, wish, reloaded, built.ticket)
            case .promote:
                guard canary?.deployment.name == deployment.name else {
                    throw .refused("the canary was taken back meanwhile")
                }
                try swap(to: deployment, .reload, reloaded, built.ticket)
            case .abort: preconditionFailure("nothing is built to end a canary")
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
            // A reload of the generation in force rolls nothing back.
            let old = active.name
            let takenBack = reason == .rollback && old != deployment.name ? old : nil
            previous = active
            active = deployment
            active.control = nil
            canary = nil
            log.info(
                "reloaded", ("generation", reloaded.generation),
                ("replayed", "\(reloaded.replay?.asked ?? 0)"),
                ("changed", "\(reloaded.replay?.changed ?? 0)"))
            finish(ticket, reloaded) { enforced(deployment, takenBack, $0) }
            end()
        }
    }

    func failed(_ ticket: Int, _ error: AgentError) {
        log.error("reload failed: nothing has changed", ("error", "\(error)"))
        end()
        finish(ticket, .failure(error))
    }

    private func refuseWhatNeedsRestart(_ new: Configuration) throws(AgentError) {
        let old = active.configuration
        let changed = [
            ("listen", old.listen == new.listen), ("admin", old.admin == new.admin),
            ("state_dir", old.stateDirectory == new.stateDirectory),
            ("cluster", old.cluster == new.cluster),
        ].filter { !$0.1 }.map(\.0)
        guard let first = changed.first else { return }
        let place = new.lines[first].map { "\(new.file ?? ""):\($0): " } ?? ""
        throw .configuration("\(place)a change of \(first) needs a restart")
    }

    func finish(_ ticket: Int, _ outcome: Outcome) {
        waiting.removeValue(forKey: ticket)?(outcome)
    }

    /// Finishes what is in force when it is stored, as `keep` is told. A store that is away may
    /// come back in an hour: after a while, who waits is told what is true until then.
    func finish(_ ticket: Int, _ reloaded: Reloaded, keep: (@escaping () -> Void) -> Void) {
        unstored.append((ticket, Clock.bootMilliseconds() + Self.storedWithin, reloaded))
        armPatience()
        keep { [weak self] in
            self?.unstored.removeAll { $0.ticket == ticket }
            self?.finish(ticket, .success(reloaded))
        }
    }

    private func armPatience() {
        guard let first = unstored.first, patience?.isArmed == false else { return }
        patience?.arm(at: first.due)
    }

    private func losePatience() {
        let now = Clock.bootMilliseconds()
        while let first = unstored.first, first.due <= now {
            unstored.removeFirst()
            var reloaded = first.reloaded
            let warning =
                "this is in force, but not stored, because the store does not answer: it will be "
                + "when the store is back, and a crash before that would undo it"
            log.warn("reloaded, and not stored yet", ("generation", reloaded.generation))
            reloaded.warnings.append(warning)
            finish(first.ticket, .success(reloaded))
        }
        armPatience()
    }
}

extension Deployment {
    /// What another node has `given`, with the server's part of `active`; nil: what is on disk, as
    /// the operator's `file` says.
    init(
        _ given: StoredGeneration?, under active: Configuration, orOf file: String?, seed: UInt64
    ) throws(AgentError) {
        if let given {
            try self.init(given, under: active, seed: seed)
        } else {
            try self.init(file: file, seed: seed)
        }
    }
}

extension Reloader.Job {
    /// Reads, checks, tests and replays. On the warm thread.
    fileprivate func build() -> Result<(Deployment, Reloaded), AgentError> {
        do throws(AgentError) {
            var deployment: Deployment
            switch aim {
            case .rollBack(let kept):
                deployment = try Deployment(
                    kept, under: active.configuration, grants: grants, seed: seed)
            case .reload(let given), .shadow(let given):
                deployment = try read(given)
            case .tryOut(let wish):
                deployment = try read(wish.given)
            case .abort:
                deployment = try Deployment(file: file, seed: seed)
            case .promote:
                guard let canary else { throw .refused("there is no canary") }
                deployment = try canary.again(seed: seed)
            }
            if let expected, expected != deployment.name {
                throw .refused(
                    "the files make generation \(deployment.name) by now, not \(expected): "
                        + "replay them again")
            }
            deployment.certificate = try AgentOptions(deployment).loadCertificate()
            var reloaded = Reloaded(generation: deployment.name)
            if case .shadow = aim { reloaded.isShadow = true }
            switch aim {
            case .reload, .tryOut:
                deployment.control = active.control(seed: seed)
                reloaded.warnings =
                    deployment.mistakes + deployment.warnings + deployment.fileWarnings
            case .promote:
                // Its tests have run, and its decisions were seen.
                deployment.control = active.control(seed: seed)
                reloaded.warnings = [CanaryInForce.loss(of: active.name)]
                return .success((deployment, reloaded))
            case .shadow, .rollBack, .abort: break
            }
            if deployment.configuration.testOnReload {
                reloaded.tests = try PluginTests.pass(deployment)
            }
            reloaded.replay = try replay(on: deployment)
            return .success((deployment, reloaded))
        } catch {
            return .failure(error)
        }
    }

    private func read(_ given: StoredGeneration?) throws(AgentError) -> Deployment {
        try Deployment(given, under: active.configuration, orOf: file, seed: seed)
    }

    /// Asks the new generation the latest recorded questions. A second copy of it is asked, because
    /// asking changes `state`.
    private func replay(on deployment: Deployment) throws(AgentError) -> ReplayReport? {
        let count = deployment.configuration.decisionLog.replay
        guard count > 0 else { return nil }
        let records = records.newest(count)
        guard !records.isEmpty else { return nil }
        let time = deployment.configuration.decisionLog.replayTime
        let end = Clock.bootMilliseconds() + time
        return ReplayReport(
            records, within: UInt64(time) * 1_000_000, by: try deployment.copy(seed: seed),
            cryptography: .system, while: { Clock.bootMilliseconds() < end })
    }
}
