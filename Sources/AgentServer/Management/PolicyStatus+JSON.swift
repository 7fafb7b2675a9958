// The state of the plugins as JSON, for the tools.

import CallModel
import JSON
import PolicyHost

extension PolicyStatus {
    /// `generation`, `probation`, `draining`, `canary`, `plugins[]` in the operator's order.
    var json: JSONValue {
        [
            "generation": .string(generation), "probation": .bool(isOnProbation),
            "draining": .integer(Int64(drainingHandlers)), "canary": canary?.json ?? .null,
            "plugins": .array(plugins.map(\.json)),
        ]
    }
}

extension CanaryStatus {
    /// `generation` and the members of the order, `accounts` that met it, `failing` ones,
    /// `failures`, `own` and `beside`: what it and the generation in force decided since it began,
    /// `plugins[]`.
    fileprivate var json: JSONValue {
        var json: JSONObject = ["generation": .string(generation)]
        for member in order.members.members { json[member.key] = member.value }
        json["accounts"] = .integer(Int64(accounts))
        json["failing"] = .integer(Int64(failing))
        json["failures"] = .integer(Int64(failures))
        json["own"] = own.json
        json["beside"] = beside.json
        json["plugins"] = .array(plugins.map(\.json))
        return .object(json)
    }
}

extension CanaryFigures {
    fileprivate var json: JSONValue {
        var decided: JSONObject = [:]
        for (action, count) in self.decided { decided[action.word] = .integer(Int64(count)) }
        return [
            "asked": .integer(Int64(asked)), "failed": .integer(Int64(failed)),
            "decided": .object(decided), "cpu_seconds": processor.json, "wall_seconds": wall.json,
        ]
    }
}

extension PluginStatus {
    fileprivate var json: JSONValue {
        var failures: JSONObject = [:]
        for (kind, count) in self.failures.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            failures[kind.rawValue] = .integer(Int64(count))
        }
        return [
            "name": .string(name), "version": version.map { .string($0) } ?? .null,
            "file": .string(file), "hooks": .array(hooks.map { .string($0.rawValue) }),
            "state": .string(quarantinedUntil == nil ? "active" : "quarantined"),
            "quarantined_until_at": quarantinedUntil.map { .integer($0.milliseconds) } ?? .null,
            "paused": .array(paused.prefix(100).map(\.json)),
            "paused_count": .integer(Int64(paused.count)),
            "asked": .integer(Int64(asked)), "decided": .integer(Int64(decided)),
            "failures": .object(failures), "unreturned": .integer(Int64(unreturned)),
            "dropped_timers": .integer(Int64(droppedTimers)),
            "dropped_writes": .integer(Int64(droppedWrites)),
            "dropped_vars": .integer(Int64(droppedVars)),
            "left_reports": .integer(Int64(leftReports)),
            "cpu_us": .integer(Int64(nanoseconds / 1_000)), "memory_bytes": .integer(Int64(memory)),
            "waiting": .integer(Int64(waiting)), "timers": .integer(Int64(timers)),
            "by_hook": .object(byHook.json), "by_account": .array(byAccount.map(\.json)),
        ]
    }
}

extension AccountUse {
    fileprivate var json: JSONValue {
        [
            "account": .string(account.text), "asked": .integer(Int64(asked)),
            "failed": .integer(Int64(failed)), "cpu_us": .integer(Int64(nanoseconds / 1_000)),
        ]
    }
}

extension PluginPause {
    fileprivate var json: JSONValue {
        ["what": .string(text), "until_at": .integer(until.milliseconds)]
    }
}

extension [Hook: HookTally] {
    fileprivate var json: JSONObject {
        JSONObject(
            Hook.allCases.compactMap { hook in
                self[hook].map { .init(key: hook.rawValue, value: $0.json) }
            })
    }
}

extension HookTally {
    fileprivate var json: JSONValue {
        var failures: JSONObject = [:]
        for (kind, count) in self.failures.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            failures[kind.rawValue] = .integer(Int64(count))
        }
        return [
            "asked": .integer(Int64(asked)), "answered": .integer(Int64(answered)),
            "quarantined": .integer(Int64(quarantined)), "failures": .object(failures),
            "cpu_seconds": processor.json, "wall_seconds": wall.json,
        ]
    }
}

extension Histogram {
    /// The sum, and upper bounds of 50 % and 99 % of the values.
    fileprivate var json: JSONValue {
        [
            "sum": .number(sum), "p50_below": bound(of: 0.5).map { .number($0) } ?? .null,
            "p99_below": bound(of: 0.99).map { .number($0) } ?? .null,
        ]
    }
}
