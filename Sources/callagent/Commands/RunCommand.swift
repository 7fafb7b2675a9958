// The command `run`: the server itself.

import AgentServer

extension Command {
    static let run = Command(
        "run", "serve calls until SIGTERM; SIGHUP reloads", operands: .optional("FILE"),
        options: [
            Option("--from-disk", nil, "take the files on disk, also after a crash or a rollback")
        ]
    ) { (arguments) throws(CommandError) in
        // Also writes the lines of a start that fails.
        defer { Log.flush() }
        do throws(AgentError) {
            DescriptorLimit.raise()
            let file = Installation.file(arguments.operands.first)
            let takesFiles = arguments.has("--from-disk")
            try Agent(file: file, takingFilesOnDisk: takesFiles, log: { Log($0) }).run()
            return ExitCode.success
        } catch {
            throw .failure("\(error)")
        }
    }
}
