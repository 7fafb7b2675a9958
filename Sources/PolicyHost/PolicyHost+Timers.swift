// Timers of plugins: started, kept over reloads, fired exactly once.

import CallModel
import Configuration
import JSON
import Lua

extension PolicyHost {
    /// Takes what a store has kept. To be called once, before the first input.
    public func restore(_ kept: [PolicyTimer], at now: Moment) -> [PolicyEffect] {
        services.now = now
        for timer in kept {
            lastID = max(lastID, timer.id)
            hold(timer)
            if timer.schedule == nil { memory(of: timer.plugin).timers.add(1, timer.cause) }
        }
        arrangeTimers()
        for timer in timers.values.sorted(by: { $0.id < $1.id }) {
            deadlines.add(.timer(timer.id), at: timer.dueAt)
        }
        return services.takeEffects()
    }

    /// Takes the timers that a run has started.
    func takeTimers(_ plugin: PluginState) {
        for started in plugin.startedTimers {
            add(
                PolicyTimer(
                    id: newID(), plugin: plugin.name, name: started.name,
                    // One that starts itself again leaves room for others in between.
                    dueAt: services.now + max(1, started.delay), call: started.call,
                    account: started.account, data: started.data, cause: plugin.origin.cause))
        }
        plugin.startedTimers = []
    }

    private func hold(_ timer: PolicyTimer) {
        timers[timer.id] = timer
        if let call = timer.call { timersOfCalls[call, default: []].append(timer.id) }
    }

    private func add(_ timer: PolicyTimer) {
        hold(timer)
        deadlines.add(.timer(timer.id), at: timer.dueAt)
        services.emit(.keepTimer(timer))
    }

    private func remove(_ id: UInt64) {
        guard let timer = timers.removeValue(forKey: id) else { return }
        if timer.schedule == nil { memory(of: timer.plugin).timers.add(-1, timer.cause) }
        if let call = timer.call {
            timersOfCalls[call]?.removeAll { $0 == id }
            if timersOfCalls[call]?.isEmpty == true { timersOfCalls[call] = nil }
        }
        services.emit(.dropTimer(id))
    }

    func dropTimers(of call: CallID) {
        for id in timersOfCalls[call] ?? [] { remove(id) }
    }

    /// Makes the pending timers those that the active generation declares. Repeated timers keep
    /// their phase if they are declared as before; timers that are not declared any more are
    /// dropped.
    func arrangeTimers() {
        var declared: Set<String> = []
        for plugin in generation.plugins {
            for (name, declaration) in plugin.timers.sorted(by: { $0.key < $1.key }) {
                declared.insert("\(plugin.name)/\(name)/\(declaration.schedule.text ?? "")")
            }
        }
        for timer in timers.values.sorted(by: { $0.id < $1.id })
        where declared.remove("\(timer.plugin)/\(timer.name)/\(timer.schedule ?? "")") == nil {
            // One of `later` may be pending several times.
            let isDeclared = !generation.lacks(timer) || !(canary?.generation.lacks(timer) ?? true)
            if timer.schedule == nil, isDeclared { continue }
            drop(timer)
        }
        for plugin in generation.plugins { addMissing(plugin, declared) }
    }

    private func drop(_ timer: PolicyTimer) {
        if timer.schedule == nil {
            memory(of: timer.plugin).lineage.tally.droppedTimers += 1
            services.emit(
                .log(
                    PolicyLog(
                        .warn, "timer '\(timer.name)' is not declared any more: dropped",
                        plugin: timer.plugin, call: timer.call)))
        }
        remove(timer.id)
    }

    private func addMissing(_ plugin: PluginState, _ missing: Set<String>) {
        for (name, declaration) in plugin.timers.sorted(by: { $0.key < $1.key }) {
            guard let schedule = declaration.schedule.text,
                missing.contains("\(plugin.name)/\(name)/\(schedule)")
            else { continue }
            let due = declaration.schedule.next(
                after: services.now, now: services.now, plugin.setting.zone,
                wallOffset: services.wallOffset)
            add(
                PolicyTimer(
                    id: newID(), plugin: plugin.name, name: name, dueAt: due, schedule: schedule))
        }
    }

