// What is noted when a plugin fails, and what that does to it.

import CLua
import CallCore
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
        guard plugin.breaker.failed(failure, at: services.now) else { return }
        services.emit(
            .log(
                PolicyLog(
                    .error, "plugin '\(plugin.name)' is quarantined after repeated failures",
                    plugin: plugin.name)))
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
