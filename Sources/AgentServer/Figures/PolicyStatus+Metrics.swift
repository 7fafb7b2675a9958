// The state of the plugins as Prometheus text.

import CallModel
import PolicyHost

/// The figures of plugins: those of the host, one line for each plugin and hook.
struct PolicyMetrics {
    /// Nil: nothing is known of plugins.
    let status: PolicyStatus?

    /// Names, types and values; the names are there also without values.
    var text: String {
        let plugins = status?.allPlugins ?? []
        return counters(plugins) + histograms(plugins) + gauges(plugins)
    }

    private func counters(_ plugins: [PluginStatus]) -> String {
        var failures: [String] = []
        each(plugins) { labels, tally in
            for kind in Failure.allCases {
                let count = tally?.failures[kind] ?? 0
                let all = labels.merging(["kind": kind.rawValue]) { $1 }
                failures.append("callagent_hook_failures_total\(Self.text(all)) \(count)\n")
            }
        }
        return family("callagent_hook_asked_total", "counter", "Times a plugin was asked or told.")
            + lines(plugins) { "callagent_hook_asked_total\($0) \($1?.asked ?? 0)\n" }
            + family("callagent_hook_answered_total", "counter", "Answers of a plugin.")
            + lines(plugins) { "callagent_hook_answered_total\($0) \($1?.answered ?? 0)\n" }
            + family("callagent_hook_quarantined_total", "counter", "Times it was passed over.")
            + lines(plugins) { "callagent_hook_quarantined_total\($0) \($1?.quarantined ?? 0)\n" }
            + family("callagent_hook_failures_total", "counter", "Failures of a plugin by kind.")
            + failures.joined()
            + family("callagent_policy_dropped_timers_total", "counter", "Timers not declared now.")
            + byPlugin("callagent_policy_dropped_timers_total", plugins) { $0.droppedTimers }
            + family("callagent_policy_dropped_writes_total", "counter", "Late changes of state.")
            + byPlugin("callagent_policy_dropped_writes_total", plugins) { $0.droppedWrites }
            + family("callagent_policy_dropped_vars_total", "counter", "No room in call.vars.")
            + byPlugin("callagent_policy_dropped_vars_total", plugins) { $0.droppedVars }
            + family("callagent_policy_left_reports_total", "counter", "Too many waited.")
            + byPlugin("callagent_policy_left_reports_total", plugins) { $0.leftReports }
    }

    private func histograms(_ plugins: [PluginStatus]) -> String {
        family("callagent_hook_cpu_seconds", "histogram", "Processor time of one question.")
            + histogram("callagent_hook_cpu_seconds", plugins) { $0.processor }
            + family("callagent_hook_wall_seconds", "histogram", "From question to answer.")
            + histogram("callagent_hook_wall_seconds", plugins) { $0.wall }
    }

    private func gauges(_ plugins: [PluginStatus]) -> String {
        family("callagent_policy_quarantined", "gauge", "Whether it is in quarantine.")
            + byPlugin("callagent_policy_quarantined", plugins) {
                $0.quarantinedUntil == nil ? 0 : 1
            }
            + family("callagent_policy_paused", "gauge", "Pairs and timers it is passed over for.")
            + byPlugin("callagent_policy_paused", plugins) { $0.paused.count }
            + family("callagent_policy_memory_bytes", "gauge", "Memory of its Lua state.")
            + byPlugin("callagent_policy_memory_bytes", plugins) { $0.memory }
            + family("callagent_policy_probation", "gauge", "Whether a reload may be taken back.")
            + "callagent_policy_probation \(status?.isOnProbation == true ? 1 : 0)\n"
            + family("callagent_policy_canary", "gauge", "1 while a canary answers for some.")
            + "callagent_policy_canary \(status?.canary == nil ? 0 : 1)\n"
            + family("callagent_policy_draining", "gauge", "Handlers of older generations.")
            + "callagent_policy_draining \(status?.drainingHandlers ?? 0)\n"
    }

    // MARK: Parts

    private func family(_ name: String, _ type: String, _ help: String) -> String {
        "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    private func byPlugin(
        _ name: String, _ plugins: [PluginStatus], _ value: (PluginStatus) -> Int
    ) -> String {
        plugins.map { "\(name)\(Self.text(["plugin": $0.name])) \(value($0))\n" }.joined()
    }

    private func lines(
        _ plugins: [PluginStatus], _ line: (String, HookTally?) -> String
    ) -> String {
        var lines = ""
        each(plugins) { labels, tally in lines += line(Self.text(labels), tally) }
        return lines
    }

    private func histogram(
        _ name: String, _ plugins: [PluginStatus], _ values: (HookTally) -> Histogram
    ) -> String {
        var lines = ""
        each(plugins) { labels, tally in
            let histogram = values(tally ?? Self.nothing)
            var below = 0
            for (place, count) in histogram.counts.enumerated() {
                below += count
                let bound = place < histogram.bounds.count ? "\(histogram.bounds[place])" : "+Inf"
                let all = labels.merging(["le": bound]) { $1 }
                lines += "\(name)_bucket\(Self.text(all)) \(below)\n"
            }
            lines += "\(name)_sum\(Self.text(labels)) \(histogram.sum)\n"
            lines += "\(name)_count\(Self.text(labels)) \(below)\n"
        }
        return lines
    }

    private func each(
        _ plugins: [PluginStatus], _ body: ([String: String], HookTally?) -> Void
    ) {
        for plugin in plugins {
            for hook in Hook.allCases
            where plugin.hooks.contains(hook) || plugin.byHook[hook] != nil {
                body(["hook": hook.rawValue, "plugin": plugin.name], plugin.byHook[hook])
            }
        }
    }

    /// Those of a hook that was not asked yet: its series are there, so that nothing of their
    /// first rise is lost.
    private static let nothing = HookTally()

    private static func text(_ labels: [String: String]) -> String {
        PluginMetrics.text(of: labels)
    }
}

extension PolicyStatus {
    /// Every plugin once: what the generation in force and a canary have counted together, so that
    /// no figure falls when the canary ends.
    fileprivate var allPlugins: [PluginStatus] {
        guard let canary else { return plugins }
        let others = Dictionary(
            canary.plugins.map { ($0.name, $0) }, uniquingKeysWith: { one, _ in one })
        let mine = Set(plugins.map(\.name))
        return plugins.map { plugin in others[plugin.name].map { plugin.adding($0) } ?? plugin }
            + canary.plugins.filter { !mine.contains($0.name) }
    }
}
