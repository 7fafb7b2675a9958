// Manual pages and completions, made from the table of commands like `--help`.

import AgentServer

/// The pages of `man`, in the macros of mdoc.
enum Manual {
    /// The page of the tool, or of one command.
    static func page(of command: Command?, among commands: [Command]) -> String {
        command.map(page) ?? overview(of: commands)
    }

    private static func head(_ title: String, _ name: String, _ summary: String) -> String {
        """
        .Dd $Mdocdate$
        .Dt \(title.uppercased()) 1
        .Os callagent \(Agent.version)
        .Sh NAME
        .Nm \(name)
        .Nd \(escaped(summary))
        """
    }

    private static func overview(of commands: [Command]) -> String {
        let list = commands.map { command in
            ".It \(Help.words(of: command.operands, after: command.name))\n"
                + "\(escaped(command.summary)); see\n.Xr callagent-\(command.name) 1 ."
        }
        return """
            \(head("callagent", "callagent", "calls ring, plugins answer"))
            .Sh SYNOPSIS
            .Nm
            .Ar COMMAND
            .Op Ar ...
            .Sh DESCRIPTION
            A server that carries invitations to calls between people,
            asks plugins in Lua about them,
            and remembers what was acknowledged.
            .Bl -tag -width Ds
            \(list.joined(separator: "\n"))
            .El
            .Sh EXIT STATUS
            \(exits)
            """ + "\n"
    }

    private static func page(of command: Command) -> String {
        let name = "callagent-\(command.name)"
        var lines = [
            head(name, name, command.summary), ".Sh SYNOPSIS",
            ".Nm callagent \(command.name)",
        ]
        if !command.options.isEmpty { lines.append(".Op Ar OPTION ...") }
        let operands = Help.words(of: command.operands, after: "")
        if !operands.isEmpty { lines.append(".Ar \(escaped(operands))") }
        lines += [".Sh DESCRIPTION", sentence(command.summary)]
        if !command.options.isEmpty { lines.append(".Bl -tag -width Ds") }
        for option in command.options {
            let value = option.value.map { " Ar \(escaped($0))" } ?? ""
            lines.append(".It Fl \(option.name.dropFirst())\(value)")
            lines.append(sentence(option.help))
        }
        if !command.options.isEmpty { lines.append(".El") }
        lines += [".Sh EXIT STATUS", exits, ".Sh SEE ALSO", ".Xr callagent 1"]
        return lines.joined(separator: "\n") + "\n"
    }

    private static let exits =
        "0: well, 1: not, 2: wrong usage, 3: nobody answers at the other end."

    private static func sentence(_ text: String) -> String {
        let first = text.prefix(1).uppercased()
        return escaped("\(first)\(text.dropFirst())\(text.hasSuffix(".") ? "" : ".")")
    }

    /// Text that begins no request and has no escape.
    private static func escaped(_ text: String) -> String {
        let text = text.split(separator: "\\", omittingEmptySubsequences: false)
            .joined(separator: "\\e")
        return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&\(text)" : text
    }
}

/// Scripts that complete command lines, for three shells.
enum CompletionShell: String, CaseIterable {
    case bash, zsh, fish

    /// The script.
    func script(for commands: [Command]) -> String {
        switch self {
        case .bash: Self.bash(commands)
        case .zsh: Self.zsh(commands)
        case .fish: Self.fish(commands)
        }
    }

    private static func names(_ command: Command) -> [String] {
        command.options.map(\.name) + ["--help"]
    }

    private static func bash(_ commands: [Command]) -> String {
        let cases = commands.map { command in
            "    \(command.name)) words=\"\(names(command).joined(separator: " "))\" ;;"
        }
        return """
            # Completes command lines of callagent in bash.
            _callagent() {
              local words current=${COMP_WORDS[COMP_CWORD]}
              if [ "$COMP_CWORD" -eq 1 ]; then
                words="\(commands.map(\.name).joined(separator: " ")) help --help --version"
              else
                case ${COMP_WORDS[1]} in
            \(cases.joined(separator: "\n"))
                esac
                case $current in -*) ;; *) words= ;; esac
              fi
              COMPREPLY=($(compgen -W "$words" -- "$current"))
            }
            complete -o default -F _callagent callagent
            """ + "\n"
    }

    private static func zsh(_ commands: [Command]) -> String {
        let list = commands.map { "    '\($0.name):\(quoted($0.summary))'" }
        let cases = commands.map { command in
            let options = command.options.map { option in
                let value = option.value.map { ":\(quoted($0)):_files" } ?? ""
                let again = option.isRepeatable ? "*" : ""
                return "'\(again)\(option.name)[\(quoted(option.help))]\(value)'"
            }
            let all = (options + ["'--help[tell more]'", "'*:file:_files'"])
            return "    \(command.name)) _arguments \(all.joined(separator: " ")) ;;"
        }
        return """
            #compdef callagent
            # Completes command lines of callagent in zsh.
            _callagent() {
              local -a commands
              commands=(
            \(list.joined(separator: "\n"))
              )
              if (( CURRENT == 2 )); then
                _describe command commands
                return
              fi
              local command=$words[2]
              shift words
              (( CURRENT-- ))
              case $command in
            \(cases.joined(separator: "\n"))
              esac
            }
            _callagent "$@"
            """ + "\n"
    }

    private static func fish(_ commands: [Command]) -> String {
        var lines = ["# Completes command lines of callagent in fish."]
        for command in commands {
            lines.append(
                "complete -c callagent -n __fish_use_subcommand -a \(command.name) "
                    + "-d '\(fishQuoted(command.summary))'")
            for option in command.options {
                lines.append(
                    "complete -c callagent -n '__fish_seen_subcommand_from \(command.name)' "
                        + "-l \(option.name.dropFirst(2))\(option.value == nil ? "" : " -r") "
                        + "-d '\(fishQuoted(option.help))'")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Text inside quotes and brackets of zsh.
    private static func quoted(_ text: String) -> String {
        text.flatMap { one -> [Character] in
            switch one {
            case "'": ["'", "\\", "'", "'"]
            case "[", "]", ":": ["\\", one]
            default: [one]
            }
        }.map(String.init).joined()
    }

    private static func fishQuoted(_ text: String) -> String {
        text.flatMap { $0 == "'" || $0 == "\\" ? ["\\", $0] : [$0] }.map(String.init).joined()
    }
}
