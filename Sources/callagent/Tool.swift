// Finds the command of a command line and runs it.

import EventLoop

/// The exit codes, for scripts.
enum ExitCode {
    /// It went well; a call was answered.
    static let success: Int32 = 0
    /// Refused, rejected, timed out; a reload that changed nothing.
    static let failure: Int32 = 1
    /// The command line is wrong.
    static let usage: Int32 = 2
    /// The server does not answer.
    static let unreachable: Int32 = 3
}

enum Tool {
    /// Runs the command that `words` name; returns its exit code.
    static func run(_ words: [String]) -> Int32 {
        do throws(CommandError) {
            return try run(words, from: Command.all)
        } catch {
            Screen.complain(Screen.plainLines("callagent: \(error.message)"))
            return error.code
        }
    }

    private static func run(
        _ words: [String], from commands: [Command]
    ) throws(CommandError) -> Int32 {
        guard let first = words.first else {
            Screen.complain(Help.overview(of: commands))
            return ExitCode.usage
        }
        if ["help", "--help", "-h"].contains(first) {
            return try help(Array(words.dropFirst()), commands)
        }
        let name = first == "--version" ? "version" : first
        let command = try Command.named(name, in: commands)
        do throws(CommandError) {
            let arguments = try CommandArguments(words.dropFirst(), of: command)
            guard !arguments.wantsHelp else {
                Screen.say(Help.text(of: command))
                return ExitCode.success
            }
            return try command.run(arguments)
        } catch {
            let isUsage = error.code == ExitCode.usage
            let hint = isUsage ? "; see callagent \(command.name) --help" : ""
            throw CommandError(
                message: "\(command.name): \(error.message)\(hint)", code: error.code)
        }
    }

    private static func help(
        _ words: [String], _ commands: [Command]
    ) throws(CommandError) -> Int32 {
        if let name = words.first {
            Screen.say(Help.text(of: try Command.named(name, in: commands)))
        } else {
            Screen.say(Help.overview(of: commands))
        }
        return ExitCode.success
    }
}
