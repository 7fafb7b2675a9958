// A new generation is on probation: if it fails more than the one before, that one returns.

import CLua
import CallModel
import JSON

/// What is watched after a generation took over.
struct Probation {
    /// How long at most, and after how many decisions it is over.
    static let time: Milliseconds = 300_000
    static let decisionsMax = 100
    /// Nothing is judged on fewer decisions.
    static let decisionsMin = 20
    /// How much more often than before decisions may go wrong.
    static let tolerance = 0.05

    /// The generation before, still warm, with its `state` as it was handed over.
    let previous: Generation
    let states: [String: SavedState]
    let until: Moment
    var hasQuarantined = false
}

/// How often questions were asked, and how often some plugin failed at one.
struct DecisionCounts {
    var asked = 0
    var failed = 0

    var failureRate: Double { asked == 0 ? 0 : Double(failed) / Double(asked) }
}

extension PolicyHost {
    /// Whether the active generation is on probation.
    public var isOnProbation: Bool { probation != nil }

    /// Notes a decision of the active generation.
    func noteDecision(_ chain: Chain, hasFailed: Bool) {
        guard chain.generation === generation else { return }
        generation.counts.asked += 1
        if hasFailed { generation.counts.failed += 1 }
        if probation != nil { judge() }
    }

    /// A plugin was quarantined.
    func noteQuarantine(_ plugin: PluginState) {
        guard plugin.generationNumber == generationNumber else { return }
        probation?.hasQuarantined = true
    }

    private func judge() {
        guard let probation else { return }
        let counts = generation.counts
        guard counts.asked >= Probation.decisionsMin else { return }
        let allowed = probation.previous.counts.failureRate + Probation.tolerance
        if probation.hasQuarantined {
            isRollbackDue = "a plugin was quarantined"
        } else if counts.failureRate > allowed {
            let (new, old) = (counts.failureRate, probation.previous.counts.failureRate)
            isRollbackDue =
                "\(Int(new * 100)) % of decisions failed, \(Int(old * 100)) % before"
        } else if counts.asked >= Probation.decisionsMax || services.now >= probation.until {
            self.probation = nil
        }
    }

    func endProbation(_ number: Int) {
        if number == generationNumber { probation = nil }
    }

    /// Returns to the generation before, between two inputs.
    func rollBackIfDue() {
        guard let reason = isRollbackDue, let probation else { return }
        isRollbackDue = nil
        self.probation = nil
        let failed = generation.name
        let previous = probation.previous
        do throws(PolicyProblems) {
            try hand(over: previous, states: returning(to: probation), reason: .rollback)
            services.emit(.rolledBack(from: failed, to: previous.name, reason: reason))
        } catch {
            services.emit(.log(PolicyLog(.error, "cannot roll back: \(error)")))
        }
    }

    /// What the plugins of the generation before go on with: the `state` of now, where its
    /// version is still theirs, else the one that they gave away.
    private func returning(to probation: Probation) -> [String: SavedState] {
        var states = savedStates()
        for plugin in probation.previous.plugins
        where states[plugin.name].map({ $0.version != plugin.manifest.stateVersion }) ?? true {
            states[plugin.name] = probation.states[plugin.name]
        }
        return states
    }
}
