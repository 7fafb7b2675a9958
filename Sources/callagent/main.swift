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
    let agent = try Agent(file: file, log: { Log($0) })
    try agent.run()
} catch {
    print("callagent: \(error)")
    exit(1)
}
