// Handlers that wait: what they wait for, and how they go on.

import CLua
import CallModel
import Configuration
import JSON
import Lua
import WebProtocols

extension PolicyHost {
    /// Keeps a handler that waits, and asks for what it waits for.
    func wait(
        _ plugin: PluginState, _ outcome: callua_outcome, task: HandlerTask, call: CallID?
    ) {
        let id = newID()
        var handler = Running(
            plugin: plugin, thread: outcome.thread, task: task, call: call,
            account: plugin.account, event: event(of: plugin, outcome), wait: WaitID(id),
            chain: chain(of: task))
        handler.use = use(of: task, plugin)
        keep(handler, as: id)
        if task.isBounded {
            deadlines.add(.overdue(id), at: services.now + plugin.setting.limits.reportTime)
        }
        if let status = request(plugin, handler.wait, id) {
            goOn(id, status: status, fromParts: true)
        }
    }

    /// What the handler counts as. It counts when it waits, so that no run is slower for it.
    private func use(of task: HandlerTask, _ plugin: PluginState) -> QuotaUse? {
        switch task {
        case .part: nil
        case .single where plugin.use != nil: plugin.use
        case .single, .chain, .report, .timer:
            QuotaUse(plugin.memory, \.handlers, plugin.origin.cause)
        }
    }

    private func chain(of task: HandlerTask) -> ChainID? {
        switch task {
        case .chain(let id): id
        case .part(let parent, _): running[parent]?.chain
        case .report, .timer, .single: nil
        }
    }

    private func keep(_ handler: Running, as id: UInt64) {
        running[id] = handler
        waits[handler.wait] = id
        tasks[handler.task] = id
        guard let call = handler.call else { return }
        // What is told runs to its end (G85); all else ends with the call.
        if handler.event.origin.isReport {
            needVars(of: call)
        } else {
            handlersOfCalls[call, default: []].append(id)
        }
    }

    func forget(_ id: UInt64) -> Running? {
        guard let handler = running.removeValue(forKey: id) else { return nil }
        waits[handler.wait] = nil
        tasks[handler.task] = nil
        if handler.isFetch { handler.plugin.memory.fetches.add(-1, handler.event.origin.cause) }
        if handler.event.origin.isReport {
            if let call = handler.call { needVarsNoMore(of: call) }
        } else if let call = handler.call {
            handlersOfCalls[call]?.removeAll { $0 == id }
            if handlersOfCalls[call]?.isEmpty == true { handlersOfCalls[call] = nil }
        }
        return handler
    }

    /// Asks for what the handler waits for; returns how it goes on if that is there at once.
    private func request(_ plugin: PluginState, _ waitID: WaitID, _ id: UInt64) -> Int? {
        guard let pending = plugin.pending else { return nil }
        plugin.pending = nil
        switch pending {
        case .sleep(let span): deadlines.add(.wake(id, waitID), at: services.now + span)
        case .request(let request):
            if case .fetch = request {
                plugin.memory.fetches.add(1, plugin.origin.cause)
                running[id]?.isFetch = true
            }
            running[id]?.isRequest = true
            noteRequest({ request.words }, plugin, id)
            services.emit(
                .perform(waitID, plugin: plugin.name, request, plugin.origin.cause))
        case .operation(let user, let operation):
            running[id]?.isRequest = true
            running[id]?.isOperation = true
            noteRequest({ operation.words }, plugin, id)
            services.emit(
                .operate(waitID, user, plugin: plugin.name, operation, plugin.origin.cause))
        case .all(let functions): return startParts(functions, of: id, waitID, plugin)
        case .test: preconditionFailure("tests are not run by a policy host")
        }
        return nil
    }

    // MARK: What a decision was made on

    private func noteRequest(_ words: () -> String, _ plugin: PluginState, _ id: UInt64) {
        guard let question = running[id]?.chain, let chain = chains[question],
            chain.recorded != nil
        else { return }
        running[id]?.asking = (services.now, chain.seen.count)
        chains[question]?.seen.append(
            DecisionInput.Seen(plugin: plugin.name, request: words(), after: 0))
    }

    private func noteReply(_ reply: WaitReply, to handler: Running) {
        guard let question = handler.chain, let (since, place) = handler.asking else { return }
        chains[question]?.seen[place].after = services.now - since
        chains[question]?.seen[place].reply = reply
    }

