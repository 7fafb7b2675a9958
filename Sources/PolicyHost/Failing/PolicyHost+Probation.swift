// A new generation is on probation: if it fails more than the one before, that one returns.

import CallModel
import Configuration
import JSON
import Lua

/// What is watched after a generation took over.
struct Probation {
    /// How long at most, and after how many decisions it is over (`CountedPairs.spread`).
    static let time: Milliseconds = 300_000
    static let decisionsMax = 100
    /// Nothing is judged on fewer decisions, of fewer pairs of accounts, with fewer failing.
    static let decisionsMin = 20
    static let pairsMin = 3
    static let failingMin = 2
    /// How much larger than before the share of pairs that meet a failure may be.
    static let tolerance = 0.05

    /// The generation before, still warm, with its `state` as it was handed over.
    let previous: Generation
    let states: [String: SavedState]
    let until: Moment
    /// Why it may not return: something that it had was taken away since (G82); nil: it may.
    var returnRefused: String?
    var hasQuarantined = false
    /// Decisions after which it is looked at again.
    var judgeAt = Probation.decisionsMin
    /// Nil: nobody can say whether the plugins before fail alike.
    var comparison: Comparison?
}

/// The plugins before, to be asked whether they fail alike.
final class Comparison {
    /// What failed, and that `control` has not been asked about.
    struct Doubt {
        var record: DecisionRecord
        /// Failures of a canary that count if they are its own.
        var failures = 0
    }

    let control: any Control
    /// One of a pair.
    var doubts: [Cause: Doubt] = [:]
    /// Whether it was said that `control` did not answer.
    var hasWarned = false

    init(_ control: any Control) { self.control = control }
}

extension PolicyHost {
    /// Whether the active generation is on probation.
    public var isOnProbation: Bool { probation != nil }

    /// Notes a decision of the active generation or of a canary, and its record.
    func noteDecision(_ chain: Chain, _ record: DecisionRecord?) {
        let isCanary = chain.generation !== generation
        guard !chain.cause.isNobody, !isCanary || chain.generation === canary?.generation else {
            return
        }
        let watched = chain.generation
        watched.pairs.asked(chain.cause, at: services.now)
        watched.decisions += 1
        var isNews = false
        if chain.hasFailed {
            let wasKnown = watched.pairs[chain.cause]?.failedAt != nil
            isNews = watched.pairs.failed(chain.cause, at: services.now)
            if compare(record, of: chain.cause, wasKnown, isCanary: isCanary) {
                isNews = false
            } else {
                isNews = watched.pairs.failedAnew(chain.cause) || isNews
            }
        }
        guard let judgeAt = isCanary ? canary?.judgeAt : probation?.judgeAt else { return }
        let mayTip = isNews && watched.pairs.isTimeToCount()
        if mayTip || watched.decisions >= judgeAt { judge(isCanary: isCanary) }
    }

    private func judge(isCanary: Bool) {
        if isCanary { judgeCanary() } else { judge() }
    }

    private func comparison(isCanary: Bool) -> Comparison? {
        isCanary ? canary?.comparison : probation?.comparison
    }

    /// Whether the plugins before are asked first if they fail alike: a bug that they have too is
    /// no reason to return to them, and whoever knows of it undoes no reload. They are asked in a
    /// turn of its own, which counts for whoever caused it.
    private func compare(
        _ record: DecisionRecord?, of cause: Cause, _ wasKnown: Bool, isCanary: Bool
    ) -> Bool {
        let watched = isCanary ? canary?.generation : generation
        guard let comparison = comparison(isCanary: isCanary), let record,
            let use = watched?.pairs[cause], !use.hasOwnFailure
        else { return false }
        // Whoever is passed over for a failure has met no other one by that.
        guard record.hasFailed else { return wasKnown }
        doubt(record, of: cause, comparison, isCanary: isCanary)
        return true
    }

    private func doubt(
        _ record: DecisionRecord, of cause: Cause, _ comparison: Comparison, isCanary: Bool
    ) {
        if comparison.doubts[cause] == nil {
            deadlines.add(.compare(cause, isCanary: isCanary), at: services.now)
        }
        comparison.doubts[cause, default: Comparison.Doubt(record: record)].record = record
    }

    /// Counts the failures of the canary's plugins in `chain`, once it is known that the generation
    /// beside it does not fail alike: whoever knows of a bug that both have ends no canary by it.
    func countFailures(of chain: Chain, _ record: DecisionRecord?) {
        guard let canary else { return }
        let cause = chain.cause
        let isKnown = canary.generation.pairs[cause]?.hasOwnFailure ?? false
        guard let comparison = canary.comparison, let record, !isKnown else {
            return canary.noteFailures(chain.canaryFailures)
        }
        // A decision is in doubt already.
        if comparison.doubts[cause] == nil {
            doubt(record, of: cause, comparison, isCanary: true)
        }
        comparison.doubts[cause]?.failures += chain.canaryFailures
    }

