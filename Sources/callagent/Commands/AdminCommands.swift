// The commands that ask a running server: `status`, `plugins`.

import AgentCore
import CallClient
import JSON

extension Command {
    private static let json = [Option("--json", nil, "the server's answer as it is")]

    static let status = Command(
        "status", "tell whether the server runs, with its figures",
        options: json + NodeReport.options + Installation.options
    ) { (arguments) throws(CommandError) in
        let server = try Installation.admin(arguments)
        if let node = try NodeReport.node(arguments) {
            return NodeReport(.status, of: node, at: server)
                .show(isJSON: arguments.has("--json"), NodeText.status)
        }
        let health = AdminAnswer.get("/healthz", from: server)
        guard case .answer = health else { return health.show(isJSON: false) { _ in } }
        let figures = MetricsText(AdminAnswer.get("/metrics", from: server))
        return figures.show(isJSON: arguments.has("--json"), of: server)
    }

    static let plugins = Command(
        "plugins", "show the chain of plugins with their state",
        options: json + [
            Option("--by", "account", "what they did for each account that makes calls")
        ] + Installation.options
    ) { (arguments) throws(CommandError) in
        let by = arguments.text("--by")
        guard by == nil || by == "account" else {
            throw .usage("--by: 'account' is wanted, not '\(by ?? "")'")
        }
        let answer = AdminAnswer.ask(.plugins, of: try Installation.admin(arguments))
        return answer.show(isJSON: arguments.has("--json")) { answer in
            let lines = by == nil ? PluginText.lines(answer) : PluginText.accounts(answer)
            for line in lines { Screen.say(line) }
        }
    }
}
