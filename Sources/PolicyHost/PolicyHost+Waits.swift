// Handlers that wait: what they wait for, and how they go on.

import CLua
import CallCore

extension PolicyHost {
    /// Keeps a handler that waits, and asks for what it waits for.
    func wait(
        _ plugin: PluginState, _ outcome: callua_outcome, task: HandlerTask, call: CallID?
    ) {
        let handler = Running(
            plugin: plugin, thread: outcome.thread, task: task, call: call, since: services.now,
            spent: outcome.nanoseconds, wait: WaitID(newID()))
        keep(handler, as: handler.wait.value)
        request(plugin, handler.wait, handler.wait.value)
    }

    private func keep(_ handler: Running, as id: UInt64) {
        running[id] = handler
        waits[handler.wait] = id
        tasks[handler.task] = id
        if let call = handler.call { handlersOfCalls[call, default: []].append(id) }
    }

    func forget(_ id: UInt64) -> Running? {
        guard let handler = running.removeValue(forKey: id) else { return nil }
        waits[handler.wait] = nil
        tasks[handler.task] = nil
        if let call = handler.call {
            handlersOfCalls[call]?.removeAll { $0 == id }
            if handlersOfCalls[call]?.isEmpty == true { handlersOfCalls[call] = nil }
        }
        return handler
    }

    private func request(_ plugin: PluginState, _ waitID: WaitID, _ id: UInt64) {
        guard let pending = plugin.pending else { return }
        plugin.pending = nil
        switch pending {
        case .sleep(let span): deadlines.add(.wake(id, waitID), at: services.now + span)
        case .request(let request):
            services.emit(.perform(waitID, plugin: plugin.name, request))
        case .operation(let user, let operation):
            services.emit(.operate(waitID, user, plugin: plugin.name, operation))
        }
    }

    /// What a handler waited for has come.
    func replied(_ waitID: WaitID, _ reply: WaitReply) {
        guard let id = waits[waitID], let handler = running[id] else { return }
        let writer = handler.plugin.reply
        writer.cut()
        writer.reply(reply)
        goOn(id)
    }

    /// Resumes a handler with what stands in its plugin's `reply`.
    private func goOn(_ id: UInt64) {
        guard var handler = forget(id) else { return }
        let plugin = handler.plugin
        let limits = plugin.setting.limits
        plugin.call = handler.call
        let left = limits.eventTime.nanoseconds - min(handler.spent, limits.eventTime.nanoseconds)
        let outcome = plugin.resume(
            handler.thread, status: CALLUA_RETURN,
            budget: max(1, min(left, limits.runTime.nanoseconds)))
        handler.spent += outcome.nanoseconds
        plugin.tally.nanoseconds += outcome.nanoseconds
        guard Int(outcome.status) == CALLUA_WAITING else { return finished(handler, outcome) }
        handler.wait = WaitID(newID())
        keep(handler, as: id)
        request(plugin, handler.wait, id)
    }

    private func finished(_ handler: Running, _ outcome: callua_outcome) {
        switch handler.task {
        case .chain(let question): resumed(question, outcome, handler)
        case .report(let key): reported(key, outcome, handler.plugin)
        }
    }

    func deadlineReached() {
        while let due = deadlines.popDue(at: services.now) {
            switch due {
            case .wake(let id, let waitID):
                guard let handler = running[id], handler.wait == waitID else { continue }
                handler.plugin.reply.cut()
                handler.plugin.reply.list(0)
                goOn(id)
            case .decide(let question): decideNow(question)
            case .overdue(let id): overdue(id)
            }
        }
    }

    private func overdue(_ id: UInt64) {
        guard let handler = running[id] else { return }
        note(.wall, "\(handler.plugin.file): a handler took too long", "", handler.plugin)
        stop(handler.task)
    }

    // MARK: Ending handlers

    /// Cancels the handler of `task`.
    @discardableResult
    func stop(_ task: HandlerTask) -> Running? {
        guard let id = tasks[task], let handler = forget(id) else { return nil }
        handler.plugin.cancel(handler.thread)
        services.emit(.abandon(handler.wait))
        return handler
    }

    /// A call is over: what still runs for it ends, but what reports its end.
    func endCall(_ call: CallID) {
        for id in handlersOfCalls[call] ?? [] {
            guard let task = running[id]?.task else { continue }
            stop(task)
            if case .report(let key) = task { nextReport(key) }
        }
    }
}

extension PlainWriter {
    /// Writes what a waiting host function returns.
    func reply(_ reply: WaitReply) {
        switch reply {
        case .value(let value):
            list(1)
            json(value)
        case .user(let facts):
            list(1)
            user(facts)
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
        }
    }
}
