// The executable: reads its arguments and runs.

import AgentServer
import Glibc

let arguments = CommandLine.arguments.dropFirst()
guard arguments.first == "run" else {
    print("usage: callagent run [FILE]")
    exit(2)
}
let file =
    arguments.dropFirst().first ?? (access("callagent.lua", R_OK) == 0 ? "callagent.lua" : nil)
do throws(AgentError) {
    var dice = SystemRandomNumberGenerator()
    let deployment = try Deployment(file: file, seed: dice.next())
    let agent = try Agent(deployment, file: file, log: Log(deployment.configuration))
    try agent.run()
} catch {
    print("callagent: \(error)")
    exit(1)
}
