// Asking the plugins: the first answer wins, or each goes on from the one before.

import CLua
import CallModel
import Collections
import Configuration
import JSON
import Lua

extension PolicyHost {
    // MARK: Beginning

    func ask(_ question: Question) {
        var chain: Chain
        let id = ChainID.question(question.id)
        let (facts, cause) = (unheard.facts(of: question), question.cause)
        let now = services.now
        switch question.subject {
        case .invite(let call, let callee, let from):
            chain = Chain(
                id: id, generation: answering,
                view: CallView(call: call, facts: facts, now: now, callee: callee),
                inquiry: .invite(callee: callee), cause: cause, deadline: question.decideBy,
                isCutShort: question.isCutShort, place: from, since: now)
        case .dial(let call, let user, let invitees):
            chain = Chain(
                id: id, generation: answering,
                view: CallView(
                    call: call, facts: facts, now: now, asker: user, invitees: invitees),
                inquiry: .dial(user: user, invitees: invitees), cause: cause,
                deadline: question.decideBy, place: 0, since: now)
        case .join(let call, let user), .token(let call, let user):
            let isJoin = question.subject.asksToJoin
            chain = Chain(
                id: id, generation: answering,
                view: CallView(call: call, facts: facts, now: now, callee: account(in: call)),
                inquiry: isJoin ? .join(user: user) : .token(user: user), cause: cause,
                deadline: question.decideBy, place: 0, since: now)
        case .incomingData(let call, let user, let text):
            chain = Chain(
                id: id, generation: answering,
                view: CallView(
                    call: call, facts: facts, now: now, callee: account(in: call), sender: user),
                inquiry: .incoming(user: user, text: text), cause: cause,
                deadline: shapingDeadline(question.decideBy), place: 0, since: now)
        case .outgoingData(let call, let texts):
            guard let first = texts.first else {
                unheard.tell()
                return services.emit(.answer(question.id, .views([])))
            }
            chain = Chain(
                id: id, generation: answering,
                view: CallView(
                    call: call, facts: facts, now: now, callee: account(in: call),
                    receiver: first.receiver),
                inquiry: .outgoing(texts, place: 0, text: first.data, views: []), cause: cause,
                deadline: shapingDeadline(question.decideBy), place: 0, since: now)
        }
        chain.hold = question.hold
        chain.trace = question.trace
        guard now <= question.decideBy else { return passOver(chain) }
        if keepsInputs { chain.recorded = recordedInput(of: chain) }
        advance(&chain)
    }

    /// More was asked than could be answered in time: no plugin spends time on it any more, and
    /// what each has for its failures answers; a guard refuses (G71). That is no failure of theirs.
    private func passOver(_ question: Chain) {
        var chain = question
        chain.isPassedOver = true
        let plugins = chain.generation.plugins
        var last: PluginState?
        while chain.place < plugins.count {
            let plugin = plugins[chain.place]
            chain.place += 1
            guard chain.concerns(plugin) else { continue }
            noteUnasked(plugin, &chain)
            if apply(plugin.onError, plugin, &chain) { return }
            last = plugin
        }
        if let last, apply(chain.generation.plan.onError, last, &chain) { return }
        _ = beginNextText(&chain)
        commit(chain.inquiry.outcome, &chain)
    }

    /// A plugin is not asked, because there is no time left.
    private func noteUnasked(_ plugin: PluginState, _ chain: inout Chain) {
        let message = "\(plugin.file): there was too much to do to ask in time"
        record(.failed(.late), plugin, &chain, spent: 0, message: message)
    }

    /// Refuses in the place of the guards from `place` on that there is no time to ask any more.
    private func refuseUnasked(from place: Int, _ chain: inout Chain) -> Bool {
        guard chain.hook.kind == .decision else { return false }
        let unasked = chain.generation.plugins.dropFirst(place)
        guard let guardian = unasked.first(where: { chain.concerns($0) && $0.onError == .reject })
        else { return false }
        noteUnasked(guardian, &chain)
        return apply(.reject, guardian, &chain)
    }