    /// What a handler waited for has come.
    func replied(_ waitID: WaitID, _ reply: WaitReply) {
        if let timer = firing.removeValue(forKey: waitID) { return fire(timer, reply) }
        if let call = sought.removeValue(forKey: waitID) { return found(call, reply) }
        guard let id = waits[waitID], let handler = running[id] else { return }
        noteReply(reply, to: handler)
        let writer = handler.plugin.reply
        writer.cut()
        writer.reply(reply)
        goOn(id)
    }

    /// Resumes a handler with its plugin's `reply`, and again while the next thing that it waits
    /// for is there at once: however often that happens, it takes no more of our own stack.
    func goOn(_ id: UInt64, status: Int = CALLUA_RETURN, fromParts: Bool = false) {
        var (next, mayPause): (Int?, Bool) = (status, fromParts)
        while let status = next {
            if mayPause, isTired { return deadlines.add(.partsEnded(id), at: services.now) }
            next = proceed(id, status)
            mayPause = true
        }
    }

    private func proceed(_ id: UInt64, _ status: Int) -> Int? {
        guard let budget = budget(of: id) else {
            exhausted(id)
            return nil
        }
        guard var handler = forget(id) else { return nil }
        let plugin = handler.plugin
        goBack(to: handler)
        plugin.run(inLane: isInLane)
        let outcome = plugin.resume(handler.thread, status: status, budget: budget)
        took(outcome, plugin)
        guard Int(outcome.status) == CALLUA_WAITING else {
            finished(handler, outcome)
            return nil
        }
        handler.wait = WaitID(newID())
        handler.isRequest = false
        handler.isFetch = false
        handler.isOperation = false
        handler.asking = nil
        handler.parts = Parts()
        keep(handler, as: id)
        if handler.isPastCall {
            endPastCall(handler)
            return nil
        }
        return request(plugin, handler.wait, id)
    }

    /// Processor time for the next run of a handler, in nanoseconds; nil: its event has had all.
    func budget(of id: UInt64) -> UInt64? {
        running[id].flatMap { budget(of: $0.event, $0.plugin) }
    }

    /// For closing what a handler has open, when its event has had all its time.
    private static let closingTime: UInt64 = 100_000

    /// Processor time for the next run of an event.
    func budget(of event: PluginEvent, _ plugin: PluginState) -> UInt64? {
        let limits = plugin.setting.limits
        guard event.spent < limits.eventTime.nanoseconds else { return nil }
        return min(limits.eventTime.nanoseconds - event.spent, limits.runTime.nanoseconds)
    }

    func overBudget(_ plugin: PluginState) -> String {
        let most = plugin.setting.limits.eventTime
        return "\(plugin.file): over the processor budget of \(most) ms of an event"
    }

    /// A handler, the one whose part it is, and so on.
    func ancestry(of id: UInt64) -> [UInt64] {
        var ids = [id]
        while case .part(let parent, _)? = ids.last.flatMap({ running[$0] })?.task {
            ids.append(parent)
        }
        return ids
    }

    /// The event that the handler is part of has had all the time that an event may take.
    func exhausted(_ id: UInt64) {
        guard let whole = ancestry(of: id).last, let plugin = running[whole]?.plugin else { return }
        kill(whole, .cpu, overBudget(plugin), "")
    }

    /// Ends a handler that has failed while it waited.
    func kill(_ id: UInt64, _ failure: Failure, _ message: String, _ trace: String) {
        guard let task = running[id]?.task, let handler = stop(task, hasFailed: true) else {
            return
        }
        goBack(to: handler)
        var isAnswer = false
        if case .chain = task { isAnswer = true }
        note(failure, message, trace, handler.plugin, isAnswer: isAnswer)
        lose(handler, failure)
    }

    private func finished(_ handler: Running, _ outcome: callua_outcome) {
        switch handler.task {
        case .chain(let chain): resumed(chain, outcome, handler)
        case .report(let key):
            settle(outcome, handler.plugin, task: handler.task, call: handler.call)
            nextReport(key)
        case .single, .timer:
            settle(outcome, handler.plugin, task: handler.task, call: handler.call)
        case .part(let parent, let place):
            partFinished(parent, place, outcome)
        }
    }

    // MARK: Time

    func deadlineReached() {
        while let due = deadlines.popDue(at: services.now) { carryOut(due) }
    }

    /// Takes something that is due at `now`, to be handled as `PolicyInput.due`.
    public func takeDue(at now: Moment) -> PolicyDue? {
        deadlines.popDue(at: now).map { PolicyDue(deadline: $0) }
    }

