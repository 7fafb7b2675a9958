// The executable: reads its arguments and runs.

import AgentServer
import CallCore
import Glibc
import PolicyHost

var options = AgentOptions()
if CommandLine.arguments.count > 1 { options.stateDirectory = CommandLine.arguments[1] }
let log = Log(level: .info)
do {
    var plan = GenerationPlan()
    let text = """
        on.invite(function(call)
          if call.caller.id == "alice" then return accept { wait = "1s", extended_data = { hello = call.caller.id, calls = call.callee.calls } } end
          if call.callee.calls >= 0 then return reject "busy" end
        end)
        on.accepted(function(call, who) log.info("accepted", { who = who.id }) end)
        on.ended(function(call) log.info("ended", { id = call.id }) end)
        """
    plan.plugins = [
        (
            PluginSource(name: "busy", main: SourceFile(name: "busy.lua", text: Array(text.utf8))),
            PluginSetting()
        )
    ]
    options.settings.answerFor = Accounts(["nobody-*", "support"])
    plan.answerFor = options.settings.answerFor
    let generation = try Generation(plan, seed: 1)
    options.settings.hooks = generation.hooks
    let host = PolicyHost(generation, seed: 1)
    if CommandLine.arguments.count > 2 { host.recordsDecisions = false }
    let agent = try Agent(options, policies: host, log: log)
    try agent.run()
} catch {
    print("callagent: \(error)")
    exit(1)
}
