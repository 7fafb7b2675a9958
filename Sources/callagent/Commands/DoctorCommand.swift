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
        options: NodeReport.options + Installation.options
    ) { (arguments) throws(CommandError) in
        if let node = try NodeReport.node(arguments) {
            return NodeReport(.doctor, of: node, at: try Installation.admin(arguments))
                .show(isJSON: false, NodeText.findings)
        }
        var doctor = Doctor(file: Installation.file(arguments.text("--config")))
        doctor.examine()
        if let process = doctor.process {
            doctor.examine(process, at: try Installation.admin(of: doctor.configuration))
        } else if doctor.generation != nil, !doctor.mayRun {
            doctor.note(.good("no server runs; callagent run starts one"))
        }
        for finding in doctor.findings { Screen.say(Screen.plain(finding.line)) }
        return doctor.isHealthy ? ExitCode.success : ExitCode.failure
    }
}

extension Doctor {
    /// Asks the process that has the state directory.
    fileprivate mutating func examine(_ process: Int32, at server: ServerAddress) {
        let status: JSONValue
        switch AdminAnswer.ask(.status, of: server) {
        case .answer(let answer): status = answer
        case .refused(let words):
            // A front end hands on what it is asked, and here there is no owner.
            return note(
                .trouble(
                    "process \(process) runs and takes no calls: \(words)",
                    "it goes on by itself when a node owns; callagent cluster says which one does"))
        case .unreachable:
            let found = Standstill(of: process)
            return note(
                .trouble(
                    "process \(process), which has the state directory, \(found.text) at \(server)",
                    found.advice))
        }
        let version = status["version"]?.string ?? "?"
        if version != Agent.version || Self.isReplaced(process) {
            note(
                .warning(
                    "process \(process) runs another program than this one, version \(version)",
                    "restart it to take the installed one, version \(Agent.version)"))
        }
        if let proxy = status["unnamed_proxy"]?.string { examineProxy(at: proxy) }
        let files = AdminAnswer.ask(.files, of: server).value
        let findings = Finding.all(
            of: "process \(process)", status: status,
            connections: mostConnections,
            plugins: AdminAnswer.ask(.plugins, of: server).value,
            (files: files, webhooks: AdminAnswer.ask(.webhooks, of: server).value))
        for finding in findings { note(finding) }
        // The owner answers for a front end.
        let isOwners = configuration.cluster.map { status["node"]?.string != $0.node } ?? false
        compareFiles(with: files, ofOwner: isOwners)
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

    /// Compares what the process has in force with the files on disk; of another node's files only
    /// plugins, as settings, secrets and certificates are each node's own.
    private mutating func compareFiles(with json: JSONValue, ofOwner isOwners: Bool) {
        guard let running = LoadedFiles(json), let files else { return }
        let changed = files.difference(from: running)
            .filter { !isOwners || $0.hasPrefix("plugins/") }
        guard !changed.isEmpty else { return note(.good("the files on disk are in force")) }
        note(
            .warning(
                "not in force as on disk: \(changed.joined(separator: ", "))",
                "callagent reload puts them into force; listen, admin and state_dir need a restart"
            ))
    }
}

extension AdminAnswer {
    /// What was answered; nothing where it was not.
    fileprivate var value: JSONValue {
        if case .answer(let value) = self { value } else { .null }
    }
}
