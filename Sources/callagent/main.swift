import AgentServer
import Glibc
var options = AgentOptions()
if CommandLine.arguments.count > 1 { options.stateDirectory = CommandLine.arguments[1] }
let log = Log(level: .info)
do throws(AgentError) {
    let agent = try Agent(options, log: log)
    try agent.run()
} catch {
    print("callagent: \(error)")
    exit(1)
}
