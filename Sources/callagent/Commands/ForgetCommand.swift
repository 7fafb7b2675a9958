// The command `forget`.

import AgentCore
import CallClient
import CallModel
import Glibc
import JSON

extension Command {
    static let forget = Command(
        "forget", "forget a person: what is kept of USER goes, for ever", operands: .one("USER"),
        options: [
            Option("--yes", nil, "it is meant: it cannot be undone"),
            Option("--json", nil, "the server's answer as it is"),
        ] + Installation.options
    ) { (arguments) throws(CommandError) in
        let user = try CommandArguments.user(arguments.operands[0], "USER")
        guard arguments.has("--yes") else {
            throw .usage(
                "this cannot be undone: registrations, the name and keys of \(user) go, and "
                    + "records name a substitute; --yes says that it is meant")
        }
        let server = try Installation.admin(arguments)
        return JobAnswer.wait(.forget, ["user": user.text], of: server)
            .show(isJSON: arguments.has("--json")) { result in
                let figures = (result.object?.members ?? []).map { figure in
                    "\(figure.key) \(figure.value.integer ?? 0)"
                }
                Screen.say("\(user) is forgotten (\(figures.joined(separator: ", ")))")
            }
    }
}

/// Jobs of a running server.
private enum JobAnswer {
    /// Milliseconds between two looks at a job.
    private static let pause: Int32 = 200

    /// Begins a job and waits for its result.
    static func wait(
        _ name: ManagementOperation.Name, _ values: [String: String?], of server: ServerAddress
    ) -> AdminAnswer {
        let begun = AdminAnswer.ask(name, values, of: server)
        guard case .answer(let answer) = begun, let job = answer["job"]?.integer else {
            return begun
        }
        while true {
            let asked = AdminAnswer.ask(.job, ["job": "\(job)"], of: server)
            guard case .answer(let state) = asked else { return asked }
            switch state["state"]?.string {
            case "running": _ = poll(nil, 0, pause)
            case "done": return .answer(state["result"] ?? .null)
            default: return .refused(state["error"]?.string ?? "the job was cancelled")
            }
        }
    }
}
