// The command `check`: mistakes found without a server.

import AgentServer

extension Command {
    static let check = Command(
        "check", "look for mistakes in the operator's file and plugins",
        operands: .any("FILE"), options: Installation.options
    ) { (arguments) throws(CommandError) in
        do throws(AgentError) {
            let plugins = arguments.operands.filter { !$0.hasSuffix("callagent.lua") }
            let named = arguments.operands.first { $0.hasSuffix("callagent.lua") }
            let file = Installation.file(arguments.text("--config") ?? named)
            if !plugins.isEmpty {
                for line in try PluginTests.check(plugins, file: file) { Screen.say(line) }
                for plugin in plugins { Screen.say("\(plugin): good") }
                if named == nil { return ExitCode.success }
            }
            let deployment = try Deployment(
                file: file, seed: 0, environment: Doctor.environment(file: file))
            let options = try AgentOptions(deployment)
            try options.check()
            if let warning = try options.loadCertificate()?.warning { Screen.say(warning) }
            if let words = deployment.unlistedWords { Screen.say("\(words), so not loaded") }
            let warnings =
                deployment.fileWarnings + deployment.warnings + deployment.lostTimers
                + deployment.changedLocals
            for warning in warnings { Screen.say(Screen.plain(warning)) }
            guard deployment.mistakes.isEmpty else {
                for mistake in deployment.mistakes { Screen.complain(Screen.plain(mistake)) }
                return ExitCode.failure
            }
            Screen.say("\(file ?? "the defaults"): good, generation \(deployment.name)")
            return ExitCode.success
        } catch {
            // `FILE:LINE: text`, so that editors find the place (E56).
            Screen.complain(Screen.plainLines("\(error)"))
            return ExitCode.failure
        }
    }
}
