// Report hooks: results ignored; per call in order, one at a time per plugin.

import Collections
import CLua
import CallModel
import Configuration
import JSON
import Lua

/// Something to be told to one plugin.
enum Notice {
    case report(Report, Hook)
    /// `on.push_failed`.
    case pushFailed(PushDraft, CallView, reason: String, Cause)
    /// `on.start`, `on.stop`, `on.plugin_error`: one table.
    case table(Hook, JSONObject, Cause)

    var hook: Hook {
        switch self {
        case .report(_, let hook): hook
        case .pushFailed: .pushFailed
        case .table(let hook, _, _): hook
        }
    }

    var call: CallID? {
        switch self {
        case .report(let report, _): report.call?.id
        case .pushFailed(_, let view, _, _): view.call.id
        case .table: nil
        }
    }

    var cause: Cause {
        switch self {
        case .report(let report, _): report.cause
        case .pushFailed(_, _, _, let cause), .table(_, _, let cause): cause
        }
    }
}

extension Notice {
    /// What it takes while it waits, roughly.
    fileprivate var bytes: Int {
        switch self {
        case .report(let report, _): report.bytes
        case .pushFailed, .table: 1_024
        }
    }
}

extension PolicyHost {
    func tell(_ report: Report, from first: Int) {
        guard let hook = report.kind.hook else { return }
        let plugins = answering.plugins
        for place in plugins.indices.dropFirst(first)
        where plugins[place].hooks[hook.index] >= 0 && concerns(plugins[place], report) {
            if isTired {
                rest = .told(report, from: place)
                return
            }
            tell(.report(report, hook), plugins[place])
        }
    }

    /// Tells every plugin of something that is not of a call.
    package func tell(_ hook: Hook, _ table: JSONObject, at now: Moment) -> [PolicyEffect] {
        services.now = now
        for plugin in generation.plugins { tell(.table(hook, table, .nobody), plugin) }
        return services.takeEffects()
    }

    /// Tells a plugin, behind what it is being told of the same call.
    func tell(_ notice: Notice, _ plugin: PluginState) {
        guard plugin.hooks[notice.hook.index] >= 0 else { return }
        let key = ReportKey(plugin: ObjectIdentifier(plugin), call: notice.call)
        if notice.call != nil, tasks[.report(key)] != nil || queues[key] != nil {
            hold(notice, plugin, key)
        } else if hasRoomForHandler(of: notice.cause, plugin) {
            run(plugin, notice, key)
        } else if notice.call != nil {
            if hold(notice, plugin, key) { deadlines.add(.notices(key), at: whenRoomIsSought) }
        } else {
            // One queue of all accounts would let one stand before the others.
            leaveOut(notice, plugin)
        }
    }

    /// Whether the operator lets the plugin see it (E55).
    private func concerns(_ plugin: PluginState, _ report: Report) -> Bool {
        guard let users = plugin.setting.users else { return true }
        switch report.kind {
        case .presence(let user, _): return users.contains(user)
        case .signal(let from, let to, _):
            return users.contains(from) || to.map { users.contains($0) } ?? true
        case .accepted, .rejected, .cancelled, .timeout, .undelivered, .participant, .ended,
            .notice:
            return report.call?.participants.contains { users.contains($0.user) } ?? true
        }
    }

    private func run(_ plugin: PluginState, _ notice: Notice, _ key: ReportKey) {
        let account = write(notice)
        if case .report(let report, _) = notice, case .signal(let from, _, _) = report.kind,
            from == account
        {
            // Nobody hears its own signals (F68).
            return
        }
        var origin = Origin(cause: notice.cause, pauseKey: .report(notice.hook))
        guard admit(plugin, &origin) else {
            return plugin.tally.note(notice.hook, .quarantined, processor: 0, wall: 0)
        }
        begin(plugin, call: notice.call, account: account, origin)
        let outcome = start(plugin, plugin.hooks[notice.hook.index])
        // What comes after a wait is counted for the plugin, not for the hook.
        let hasFailed = Int(outcome.status) == CALLUA_FAILED
        plugin.tally.note(
            notice.hook, hasFailed ? .failed(Failure(outcome.failure)) : .noOpinion,
            processor: outcome.nanoseconds, wall: 0)
        let task: HandlerTask = notice.call == nil ? .single(newID()) : .report(key)
        settle(outcome, plugin, task: task, call: notice.call)
    }

