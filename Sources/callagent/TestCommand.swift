// `callagent test`: runs the tests that plugins bring with them.

import AgentServer

extension Command {
    static let test = Command(
        "test", "run the plugins' own tests", operands: .any("FILE"),
        options: Installation.options
    ) { (arguments) throws(CommandError) in
        do throws(AgentError) {
            let file = Installation.file(arguments.text("--config"))
            let lines = try PluginTests.run(arguments.operands, file: file)
            for line in lines {
                Screen.say(line.hasPassed ? "ok      \(line.text)" : "FAILED  \(line.text)")
            }
            let failed = lines.count { !$0.hasPassed }
            Screen.say("\(lines.count - failed) passed, \(failed) failed")
            return failed == 0 ? ExitCode.success : ExitCode.failure
        } catch {
            Screen.complain("\(error)")
            return ExitCode.failure
        }
    }
}
