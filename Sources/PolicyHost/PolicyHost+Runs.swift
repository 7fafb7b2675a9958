// One run of a plugin: what is set before it and taken after it.

import CLua
import CallModel
import Configuration
import Lua

extension PolicyHost {
    /// Whether the plugin is run for what `origin` says; if so, notes who asks.
    @inline(__always)
    func admit(_ plugin: PluginState, _ origin: inout Origin) -> Bool {
        guard let trial = plugin.health.failing.admits(origin, at: services.now) else {
            return false
        }
        origin.trial = trial
        if !origin.cause.isNobody {
            origin.number = plugin.health.pairs.asked(origin.cause, at: services.now)
            origin.part = origin.cause.number(ofPair: origin.number)
        }
        return true
    }

    /// Another event begins: tells the plugin on whose behalf its next run is.
    @inline(__always)
    func begin(_ plugin: PluginState, call: CallID?, account: UserID?, _ origin: Origin) {
        plugin.call = call
        plugin.account = account
        plugin.origin = origin
        plugin.event = nil
        plugin.use = nil
    }

    /// The next run, or what is noted, is part of an event that has begun before.
    func goOn(
        _ plugin: PluginState, call: CallID?, account: UserID?, with event: PluginEvent
    ) {
        begin(plugin, call: call, account: account, event.origin)
        plugin.event = event
    }

    /// The next run, or what is noted, is of a handler that has begun before.
    func goBack(to handler: Running) {
        goOn(handler.plugin, call: handler.call, account: handler.account, with: handler.event)
    }

    /// The event of the run that has just been made, for what goes on after it.
    func event(of plugin: PluginState, _ outcome: callua_outcome) -> PluginEvent {
        if let event = plugin.event { return event }
        let event = PluginEvent(plugin.origin, spent: outcome.nanoseconds)
        plugin.event = event
        return event
    }

    /// Starts a handler with what stands in `arguments`.
    func start(
        _ plugin: PluginState, _ reference: Int32, budget: UInt64? = nil
    ) -> callua_outcome {
        plugin.run(inLane: isInLane)
        let outcome = plugin.start(
            reference, arguments, budget: budget ?? plugin.setting.limits.runTime.nanoseconds)
        plugin.tally.asked += 1
        took(outcome, plugin)
        return outcome
    }

    /// Notes what every run leaves behind.
    @inline(__always)
    func took(_ outcome: callua_outcome, _ plugin: PluginState) {
        plugin.tally.nanoseconds += outcome.nanoseconds
        plugin.lane.ran(outcome.nanoseconds, of: plugin.setting.limits)
        spent += outcome.nanoseconds
        plugin.event?.spent += outcome.nanoseconds
        if !plugin.origin.cause.isNobody {
            let origin = plugin.origin
            plugin.health.pairs.took(outcome.nanoseconds, origin.cause, origin.number)
        }
        if !plugin.startedTimers.isEmpty { takeTimers(plugin) }
        if !plugin.detached.isEmpty { queueDetached(plugin, outcome) }
        if !plugin.newVars.isEmpty { takeNewVars(plugin) }
        if plugin.hasChangedState { noteChangedState(plugin) }
    }

    private func queueDetached(_ plugin: PluginState, _ outcome: callua_outcome) {
        let event = event(of: plugin, outcome)
        for (function, use) in plugin.detached {
            detached.append(
                Detached(
                    plugin: plugin, function: function, account: plugin.account, event: event,
                    life: plugin.lives, use: use))
        }
        plugin.queued += plugin.detached.count
        plugin.detached = []
    }

    /// Runs what `detach` asked for; called when no other run is under way. What is detached by
    /// that comes a little later: no chain of them keeps everybody else waiting.
    func runDetached() {
        let batch = detached
        detached = []
        for next in batch {
            if isTired { runLater(next, at: services.now) } else { run(next) }
        }
        for next in detached { runLater(next, at: services.now + 1) }
        detached = []
    }

    private func runLater(_ next: Detached, at moment: Moment) {
        let id = newID()
        detachedLater[id] = next
        deadlines.add(.detached(id), at: moment)
    }

    /// A detached function has waited for its time.
    func runDetached(_ id: UInt64) {
        guard let next = detachedLater.removeValue(forKey: id) else { return }
        run(next)
        for next in detached { runLater(next, at: services.now + 1) }
        detached = []
    }

    private func run(_ next: Detached) {
        let plugin = next.plugin
        next.plugin.queued -= 1
        // Nothing of an earlier life is there any more.
        guard next.life == plugin.lives else { return }
        defer { if next.life == plugin.lives { callua_release(plugin.vm, next.function) } }
        goOn(plugin, call: nil, account: next.account, with: next.event)
        plugin.use = next.use
        defer { plugin.use = nil }
        guard let budget = budget(of: next.event, plugin) else {
            return note(.cpu, overBudget(plugin), "", plugin)
        }
        arguments.cut()
        arguments.list(0)
        let outcome = start(plugin, next.function, budget: budget)
        settle(outcome, plugin, task: .single(newID()), call: nil)
    }

    /// Takes the outcome of a handler that nobody waits for.
    func settle(
        _ outcome: callua_outcome, _ plugin: PluginState, task: HandlerTask, call: CallID?
    ) {
        switch Int(outcome.status) {
        case CALLUA_WAITING: wait(plugin, outcome, task: task, call: call)
        case CALLUA_FINISHED: plugin.health.failing.succeeded(plugin.origin, at: services.now)
        default:
            note(Failure(outcome.failure), outcome.message, outcome.traceback.string, plugin)
        }
    }

    // MARK: state

    /// `state` is copied out a second after it was changed, and before it is handed over: a
    /// Lua state that has to be given up takes at most a second of changes with it.
    private func noteChangedState(_ plugin: PluginState) {
        guard !plugin.isSavePending else { return }
        plugin.isSavePending = true
        unsaved.append(plugin)
        deadlines.add(.saveStates, at: services.now + 1_000)
    }

    func saveStates() {
        for plugin in unsaved {
            plugin.isSavePending = false
            plugin.saveState()
        }
        unsaved = []
    }
}

/// A function that `detach` was given.
struct Detached {
    let plugin: PluginState
    let function: Int32
    let account: UserID?
    /// The event that it is part of.
    let event: PluginEvent
    /// See `PluginState.lives`.
    let life: Int
    let use: QuotaUse
}
