// The command `doctor`: what is wrong with an installation, and what to do.

import AgentServer
import CallClient
import JSON
import PolicyHost

extension Command {
    static let doctor = Command(
        "doctor", "look the installation over and say what to do",
        options: Installation.options
    ) { (arguments) throws(CommandError) in
        var doctor = Doctor(file: Installation.file(arguments.text("--config")))
        doctor.examine()
        if let process = doctor.process {
            doctor.examine(process, at: try Installation.admin(arguments))
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
        guard case .answer(let status) = AdminAnswer.get("/admin/status", from: server) else {
            return note(
                .trouble(
                    "process \(process) has the state directory and does not answer at \(server)",
                    "look at its log; if it hangs, end it and start it again"))
        }
        let version = status["version"]?.string ?? "?"
        if status["ready"]?.bool == true {
            note(.good("process \(process) runs, version \(version), and takes calls"))
        } else {
            note(
                .trouble(
                    "process \(process) runs and takes no calls: its store is away",
                    "its log says why (store failed…); it goes on by itself when the disk does"))
        }
        if let gap = status["clock_gap_ms"]?.integer, abs(gap) > 60_000 {
            note(
                .warning(
                    "the calls' clock is \(gap / 1_000) s behind the wall clock",
                    "it drifts back, 1 ms a second; a restart sets it at once if it is behind"))
        }
        examineLoad(status)
        examineGeneration(AdminAnswer.get("/admin/plugins", from: server))
    }

    private mutating func examineLoad(_ status: JSONValue) {
        let connections = status["connections"]?.integer ?? 0
        let most = Int64(configuration.limits.connections)
        let text = "\(connections) connections of at most \(most)"
        if connections * 10 >= most * 9 {
            note(.warning(text, "raise limits.connections, or find out who they are"))
        } else {
            note(.good(text))
        }
    }

    private mutating func examineGeneration(_ answer: AdminAnswer) {
        guard case .answer(let plugins) = answer, let running = plugins["generation"]?.string
        else { return }
        let all = plugins["plugins"]?.array ?? []
        for plugin in all where plugin["state"]?.string == "quarantined" {
            note(
                .trouble(
                    "the plugin \(plugin["name"]?.string ?? "?") is in quarantine",
                    "its lines in the log say why; mend it, then callagent reload"))
        }
        if let generation, generation != running {
            note(
                .warning(
                    "generation \(running) is in force, the plugins on disk are \(generation)",
                    "callagent reload puts them into force"))
        } else {
            note(.good("the plugins on disk are in force"))
        }
    }
}
