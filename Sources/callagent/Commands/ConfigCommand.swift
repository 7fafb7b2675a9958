// `callagent config` and `callagent modes`: what may stand in the operator's file, the options of
// plugins, and the modes of calls.

import AgentServer
import CallModel
import Configuration
import Lua
import PolicyHost

extension Command {
    static let config = Command(
        "config", "show the names of callagent.lua, or a plugin's options",
        operands: .optional("NAME"), options: Installation.options
    ) { (arguments) throws(CommandError) in
        guard let name = arguments.operands.first else {
            Screen.show(ConfigurationField.table())
            return ExitCode.success
        }
        let file = Installation.file(arguments.text("--config"))
        if let source = Deployment.library(for: file).find(name) {
            do throws(ScriptProblems) {
                Screen.show(try OptionBlock.text(of: source))
                return ExitCode.success
            } catch {
                throw .failure(error.description)
            }
        }
        let table = ConfigurationField.table(of: name)
        guard !table.isEmpty else {
            let hint = Deployment.library(for: file).hint(for: name)
            throw .failure("there is no plugin and no name '\(name)' of callagent.lua\(hint)")
        }
        Screen.show(table)
        return ExitCode.success
    }

    static let modes = Command(
        "modes", "show the table of modes, with those of callagent.lua",
        options: Installation.options + [Option("--markdown", nil, "print it as a page has it")]
    ) { (arguments) throws(CommandError) in
        let table = ModeTable(try Installation.configuration(arguments).modes)
        if arguments.has("--markdown") {
            for line in table.markdown { Screen.say(line) }
        } else {
            Screen.show(table.text)
        }
        return ExitCode.success
    }
}
