// Asking the plugins: the first answer wins, or each goes on from the one before.

import CLua
import CallModel
import JSON

extension PolicyHost {
    // MARK: Beginning

    func ask(_ question: Question) {
        var chain: Chain
        let id = ChainID.question(question.id)
        let facts = question.facts
        let now = services.now
        switch question.subject {
        case .invite(let call, let callee, let from):
            chain = Chain(
                id: id, generation: generation,
                view: CallView(call: call, facts: facts, now: now, callee: callee),
                inquiry: .invite(callee: callee), deadline: question.decideBy, place: from,
                since: now)
        case .dial(let call, let user, let invitees):
            chain = Chain(
                id: id, generation: generation,
                view: CallView(call: call, facts: facts, now: now, invitees: invitees),
                inquiry: .dial(user: user, invitees: invitees), deadline: question.decideBy,
                place: 0, since: now)
        case .token(let call, let user):
            chain = Chain(
                id: id, generation: generation,
                view: CallView(call: call, facts: facts, now: now, callee: account(in: call)),
                inquiry: .token(user: user),
                deadline: question.decideBy, place: 0, since: now)
        case .incomingData(let call, let user, let text):
            chain = Chain(
                id: id, generation: generation,
                view: CallView(call: call, facts: facts, now: now, callee: account(in: call)),
                inquiry: .incoming(user: user, text: text),
                deadline: shapingDeadline(question.decideBy), place: 0, since: now)
        case .outgoingData(let call, let texts):
            guard let first = texts.first else {
                return services.emit(.answer(question.id, .views([])))
            }
            chain = Chain(
                id: id, generation: generation,
                view: CallView(
                    call: call, facts: facts, now: now, callee: account(in: call),
                    receiver: first.receiver),
                inquiry: .outgoing(texts, place: 0, text: first.data, views: []),
                deadline: shapingDeadline(question.decideBy), place: 0, since: now)
        }
        guard now <= question.decideBy else { return passOver(chain) }
        if keepsInputs { chain.origin = origin(of: chain) }
        advance(&chain)
    }

    /// More was asked than could be answered: the core decides by itself, or has done so, and no
    /// plugin spends time on it.
    private func passOver(_ question: Chain) {
        var chain = question
        let plugin = chain.generation.plugins.first { chain.concerns($0) }
        guard let plugin, recordsDecisions else { return }
        let message = "\(plugin.file): there was too much to do to ask in time"
        record(.failed(.late), plugin, &chain, spent: 0, message: message)
        services.emit(.record(chain.record(.answer(.none), services)))
    }

    private var keepsInputs: Bool {
        recordsDecisions && recordsInputs && generation.plan.recordsInputs
    }

    /// What the decision log keeps of the world before the first plugin is asked.
    private func origin(of chain: Chain) -> ChainOrigin {
        var vars: [DecisionInput.Vars] = []
        for plugin in generation.plugins where !plugin.memory.vars.isEmpty {
            guard let bytes = plugin.memory.vars[chain.view.call.id] else { continue }
            vars.append(DecisionInput.Vars(plugin: plugin.name, bytes: bytes))
        }
        return ChainOrigin(
            inquiry: chain.inquiry, place: chain.place, dice: services.dice.seed, vars: vars)
    }

    /// Shapes a push.
    func shape(_ draft: PushDraft, _ id: PushID, _ call: Call, _ facts: [UserFacts]) {
        let now = services.now
        var chain = Chain(
            id: .push(id), generation: generation,
            view: CallView(call: call, facts: facts, now: now, receiver: draft.user),
            inquiry: .push(draft, job: id), deadline: shapingDeadline(now + 1_000), place: 0,
            since: now)
        if keepsInputs { chain.origin = origin(of: chain) }
        advance(&chain)
    }

    private func shapingDeadline(_ decideBy: Moment) -> Moment {
        min(decideBy, services.now + PluginLimits().shapingTime)
    }

    // MARK: Going on

    /// Asks plugin after plugin until one answers, one waits or none is left.
    private func advance(_ chain: inout Chain) {
        let plugins = chain.generation.plugins
        let hook = chain.hook.index
        repeat {
            while chain.place < plugins.count {
                let plugin = plugins[chain.place]
                guard chain.concerns(plugin) else {
                    chain.place += 1
                    continue
                }
                guard plugin.breaker.admits(at: services.now) else {
                    if quarantined(plugin, &chain) { return }
                    continue
                }
                let outcome = run(plugin, plugin.hooks[hook], &chain)
                if Int(outcome.status) == CALLUA_WAITING {
                    return suspend(chain, plugin, outcome)
                }
                if settle(outcome, plugin, &chain, spent: outcome.nanoseconds) { return }
            }
        } while beginNextText(&chain)
        commit(chain.inquiry.outcome, chain)
    }

