// The command `webhooks`: receivers of events, and the events that did not reach them.

import AgentCore
import CallClient
import CallModel
import JSON
import Lua

extension Command {
    private static let choices: [Option] = [
        Option("--endpoint", "NAME", "only events for this receiver"),
        Option("--call", "CALL", "only events of this call"),
        Option("--state", "failed", "events that are open, delivered or failed; else failed"),
        Option("--limit", "1000", "at most so many, the oldest first"),
        Option("--json", nil, "the server's answer as it is"),
    ]

    static let webhooks = Command(
        "webhooks", "receivers of events: list, events, replay, enable",
        operands: .any("ACTION"), options: choices + Installation.options
    ) { (arguments) throws(CommandError) in
        let server = try Installation.admin(arguments)
        let words = arguments.operands
        let isJSON = arguments.has("--json")
        switch (words.first ?? "list", words.count) {
        case ("list", 0...1):
            return AdminAnswer.ask(.webhooks, of: server).show(isJSON: isJSON, showReceivers)
        case ("events", 1):
            return AdminAnswer.ask(.webhooks, try choice(arguments), of: server)
                .show(isJSON: isJSON, showEvents)
        case ("replay", 1...2):
            var values = try choice(arguments)
            if words.count == 2 { values["event"] = words[1] }
            return AdminAnswer.ask(.replayWebhooks, values, of: server)
                .show(isJSON: isJSON) { PlainJSON.show($0) }
        case ("enable", 2):
            return AdminAnswer.ask(.enableWebhook, ["name": words[1]], of: server)
                .show(isJSON: isJSON) { PlainJSON.show($0) }
        case ("enable", 1): throw .usage("enable needs the NAME of a receiver")
        case ("list", _), ("events", _), ("replay", _), ("enable", _):
            throw .usage("\(words[0]) does not take '\(words[words.count - 1])'")
        case (let word, _):  // external: what was typed
            let actions = ["list", "events", "replay", "enable"]
            let hint = Suggestion.hint(for: word, among: actions)
            throw .usage(
                "ACTION is one of \(actions.joined(separator: ", ")), not '\(word)'\(hint)")
        }
    }

    private static func state(_ arguments: CommandArguments) throws(CommandError) -> String {
        let state = arguments.text("--state") ?? "failed"
        guard ["open", "delivered", "failed"].contains(state) else {
            throw .usage("--state is open, delivered or failed, not '\(state)'")
        }
        return state
    }

    private static func choice(
        _ arguments: CommandArguments
    ) throws(CommandError) -> [String: String?] {
        [
            "state": try state(arguments), "endpoint": arguments.text("--endpoint"),
            "call_id": arguments.text("--call"),
            "limit": try arguments.number("--limit", in: 1...10_000).map { "\($0)" },
        ]
    }

    private static func showReceivers(_ answer: JSONValue) {
        let endpoints = answer["items"]?.array ?? []
        for endpoint in endpoints {
            let state = endpoint["enabled"]?.bool == true ? "enabled" : "DISABLED"
            let behind = endpoint["behind"]?.bool == true ? ", behind" : ""
            let trouble = endpoint["trouble"]?.string.map { ", trouble: \($0)" } ?? ""
            Screen.say(
                Screen.plain(
                    "\(endpoint["name"]?.string ?? "")  \(state)  \(endpoint["url"]?.string ?? "")"
                        + "  \(endpoint["under_way"]?.integer ?? 0) under way\(behind)\(trouble)"))
        }
        if endpoints.isEmpty { Screen.say("no webhooks are configured") }
    }

    private static func showEvents(_ answer: JSONValue) {
        let events = answer["items"]?.array ?? []
        for event in events {
            let words = ["event", "endpoint", "type", "state", "error"]
                .compactMap { event[$0]?.string }
            Screen.say(Screen.plain(words.joined(separator: "  ")))
        }
        if events.isEmpty { Screen.say("no such events") }
    }
}
