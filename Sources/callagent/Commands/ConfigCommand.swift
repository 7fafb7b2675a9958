// `callagent config`: the names in the operator's file, and the options of plugins.

import AgentServer
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
            do throws(PolicyProblems) {
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
}
