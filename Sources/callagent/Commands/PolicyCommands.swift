// The commands about the plugins' decisions: `reload`, `rollback`, `explain`, `trace`, `replay`.

import AgentCore
import AgentServer
import CallClient
import CallModel
import Decisions
import EventLoop
import JSON
import PolicyHost

extension Command {
    private static let json = [Option("--json", nil, "the server's answer as it is")]

    static let reload = Command(
        "reload", "read the operator's file and the plugins again",
        options: json + [
            Option("--shadow", nil, "ask the new plugins too, without any effect"),
            Option("--end-shadow", nil, "stop asking them"),
            Option(
                "--canary", "ACCOUNTS",
                "the new plugins decide for these: 'desk-1* ann', or 10%"),
            Option("--salt", "TEXT", "of a share: the same text, the same accounts"),
            Option(
                "--abort-on-failure", "N",
                "the canary goes back after so many failures"),
            Option("--promote", nil, "put the canary into force for all"),
            Option("--abort", nil, "take the canary back"),
        ] + Installation.options
    ) { (arguments) throws(CommandError) in
        let chosen = try arguments.oneOf(
            "--shadow", "--end-shadow", "--canary", "--promote", "--abort")
        let canary = try ReloadText.canary(arguments)
        let server = try Installation.admin(arguments)
        let isJSON = arguments.has("--json")
        switch chosen {
        case "--canary", "--promote", "--abort":
            let name: ManagementOperation.Name =
                chosen == "--promote" ? .promote : chosen == "--abort" ? .abort : .reload
            let answer = AdminAnswer.ask(name, canary, of: server)
            return answer.show(isJSON: isJSON) { ReloadText.show($0) }
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
        "explain", "how a call went, or why a phone of USER did not ring",
        operands: .one("CALL|USER"),
        options: json + [
            Option("--since", "2h", "for a USER: calls of so long ago at most"),
            Option("--all", nil, "for a CALL: what every node of a cluster knows"),
        ] + Installation.options
    ) { (arguments) throws(CommandError) in
        let text = arguments.operands.first ?? ""
        let isJSON = arguments.has("--json")
        if let call = CallID(text) {
            guard !arguments.has("--since") else { throw .usage("--since goes with USER") }
            return try Explanation(call, arguments).show(isJSON: isJSON)
        }
        guard !arguments.has("--all") else { throw .usage("--all goes with CALL") }
        let user = try CommandArguments.user(text, "CALL|USER")
        let span = try arguments.duration("--since") ?? 7_200_000
        let answer = AdminAnswer.ask(
            .explainUser,
            ["user": user.text, "since_at": "\(max(0, Clock.wallMilliseconds() - span))"],
            of: try Installation.admin(arguments))
        return answer.show(isJSON: isJSON) { answer in
            for line in JournalLines.why(answer) { Screen.say(line) }
        }
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
            Option("--since", "24h", "those of so long ago at most, all of them"),
            Option("--json", nil, "the figures and changes as JSON"),
        ] + Installation.options
    ) { (arguments) throws(CommandError) in
        let span = try arguments.duration("--since")
        let since = span.map { Moment(Clock.wallMilliseconds() - $0) }
        let count = try arguments.number("--last", in: 1...1_000_000)
        let records = try DecisionTrace.recorded(
            count ?? (since == nil ? 1_000 : 1_000_000), since: since, arguments)
        do throws(AgentError) {
            let report = try DecisionReplay.run(
                records, file: Installation.file(arguments.text("--config")),
                against: arguments.text("--against"))
            if arguments.has("--json") {
                Screen.say(report.json)
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

    /// What a request for a canary says.
    static func canary(
        _ arguments: CommandArguments
    ) throws(CommandError) -> [String: String?] {
        guard let accounts = arguments.text("--canary") else {
            for name in ["--salt", "--abort-on-failure"] where arguments.has(name) {
                throw .usage("\(name) goes with --canary")
            }
            return [:]
        }
        guard CanaryExtent(accounts, salt: "") != nil else {
            throw .usage("--canary '\(accounts)': it \(CanaryExtent.form)")
        }
        let most = try arguments.number("--abort-on-failure", in: 1...1_000_000)
        return [
            "canary": accounts, "salt": arguments.text("--salt"),
            "abort_on_failure": most.map { "\($0)" },
        ]
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
        if let canary = answer["canary"], !canary.isNull {
            let (accounts, salt) = (canary["for"]?.string ?? "?", canary["salt"]?.string ?? "?")
            let isShare = accounts.hasSuffix("%")
            let whom = isShare ? "\(accounts) of the accounts (salt \(salt))" : accounts
            return Screen.say("generation \(name) decides for \(whom) (see callagent plugins)")
        }
        if let canary = answer["taken_back"]?.string {
            return Screen.say("canary \(canary) is taken back: generation \(name) decides for all")
        }
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
        // From now on: what the list before has shown is not shown.
        var answer = AdminAnswer.ask(.decisions, ["limit": "1"], of: server)
        var isFirst = true
        while true {
            guard case .answer(let page) = answer else {
                return answer.show(isJSON: false) { _ in }
            }
            if page["reset"]?.bool == true {
                Screen.complain("… some are not shown: they came too fast")
            }
            for entry in isFirst ? [] : page["items"]?.array ?? [] {
                show(entry)
                left -= 1
                if left == 0 { return ExitCode.success }
            }
            isFirst = false
            var values = values
            values["after"] = "\(page["after"]?.integer ?? 0)"
            values["wait_ms"] = "20000"
            answer = AdminAnswer.ask(.decisions, values, of: server)
        }
    }

    private func show(_ entry: JSONValue) {
        if isJSON { return Screen.say(entry) }
        if !isLong { return Screen.say(DecisionText.line(entry)) }
        for line in DecisionText.lines(entry) { Screen.say(line) }
    }

    /// The newest recorded decisions: from the files, or from a process that keeps no files.
    static func recorded(
        _ count: Int, since: Moment? = nil, _ arguments: CommandArguments
    ) throws(CommandError) -> [DecisionRecord] {
        let since = since ?? Moment(.min)
        if let files = try Installation.decisions(arguments) {
            return files.newest(count, since: since)
        }
        let server = try Installation.admin(arguments)
        var found: [DecisionRecord] = []
        var cursor: String?
        repeat {
            let values = ["limit": "\(min(count, 500))", "cursor": cursor]
            switch AdminAnswer.ask(.decisions, values, of: server) {
            case .answer(let page):
                found += (page["items"]?.array ?? []).compactMap { DecisionRecord($0) }
                cursor = page["cursor"]?.string
            case .refused(let text), .unreachable(let text): throw .failure(text)
            }
        } while cursor != nil && found.count < count && found.last.map({ $0.at >= since }) != false
        return found.prefix(count).filter { $0.at >= since }.reversed()
    }
}
