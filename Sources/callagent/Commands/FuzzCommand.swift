// `callagent fuzz`: looks for faults of plugins before callers find them.

import AgentServer
import Lua
import PolicyTesting

extension Command {
    static let fuzz = Command(
        "fuzz", "look for faults of plugins with invented calls",
        operands: .any("PLUGIN"),
        options: Installation.options + [
            Option("--for", "10s", "how long, for each plugin"),
            Option("--seed", "1", "a number: the same one invents the same"),
            Option("--against", "GENERATION", "also find where this kept generation differs"),
            Option("--recorded", "DECISIONS", "also use data of so many recorded decisions"),
        ]
    ) { (arguments) throws(CommandError) in
        var order = PluginFuzzing.Order()
        order.names = arguments.operands
        order.file = Installation.file(arguments.text("--config"))
        order.against = arguments.text("--against")
        order.time = try arguments.duration("--for") ?? order.time
        order.seed = UInt64(try arguments.number("--seed", in: 0...Int.max) ?? 1)
        if let count = try arguments.number("--recorded", in: 1...1_000_000) {
            order.records = try DecisionTrace.recorded(count, arguments)
        }
        var found = 0
        do throws(AgentError) {
            try PluginFuzzing.run(order) { name, report in
                for finding in report.findings {
                    Screen.say("-- \(name): \(Screen.plain(finding.text))")
                    Screen.say(finding.test + "\n")
                }
                found += report.findings.count
                let word = report.findings.count == 1 ? "finding" : "findings"
                Screen.complain("\(name): \(report.runs) tests, \(report.findings.count) \(word)")
            }
        } catch {
            Screen.complain(Screen.plainLines("\(error)"))
            return ExitCode.failure
        }
        return found == 0 ? ExitCode.success : ExitCode.failure
    }
}
