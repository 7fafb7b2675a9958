// What is noted when a plugin fails, and what that does to it.

import CLua
import CallModel
import Configuration
import JSON
import Lua

extension PolicyHost {
    /// Logs and counts a failure, and passes the plugin over for whoever caused it, if it was one
    /// failure too many.
    ///
    /// - Parameter isAnswer: whether it stands in the place of an answer (`fail`).
    func note(
        _ failure: Failure, _ message: String, _ trace: String, _ plugin: PluginState,
        isAnswer: Bool = false
    ) {
        plugin.tally.failures[failure, default: 0] += 1
        if !isAnswer, isOfCanary(plugin) { canary?.noteFailures(1) }
        var line = PolicyLog(
            .error, message, plugin: plugin.name, call: plugin.call,
            fields: ["failure": .string(failure.rawValue)])
        if !trace.isEmpty { line.fields["traceback"] = .string(trace) }
        if let left = plugin.memory.lines.admit(message, at: services.now) {
            if left > 0 { line.fields["left_out"] = .integer(Int64(left)) }
            services.emit(.log(line))
        }
        if failure == .cpu || failure == .memory { renewIfWornOut(plugin) }
        let (isQuarantined, cause) = (count(failure, plugin), plugin.origin.cause)
        let others = generation(of: plugin).plugins
        if others.contains(where: { $0.hooks[Hook.pluginError.index] >= 0 }) {
            outsideLane { [self] in
                tellOthers(failure, message, plugin, cause, isQuarantined: isQuarantined)
            }
        }
    }

    /// A run was ended by force: the Lua state may be of no use any more.
    private func renewIfWornOut(_ plugin: PluginState) {
        if isInLane { plugin.lane.shut(at: services.now) }
        outsideLane { [self] in
            if plugin.isWornOut { renew(plugin) }
        }
    }

    /// Counts a failure for its pair of accounts, timer or report; returns whether it was the one
    /// that quarantines the plugin for everybody.
    private func count(_ failure: Failure, _ plugin: PluginState) -> Bool {
        guard passesOver else { return false }
        let (origin, now) = (plugin.origin, services.now)
        if plugin.health.failing.failed(failure, origin, at: now) {
            let whom = origin.cause.isNobody ? origin.pauseKey?.text ?? "" : origin.cause.text
            alarm("is passed over for \(whom) after repeated failures", plugin)
        }
        guard !origin.cause.isNobody, plugin.health.pairs.failed(origin.cause, at: now),
            !plugin.health.failing.quarantine.isOn(at: now),
            plugin.health.pairs.isTimeToCount()
        else { return false }
        let met = plugin.health.pairs.counted(since: now + -Breaker.window)
        guard met.asked >= Quarantine.pairsMin, met.failed * 2 > met.asked else { return false }
        plugin.health.failing.quarantine(at: now)
        alarm("is quarantined: it failed for \(met.failed) of \(met.asked) accounts", plugin)
        noteQuarantine(plugin)
        return true
    }

    private func alarm(_ text: String, _ plugin: PluginState) {
        services.emit(
            .log(PolicyLog(.error, "plugin '\(plugin.name)' \(text)", plugin: plugin.name)))
    }

    /// `on.plugin_error` of the other plugins. A failure in there is told to nobody.
    private func tellOthers(
        _ failure: Failure, _ message: String, _ plugin: PluginState, _ cause: Cause,
        isQuarantined: Bool
    ) {
        guard !isTellingFailure else { return }
        isTellingFailure = true
        defer { isTellingFailure = false }
        let hook = Hook.pluginError.index
        for other in generation(of: plugin).plugins
        where other !== plugin && other.hooks[hook] >= 0 {
            tell(
                .table(
                    .pluginError,
                    [
                        "plugin": .string(plugin.name), "kind": .string(failure.rawValue),
                        "message": .string(message), "quarantined": .bool(isQuarantined),
                    ], cause), other)
        }
    }

    /// Gives a plugin a new Lua state. What still waited in the old one is no failure of those for
    /// whom it waited: they have not worn it out (G71).
    private func renew(_ plugin: PluginState) {
        plugin.saveState()
        let lost = running.filter { $0.value.plugin === plugin }.keys.sorted()
        let handlers = lost.compactMap { forget($0) }
        do throws(ScriptProblem) {
            try plugin.rebuild()
            if let state = plugin.lineage.state { try plugin.restoreState(state) }
        } catch {
            services.emit(
                .log(PolicyLog(.error, "cannot be loaded again: \(error)", plugin: plugin.name)))
        }
        for handler in handlers {
            plugin.health.failing.ended(handler.event.origin, at: services.now)
            if handler.isRequest { services.emit(.abandon(handler.wait)) }
            // Nothing runs before what is being noted has been noted.
            switch handler.task {
            case .chain(let id): askAgain(id)
            case .report(let key): deadlines.add(.notices(key), at: services.now)
            case .single, .timer, .part: break
            }
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
        let text = outcome.unreturned.string
        guard let left = plugin.memory.lines.admit(text, at: services.now) else { return }
        var line = PolicyLog(.warn, text, plugin: plugin.name, call: plugin.call)
        if left > 0 { line.fields["left_out"] = .integer(Int64(left)) }
        services.emit(.log(line))
    }
}

extension Failure {
    /// The failure that C reports.
    init(_ code: Int32) {
        switch Int(code) {
        case CALLUA_CPU: self = .cpu
        case CALLUA_MEMORY: self = .memory
        case CALLUA_BAD_RETURN, CALLUA_TOO_LARGE: self = .badReturn
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
