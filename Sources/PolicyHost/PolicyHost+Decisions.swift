// The chain of plugins behind one question: the first answer wins.

import CLua
import CallCore

/// A question on its way through the plugins.
struct Chain {
    let question: Question
    let generation: Generation
    let view: CallView
    let user: UserID
    let hook: Hook
    /// The plugin that is asked, or asked next.
    var place: Int
    /// When the plugin being waited for was asked, and its processor time so far.
    var since: Moment
    var asked: [DecisionRecord.Asked] = []
    /// Whether the host will be woken when the time is over.
    var isTimed = false
}

extension PolicyHost {
    // MARK: Asking

    func ask(_ question: Question) {
        switch question.subject {
        case .invite(let call, let callee, let from):
            let view = CallView(
                call: call, facts: question.facts, now: services.now, callee: callee)
            var chain = Chain(
                question: question, generation: generation, view: view, user: callee,
                hook: .invite, place: from, since: services.now)
            advance(&chain)
        case .dial, .incomingData, .outgoingData, .token:
            services.emit(.answer(question.id, .none))
        }
    }

    /// Asks plugin after plugin until one answers, one waits or none is left.
    private func advance(_ chain: inout Chain) {
        let plugins = chain.generation.plugins
        let hook = chain.hook.index
        while chain.place < plugins.count {
            let plugin = plugins[chain.place]
            let reference = plugin.hooks[hook]
            guard reference >= 0, plugin.setting.users?.contains(chain.user) ?? true else {
                chain.place += 1
                continue
            }
            guard plugin.breaker.admits(at: services.now) else {
                if quarantined(plugin, &chain) { return }
                continue
            }
            let outcome = run(plugin, reference, &chain)
            if Int(outcome.status) == CALLUA_WAITING {
                suspend(chain, plugin, outcome)
                return
            }
            if settle(outcome, plugin, &chain, spent: outcome.nanoseconds) { return }
        }
        commit(.none, chain)
    }

    private func run(
        _ plugin: PluginState, _ reference: Int32, _ chain: inout Chain
    ) -> callua_outcome {
        chain.since = services.now
        arguments.cut()
        arguments.list(1)
        arguments.call(chain.view, modeName: modeName(chain.view.call.mode))
        plugin.call = chain.view.call.id
        plugin.account = chain.user
        let outcome = plugin.start(
            reference, arguments, budget: plugin.setting.limits.runTime.nanoseconds)
        plugin.tally.asked += 1
        plugin.tally.nanoseconds += outcome.nanoseconds
        return outcome
    }

    func modeName(_ index: ModeIndex) -> String {
        Int(index.value) < modeNames.count ? modeNames[Int(index.value)] : ""
    }

    // MARK: Answers

    /// Takes what the plugin at `place` said; returns whether the question is answered.
    func settle(
        _ outcome: callua_outcome, _ plugin: PluginState, _ chain: inout Chain, spent: UInt64
    ) -> Bool {
        if outcome.unreturned.count > 0 { warnUnreturned(outcome, plugin) }
        guard Int(outcome.status) == CALLUA_FINISHED else {
            let failure = Failure(outcome.failure)
            note(failure, outcome.message, outcome.traceback.string, plugin)
            return fail(failure, plugin, &chain, spent: spent)
        }
        do throws(BadReturn) {
            let decision = try Returned(outcome.value).invitation(
                chain.view, dataMax: plugin.setting.extendedDataMax)
            plugin.breaker.succeeded()
            chain.place += 1
            guard let decision else {
                record(.noOpinion, plugin, &chain, spent: spent)
                return false
            }
            plugin.tally.decided += 1
            record(.decided, plugin, &chain, spent: spent)
            commit(.invite(decision, by: plugin.name, next: chain.place), chain)
            return true
        } catch {
            note(.badReturn, "\(plugin.file): \(error.message)", "", plugin)
            return fail(.badReturn, plugin, &chain, spent: spent)
        }
    }

