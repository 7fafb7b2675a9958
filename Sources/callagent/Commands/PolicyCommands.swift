// The commands about the plugins' decisions: `reload`, `rollback`, `explain`, `trace`, `replay`.

import AgentCore
import AgentServer
import CallClient
import CallModel
import Decisions
import JSON
import PolicyHost

extension Command {
    private static let json = [Option("--json", nil, "the server's answer as it is")]

    static let reload = Command(
        "reload", "read the operator's file and the plugins again",
        options: json + [
            Option("--shadow", nil, "ask the new plugins beside the old ones, without any effect"),
            Option("--end-shadow", nil, "stop asking them"),
        ] + Installation.options
    ) { (arguments) throws(CommandError) in
        let server = try Installation.admin(arguments)
        let isJSON = arguments.has("--json")
        switch try arguments.oneOf("--shadow", "--end-shadow") {
        case "--shadow":
            let answer = AdminAnswer.ask(.shadow, of: server)
            return answer.show(isJSON: isJSON) { ReloadText.show($0) }
        case "--end-shadow":
            let answer = AdminAnswer.ask(.endShadow, of: server)
            return answer.show(isJSON: isJSON) { ReloadText.showShadow($0) }
        default:
            let answer = AdminAnswer.ask(.reload, of: server)
            return answer.show(isJSON: isJSON) { ReloadText.show($0) }
        }
    }

    static let rollback = Command(
        "rollback", "go back to the last set of plugins, or to the one named",
        operands: .optional("GENERATION"), options: json + Installation.options
    ) { (arguments) throws(CommandError) in
        var generation = arguments.operands.first
        if let given = generation { generation = try ReloadText.checked(given) }
        let answer = AdminAnswer.ask(
            .rollback, ["generation": generation], of: try Installation.admin(arguments))
        return answer.show(isJSON: arguments.has("--json")) { ReloadText.show($0) }
    }

    static let explain = Command(
        "explain", "tell what the plugins said about a call", operands: .one("CALL"),
        options: json + Installation.options
    ) { (arguments) throws(CommandError) in
        let text = arguments.operands.first ?? ""
        guard let call = CallID(text) else {
            throw .usage("CALL '\(text)' is no call id, which has 32 lower-case hex digits")
        }
        return try Explanation(call, arguments).show(isJSON: arguments.has("--json"))
    }

    static let trace = Command(
        "trace", "show decisions as they are made, until interrupted",
        options: [
            Option("--call", "CALL", "only about this call"),
            Option("--user", "USER", "only about this account or calls that it is in"),
            Option("--plugin", "PLUGIN", "only where this plugin was asked"),
            Option("--long", nil, "each decision in full, as explain shows it"),
            Option("--count", "N", "end after this many"),
            Option("--json", nil, "one JSON object a line"),
        ] + Installation.options
    ) { (arguments) throws(CommandError) in
        try DecisionTrace(arguments).run()
    }

    static let replay = Command(
        "replay", "ask the plugins on disk what was asked before",
        options: [
            Option("--against", "GENERATION", "compare with this kept generation"),
            Option("--last", "1000", "how many of the recorded decisions"),
            Option("--json", nil, "the figures and changes as JSON"),
        ] + Installation.options
    ) { (arguments) throws(CommandError) in
        let count = try arguments.number("--last", in: 1...1_000_000) ?? 1_000
        let records = try DecisionTrace.recorded(count, arguments)
        do throws(AgentError) {
            let report = try DecisionReplay.run(
                records, file: Installation.file(arguments.text("--config")),
                against: arguments.text("--against"))
            if arguments.has("--json") {
                Screen.say("\(report.json)")
            } else {
                for line in DecisionText.report(report.json) { Screen.say(line) }
            }
            return report.changed + report.failing == 0 ? ExitCode.success : ExitCode.failure
        } catch {
            throw .failure("\(error)")
        }
    }
}

/// The result of a reload as text.
enum ReloadText {
    /// The name of a generation, as it may stand in a request.
    static func checked(_ generation: String) throws(CommandError) -> String {
        guard generation.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
            throw .usage("GENERATION '\(generation)' is not made of letters and digits")
        }
        return generation
    }

    static func show(_ answer: JSONValue) {
        let name = answer["generation"]?.string ?? "?"
        for warning in answer["warnings"]?.array?.compactMap(\.string) ?? [] {
            Screen.say(warning)
        }
        if let replay = answer["replay"], !replay.isNull {
            for line in DecisionText.report(replay) { Screen.say(line) }
        }
        if let tests = answer["tests"]?.integer { Screen.say("\(tests) tests of plugins passed") }
        let isShadow = answer["shadow"]?.bool == true
        Screen.say(
            isShadow
                ? "generation \(name) is asked as a shadow (see callagent trace and plugins)"
                : "generation \(name) is in force")
    }

    static func showShadow(_ answer: JSONValue) {
        let lines = DecisionText.report(answer, nothing: "nothing was asked meanwhile")
        for line in lines { Screen.say(line) }
        Screen.say("generation \(answer["generation"]?.string ?? "?") is no longer asked")
    }
}

/// Follows the decisions of a running process.
struct DecisionTrace {
    private let server: ServerAddress
    private let values: [String: String?]
    private let isJSON: Bool
    private let isLong: Bool
    private let most: Int

    init(_ arguments: CommandArguments) throws(CommandError) {
        server = try Installation.admin(arguments)
        isJSON = arguments.has("--json")
        isLong = arguments.has("--long")
        most = try arguments.number("--count", in: 1...Int.max) ?? Int.max
        var values: [String: String?] = [:]
        if let text = arguments.text("--call") {
            guard CallID(text) != nil else {
                throw .usage("--call '\(text)' is no call id, which has 32 lower-case hex digits")
            }
            values["call_id"] = text
        }
        if let text = arguments.text("--user") {
            values["user"] = try CommandArguments.user(text, "--user").text
        }
        values["plugin"] = arguments.text("--plugin")
        self.values = values
    }

    /// Shows decisions until there are enough or the server ends; returns the exit code.
    func run() -> Int32 {
        var left = most
        var after: Int64?
        while true {
            var values = values
            values["after"] = after.map { "\($0)" }
            let answer = AdminAnswer.ask(.trace, values, of: server)
            guard case .answer(let page) = answer else {
                return answer.show(isJSON: false) { _ in }
            }
            if let missed = page["missed"]?.integer, missed > 0 {
                Screen.complain("… \(missed) are not shown: they came too fast")
            }
            for entry in page["decisions"]?.array ?? [] {
                show(entry)
                left -= 1
                if left == 0 { return ExitCode.success }
            }
            after = page["next"]?.integer ?? 0
        }
    }

    private func show(_ entry: JSONValue) {
        if isJSON { return Screen.say("\(entry)") }
        if !isLong { return Screen.say(DecisionText.line(entry)) }
        for line in DecisionText.lines(entry) { Screen.say(line) }
    }

    /// The newest recorded decisions: from the files, or from a process that keeps no files.
    static func recorded(
        _ count: Int, _ arguments: CommandArguments
    ) throws(CommandError) -> [DecisionRecord] {
        if let files = try Installation.decisions(arguments) { return files.newest(count) }
        let server = try Installation.admin(arguments)
        switch AdminAnswer.ask(.decisions, ["limit": "\(count)"], of: server) {
        case .answer(let page):
            return (page["decisions"]?.array ?? []).compactMap { DecisionRecord($0) }
        case .refused(let text), .unreachable(let text): throw .failure(text)
        }
    }
}