    private var keepsInputs: Bool {
        recordsDecisions && recordsInputs && answering.plan.recordsInputs
    }

    /// What the decision log keeps of the world before the first plugin is asked.
    private func recordedInput(of chain: Chain) -> RecordedInput {
        var vars: [DecisionInput.Vars] = []
        for plugin in chain.generation.plugins where !plugin.memory.vars.isEmpty {
            guard let bytes = plugin.memory.vars[chain.view.call.id] else { continue }
            vars.append(DecisionInput.Vars(plugin: plugin.name, bytes: bytes))
        }
        return RecordedInput(
            inquiry: chain.inquiry, place: chain.place, dice: services.dice.seed, vars: vars)
    }

    /// Shapes a push.
    func shape(
        _ draft: PushDraft, _ id: PushID, _ call: Call, _ facts: [UserFacts], _ cause: Cause
    ) {
        let now = services.now
        var chain = Chain(
            id: .push(id), generation: answering,
            view: CallView(call: call, facts: facts, now: now, receiver: draft.user),
            inquiry: .push(draft, job: id), cause: cause,
            deadline: shapingDeadline(now + 1_000), place: 0, since: now)
        chain.trace = draft.trace
        if keepsInputs { chain.recorded = recordedInput(of: chain) }
        advance(&chain)
    }

    private func shapingDeadline(_ decideBy: Moment) -> Moment {
        min(decideBy, services.now + PluginLimits().shapingTime)
    }

    // MARK: Going on

    /// Asks plugin after plugin until one answers, one waits or none is left.
    private func advance(_ chain: inout Chain) {
        let hook = chain.hook.index
        repeat {
            let plugins = chain.generation.plugins
            while chain.place < plugins.count {
                let plugin = plugins[chain.place]
                guard chain.concerns(plugin) else {
                    chain.place += 1
                    continue
                }
                if hasHadItsTime { return pause(chain) }
                var origin = Origin(cause: chain.cause, pauseKey: .report(chain.hook))
                guard admit(plugin, &origin) else {
                    if passedOver(plugin, &chain) { return }
                    continue
                }
                let outcome = run(plugin, plugin.hooks[hook], &chain, origin)
                switch Int(outcome.status) {
                case CALLUA_WAITING: return suspend(chain, plugin, outcome)
                case CALLUA_PAUSED: return leaveLane(chain, plugin, outcome)
                default: break
                }
                if settle(outcome, plugin, &chain, spent: outcome.nanoseconds) { return }
            }
        } while beginNextText(&chain)
        commit(chain.inquiry.outcome, &chain)
    }

    /// Others come first: the next plugin is asked a little later.
    private func pause(_ chain: Chain) {
        var chain = chain
        time(&chain)
        chains[chain.id] = chain
        deadlines.add(.advance(chain.id), at: services.now)
    }

    /// Goes on with a question that was left for a while.
    func advance(_ id: ChainID) {
        guard var chain = chains.removeValue(forKey: id) else { return }
        if services.now > chain.deadline { return passOver(chain) }
        advance(&chain)
    }

    /// The answer comes later: sees to it that it comes in time.
    private func time(_ chain: inout Chain) {
        guard !chain.isTimed else { return }
        chain.isTimed = true
        deadlines.add(.decide(chain.id), at: chain.deadline)
        // Before anything that a handler asks for: that may be about the call.
        guard case .question(let id) = chain.id else { return }
        unheard.tell(chain.letIn(by: .none), in: chain.view.call.id, chain.hold)
        chain.hold = nil
        services.emit(.thinking(id))
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
        if canary != nil { chain.goOn(in: generation(for: next.receiver, in: chain.view.call)) }
        chain.inquiry = .outgoing(texts, place: place + 1, text: next.data, views: views)
        chain.view.receiver = next.receiver
        chain.place = 0
        return true
    }

