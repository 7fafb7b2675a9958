// `callagent manual` and `callagent completion`: what packages install beside the executable.

extension Command {
    static let manual = Command(
        "manual", "print a page for man, of callagent or of a command",
        operands: .optional("COMMAND")
    ) { (arguments) throws(CommandError) in
        let command = try arguments.operands.first.map { (name) throws(CommandError) in
            try Command.named(name, in: Command.all)
        }
        Screen.show(Manual.page(of: command, among: Command.all))
        return ExitCode.success
    }

    static let completion = Command(
        "completion", "print what completes command lines in bash, zsh, fish",
        operands: .one("SHELL")
    ) { (arguments) throws(CommandError) in
        let name = arguments.operands.first ?? ""
        guard let shell = CompletionShell(rawValue: name) else {
            let known = CompletionShell.allCases.map(\.rawValue).joined(separator: ", ")
            throw .usage("'\(name)' is none of \(known)")
        }
        Screen.show(shell.script(for: Command.all))
        return ExitCode.success
    }
}