    func carryOut(_ due: Deadline) {
        switch due {
        case .wake(let id, let waitID):
            guard let handler = running[id], handler.wait == waitID else { return }
            handler.plugin.reply.cut()
            handler.plugin.reply.list(0)
            goOn(id)
        case .decide(let chain): decideNow(chain)
        case .advance(let chain): advance(chain)
        case .overdue(let id): overdue(id)
        case .detached(let id): runDetached(id)
        case .part(let id): startPart(id)
        case .partsEnded(let id): partsEnded(id)
        case .notices(let key): nextReport(key)
        case .timer(let id): timerDue(id)
        case .saveStates: saveStates()
        case .retire(let generation): retire(generation)
        case .retireReports(let generation): retire(generation, all: true)
        case .endProbation(let number): endProbation(number)
        case .compare(let cause, let isCanary): compare(cause, isCanary: isCanary)
        case .forget(let call): forgetVars(of: call)
        case .seek(let call): seek(call)
        }
    }

    private func overdue(_ id: UInt64) {
        guard let handler = running[id] else { return }
        goBack(to: handler)
        note(
            .wall, "\(handler.plugin.file): a handler took too long",
            handler.plugin.waitsAt(handler.thread), handler.plugin)
        stop(handler.task, hasFailed: true)
        if case .report(let key) = handler.task { nextReport(key) }
    }

    // MARK: Ending handlers

    /// The traceback of the handler of `task`, if it waits.
    func waitsAt(_ task: HandlerTask) -> String {
        guard let id = tasks[task], let handler = running[id] else { return "" }
        return handler.plugin.waitsAt(handler.thread)
    }

    /// Cancels the handler of `task`. One that has not failed was taken back.
    @discardableResult
    func stop(_ task: HandlerTask, hasFailed: Bool = false) -> Running? {
        guard let id = tasks[task], running[id] != nil else { return nil }
        stopParts(of: id)
        guard let handler = forget(id) else { return nil }
        // What is closed then is part of the event; with nothing left it has a moment.
        let left = budget(of: handler.event, handler.plugin) ?? Self.closingTime
        handler.event.spent += handler.plugin.cancel(handler.thread, budget: left)
        if !hasFailed {
            handler.plugin.health.failing.ended(handler.event.origin, at: services.now)
        }
        if handler.isRequest { services.emit(.abandon(handler.wait)) }
        return handler
    }

    /// A call is over: what still runs for it ends, and what was kept for it goes. A handler that
    /// waits for an operation is told what came of it first: it may be what ended the call.
    func endCall(_ call: CallID) {
        ended.insert(call)
        for id in handlersOfCalls[call] ?? [] {
            guard let handler = running[id] else { continue }
            if handler.isOperation {
                running[id]?.isPastCall = true
            } else {
                end(handler.task)
            }
        }
        dropTimers(of: call)
        letVarsGo(of: call)
    }

    private func end(_ task: HandlerTask) {
        stop(task)
        if case .report(let key) = task { nextReport(key) }
    }

    /// Ends a handler whose call is over where it would wait again.
    private func endPastCall(_ handler: Running) {
        if case .all(let functions)? = handler.plugin.pending {
            for function in functions { callua_release(handler.plugin.vm, function) }
        }
        handler.plugin.pending = nil
        end(handler.task)
    }
}

extension PlainWriter {
    /// Writes what a waiting host function returns.
    package func reply(_ reply: WaitReply) {
        switch reply {
        case .value(let value):
            list(1)
            json(value)
        case .user(let facts):
            list(1)
            user(facts)
        case .fetched(let fetched):
            list(1)
            value(fetched.table)
        case .operation(nil):
            list(1)
            bool(true)
        case .operation(let refusal?):
            list(2)
            null()
            text(refusal.code.rawValue)
        case .trouble(let problem):
            list(2)
            null()
            text(problem)
        case .call:
            list(0)
        }
    }
}

extension FetchReply {
    /// The table that scripts get: `status`, `ok`, `headers`, `body`, and `json` where the body
    /// says that it is.
    fileprivate var table: LuaValue {
        func pair(_ key: String, _ value: LuaValue) -> LuaValue.Pair {
            LuaValue.Pair(key: .text(key), value: value)
        }
        var pairs = [
            pair("status", .integer(Int64(status))),
            pair("ok", .bool((200...299).contains(status))),
            pair("body", .string(body)),
            pair(
                "headers",
                .table(headers.map { pair($0.name.lowercased(), .text($0.value)) })),
        ]
        let type = headers.first { $0.name.lowercased() == "content-type" }?.value ?? ""
        let limits = JSONLimits(bytes: body.count)
        if type.contains("json"), let json = try? JSONValue(parsing: body, limits: limits) {
            pairs.append(pair("json", LuaValue(json)))
        }
        return .table(pairs)
    }
}
