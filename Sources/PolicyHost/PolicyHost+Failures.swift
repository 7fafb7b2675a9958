// What is noted when a plugin fails, and what that does to it.

import CLua
import CallModel
import JSON

extension PolicyHost {
    /// Logs and counts a failure, and quarantines the plugin when it was one too many.
    func note(_ failure: Failure, _ message: String, _ trace: String, _ plugin: PluginState) {
        plugin.tally.failures[failure, default: 0] += 1
        var line = PolicyLog(
            .error, message, plugin: plugin.name, call: plugin.call,
            fields: ["failure": .string(failure.rawValue)])
        if !trace.isEmpty { line.fields["traceback"] = .string(trace) }
        services.emit(.log(line))
        if failure == .cpu || failure == .memory, plugin.isWornOut { renew(plugin) }
        let isQuarantined = plugin.breaker.failed(
            failure, of: plugin.trial, at: services.now)
        if isQuarantined {
            noteQuarantine(plugin)
            services.emit(
                .log(
                    PolicyLog(
                        .error, "plugin '\(plugin.name)' is quarantined after repeated failures",
                        plugin: plugin.name)))
        }
        tellOthers(failure, message, plugin, isQuarantined: isQuarantined)
    }

    /// `on.plugin_error` of the other plugins. A failure in there is told to nobody.
    private func tellOthers(
        _ failure: Failure, _ message: String, _ plugin: PluginState, isQuarantined: Bool
    ) {
        guard !isTellingFailure else { return }
        isTellingFailure = true
        defer { isTellingFailure = false }
        let hook = Hook.pluginError.index
        for other in generation.plugins where other !== plugin && other.hooks[hook] >= 0 {
            tell(
                .table(
                    .pluginError,
                    [
                        "plugin": .string(plugin.name), "kind": .string(failure.rawValue),
                        "message": .string(message), "quarantined": .bool(isQuarantined),
                    ]), other)
        }
    }

    /// Gives a plugin a new Lua state; what still waited in the old one has failed.
    private func renew(_ plugin: PluginState) {
        plugin.saveState()
        let lost = running.filter { $0.value.plugin === plugin }.keys.sorted()
        let handlers = lost.compactMap { forget($0) }
        do throws(PolicyProblem) {
            try plugin.rebuild()
            if let state = plugin.memory.state { try plugin.restoreState(state) }
        } catch {
            services.emit(
                .log(PolicyLog(.error, "cannot be loaded again: \(error)", plugin: plugin.name)))
        }
        for handler in handlers {
            plugin.breaker.ended(of: handler.trial, at: services.now)
            lose(handler, .error)
        }
    }

    /// What waited is gone: its question goes on without it.
    func lose(_ handler: Running, _ failure: Failure) {
        if handler.isRequest { services.emit(.abandon(handler.wait)) }
        switch handler.task {
        case .chain(let id): giveUp(id, failure, handler)
        case .report(let key): nextReport(key)
        case .single, .timer, .part: break
        }
    }

    func warnUnreturned(_ outcome: callua_outcome, _ plugin: PluginState) {
        plugin.tally.unreturned += 1
        services.emit(
            .log(
                PolicyLog(
                    .warn, outcome.unreturned.string, plugin: plugin.name, call: plugin.call)))
    }
}

extension Failure {
    /// The failure that C reports.
    init(_ code: Int32) {
        switch Int(code) {
        case CALLUA_CPU: self = .cpu
        case CALLUA_MEMORY: self = .memory
        case CALLUA_BAD_RETURN: self = .badReturn
        case CALLUA_DENIED: self = .denied
        default: self = .error
        }
    }
}

extension PluginState {
    /// What happens in its place when it fails: the operator's word, its own, or by its nature.
    var onError: OnError {
        setting.onError ?? manifest.onError ?? (manifest.isGuard ? .reject : .skip)
    }
}
