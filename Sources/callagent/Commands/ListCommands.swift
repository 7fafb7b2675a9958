// The commands `calls`, `get` and `end`: calls as their users or the operator see them.

import AgentCore
import CallClient
import CallModel
import CallWire
import EventLoop
import JSON
import WebProtocols

extension Command {
    private static let viewer: [Option] =
        [
            Option("--as", "ME", "as this user sees it (default: live calls of all)"),
            Option("--token", "TOKEN", "a token instead of --as"),
            Option("--server", "URL", "with --as: such as wss://calls.example.com"),
            Option("--json", nil, "the server's answer as it is"),
        ] + Installation.options

    static let calls = Command(
        "calls", "list calls, the newest first",
        options: viewer + [Option("--limit", "20", "how many (1-100)")]
    ) { (arguments) throws(CommandError) in
        let limit = try arguments.number("--limit", in: 1...100) ?? 20
        var query = ListQuery()
        query.limit = limit
        let answer = try ListSource(arguments).ask(
            .list(query), orElse: .calls, ["limit": "\(limit)"])
        return answer.show(isJSON: arguments.has("--json")) { answer in
            // The server's list has items, that of a user has calls.
            let calls = (answer["items"] ?? answer["calls"])?.array ?? []
            for call in calls { Screen.say(CallListing.line(call)) }
            if calls.isEmpty { Screen.say("no calls") }
        }
    }

    static let get = Command(
        "get", "show one call", operands: .one("CALL"), options: viewer
    ) { (arguments) throws(CommandError) in
        let id = try callID(arguments.operands[0])
        let answer = try ListSource(arguments)
            .ask(.call(id, .get), orElse: .call, ["call_id": "\(id)"]).only(id)
        return answer.show(isJSON: arguments.has("--json")) { answer in
            for line in CallListing.lines(answer["call"] ?? .null) { Screen.say(line) }
        }
    }

    static let end = Command(
        "end", "end a call for everybody, whatever its state", operands: .one("CALL"),
        options: [
            Option("--code", "TEXT", "why: the detail of the end's reason, which is policy")
        ] + Installation.options
    ) { (arguments) throws(CommandError) in
        var values: [String: String?] = [
            "call_id": try callID(arguments.operands[0]).description
        ]
        if let code = arguments.text("--code") {
            let detail = try CommandArguments.identifier(
                code, "--code", "code", EndDetail.init(code:))
            values["reason"] = detail.rawValue
        }
        let server = try Installation.admin(arguments)
        return AdminAnswer.ask(.endCall, values, of: server).show(isJSON: false) {
            Screen.say(CallListing.line($0["call"] ?? .null))
        }
    }

    private static func callID(_ text: String) throws(CommandError) -> CallID {
        guard let id = CallID(text) else {
            throw .usage("CALL '\(text)' is no call id, which has 32 lower-case hex digits")
        }
        return id
    }
}

/// Where a listing comes from: the server, asked as a user, or its operator's socket.
private struct ListSource {
    private enum Way {
        case user(ServerAddress, Credential)
        case admin(ServerAddress)
    }

    private let way: Way

    init(_ arguments: CommandArguments) throws(CommandError) {
        if arguments.has("--as") || arguments.has("--token") {
            way = .user(
                try Installation.server(arguments), try Credential(arguments))
        } else if arguments.has("--server") {
            throw .usage("--server needs --as or --token")
        } else {
            way = .admin(try Installation.admin(arguments))
        }
    }

    /// Asks for `operation` as a user, or for `other` as the operator.
    func ask(
        _ operation: Operation, orElse other: ManagementOperation.Name,
        _ values: [String: String?]
    ) -> AdminAnswer {
        switch way {
        case .admin(let server): AdminAnswer.ask(other, values, of: server)
        case .user(let server, let credential):
            AdminAnswer.waiting(for: server) { loop, completion in
                HTTPCaller(server, token: credential.token, on: loop).perform(operation) {
                    completion(AdminAnswer($0, from: server, remedy: credential.remedy))
                }
            }
        }
    }
}
