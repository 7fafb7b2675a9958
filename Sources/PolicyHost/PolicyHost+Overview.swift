// What `callagent plugins` shows: the chain, and how each plugin does.

import CallModel
import JSON

extension PolicyHost {
    /// The generation in force, its plugins in order, and for each hook those that have it.
    public var overview: JSONValue {
        var hooks = JSONObject()
        for hook in Hook.allCases {
            let chain = generation.plugins.filter { $0.hooks[hook.index] >= 0 }.map(\.name)
            guard !chain.isEmpty else { continue }
            hooks["on.\(hook.rawValue)"] = .string(chain.joined(separator: ", "))
        }
        return [
            "generation": .string(generation.name),
            "hooks": .object(hooks),
            "plugins": .array(generation.plugins.map { overview(of: $0) }),
        ]
    }

    private func overview(of plugin: PluginState) -> JSONValue {
        let tally = plugin.tally
        var shown: JSONObject = [
            "name": .string(plugin.name),
            "file": .string(plugin.file),
            "state": .string(word(for: plugin.breaker.state)),
        ]
        if let version = plugin.manifest.version { shown["version"] = .string(version) }
        shown["asked"] = .integer(Int64(tally.asked))
        shown["decided"] = .integer(Int64(tally.decided))
        let microseconds = tally.nanoseconds / 1_000 / UInt64(max(1, tally.asked))
        shown["mean_us"] = .integer(Int64(microseconds))
        shown["memory_bytes"] = .integer(Int64(plugin.bytesInUse))
        var failures = JSONObject()
        for failure in Failure.allCases {
            guard let count = tally.failures[failure] else { continue }
            failures[failure.rawValue] = .integer(Int64(count))
        }
        shown["failures"] = .object(failures)
        return .object(shown)
    }

    private func word(for state: Breaker.State) -> String {
        switch state {
        case .closed: return "active"
        case .open(let until, _):
            let seconds = max(0, until - services.now) / 1_000
            return "quarantined for \(seconds) s more"
        case .trying: return "tried after a quarantine"
        }
    }
}
