// `callagent test`: runs the tests that plugins bring with them.

import AgentServer

extension Command {
    static let test = Command(
        "test", "run the plugins' own tests, with your own modes", operands: .any("FILE"),
        options: Installation.options + [
            Option("--only", "TEXT", "only tests whose name contains it"),
            Option("--coverage", "PERCENT", "fail if fewer lines of a file were run"),
        ]
    ) { (arguments) throws(CommandError) in
        let least = try arguments.number("--coverage", in: 0...100) ?? 0
        do throws(AgentError) {
            let file = Installation.file(arguments.text("--config"))
            let outcome = try PluginTests.run(
                arguments.operands, file: file, filter: arguments.text("--only"))
            if let part = arguments.text("--only"), outcome.tests.isEmpty {
                Screen.complain("no test has '\(part)' in its name")
                return ExitCode.failure
            }
            for test in outcome.tests {
                Screen.say("\(test.hasPassed ? "ok      " : "FAILED  ")\(test.text)")
            }
            // With a part of the tests, coverage would say nothing about the plugin.
            let coverage = arguments.has("--only") ? [] : outcome.coverage
            for line in coverage { Screen.say("lines   \(line.text)") }
            for name in outcome.unlisted {
                Screen.say(
                    "plugins/\(name): not listed in plugins, so not tested: callagent test \(name)")
            }
            let failed = outcome.tests.count { !$0.hasPassed }
            Screen.say("\(outcome.tests.count - failed) passed, \(failed) failed")
            let isCovered = coverage.allSatisfy { $0.percent >= least }
            return failed == 0 && isCovered ? ExitCode.success : ExitCode.failure
        } catch {
            // `FILE:LINE: text`, so that editors find the place (E56).
            Screen.complain(Screen.plainLines("\(error)"))
            return ExitCode.failure
        }
    }
}