    /// Runs what stood behind a handler, until one waits again.
    func nextReport(_ key: ReportKey) {
        // A handler that ends at once comes here too: it is the loop's next turn.
        guard !queues.isEmpty, reporting.insert(key).inserted else { return }
        defer { reporting.remove(key) }
        while tasks[.report(key)] == nil, let plugin = queues[key]?.plugin,
            let cause = queues[key]?.notices.first?.cause
        {
            if isTired { return deadlines.add(.notices(key), at: services.now) }
            guard hasRoomForHandler(of: cause, plugin) else {
                return deadlines.add(.notices(key), at: whenRoomIsSought)
            }
            guard let notice = queues[key]?.notices.removeFirst() else { return }
            plugin.memory.held.add(-notice.bytes, cause)
            if queues[key]?.notices.count == 0 { dropNotices(key) }
            run(plugin, notice, key)
        }
    }

    // MARK: What stands behind a handler

    /// Lets a notice wait until it can be told; returns whether there is room for it.
    @discardableResult
    private func hold(_ notice: Notice, _ plugin: PluginState, _ key: ReportKey) -> Bool {
        let limits = plugin.setting.limits
        let hasRoom = plugin.memory.held.hasRoom(
            for: notice.bytes, notice.cause, most: limits.heldReports,
            part: limits.heldReportsOfCause)
        guard hasRoom else {
            leaveOut(notice, plugin)
            return false
        }
        plugin.memory.held.add(notice.bytes, notice.cause)
        if queues[key] == nil, let call = key.call { needVars(of: call) }
        queues[key, default: NoticeQueue(plugin: plugin)].notices.append(notice)
        return true
    }

    private func leaveOut(_ notice: Notice, _ plugin: PluginState) {
        plugin.tally.leftReports += 1
        let whose = notice.cause.isNobody ? "" : " because of \(notice.cause.text)"
        let text = "a report was left out: too many wait\(whose)"
        guard let left = plugin.memory.lines.admit(text, at: services.now) else { return }
        var line = PolicyLog(.warn, text, plugin: plugin.name, call: notice.call)
        if left > 0 { line.fields["left_out"] = .integer(Int64(left)) }
        services.emit(.log(line))
    }

    /// What stands in a row is not told any more.
    func dropNotices(_ key: ReportKey) {
        guard let queue = queues.removeValue(forKey: key) else { return }
        for notice in queue.notices.values {
            queue.plugin.memory.held.add(-notice.bytes, notice.cause)
        }
        if let call = key.call { needVarsNoMore(of: call) }
    }

    /// Whether one handler more of `cause` may wait, if it has to.
    func hasRoomForHandler(of cause: Cause, _ plugin: PluginState) -> Bool {
        let limits = plugin.setting.limits
        return plugin.memory.handlers.hasRoom(
            cause, most: limits.coroutines, part: limits.coroutinesOfCause)
    }

    /// When what has found no room for a handler is looked at again.
    var whenRoomIsSought: Moment { services.now + 100 }

    // MARK: Arguments

    /// Writes the arguments; returns the account that the handler speaks for.
    private func write(_ notice: Notice) -> UserID? {
        arguments.cut()
        switch notice {
        case .report(let report, _): return write(report)
        case .pushFailed(let draft, let view, let reason, _):
            arguments.list(3)
            arguments.json(.object(draft.table))
            write(view)
            arguments.text(reason)
            return draft.user
        case .table(_, let table, _):
            arguments.list(1)
            arguments.json(.object(table))
            return nil
        }
    }

    /// `call.callee` where the hook is about no invitation: the account the plugins answer for.
    func account(in call: Call) -> UserID? {
        call.participants.first { $0.isAnsweredFor }?.user
            ?? call.participants.first { isAnsweredFor($0.user, in: call) }?.user
    }

    private func write(_ report: Report) -> UserID? {
        guard let call = report.call else {
            writePresence(report)
            return nil
        }
        let account = account(in: call)
        let view = CallView(
            call: call, facts: report.facts, now: services.now, callee: account)
        let place = arguments.count
        arguments.list(0)
        write(view)
        let added = writeRest(report, view)
        arguments.setCount(1 + added, at: place + 1)
        return account
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
        case .presence, .notice: return 0
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

/// What stands behind a waiting handler of a plugin and a call.
struct NoticeQueue {
    let plugin: PluginState
    var notices = Queue<Notice>()
}

extension Report {
    /// What it takes while it waits, roughly: most hold a call as it was.
    fileprivate var bytes: Int {
        var carried = call?.extendedData?.utf8.count ?? 0
        if case .signal(_, _, let data) = kind { carried += data.count }
        return 1_024 + carried
    }
}

extension Report.Kind {
    /// The hook that is told; nil: none.
    var hook: Hook? {
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
        case .notice: nil
        }
    }
}
