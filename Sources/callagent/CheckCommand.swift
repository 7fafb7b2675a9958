// `callagent check`

import AgentServer

extension Command {
    static let check = Command(
        "check", "look for mistakes in the operator's file and plugins",
        operands: .optional("FILE")
    ) { (arguments) throws(CommandError) in
        do throws(AgentError) {
            let file = Installation.file(arguments.operands.first)
            let deployment = try Deployment(file: file, seed: 0)
            for name in deployment.unlistedPlugins {
                Screen.say("plugins/\(name): not listed in plugins, so it is not loaded")
            }
            Screen.say("\(file ?? "the defaults"): good, generation \(deployment.name)")
            return ExitCode.success
        } catch {
            // `FILE:LINE: text`, so that editors find the place (E56).
            Screen.complain("\(error)")
            return ExitCode.failure
        }
    }
}
