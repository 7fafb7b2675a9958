// What plugins have said, or not, and what becomes of the question by it.

import CLua
import CallModel
import Collections
import Configuration
import Lua

extension PolicyHost {
    /// Takes what the plugin at `place` said; returns whether the question is answered.
    func settle(
        _ outcome: callua_outcome, _ plugin: PluginState, _ chain: inout Chain, spent: UInt64
    ) -> Bool {
        if outcome.unreturned.count > 0 { warnUnreturned(outcome, plugin) }
        guard Int(outcome.status) == CALLUA_FINISHED else {
            let failure = Failure(outcome.failure)
            var message = outcome.message
            if chain.hook == .extendedData, Int(outcome.failure) == CALLUA_TOO_LARGE {
                return tooLarge(message, plugin, &chain, spent: spent)
            }
            if failure == .badReturn { message = "\(plugin.file): \(message)" }
            // `return reject` in place of `return reject()`.
            if chain.hook == .invite, message.hasSuffix("bad result: a function is not data") {
                message += " (write accept {}, reject \"busy\")"
            }
            // Whatever returned left nothing to trace.
            let trace = outcome.traceback.string
            note(
                failure, message,
                failure == .badReturn && trace.isEmpty ? plugin.handlerBegins(chain.hook) : trace,
                plugin, isAnswer: true)
            return fail(failure, message, plugin, &chain, spent: spent)
        }
        do throws(BadReturn) {
            let step = try chain.inquiry.take(
                Returned(outcome.value), by: plugin, next: chain.place + 1, view: chain.view)
            plugin.health.failing.succeeded(plugin.origin, at: services.now)
            chain.place += 1
            switch step {
            case .next(let hasOpinion):
                record(hasOpinion ? .decided : .noOpinion, plugin, &chain, spent: spent)
                return false
            case .unfit(let why):
                record(.unfit, plugin, &chain, spent: spent, message: why)
                return false
            case .answered(
                .answer(.invite(.forward(let users, let each), let by, let next)), let note):
                // Whoever is beyond the rate of the one who called is left out (H95).
                let kept = users.filter { _ in mayForward(for: chain.cause) }
                let limited = kept.count < users.count ? "forward: rate_limited" : note
                guard !kept.isEmpty else {
                    record(.unfit, plugin, &chain, spent: spent, message: limited)
                    return false
                }
                plugin.tally.decided += 1
                record(.decided, plugin, &chain, spent: spent, message: limited)
                commit(.answer(.invite(.forward(kept, each: each), by: by, next: next)), &chain)
                return true
            case .answered(let verdict, let note):
                plugin.tally.decided += 1
                record(.decided, plugin, &chain, spent: spent, message: note)
                commit(verdict, &chain)
                return true
            }
        } catch {
            let place = outcome.value.isDecision ? callua_place(plugin.vm).string : ""
            let message = "\(place.isEmpty ? plugin.file : place): \(error.message)"
            note(
                .badReturn, message, plugin.handlerBegins(chain.hook), plugin, isAnswer: true)
            return fail(.badReturn, message, plugin, &chain, spent: spent)
        }
    }

    private func mayForward(for cause: Cause) -> Bool {
        cause.user.map { mayForward($0, services.now) } ?? true
    }

    /// Shaped data that is too long or too deep is no failure (G73): who sent it is told, and on
    /// its way out the data stays as it was.
    private func tooLarge(
        _ message: String, _ plugin: PluginState, _ chain: inout Chain, spent: UInt64
    ) -> Bool {
        plugin.health.failing.succeeded(plugin.origin, at: services.now)
        chain.place += 1
        record(.unfit, plugin, &chain, spent: spent, message: message)
        guard case .incoming = chain.inquiry else { return false }
        commit(.answer(.tooLarge(by: plugin.name)), &chain)
        return true
    }

    /// Applies the plugin's `on_error`; returns whether that answers the question.
    func fail(
        _ failure: Failure, _ message: String, _ plugin: PluginState, _ chain: inout Chain,
        spent: UInt64
    ) -> Bool {
        record(.failed(failure), plugin, &chain, spent: spent, message: message)
        countFailure(of: plugin, in: &chain)
        chain.place += 1
        return apply(plugin.onError, plugin, &chain)
    }

    func passedOver(_ plugin: PluginState, _ chain: inout Chain) -> Bool {
        record(.quarantined, plugin, &chain, spent: 0)
        chain.hasFailed = true
        chain.place += 1
        return apply(plugin.onError, plugin, &chain)
    }

    /// Answers in the place of a plugin; returns false when the next one is to be asked.
    func apply(
        _ onError: OnError, _ plugin: PluginState, _ chain: inout Chain
    ) -> Bool {
        // Shaping hooks leave unchanged what they cannot shape (F60).
        guard chain.hook.kind == .decision else { return false }
        // A door whose guard is not there stays shut, whatever the guard says of its failures.
        switch chain.hook == .join ? .reject : onError {
        case .skip, .unchanged: return false
        case .default: commit(.answer(.none), &chain)
        case .reject: commit(.answer(chain.rejection(by: plugin.name)), &chain)
        case .accept: commit(.answer(chain.acceptance(by: plugin.name)), &chain)
        }
        return true
    }

    func commit(_ verdict: Verdict, _ chain: inout Chain) {
        switch (verdict, chain.id) {
        case (.answer(let answer), .question(let id)):
            unheard.tell(chain.letIn(by: answer), in: chain.view.call.id, chain.hold)
            services.emit(.answer(id, answer))
        case (.push(var draft), .push(let id)):
            draft?.isIncomplete = chain.hasFailed || chain.isPassedOver
            services.emit(.shaped(id, draft))
        case (.answer, .push), (.push, .question):
            preconditionFailure("the verdict \(verdict) is none of \(chain.hook)")
        }
        let record = recordsDecisions ? chain.takeRecord(verdict, services) : nil
        if let canary { canary.note(chain, verdict, at: services.now) }
        if chain.hook.kind == .decision, !chain.isPassedOver { noteDecision(chain, record) }
        if chain.canaryFailures > 0 { countFailures(of: chain, record) }
        if let record { services.emit(.record(record)) }
    }

    func record(
        _ verdict: DecisionRecord.Verdict, _ plugin: PluginState, _ chain: inout Chain,
        spent: UInt64, message: String? = nil
    ) {
        let wall = services.now - chain.since
        plugin.tally.note(chain.hook, verdict, processor: spent, wall: wall)
        chain.spent += spent
        guard recordsDecisions else { return }
        let message = message ?? chain.changeOfGeneration
        chain.asked.add(
            DecisionRecord.Asked(
                plugin: plugin.name, processor: spent, wall: wall,
                verdict: verdict, message: message.map { String($0.prefix(500)) }))
    }
}
