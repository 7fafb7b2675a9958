// The command `run`: the server itself.

import AgentServer

extension Command {
    static let run = Command(
        "run", "serve calls until SIGTERM; SIGHUP reloads", operands: .optional("FILE")
    ) { (arguments) throws(CommandError) in
        do throws(AgentError) {
            DescriptorLimit.raise()
            let file = Installation.file(arguments.operands.first)
            try Agent(file: file, log: { Log($0) }).run()
            return ExitCode.success
        } catch {
            throw .failure("\(error)")
        }
    }
}