    /// One text is shaped: goes on with the next one, if there is one.
    private func beginNextText(_ chain: inout Chain) -> Bool {
        guard case .outgoing(let texts, let place, let text, var views) = chain.inquiry else {
            return false
        }
        let done = texts[place]
        if text != done.data {
            views.append(Call.View(receiver: done.receiver, owner: done.owner, text: text))
        }
        guard place + 1 < texts.count else {
            chain.inquiry = .outgoing(texts, place: place, text: done.data, views: views)
            return false
        }
        let next = texts[place + 1]
        chain.inquiry = .outgoing(texts, place: place + 1, text: next.data, views: views)
        chain.view.receiver = next.receiver
        chain.place = 0
        return true
    }

    private func run(
        _ plugin: PluginState, _ reference: Int32, _ chain: inout Chain
    ) -> callua_outcome {
        chain.since = services.now
        write(chain)
        begin(plugin, call: chain.view.call.id, account: chain.user)
        return start(plugin, reference)
    }

    /// Writes the arguments of the hook.
    private func write(_ chain: Chain) {
        arguments.cut()
        switch chain.inquiry {
        case .invite, .dial:
            arguments.list(1)
            write(chain.view)
        case .token(let user):
            arguments.list(2)
            write(chain.view)
            arguments.user(chain.view.facts(of: user))
        case .incoming(_, let text): write(text, "in", chain.view)
        case .outgoing(_, _, let text, _): write(text, "out", chain.view)
        case .push(let draft, _):
            arguments.list(2)
            arguments.json(.object(draft.table))
            write(chain.view)
        }
    }

    /// Data that is a JSON object goes as a table, anything else as it is (F66).
    private func write(_ text: String?, _ direction: String, _ view: CallView) {
        arguments.list(3)
        if let text {
            if let json = try? JSONValue(parsing: text), case .object = json {
                arguments.json(json)
            } else {
                arguments.text(text)
            }
        } else {
            arguments.null()
        }
        write(view)
        arguments.text(direction)
    }

    func write(_ view: CallView) {
        arguments.call(view, modeName: modeName(view.call.mode))
    }

    private func modeName(_ index: ModeIndex) -> String {
        Int(index.value) < modeNames.count ? modeNames[Int(index.value)] : ""
    }

    // MARK: Results

    /// Takes what the plugin at `place` said; returns whether the question is answered.
    private func settle(
        _ outcome: callua_outcome, _ plugin: PluginState, _ chain: inout Chain, spent: UInt64
    ) -> Bool {
        if outcome.unreturned.count > 0 { warnUnreturned(outcome, plugin) }
        guard Int(outcome.status) == CALLUA_FINISHED else {
            let failure = Failure(outcome.failure)
            var message = outcome.message
            if failure == .badReturn { message = "\(plugin.file): \(message)" }
            // `return reject` in place of `return reject()`.
            if chain.hook == .invite, message.hasSuffix("bad result: a function is not data") {
                message += " (write accept {}, reject \"busy\")"
            }
            note(failure, message, outcome.traceback.string, plugin)
            return fail(failure, message, plugin, &chain, spent: spent)
        }
        do throws(BadReturn) {
            let step = try chain.inquiry.take(
                Returned(outcome.value), by: plugin, next: chain.place + 1, view: chain.view)
            plugin.breaker.succeeded(of: plugin.trial)
            chain.place += 1
            switch step {
            case .next(let hasOpinion):
                record(hasOpinion ? .decided : .noOpinion, plugin, &chain, spent: spent)
                return false
            case .answered(let verdict):
                plugin.tally.decided += 1
                record(.decided, plugin, &chain, spent: spent)
                commit(verdict, chain)
                return true
            }
        } catch {
            let place = outcome.value.isDecision ? callua_place(plugin.vm).string : ""
            let message = "\(place.isEmpty ? plugin.file : place): \(error.message)"
            note(.badReturn, message, "", plugin)
            return fail(.badReturn, message, plugin, &chain, spent: spent)
        }
    }

    /// Applies the plugin's `on_error`; returns whether that answers the question.
    private func fail(
        _ failure: Failure, _ message: String, _ plugin: PluginState, _ chain: inout Chain,
        spent: UInt64
    ) -> Bool {
        record(.failed(failure), plugin, &chain, spent: spent, message: message)
        chain.hasFailed = true
        chain.place += 1
        return apply(plugin.onError, plugin, chain)
    }

    private func quarantined(_ plugin: PluginState, _ chain: inout Chain) -> Bool {
        record(.quarantined, plugin, &chain, spent: 0)
        chain.hasFailed = true
        chain.place += 1
        return apply(plugin.onError, plugin, chain)
    }

    /// Answers in the place of a plugin; returns false when the next one is to be asked.
    private func apply(_ onError: OnError, _ plugin: PluginState, _ chain: Chain) -> Bool {
        // Shaping hooks leave unchanged what they cannot shape (F60).
        guard chain.hook.kind == .decision else { return false }
        switch onError {
        case .skip, .unchanged: return false
        case .default: commit(.answer(.none), chain)
        case .reject: commit(.answer(chain.rejection(by: plugin.name)), chain)
        case .accept: commit(.answer(chain.acceptance(by: plugin.name)), chain)
        }
        return true
    }

