// What is wrong with a running process, by its own answers.

import JSON

extension Finding {
    /// `grade`, `text`, `advice`.
    fileprivate var json: JSONValue {
        ["grade": .string(grade.rawValue), "text": .string(text), "advice": .string(advice)]
    }

    /// A finding of another process; nil: the JSON is none. A later version may have grades that
    /// this version does not know: those are warnings here.
    public init?(_ json: JSONValue) {
        guard let word = json["grade"]?.string, let text = json["text"]?.string else { return nil }
        self.init(
            grade: Grade(rawValue: word) ?? .warning, text: text,
            advice: json["advice"]?.string ?? "")
    }

    /// What the answers of a process to `GET /status`, `/plugins`, `/files` and `/webhooks` tell.
    ///
    /// - Parameters:
    ///   - process: how it is called, such as `process 17`.
    ///   - connections: how many there may be.
    public static func all(
        of process: String, status: JSONValue, connections: Int, plugins: JSONValue,
        _ others: (files: JSONValue, webhooks: JSONValue)
    ) -> [Finding] {
        readiness(of: process, status) + lateness(status) + clock(status)
            + load(status, most: connections) + ofPlugins(plugins) + alarms(others.files)
            + receivers(others.webhooks)
    }

    private static func readiness(of process: String, _ status: JSONValue) -> [Finding] {
        let version = status["version"]?.string ?? "?"
        guard status["ready"]?.bool == true else {
            return [
                .trouble(
                    "\(process) runs and takes no calls: its store is away"
                        + (status["store_error"]?.string.map { ": \($0)" } ?? ""),
                    "its log says why (store failed…); it goes on by itself when the disk does, or "
                        + "the database of a cluster")
            ]
        }
        // It is open between two commits that fail, as on a full disk.
        if let trouble = status["store_error"]?.string {
            return [
                .trouble(
                    "\(process) takes calls, and its last commit failed: \(trouble)",
                    "until one works every call may fail; its log says how often (store failed…)"
                )
            ]
        }
        return [.good("\(process) runs, version \(version), and takes calls")]
    }

    /// A disk that was slow so lately, in milliseconds, is so now, as far as anybody knows.
    private static let lately: Int64 = 600_000

    private static func lateness(_ status: JSONValue) -> [Finding] {
        guard let ago = status["late_commit_ago_ms"]?.integer, ago < lately else { return [] }
        let count = status["figures"]?["late_commits"]?.integer ?? 1
        return [
            .warning(
                "the store is slow: \(count) commits took longer than limits.commit_time, the last "
                    + "one \(ago / 1_000) s ago; what came meanwhile was refused (unavailable)",
                "look what writes to this disk (iostat -x, iotop), and at the system's log (dmesg)")
        ]
    }

    private static func clock(_ status: JSONValue) -> [Finding] {
        guard let gap = status["clock_gap_ms"]?.integer, abs(gap) > 60_000 else { return [] }
        let side = gap > 0 ? "behind" : "ahead of"
        return [
            .warning(
                "the calls' clock is \(abs(gap) / 1_000) s \(side) the wall clock",
                gap > 0
                    ? "set the wall clock if it is wrong, and only then restart, which sets this "
                        + "one at once; else it drifts there, 1 ms a second"
                    : "look at the clock of this machine; it runs slower until they agree")
        ]
    }

    private static func load(_ status: JSONValue, most: Int) -> [Finding] {
        let connections = status["connections"]?.integer ?? 0
        let text = "\(connections) connections of at most \(most)"
        // From nine tenths on only those are let in who come back.
        return connections * 10 >= Int64(most) * 8
            ? [.warning(text, "raise limits.connections, or find out whose they are")]
            : [.good(text)]
    }

    private static func ofPlugins(_ plugins: JSONValue) -> [Finding] {
        let all = plugins["plugins"]?.array ?? []
        let quarantined = all.filter { $0["state"]?.string == "quarantined" }.map { plugin in
            Finding.trouble(
                "the plugin \(plugin["name"]?.string ?? "?") is in quarantine",
                "its lines in the log say why; fix it, then callagent reload")
        }
        let paused = all.compactMap { plugin -> Finding? in
            guard let count = plugin["paused_count"]?.integer, count > 0 else { return nil }
            let whom = count == 1 ? "1 account or timer" : "\(count) accounts or timers"
            return .warning(
                "the plugin \(plugin["name"]?.string ?? "?") is passed over for \(whom)",
                "callagent plugins names them, its lines in the log say why")
        }
        return quarantined + paused + all.compactMap(failing)
    }

    /// A plugin that fails for some long before it is passed over for anybody.
    private static func failing(_ plugin: JSONValue) -> Finding? {
        let accounts = (plugin["by_account"]?.array ?? []).filter { account in
            (account["failed"]?.integer ?? 0) > 0
        }
        guard !accounts.isEmpty else { return nil }
        let whom = accounts.count == 1 ? "1 account" : "\(accounts.count) accounts"
        return .warning(
            "the plugin \(plugin["name"]?.string ?? "?") failed lately for calls of \(whom)",
            "callagent plugins --by account names them, its lines in the log say why")
    }

    private static func alarms(_ files: JSONValue) -> [Finding] {
        (files["alarms"]?.array?.compactMap(\.string) ?? []).map { alarm in
            .trouble(
                "alarm: \(alarm)",
                "fix what it names; files count after a reload, the store after a start")
        }
    }

    private static func receivers(_ webhooks: JSONValue) -> [Finding] {
        (webhooks["items"]?.array ?? []).compactMap { receiver in
            let name = receiver["name"]?.string ?? "?"
            if receiver["enabled"]?.bool == false {
                return .trouble(
                    "the receiver \(name) of webhooks gets nothing: it answered 410",
                    "callagent webhooks enable \(name) when it wants events again")
            }
            if receiver["behind"]?.bool == true {
                return .warning(
                    "the receiver \(name) of webhooks does not keep up",
                    "callagent webhooks tells why; events wait in the store")
            }
            guard let trouble = receiver["trouble"]?.string else { return nil }
            let advice =
                trouble.hasPrefix("refused_address")
                ? "if it is meant to be there, name its network in allow of this receiver, then "
                    + "callagent reload"
                : "look at the receiver; its events are tried again, later and later"
            return .warning(
                "the receiver \(name) of webhooks does not take events: \(trouble)", advice)
        }
    }
}

extension [Finding] {
    /// `healthy`, `findings[]`.
    var json: JSONValue {
        [
            "healthy": .bool(!contains { $0.grade == .trouble }),
            "findings": .array(map(\.json)),
        ]
    }
}
