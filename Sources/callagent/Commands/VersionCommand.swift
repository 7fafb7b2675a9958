// The command `version`.

import AgentServer

extension Command {
    static let version = Command("version", "print the version") { _ in
        Screen.say("callagent \(Agent.version)")
        return ExitCode.success
    }
}