    /// Asks the plugins before.
    func compare(_ cause: Cause, isCanary: Bool) {
        guard let comparison = comparison(isCanary: isCanary),
            let doubt = comparison.doubts.removeValue(forKey: cause),
            let watched = isCanary ? canary?.generation : generation
        else { return }
        let (control, record) = (comparison.control, doubt.record)
        let before = control.spent
        let answers = control.answers(to: record, within: Self.comparingTime)
        if answers == nil { warn(comparison, of: watched) }
        let failsAlike = answers?.fail(like: record) ?? false
        spent += control.spent - before
        guard !failsAlike else { return }
        if isCanary { canary?.noteFailures(doubt.failures) }
        guard record.hook.kind == .decision, watched.pairs.failedAnew(cause) else { return }
        if watched.pairs.isTimeToCount() { judge(isCanary: isCanary) }
    }

    private func warn(_ comparison: Comparison, of watched: Generation) {
        guard !comparison.hasWarned else { return }
        comparison.hasWarned = true
        let text =
            "whether the plugins before fail as those of the generation \(watched.name) do could "
            + "not be found out: the failure counts as new"
        services.emit(.log(PolicyLog(.warn, text)))
    }

    /// Processor time for asking the plugins before, in nanoseconds, and the run at hand.
    private static let comparingTime: UInt64 = 5_000_000

    /// A plugin was quarantined for everybody.
    func noteQuarantine(_ plugin: PluginState) {
        if let canary, plugin.generationNumber == canary.number {
            canary.hasQuarantined = true
            return judgeCanary()
        }
        guard plugin.generationNumber == generationNumber, probation != nil else { return }
        probation?.hasQuarantined = true
        judge()
    }

    /// Accounts are counted, not events (G72): one alone brings nothing about.
    private func judge() {
        guard let probation else { return }
        let new = generation.pairs.counted(since: Moment(0))
        self.probation?.judgeAt = generation.decisions + 1 + generation.decisions / 16
        guard new.decisions >= Probation.decisionsMin, new.asked >= Probation.pairsMin else {
            return
        }
        let old = probation.previous.pairs.counted(since: Moment(0))
        isRollbackDue = Probation.failure(new, beside: old, probation.hasQuarantined)
        guard isRollbackDue == nil else { return }
        if new.spread >= Probation.decisionsMax || services.now >= probation.until {
            self.probation = nil
        }
    }

    func endProbation(_ number: Int) {
        if number == generationNumber { probation = nil }
    }

    /// Whether a generation has to go, once the input at hand is done.
    var isReturnDue: Bool { isRollbackDue != nil || canary?.mustEnd != nil }

    /// Goes back between two inputs.
    func goBackIfDue() {
        takeCanaryBackIfDue()
        rollBackIfDue()
    }

    /// Returns to the generation before; where somebody else makes the cut, they are told that it
    /// is due.
    private func rollBackIfDue() {
        guard let reason = isRollbackDue, let probation else { return }
        isRollbackDue = nil
        // Another generation is taking over at this moment.
        guard handover == nil else { return }
        self.probation = nil
        if let why = probation.returnRefused {
            return services.emit(.alarm(.noWayBack(generation.name, reason, refused: why)))
        }
        let failed = generation.name
        let previous = probation.previous
        var handover = Handover(next: previous, reason: .rollback)
        handover.returning = probation
        handover.states = returning(to: probation)
        do throws(ScriptProblems) {
            try previous.take(handover.states)
        } catch {
            return services.emit(.log(PolicyLog(.error, "cannot roll back: \(error)")))
        }
        self.handover = handover
        if !cutsForOthers { takeOver() }
        services.emit(.rolledBack(from: failed, to: previous.name, reason: reason))
    }

    /// The `state` with which the plugins of the generation before go on: the present one, if it
    /// still has their version, else the one that they handed over.
    func returning(to probation: Probation) -> [String: SavedState] {
        var states = savedStates()
        for plugin in probation.previous.plugins
        where states[plugin.name].map({ $0.version != plugin.manifest.stateVersion }) ?? true {
            states[plugin.name] = probation.states[plugin.name]
        }
        return states
    }
}

extension Probation {
    /// Why a generation that met `new` has to go, where the one before, or beside it, met `old`;
    /// nil: it may stay.
    static func failure(
        _ new: CountedPairs, beside old: CountedPairs, _ hasQuarantined: Bool
    ) -> GenerationFault? {
        if hasQuarantined { return .quarantine }
        // What it met, or would have met where it was asked again.
        let before = max(old.failureRate, new.inheritedRate)
        guard new.failedAnew >= failingMin, new.failureRate > before + tolerance else {
            return nil
        }
        return .share(Int(new.failureRate * 100), before: Int(before * 100))
    }
}

extension DecisionRecord {
    /// Whether a plugin was run and failed.
    fileprivate var hasFailed: Bool { asked.contains { $0.failure != nil } }
}

extension DecisionRecord.Asked {
    fileprivate var failure: Failure? {
        if case .failed(let failure) = verdict { failure } else { nil }
    }
}

extension [DecisionRecord.Asked] {
    /// Whether every failure of `record` is one here too.
    fileprivate func fail(like record: DecisionRecord) -> Bool {
        record.asked.allSatisfy { said in
            said.failure == nil
                || contains { $0.plugin == said.plugin && $0.failure == said.failure }
        }
    }
}
