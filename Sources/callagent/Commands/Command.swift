// What the tool can do: the one table of its commands.

import Lua

/// One command of the tool.
struct Command: Sendable {
    /// The words that may stand beside the options.
    enum Operands: Sendable {
        case none
        case optional(String)
        case one(String)
        case several(String)
        case any(String)
    }

    let name: String
    /// One line.
    let summary: String
    let operands: Operands
    let options: [Option]
    let run: @Sendable (CommandArguments) throws(CommandError) -> Int32

    init(
        _ name: String, _ summary: String, operands: Operands = .none, options: [Option] = [],
        run: @escaping @Sendable (CommandArguments) throws(CommandError) -> Int32
    ) {
        self.name = name
        self.summary = summary
        self.operands = operands
        self.options = options
        self.run = run
    }

    /// Every command, in the order of the help.
    static let all: [Command] = [
        .run, .call, .phone, .ask, .calls, .get, .end, .status, .plugins, .reload,
        .rollback, .new, .check, .lsp, .test, .debug, .fuzz, .attempt, .config, .modes, .meta,
        .explain, .trace, .replay, .webhooks, .console, .simulate, .token, .revoke, .forget,
        .cluster, .doctor, .backup, .manual, .completion, .version,
    ]

    /// The command `name`.
    static func named(_ name: String, in commands: [Command]) throws(CommandError) -> Command {
        if let command = commands.first(where: { $0.name == name }) { return command }
        let what = name.hasPrefix("-") ? "option" : "command"
        let hint = Suggestion.hint(for: name, among: commands.map(\.name))
        throw .usage("there is no \(what) '\(name)'\(hint); usage: callagent COMMAND ...")
    }
}

/// One option of a command.
struct Option: Sendable {
    /// With its dashes.
    let name: String
    /// The name of its value in the help; nil: it has no value. In brackets: the value may be left
    /// out, and is a whole number.
    let value: String?
    let help: String
    /// Whether it may be given again, for one more value.
    let isRepeatable: Bool

    init(_ name: String, _ value: String? = nil, _ help: String, isRepeatable: Bool = false) {
        self.name = name
        self.value = value
        self.help = help
        self.isRepeatable = isRepeatable
    }
}

/// Why a command does not run, told in one line.
struct CommandError: Error, Equatable {
    let message: String
    /// The exit code.
    let code: Int32

    /// The command line is wrong.
    static func usage(_ message: String) -> CommandError {
        CommandError(message: message, code: ExitCode.usage)
    }

    /// The command cannot be carried out.
    static func failure(_ message: String) -> CommandError {
        CommandError(message: message, code: ExitCode.failure)
    }
}
