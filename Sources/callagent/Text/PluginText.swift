// The plugins of a server as text for a person.

import JSON

/// Shows the answer to the operation `plugins`.
enum PluginText {
    /// The generation, the chain of each hook, and each plugin with its counts.
    static func lines(_ answer: JSONValue) -> [String] {
        let plugins = answer["plugins"]?.array ?? []
        guard let generation = answer["generation"]?.string else { return ["no plugins"] }
        var head = "generation \(generation)"
        if answer["probation"]?.bool == true { head += ", on probation" }
        if let draining = answer["draining"]?.integer, draining > 0 {
            head += ", \(draining) handlers of older ones"
        }
        var lines = [head] + chains(plugins)
        for plugin in plugins { lines += self.plugin(plugin) }
        if let canary = answer["canary"], !canary.isNull {
            lines += CanaryText.lines(canary, beside: generation)
            for plugin in canary["plugins"]?.array ?? [] { lines += self.plugin(plugin) }
        }
        if let shadow = answer["shadow"] { lines += self.shadow(shadow) }
        return lines.map(Screen.plain)
    }

    /// Each plugin with the accounts whose calls it was asked about lately.
    static func accounts(_ answer: JSONValue) -> [String] {
        var lines: [String] = []
        for plugin in answer["plugins"]?.array ?? [] {
            lines.append(plugin["name"]?.string ?? "?")
            for use in plugin["by_account"]?.array ?? [] {
                func number(_ key: String) -> Int64 { use[key]?.integer ?? 0 }
                lines.append(
                    "  \(use["account"]?.string ?? "?"): asked \(number("asked")), failed "
                        + "\(number("failed")), \(number("cpu_us")) µs of CPU")
            }
        }
        return (lines.isEmpty ? ["no plugins"] : lines).map(Screen.plain)
    }

    /// `on.invite: blocklist → busy`.
    private static func chains(_ plugins: [JSONValue]) -> [String] {
        var hooks: [String] = []
        for hook in plugins.flatMap({ $0["hooks"]?.array ?? [] }).compactMap(\.string)
        where !hooks.contains(hook) {
            hooks.append(hook)
        }
        return hooks.map { hook in
            let names = plugins.filter { $0["hooks"]?.array?.contains(.string(hook)) ?? false }
                .compactMap { $0["name"]?.string }
            return "  on.\(hook): \(names.joined(separator: " → "))"
        }
    }

    private static func plugin(_ plugin: JSONValue) -> [String] {
        let version = plugin["version"]?.string.map { " \($0)" } ?? ""
        let memory = (plugin["memory_bytes"]?.integer ?? 0) / 1_024
        var head = "\(plugin["name"]?.string ?? "?")\(version)  \(plugin["state"]?.string ?? "?")"
        head += ", \(memory) KiB"
        if let waiting = plugin["waiting"]?.integer, waiting > 0 { head += ", \(waiting) waiting" }
        if let timers = plugin["timers"]?.integer, timers > 0 { head += ", \(timers) timers" }
        let mishaps = [
            ("unreturned", "decisions not returned"), ("dropped_timers", "timers dropped"),
            ("dropped_writes", "changes of state dropped"),
        ]
        for (key, words) in mishaps {
            if let count = plugin[key]?.integer, count > 0 { head += ", \(words) \(count)" }
        }
        head += failures(plugin["failures"])
        let hooks = plugin["by_hook"]?.object?.members ?? []
        return [head] + pauses(plugin) + hooks.map { "  on.\($0.key): \(hook($0.value))" }
    }

    /// What the plugin is passed over for, the first few.
    private static func pauses(_ plugin: JSONValue) -> [String] {
        let most = 5
        let all = plugin["paused"]?.array ?? []
        var lines = all.prefix(most).map { "  passed over for \($0["what"]?.string ?? "?")" }
        let count = Int(plugin["paused_count"]?.integer ?? 0)
        if count > most { lines.append("  passed over for \(count - most) more") }
        return lines
    }

    private static func hook(_ tally: JSONValue) -> String {
        func number(_ key: String) -> Int64 { tally[key]?.integer ?? 0 }
        var text = "asked \(number("asked")), answered \(number("answered"))"
        if number("quarantined") > 0 { text += ", passed over \(number("quarantined"))" }
        text += failures(tally["failures"])
        if let bound = tally["cpu_seconds"]?["p99_below"]?.double {
            text += "; 99 % below \(span(bound)) of CPU"
        }
        if let bound = tally["wall_seconds"]?["p99_below"]?.double { text += ", \(span(bound))" }
        return text
    }

    private static func failures(_ failures: JSONValue?) -> String {
        let all = failures?.object?.members ?? []
        let words = all.map { "\($0.key) \($0.value)" }
        return words.isEmpty ? "" : ", failed: \(words.joined(separator: ", "))"
    }

    static func span(_ seconds: Double) -> String {
        seconds < 0.001
            ? "\(Int((seconds * 1e6).rounded())) µs" : "\(Int((seconds * 1e3).rounded())) ms"
    }

    private static func shadow(_ shadow: JSONValue) -> [String] {
        func number(_ key: String) -> Int64 { shadow[key]?.integer ?? 0 }
        return [
            "shadow \(shadow["generation"]?.string ?? "?"): asked \(number("asked")), otherwise "
                + "\(number("changed")), failing \(number("failing")), unsure \(number("unsure"))"
        ]
    }
}
