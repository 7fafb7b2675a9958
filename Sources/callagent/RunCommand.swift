// `callagent run`

import AgentServer

extension Command {
    static let run = Command(
        "run", "serve calls until SIGTERM; SIGHUP reloads", operands: .optional("FILE")
    ) { (arguments) throws(UsageError) in
        do throws(AgentError) {
            let options = try Installation.options(file: arguments.operands.first)
            try Agent(options, log: Log(level: .info)).run()
            return ExitCode.success
        } catch {
            Screen.complain("callagent: \(error)")
            return ExitCode.failure
        }
    }
}
