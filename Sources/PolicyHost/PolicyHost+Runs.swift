// One run of a plugin: what is set before it and taken after it.

import CLua
import CallModel

extension PolicyHost {
    /// Tells the plugin on whose behalf the next run is; without `trial` another event begins.
    @inline(__always)
    func begin(_ plugin: PluginState, call: CallID?, account: UserID?, trial: Int? = nil) {
        plugin.call = call
        plugin.account = account
        plugin.trial = trial ?? plugin.breaker.trials
    }

    /// The next run, or what is noted, is of a handler that has begun before.
    func goBack(to handler: Running) {
        begin(
            handler.plugin, call: handler.call, account: handler.account, trial: handler.trial)
    }

    /// Starts a handler with what stands in `arguments`.
    func start(
        _ plugin: PluginState, _ reference: Int32, budget: UInt64? = nil
    ) -> callua_outcome {
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
        if !plugin.startedTimers.isEmpty { takeTimers(plugin) }
        if !plugin.detached.isEmpty { queueDetached(plugin) }
        if plugin.hasChangedState { noteChangedState(plugin) }
    }

    private func queueDetached(_ plugin: PluginState) {
        let (account, trial) = (plugin.account, plugin.trial)
        for function in plugin.detached {
            detached.append(
                Detached(plugin: plugin, function: function, account: account, trial: trial))
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
            next.plugin.queued -= 1
            begin(next.plugin, call: nil, account: next.account, trial: next.trial)
            arguments.cut()
            arguments.list(0)
            let outcome = start(next.plugin, next.function)
            callua_release(next.plugin.vm, next.function)
            settle(outcome, next.plugin, task: .single(newID()), call: nil)
        }
        if !detached.isEmpty { deadlines.add(.detached, at: services.now + 1) }
    }

    /// Takes the outcome of a handler that nobody waits for.
    func settle(
        _ outcome: callua_outcome, _ plugin: PluginState, task: HandlerTask, call: CallID?
    ) {
        switch Int(outcome.status) {
        case CALLUA_WAITING: wait(plugin, outcome, task: task, call: call)
        case CALLUA_FINISHED: plugin.breaker.succeeded(of: plugin.trial)
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
    let trial: Int
}