    private func commit(_ verdict: Verdict, _ chain: Chain) {
        switch (verdict, chain.id) {
        case (.answer(let answer), .question(let id)): services.emit(.answer(id, answer))
        case (.push(let draft), .push(let id)): services.emit(.shaped(id, draft))
        case (.answer, .push), (.push, .question):
            preconditionFailure("the verdict \(verdict) is none of \(chain.hook)")
        }
        if chain.hook.kind == .decision { noteDecision(chain, hasFailed: chain.hasFailed) }
        guard recordsDecisions else { return }
        services.emit(.record(chain.record(verdict, services)))
    }

    private func record(
        _ verdict: DecisionRecord.Verdict, _ plugin: PluginState, _ chain: inout Chain,
        spent: UInt64, message: String? = nil
    ) {
        let wall = services.now - chain.since
        plugin.tally.note(chain.hook, verdict, processor: spent, wall: wall)
        guard recordsDecisions else { return }
        chain.asked.append(
            DecisionRecord.Asked(
                plugin: plugin.name, processor: spent, wall: wall,
                verdict: verdict, message: message.map { String($0.prefix(500)) }))
    }

    // MARK: Waiting

    private func suspend(_ chain: Chain, _ plugin: PluginState, _ outcome: callua_outcome) {
        var chain = chain
        if !chain.isTimed { deadlines.add(.decide(chain.id), at: chain.deadline) }
        chain.isTimed = true
        chains[chain.id] = chain
        wait(plugin, outcome, task: .chain(chain.id), call: chain.view.call.id)
    }

    /// A handler of the chain came back.
    func resumed(_ id: ChainID, _ outcome: callua_outcome, _ handler: Running) {
        guard var chain = chains.removeValue(forKey: id) else { return }
        if !settle(outcome, handler.plugin, &chain, spent: handler.spent) { advance(&chain) }
    }

    /// The time for the question is over: the plugin being waited for failed (F59).
    func decideNow(_ id: ChainID) {
        guard let chain = chains[id], let handler = stop(.chain(id), hasFailed: true) else {
            return
        }
        goBack(to: handler)
        let message = "\(handler.plugin.file): no answer to on.\(chain.hook.rawValue) in time"
        note(.late, message, "", handler.plugin)
        guard var late = chains.removeValue(forKey: id) else { return }
        record(.failed(.late), handler.plugin, &late, spent: handler.spent, message: message)
        late.hasFailed = true
        late.place = chain.generation.plugins.count
        let own = handler.plugin.onError
        if apply(own == .skip ? generation.plan.onError : own, handler.plugin, late) { return }
        _ = beginNextText(&late)
        commit(late.inquiry.outcome, late)
    }

    /// The handler of a question was lost: its plugin has failed, the others are asked.
    func giveUp(_ id: ChainID, _ failure: Failure, _ handler: Running) {
        guard var chain = chains.removeValue(forKey: id) else { return }
        let message = "\(handler.plugin.file): what the handler waited in was given up"
        if !fail(failure, message, handler.plugin, &chain, spent: handler.spent) {
            advance(&chain)
        }
    }

    func withdraw(_ id: QuestionID) {
        guard chains.removeValue(forKey: .question(id)) != nil else { return }
        stop(.chain(.question(id)))
    }
}

extension Chain {
    /// Whether the plugin has the hook, and the operator lets it see whom this is about.
    fileprivate func concerns(_ plugin: PluginState) -> Bool {
        plugin.hooks[hook.index] >= 0 && plugin.setting.users?.contains(user) ?? true
    }

    fileprivate func rejection(by plugin: String) -> Answer {
        switch inquiry {
        case .dial: .refuse(code: "refused", by: plugin)
        case .invite:
            .invite(.reject(busy: false, extendedData: nil), by: plugin, next: place)
        case .token, .incoming, .outgoing, .push: .none
        }
    }

    fileprivate func acceptance(by plugin: String) -> Answer {
        switch inquiry {
        case .dial: .allow(Allowance())
        case .invite: .invite(.accept(wait: 0, extendedData: nil), by: plugin, next: place)
        case .token, .incoming, .outgoing, .push: .none
        }
    }

    fileprivate func record(_ verdict: Verdict, _ services: Services) -> DecisionRecord {
        let input = origin.map { origin in
            DecisionInput(
                subject: origin.subject(view.call), facts: view.facts,
                decideIn: deadline - view.now,
                wallOffset: services.wallOffset, dice: origin.dice, vars: origin.vars, seen: seen)
        }
        return DecisionRecord(
            hook: hook, call: view.call.id, user: user, at: view.now,
            took: services.now - view.now, generation: generation.name, asked: asked,
            outcome: verdict, input: input)
    }
}