    private func run(
        _ plugin: PluginState, _ reference: Int32, _ chain: inout Chain, _ origin: Origin
    ) -> callua_outcome {
        chain.since = services.now
        noteState(of: plugin, &chain)
        write(chain)
        begin(plugin, call: chain.view.call.id, account: chain.user, origin)
        return start(plugin, reference)
    }

    /// Writes the arguments of the hook.
    private func write(_ chain: Chain) {
        arguments.cut()
        switch chain.inquiry {
        case .invite, .dial:
            arguments.list(1)
            write(chain.view)
        case .join(let user), .token(let user):
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
        arguments.call(view, modeName: view.call.row.name)
    }

    // MARK: Waiting

    private func suspend(_ chain: Chain, _ plugin: PluginState, _ outcome: callua_outcome) {
        var chain = chain
        time(&chain)
        chains[chain.id] = chain
        wait(plugin, outcome, task: .chain(chain.id), call: chain.view.call.id)
    }

    /// A handler of the chain came back.
    func resumed(_ id: ChainID, _ outcome: callua_outcome, _ handler: Running) {
        guard var chain = chains.removeValue(forKey: id) else { return }
        if !settle(outcome, handler.plugin, &chain, spent: handler.event.spent) { advance(&chain) }
    }

    /// The time for the question is over: the plugin being waited for failed (F59).
    func decideNow(_ id: ChainID) {
        guard let chain = chains[id] else { return }
        let traceback = waitsAt(.chain(id))
        guard let handler = stop(.chain(id), hasFailed: true) else {
            // The next plugin has not had its turn.
            chains[id] = nil
            return passOver(chain)
        }
        goBack(to: handler)
        let message = "\(handler.plugin.file): no answer to on.\(chain.hook.rawValue) in time"
        // A short ring time is the caller's doing (G74).
        if chain.isCutShort {
            handler.plugin.health.failing.ended(handler.event.origin, at: services.now)
        } else {
            note(.late, message, traceback, handler.plugin, isAnswer: true)
        }
        guard var late = chains.removeValue(forKey: id) else { return }
        record(
            chain.isCutShort ? .cutShort : .failed(.late), handler.plugin, &late,
            spent: handler.event.spent, message: message)
        if !chain.isCutShort { countFailure(of: handler.plugin, in: &late) }
        late.place = chain.generation.plugins.count
        let own = handler.plugin.onError
        if apply(own, handler.plugin, &late) { return }
        if refuseUnasked(from: chain.place + 1, &late) { return }
        if own == .skip, apply(chain.generation.plan.onError, handler.plugin, &late) { return }
        _ = beginNextText(&late)
        commit(late.inquiry.outcome, &late)
    }

    /// The handler of a question was lost: its plugin has failed, the others are asked.
    func giveUp(_ id: ChainID, _ failure: Failure, _ handler: Running) {
        guard var chain = chains.removeValue(forKey: id) else { return }
        let message = "\(handler.plugin.file): what the handler waited in was given up"
        if !fail(failure, message, handler.plugin, &chain, spent: handler.event.spent) {
            advance(&chain)
        }
    }

    /// The handler of a question was lost by somebody else's doing: its plugin is asked again.
    func askAgain(_ id: ChainID) {
        guard let chain = chains[id] else { return }
        let plugin = chain.generation.plugins[chain.place].name
        chains[id]?.seen.removeAll { $0.plugin == plugin }
        chains[id]?.recorded?.states.removeAll { $0.plugin == plugin }
        deadlines.add(.advance(id), at: services.now)
    }

    func withdraw(_ id: QuestionID) {
        guard var chain = chains.removeValue(forKey: .question(id)) else { return }
        stop(.chain(.question(id)))
        guard chain.canaryFailures > 0 else { return }
        countFailures(
            of: chain, recordsDecisions ? chain.takeRecord(.answer(.none), services) : nil)
    }
}

extension Question.Subject {
    fileprivate var asksToJoin: Bool { if case .join = self { true } else { false } }
}
