// The commands `token` and `revoke`.

import AgentCore
import AgentServer
import CallClient
import CallModel
import Configuration
import JSON

extension Command {
    static let token = Command(
        "token", "mint a token for development",
        operands: .one("USER"),
        options: [
            Option("--device", "NAME", "good for this device only"),
            Option("--caps", "LIST", "operations that it allows, such as call.get,call.list"),
            Option("--for", "TIME", "how long it is good (default: 1h)"),
            Option("--role", "ROLE", "server: acts for any user; operator, viewer: for tools"),
            Option("--server", nil, "the same as --role server"),
            Option("--name", "TEXT", "how others see USER"),
            Option("--kid", "KEY", "signed by this key (default: the first that can)"),
            Option("--id", "TEXT", "its jti, to revoke it by (default: a random one)"),
        ] + Installation.options
    ) { (arguments) throws(CommandError) in
        let user = try CommandArguments.user(arguments.operands.first ?? "", "USER")
        var minted = MintedToken(user: user.text)
        if let device = arguments.text("--device") {
            minted.device = try CommandArguments.device(device).text
        }
        minted.capabilities = arguments.text("--caps")?.split(separator: ",").map(String.init)
        minted.role = try role(arguments)
        minted.name = try arguments.personName()?.text
        minted.lifetime = try arguments.duration("--for") ?? minted.lifetime
        if minted.lifetime <= 0 { throw .usage("--for 0 would make a token that is never good") }
        minted.keyID = arguments.text("--kid")
        minted.tokenID = arguments.text("--id")
        do throws(AgentError) {
            let configuration = try Installation.configurationWithSecrets(arguments)
            Screen.say(try minted.token(by: configuration))
            return ExitCode.success
        } catch {
            throw .failure("\(error)")
        }
    }

    private static func role(
        _ arguments: CommandArguments
    ) throws(CommandError) -> Configuration.Key.Role? {
        guard let text = arguments.text("--role") else {
            return arguments.has("--server") ? .server : nil
        }
        let all = Configuration.Key.Role.allCases
        guard let role = all.first(where: { $0.rawValue == text }) else {
            let names = all.map(\.rawValue).joined(separator: ", ")
            throw .usage("--role '\(text)' is none of \(names)")
        }
        if arguments.has("--server"), role != .server {
            throw .usage("--server and --role \(text) exclude each other")
        }
        return role
    }

    static let revoke = Command(
        "revoke", "take back tokens of a user or device, or one by its jti",
        operands: .optional("USER"),
        options: [
            Option("--device", "NAME", "only those that this device of USER came with"),
            Option("--token", "JTI", "the one token with this jti, instead of USER"),
            Option("--issuer", "TEXT", "of this iss only"),
        ] + Installation.options
    ) { (arguments) throws(CommandError) in
        var values: [String: String?] = [:]
        switch (arguments.operands.first, arguments.text("--token")) {
        case (let user?, nil):
            values["user"] = try CommandArguments.user(user, "USER").text
            if let device = arguments.text("--device") {
                values["device"] = try CommandArguments.device(device).text
            }
        case (nil, let id?):
            if arguments.has("--device") { throw .usage("--device goes with USER") }
            values["jti"] = id
            values["issuer"] = arguments.text("--issuer")
        case (nil, nil): throw .usage("USER or --token JTI is missing")
        case (_?, _?): throw .usage("USER and --token exclude each other")
        }
        let server = try Installation.admin(arguments)
        let answer = AdminAnswer.ask(.revoke, values, of: server)
        return answer.show(isJSON: false) { value in
            let closed = value["closed"]?.integer ?? 0
            Screen.say("revoked; \(closed) connection\(closed == 1 ? "" : "s") closed")
        }
    }
}
