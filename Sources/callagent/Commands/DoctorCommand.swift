// The command `doctor`: what is wrong with an installation, and what to do.

import AgentCore
import AgentServer
import CallClient
import Configuration
import Glibc
import JSON

extension Command {
    static let doctor = Command(
        "doctor", "look the installation over and say what to do",
        options: Installation.options
    ) { (arguments) throws(CommandError) in
        var doctor = Doctor(file: Installation.file(arguments.text("--config")))
        doctor.examine()
        if let process = doctor.process {
            doctor.examine(process, at: try Installation.admin(of: doctor.configuration))
        } else if doctor.generation != nil {
            doctor.note(.good("no server runs; callagent run starts one"))
        }
        for finding in doctor.findings {
            let advice = finding.advice.isEmpty ? "" : " → \(finding.advice)"
            Screen.say(Screen.plain("\(finding.grade.rawValue)  \(finding.text)\(advice)"))
        }
        return doctor.isHealthy ? ExitCode.success : ExitCode.failure
    }
}

extension Doctor {
    /// Asks the process that has the state directory.
    fileprivate mutating func examine(_ process: Int32, at server: ServerAddress) {
        guard case .answer(let status) = AdminAnswer.ask(.status, of: server) else {
            return note(
                .trouble(
                    "process \(process) has the state directory and does not answer at \(server)",
                    "look at its log; if it hangs, end it and start it again"))
        }
        let version = status["version"]?.string ?? "?"
        if version != Agent.version || Self.isReplaced(process) {
            note(
                .warning(
                    "process \(process) runs another program than this one, version \(version)",
                    "restart it to take the installed one, version \(Agent.version)"))
        }
        if status["ready"]?.bool == true {
            note(.good("process \(process) runs, version \(version), and takes calls"))
        } else {
            note(
                .trouble(
                    "process \(process) runs and takes no calls: its store is away"
                        + (status["store_error"]?.string.map { ": \($0)" } ?? ""),
                    "its log says why (store failed…); it goes on by itself when the disk does"))
        }
        if let gap = status["clock_gap_ms"]?.integer, abs(gap) > 60_000 {
            let side = gap > 0 ? "behind" : "ahead of"
            note(
                .warning(
                    "the calls' clock is \(abs(gap) / 1_000) s \(side) the wall clock",
                    gap > 0
                        ? "it drifts there, 1 ms a second; a restart sets it at once"
                        : "look at the clock of this machine; it runs slower until they agree"))
        }
        if let proxy = status["unnamed_proxy"]?.string { examineProxy(at: proxy) }
        examineLoad(status)
        examinePlugins(AdminAnswer.ask(.plugins, of: server))
        examineFiles(AdminAnswer.ask(.files, of: server))
        examineReceivers(AdminAnswer.ask(.webhooks, of: server))
    }

    /// Whether the file of the running program was replaced, as by an update.
    private static func isReplaced(_ process: Int32) -> Bool {
        let path = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4_096) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            let count = readlink("/proc/\(process)/exe", start, buffer.count)
            return String(
                decoding: buffer[..<max(0, count)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        return path.hasSuffix(" (deleted)")
    }

    private mutating func examineLoad(_ status: JSONValue) {
        let connections = status["connections"]?.integer ?? 0
        let most = Int64(configuration.limits.connections)
        let text = "\(connections) connections of at most \(most)"
        if connections * 10 >= most * 9 {
            note(.warning(text, "raise limits.connections, or find out whose they are"))
        } else {
            note(.good(text))
        }
    }

    private mutating func examinePlugins(_ answer: AdminAnswer) {
        guard case .answer(let plugins) = answer else { return }
        let all = plugins["plugins"]?.array ?? []
        for plugin in all where plugin["state"]?.string == "quarantined" {
            note(
                .trouble(
                    "the plugin \(plugin["name"]?.string ?? "?") is in quarantine",
                    "its lines in the log say why; fix it, then callagent reload"))
        }
        for plugin in all {
            guard let count = plugin["paused_count"]?.integer, count > 0 else { continue }
            let whom = count == 1 ? "1 account or timer" : "\(count) accounts or timers"
            note(
                .warning(
                    "the plugin \(plugin["name"]?.string ?? "?") is passed over for \(whom)",
                    "callagent plugins names them, its lines in the log say why"))
        }
    }

    /// Compares what the process has in force with the files on disk.
    private mutating func examineFiles(_ answer: AdminAnswer) {
        guard case .answer(let json) = answer else { return }
        for alarm in json["alarms"]?.array?.compactMap(\.string) ?? [] {
            note(
                .trouble(
                    "alarm: \(alarm)",
                    "fix what it names; files count after a reload, the store after a start"
                ))
        }
        guard let running = LoadedFiles(json), let files else { return }
        let changed = files.difference(from: running)
        guard !changed.isEmpty else { return note(.good("the files on disk are in force")) }
        note(
            .warning(
                "not in force as on disk: \(changed.joined(separator: ", "))",
                "callagent reload puts them into force; listen, admin and state_dir need a restart"
            ))
    }

    private mutating func examineReceivers(_ answer: AdminAnswer) {
        guard case .answer(let json) = answer else { return }
        for receiver in json["endpoints"]?.array ?? [] {
            let name = receiver["name"]?.string ?? "?"
            if receiver["enabled"]?.bool == false {
                note(
                    .trouble(
                        "the receiver \(name) of webhooks gets nothing: it answered 410",
                        "callagent webhooks enable \(name) when it wants events again"))
            } else if receiver["behind"]?.bool == true {
                note(
                    .warning(
                        "the receiver \(name) of webhooks does not keep up",
                        "callagent webhooks tells why; events wait in the store"))
            }
        }
    }
}
