// `callagent try`: one question to a plugin, or to all that are listed, without a server.

import AgentServer
import CallModel
import EventLoop
import JSON
import Lua
import PolicyTesting

extension Command {
    static let attempt = Command(
        "try", "ask plugins about a made-up call",
        operands: .optional("FILE"),
        options: [
            Option("--invite", "CALL", "ask on.invite: {\"from\":\"ann\",\"to\":\"bob\"}"),
            Option("--dial", "CALL", "ask on.dial"),
            Option("--join", "CALL", "ask on.join, about \"user\" who was not invited"),
            Option("--token", "CALL", "ask on.token, for the callee or for \"user\""),
            Option("--push", "PUSH", "ask on.push: {\"provider\":\"apns\",\"kind\":\"voip\"}"),
            Option("--data", "DATA", "ask on.extended_data"),
            Option("--direction", "in", "with --data: in or out"),
            Option("--event", "NAME", "tell on.NAME"),
            Option("--call", "CALL", "with --push, --data and --event: the call"),
            Option("--at", "TIME", "when: \"Sat 10:00\" or \"2030-05-01 10:00\" (default: now)"),
            Option("--users", "USERS", "what is known of users: {\"bob\":{\"calls\":1}}"),
            Option("--http", "REPLIES", "what addresses answer: {\"https://…\":{\"json\":…}}"),
            Option("--options", "TABLE", "with FILE: its options, instead of the operator's"),
        ] + Installation.options
    ) { (arguments) throws(CommandError) in
        let trial = try PluginTrial(arguments)
        let options = try arguments.object("--options")
        let file = Installation.file(arguments.text("--config"))
        if arguments.operands.isEmpty, options != nil { throw .usage("--options goes with FILE") }
        do throws(ScriptProblems) {
            guard let plugin = arguments.operands.first else {
                return try PluginTests.attempt(file: file, trial).show(asked: true)
            }
            return try PluginTests.attempt(plugin, file: file, options: options, trial).show()
        } catch {
            throw .failure(error.description)
        }
    }
}

extension PluginTrial {
    fileprivate init(_ arguments: CommandArguments) throws(CommandError) {
        let subjects = ["--invite", "--dial", "--join", "--token", "--push", "--data", "--event"]
        let given = subjects.filter { arguments.has($0) }
        guard let subject = given.first else {
            throw .usage("nothing to ask: give one of \(subjects.joined(separator: ", "))")
        }
        if given.count > 1 { throw .usage("\(given[0]) and \(given[1]) exclude each other") }
        let isCall = ["--invite", "--dial", "--join", "--token"].contains(subject)
        let callOption = isCall ? subject : "--call"
        if callOption != "--call", arguments.has("--call") {
            throw .usage("\(subject) is the call itself: leave out --call")
        }
        if subject != "--data", arguments.has("--direction") {
            throw .usage("--direction goes with --data")
        }
        self.init(
            try Self.subject(subject, arguments), now: Moment(Clock.wallMilliseconds()))
        call = try arguments.object(callOption) ?? JSONObject()
        users = try arguments.object("--users") ?? JSONObject()
        pages = try arguments.object("--http") ?? JSONObject()
        time = arguments.text("--at")
    }

    private static func subject(
        _ name: String, _ arguments: CommandArguments
    ) throws(CommandError) -> Subject {
        switch name {
        case "--invite": return .invite
        case "--dial": return .dial
        case "--join": return .join
        case "--token": return .token
        case "--push": return .push(try arguments.object(name) ?? JSONObject())
        case "--data":
            let text = try arguments.json(name) ?? "null"
            let way = try arguments.choice("--direction", among: ["in", "out"]) ?? "in"
            return .data((try? JSONValue(parsing: text)) ?? .null, direction: way)
        default: return .event(arguments.text(name) ?? "")
        }
    }
}

extension CommandArguments {
    /// A JSON object.
    fileprivate func object(_ name: String) throws(CommandError) -> JSONObject? {
        guard let text = try json(name) else { return nil }
        guard let object = (try? JSONValue(parsing: text))?.object else {
            throw .usage("\(name) takes a JSON object, not '\(text)'")
        }
        return object
    }
}

extension PluginTrial.Outcome {
    /// Prints everything; returns the exit code.
    fileprivate func show(asked isAskedShown: Bool = false) -> Int32 {
        for line in isAskedShown ? asked : [] { Screen.say(Screen.plain(line)) }
        for line in log { Screen.say("log: \(Screen.plain(line))") }
        for action in actions { Screen.say("did: \(Screen.plain(action))") }
        for (place, answer) in answers.enumerated() {
            let text = answer == "nothing" ? "nothing: \(otherwise)" : answer
            Screen.say((place == 0 ? "" : "then ") + Screen.plain(text))
        }
        guard let problem else { return ExitCode.success }
        for line in problem.split(separator: "\n") { Screen.complain("failed: \(line)") }
        return ExitCode.failure
    }
}