    /// The clock was set, and no time has passed: what comes again begins anew from there.
    package func restartTimers(at now: Moment) {
        services.now = now
        for timer in timers.values.sorted(by: { $0.id < $1.id }) {
            guard timer.schedule != nil, let (plugin, declaration) = declared(timer) else {
                continue
            }
            var timer = timer
            timer.dueAt = declaration.schedule.next(
                after: now, now: now, plugin.setting.zone, wallOffset: services.wallOffset)
            add(timer)
        }
    }

    // MARK: Firing

    func timerDue(_ id: UInt64) {
        guard var timer = timers[id], timer.dueAt <= services.now else { return }
        guard let (plugin, declaration) = declared(timer) else {
            // Only the canary has it: it waits until that one is in force.
            if canary != nil { deadlines.add(.timer(id), at: services.now + 60_000) }
            return
        }
        if timer.schedule == nil {
            guard hasRoomForHandler(of: timer.cause, plugin) else {
                return deadlines.add(.timer(id), at: whenRoomIsSought)
            }
            remove(id)
        } else {
            timer.dueAt = declaration.schedule.next(
                after: timer.dueAt, now: services.now, plugin.setting.zone,
                wallOffset: services.wallOffset)
            add(timer)
        }
        guard let call = timer.call else { return run(timer, declaration, plugin, nil) }
        let wait = WaitID(newID())
        firing[wait] = timer
        services.emit(.perform(wait, plugin: plugin.name, .call(call), timer.cause))
    }

    /// The plugin that `timer` is of, in the generation that decides for its account.
    private func declared(
        _ timer: PolicyTimer, in call: Call? = nil
    ) -> (PluginState, TimerDeclaration)? {
        var generations = [generation]
        if let canary, let account = timer.account {
            // Before the call is known it is enough that one of the two has it.
            generations =
                call == nil && timer.call != nil
                ? [generation, canary.generation] : [generation(for: account, in: call)]
        }
        for generation in generations {
            guard let plugin = generation.plugins.first(where: { $0.name == timer.plugin }),
                let declaration = plugin.timers[timer.name]
            else { continue }
            return (plugin, declaration)
        }
        return nil
    }

    /// The call of a timer was looked up.
    func fire(_ timer: PolicyTimer, _ reply: WaitReply) {
        guard case .call(let call?, let facts) = reply, call.isLive,
            let (plugin, declaration) = declared(timer, in: call)
        else { return }
        run(
            timer, declaration, plugin,
            CallView(call: call, facts: facts, now: services.now, callee: timer.account))
    }

    private func run(
        _ timer: PolicyTimer, _ declaration: TimerDeclaration, _ plugin: PluginState,
        _ view: CallView?
    ) {
        let task = HandlerTask.timer(timer.id)
        var origin = Origin(cause: timer.cause, pauseKey: .timer(timer.name))
        // What comes again does not run beside itself.
        guard tasks[task] == nil, admit(plugin, &origin) else { return }
        arguments.cut()
        arguments.list(view == nil ? 1 : 2)
        arguments.json(timer.data)
        if let view { write(view) }
        begin(plugin, call: timer.call, account: timer.account, origin)
        settle(start(plugin, declaration.function), plugin, task: task, call: timer.call)
    }
}

extension Generation {
    /// Whether `timer`, started by `later`, would be dropped by this generation because it does
    /// not declare the name.
    public func lacks(_ timer: PolicyTimer) -> Bool {
        guard timer.schedule == nil else { return false }
        let plugin = plugins.first { $0.name == timer.plugin }
        return plugin?.timers[timer.name]?.schedule != .started
    }
}
