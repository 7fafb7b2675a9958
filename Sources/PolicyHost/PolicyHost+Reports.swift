// Report hooks: results ignored; per call in order, one at a time per plugin.

import CLua
import CallCore
import JSON

extension PolicyHost {
    func tell(_ report: Report) {
        let hook = report.kind.hook
        for plugin in generation.plugins where plugin.hooks[hook.index] >= 0 {
            guard concerns(plugin, report) else { continue }
            let key = ReportKey(plugin: ObjectIdentifier(plugin), call: report.call?.id)
            if report.call != nil, tasks[.report(key)] != nil {
                reportQueues[key, default: []].append(report)
            } else {
                run(plugin, report, key)
            }
        }
    }

    /// Whether the operator lets the plugin see it (E55).
    private func concerns(_ plugin: PluginState, _ report: Report) -> Bool {
        guard let users = plugin.setting.users else { return true }
        if case .presence(let user, _) = report.kind { return users.contains(user) }
        return report.call?.participants.contains { users.contains($0.user) } ?? true
    }

    private func run(_ plugin: PluginState, _ report: Report, _ key: ReportKey) {
        guard plugin.breaker.admits(at: services.now) else { return }
        write(report, for: plugin)
        plugin.call = report.call?.id
        plugin.account = account(of: report)
        let outcome = plugin.start(
            plugin.hooks[report.kind.hook.index], arguments,
            budget: plugin.setting.limits.runTime.nanoseconds)
        plugin.tally.asked += 1
        plugin.tally.nanoseconds += outcome.nanoseconds
        guard Int(outcome.status) == CALLUA_WAITING else {
            return settle(outcome, plugin)
        }
        wait(plugin, outcome, task: .report(key), call: report.call?.id)
    }

    /// The account that a report's handlers speak for: the one the plugins answer for.
    private func account(of report: Report) -> UserID? {
        let participants = report.call?.participants ?? []
        return participants.first { $0.isAnsweredFor }?.user
            ?? participants.first { generation.plan.answerFor.contains($0.user) }?.user
    }

    private func settle(_ outcome: callua_outcome, _ plugin: PluginState) {
        guard Int(outcome.status) == CALLUA_FAILED else { return plugin.breaker.succeeded() }
        note(Failure(outcome.failure), outcome.message, outcome.traceback.string, plugin)
    }

    /// A waiting report handler came back.
    func reported(_ key: ReportKey, _ outcome: callua_outcome, _ plugin: PluginState) {
        settle(outcome, plugin)
        nextReport(key)
    }

    /// Runs what stood behind a handler, until one waits again.
    func nextReport(_ key: ReportKey) {
        while tasks[.report(key)] == nil, let report = reportQueues[key]?.first {
            reportQueues[key]?.removeFirst()
            if reportQueues[key]?.isEmpty == true { reportQueues[key] = nil }
            let plugin = generation.plugins.first { ObjectIdentifier($0) == key.plugin }
            if let plugin { run(plugin, report, key) }
        }
    }

    // MARK: Arguments

    private func write(_ report: Report, for plugin: PluginState) {
        arguments.cut()
        guard let call = report.call else { return writePresence(report) }
        let view = CallView(
            call: call, facts: report.facts, now: services.now, callee: account(of: report))
        let place = arguments.count
        arguments.list(0)
        arguments.call(view, modeName: modeName(call.mode))
        let added = writeRest(report, view)
        arguments.setCount(1 + added, at: place + 1)
    }

    private func writePresence(_ report: Report) {
        guard case .presence(let user, let online) = report.kind else {
            arguments.list(0)
            return
        }
        arguments.list(3)
        arguments.user(report.facts.first ?? UserFacts(user, calls: 0, devices: online ? 1 : 0))
        arguments.text(online ? "online" : "offline")
        arguments.text(online ? "offline" : "online")
    }

    /// Writes the arguments after the call; returns how many.
    private func writeRest(_ report: Report, _ view: CallView) -> Int {
        switch report.kind {
        case .accepted(let user):
            arguments.user(view.facts(of: user))
            return 1
        case .rejected(let user, let reason):
            arguments.user(view.facts(of: user))
            arguments.text(reason.rawValue)
            return 2
        case .cancelled(let user):
            if let user { arguments.user(view.facts(of: user)) } else { arguments.null() }
            return 1
        case .timeout(let users), .undelivered(let users):
            arguments.list(users.count)
            for user in users { arguments.user(view.facts(of: user)) }
            return 1
        case .participant(let user, let from, let to):
            arguments.user(view.facts(of: user))
            if let from { arguments.text(from.rawValue) } else { arguments.null() }
            arguments.text(to.rawValue)
            return 3
        case .ended:
            writeSummary(view.call)
            return 1
        case .signal(let from, _, let data):
            arguments.user(view.facts(of: from))
            arguments.json((try? JSONValue(parsing: data)) ?? .null)
            return 2
        case .presence: return 0
        }
    }

    private func writeSummary(_ call: Call) {
        var summary: JSONObject = [
            "reason": .string(call.end?.reason.rawValue ?? ""),
            "duration": .number(Double(call.duration) / 1_000),
            "answered": .bool(call.answeredAt != nil),
        ]
        if call.duration % 1_000 == 0 { summary["duration"] = .integer(call.duration / 1_000) }
        if let detail = call.end?.detail { summary["detail"] = .string(detail.rawValue) }
        if let by = call.end?.by { summary["by"] = .string(by.text) }
        if let data = call.end?.extendedData { summary["extended_raw"] = .string(data) }
        arguments.json(.object(summary))
    }
}

extension Report.Kind {
    /// The hook that is told.
    var hook: Hook {
        switch self {
        case .accepted: .accepted
        case .rejected: .rejected
        case .cancelled: .cancelled
        case .timeout: .timeout
        case .undelivered: .undelivered
        case .participant: .participant
        case .ended: .ended
        case .signal: .signal
        case .presence: .presence
        }
    }
}
