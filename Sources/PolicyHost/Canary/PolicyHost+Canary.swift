// Which of two generations decides, and how a canary begins and ends.

import CallModel
import Configuration
import Lua

extension PolicyHost {
    /// The generation that answers `input`, which has come now. It may be asked later: what came
    /// before another generation took over is still its own.
    public func generation(for input: PolicyInput) -> Generation {
        guard let canary else { return generation }
        if case .asked(let question) = input {
            let subject = question.subject
            guard let user = subject.account,
                canary.answers(question.id, about: user, in: subject.call)
            else { return generation }
            return canary.generation
        }
        guard let (user, call) = account(of: input) else { return generation }
        return generation(for: user, in: call)
    }

    /// The generation that decides for `user` in `call`.
    func generation(for user: UserID, in call: Call?) -> Generation {
        guard let canary, canary.decides(for: user, in: call) else { return generation }
        return canary.generation
    }

    /// The account that the hooks run for which `input` tells, or whose push it is (E55), and its
    /// call; nil: there is no such account.
    private func account(of input: PolicyInput) -> (UserID, Call?)? {
        switch input {
        case .told(let report, _):
            if case .presence(let user, _) = report.kind {
                (user, nil)
            } else {
                report.call.map { (account(in: $0) ?? $0.caller, $0) }
            }
        case .pushing(_, let draft, let call, _, _), .pushFailed(let draft, let call, _, _, _):
            (draft.user, call)
        case .asked, .withdrawn, .callEnded, .replied, .deadlineReached, .due: nil
        }
    }

    /// Whether the plugins that decide for `user` in `call` answer for it.
    func isAnsweredFor(_ user: UserID, in call: Call) -> Bool {
        let deciding = canary == nil ? answering : generation(for: user, in: call)
        return deciding.plan.answerFor.contains(user)
    }

    /// The generation whose plugin it is: the active one, or the canary.
    func generation(of plugin: PluginState) -> Generation {
        guard let canary, plugin.generationNumber == canary.number else { return generation }
        return canary.generation
    }

    func isOfCanary(_ plugin: PluginState) -> Bool {
        canary.map { plugin.generationNumber == $0.number } ?? false
    }

    /// A plugin gave no usable answer.
    func countFailure(of plugin: PluginState, in chain: inout Chain) {
        chain.hasFailed = true
        if isOfCanary(plugin) { chain.canaryFailures += 1 }
    }

    // MARK: Beginning and ending

    /// Tries out whether `next` can decide for some beside the active generation (`prepare`); at
    /// the next `cut` it does.
    public func prepareCanary(
        _ next: Generation, _ order: CanaryOrder, control: (any Control)? = nil, at now: Moment
    ) throws(ScriptProblems) {
        services.now = now
        var handover = Handover(next: next, reason: .reload)
        handover.canary = order
        try tryOut(handover, control)
    }

    /// `handover.next` decides for some from now on. Its `state` is its own, and so are its counts.
    func beginCanary(_ handover: Handover, _ order: CanaryOrder, since: Moment?) {
        endCanary(.reload)
        let given = savedStates()
        let states = giveNewest(to: handover)
        let next = handover.next
        next.goOn(under: generation)
        (next.pairs, next.decisions, next.isTakenBack) = (RecentPairs(), 0, false)
        place(
            next, since.map { order.beginning(at: $0) } ?? order,
            comparison(of: handover, given), states)
        tellChange(.start, .reload, of: next)
    }

    /// A canary goes on after a start, before `restore` and `start`.
    public func resumeCanary(
        _ next: Generation, _ order: CanaryOrder, control: (any Control)? = nil
    ) {
        place(next, order, control.map { Comparison($0) }, [:])
    }

    private func place(
        _ next: Generation, _ order: CanaryOrder, _ comparison: Comparison?,
        _ states: [String: SavedState]
    ) {
        let number = connect(next)
        for plugin in next.plugins {
            let lineage = PluginLineage()
            lineage.state = states[plugin.name]?.bytes
            lineage.stateVersion = plugin.manifest.stateVersion
            plugin.lineage = lineage
        }
        canary = CanaryRun(next, number, order, comparison: comparison)
    }

    /// The canary decides for others from now on, or goes back after another number of failures.
    public func extendCanary(_ order: CanaryOrder) {
        canary?.order = order
        canary?.hasAlarmed = false
    }

    /// The active generation decides for all again.
    public func endCanary(at now: Moment) -> [PolicyEffect] {
        services.now = now
        endCanary(.rollback)
        arrangeTimers()
        runDetached()
        return services.takeEffects()
    }

    /// Nothing begins in the canary any more; what waits in it goes on as in a generation that was
    /// replaced.
    func endCanary(_ reason: ChangeReason) {
        guard let canary else { return }
        tellChange(.stop, reason, of: canary.generation)
        self.canary = nil
        canary.generation.isTakenBack = true
        for plugin in canary.generation.plugins {
            plugin.isRetired = true
            plugin.memory.lineage.tally.add(plugin.tally)
        }
        deadlines.add(.retire(canary.number), at: services.now + Self.drainTime)
        deadlines.add(.retireReports(canary.number), at: services.now + Self.reportDrainTime)
    }

    /// Takes a canary back that has failed.
    func takeCanaryBackIfDue() {
        guard let canary, let reason = canary.mustEnd else { return }
        endCanary(.rollback)
        arrangeTimers()
        services.emit(.canaryTakenBack(canary.generation.name, reason: reason))
    }

    // MARK: Watching

    /// Looks whether the canary has to go: as in probation, or, while too few accounts met it for
    /// that, whether somebody has to be told (G72).
    func judgeCanary() {
        guard let canary, canary.mustEnd == nil else { return }
        let new = canary.generation.pairs.counted(since: Moment(0))
        canary.judgeAt = canary.generation.decisions + 1 + canary.generation.decisions / 16
        guard new.asked >= Probation.pairsMin else {
            let fails = new.failedAnew > 0 || canary.hasQuarantined
            guard fails, !canary.hasAlarmed, canary.order.abortOnFailure == nil else { return }
            canary.hasAlarmed = true
            let name = canary.generation.name
            return services.emit(.alarm(.canaryFails(name, accounts: new.asked)))
        }
        guard new.decisions >= Probation.decisionsMin else { return }
        let old = generation.pairs.counted(since: Moment(0))
        canary.mustEnd = Probation.failure(new, beside: old, canary.hasQuarantined)
    }

    /// How the canary does; nil: there is none.
    public var canaryStatus: CanaryStatus? {
        guard let canary else { return nil }
        let met = canary.generation.pairs.counted(since: Moment(0))
        return CanaryStatus(
            generation: canary.generation.name, order: canary.order,
            accounts: met.asked, failing: met.failedAnew, failures: canary.failures,
            own: canary.own, beside: canary.beside, plugins: status(of: canary.generation))
    }
}

extension Question.Subject {
    /// The account that the hook runs for (E55).
    fileprivate var account: UserID? {
        switch self {
        case .invite(_, let callee, _): callee
        case .dial(_, let user, _), .token(_, let user), .incomingData(_, let user, _): user
        case .join(let call, _): call.caller
        case .outgoingData(_, let texts): texts.first?.receiver
        }
    }
}