    /// Applies the plugin's `on_error`; returns whether that answers the question.
    private func fail(
        _ failure: Failure, _ plugin: PluginState, _ chain: inout Chain, spent: UInt64
    ) -> Bool {
        record(.failed(failure), plugin, &chain, spent: spent)
        chain.place += 1
        return apply(plugin.onError, plugin, chain)
    }

    private func quarantined(_ plugin: PluginState, _ chain: inout Chain) -> Bool {
        record(.quarantined, plugin, &chain, spent: 0)
        chain.place += 1
        return apply(plugin.onError, plugin, chain)
    }

    /// Answers in the place of a plugin; returns false when the next one is to be asked.
    private func apply(_ onError: OnError, _ plugin: PluginState, _ chain: Chain) -> Bool {
        switch onError {
        case .skip, .unchanged: return false
        case .default: commit(.none, chain)
        case .reject:
            let decision = Decision.reject(busy: false, extendedData: nil)
            commit(.invite(decision, by: plugin.name, next: chain.place), chain)
        case .accept:
            let decision = Decision.accept(wait: 0, extendedData: nil)
            commit(.invite(decision, by: plugin.name, next: chain.place), chain)
        }
        return true
    }

    func commit(_ answer: Answer, _ chain: Chain) {
        services.emit(.answer(chain.question.id, answer))
        guard recordsDecisions else { return }
        services.emit(
            .record(
                DecisionRecord(
                    hook: chain.hook, call: chain.view.call.id, user: chain.user,
                    at: chain.view.now, generation: chain.generation.name, asked: chain.asked,
                    answer: answer)))
    }

    private func record(
        _ verdict: DecisionRecord.Verdict, _ plugin: PluginState, _ chain: inout Chain,
        spent: UInt64
    ) {
        guard recordsDecisions else { return }
        chain.asked.append(
            DecisionRecord.Asked(
                plugin: plugin.name, processor: spent, wall: services.now - chain.since,
                verdict: verdict))
    }

    // MARK: Waiting

    private func suspend(_ chain: Chain, _ plugin: PluginState, _ outcome: callua_outcome) {
        let id = chain.question.id
        var chain = chain
        if !chain.isTimed { deadlines.add(.decide(id), at: chain.question.decideBy) }
        chain.isTimed = true
        chains[id] = chain
        wait(plugin, outcome, task: .chain(id), call: chain.view.call.id)
    }

    /// A handler of the chain came back.
    func resumed(_ id: QuestionID, _ outcome: callua_outcome, _ handler: Running) {
        guard var chain = chains.removeValue(forKey: id) else { return }
        if !settle(outcome, handler.plugin, &chain, spent: handler.spent) { advance(&chain) }
    }

    /// The time for the question is over: the plugin being waited for failed (F59).
    func decideNow(_ id: QuestionID) {
        guard let chain = chains[id], let handler = stop(.chain(id)) else { return }
        note(
            .late, "\(handler.plugin.file): no answer to on.\(chain.hook.rawValue) in time", "",
            handler.plugin)
        guard var late = chains.removeValue(forKey: id) else { return }
        record(.failed(.late), handler.plugin, &late, spent: handler.spent)
        late.place = chain.generation.plugins.count
        let own = handler.plugin.onError
        if !apply(own == .skip ? generation.plan.onError : own, handler.plugin, late) {
            commit(.none, late)
        }
    }

    /// The handler of a question was lost: its plugin has failed, the others are asked.
    func giveUp(_ id: QuestionID, _ failure: Failure, _ handler: Running) {
        guard var chain = chains.removeValue(forKey: id) else { return }
        if !fail(failure, handler.plugin, &chain, spent: handler.spent) { advance(&chain) }
    }

    func withdraw(_ id: QuestionID) {
        guard chains.removeValue(forKey: id) != nil else { return }
        stop(.chain(id))
    }
}
