// What `--help` shows, made from the table of commands.

enum Help {
    /// All commands with a line each.
    static func overview(of commands: [Command]) -> String {
        let rows = commands.map { ("\($0.name)\(operands($0.operands))", $0.summary) }
        return """
            callagent - calls ring, plugins answer

            usage: callagent COMMAND ...

            \(table(rows))

            callagent COMMAND --help tells more. Exit codes: 0 well, 1 not, 2 wrong usage,
            3 nobody answers at the other end.
            """
    }

    /// How a command is written, on one line.
    static func usage(of command: Command) -> String {
        let options = command.options.isEmpty ? "" : " [OPTION ...]"
        return "usage: callagent \(command.name)\(operands(command.operands))\(options)"
    }

    /// One command with its options.
    static func text(of command: Command) -> String {
        var text = """
            \(usage(of: command))

            \(command.summary)
            """
        if !command.options.isEmpty {
            let rows = command.options.map {
                ("\($0.name)\($0.value.map { " \($0)" } ?? "")", $0.help)
            }
            text += "\n\n\(table(rows))"
        }
        return text
    }

    /// `name` with the operands that may follow.
    static func words(of operands: Command.Operands, after name: String) -> String {
        let words = name + self.operands(operands)
        return name.isEmpty ? String(words.dropFirst()) : words
    }

    private static func operands(_ operands: Command.Operands) -> String {
        switch operands {
        case .none: ""
        case .optional(let name): " [\(name)]"
        case .one(let name): " \(name)"
        case .several(let name): " \(name) ..."
        case .any(let name): " [\(name) ...]"
        }
    }

    private static func table(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { left, right in
            "  \(left)\(String(repeating: " ", count: width - left.count + 2))\(right)"
        }.joined(separator: "\n")
    }
}
