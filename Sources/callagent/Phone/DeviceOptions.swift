// Options that `call` and `phone` share: who connects, where, and how the messages are shown.

import AgentServer
import CallClient
import CallClientCore
import CallModel
import Configuration
import EventLoop
import Glibc

/// Who connects to which server.
struct DeviceOptions {
    let server: ServerAddress
    let credential: Credential
    let device: DeviceID
    let isJSON: Bool
    /// What the user is called; nil: nothing is said of it.
    let name: PersonName?

    /// What stands in the help.
    static let options: [Option] =
        [
            Option("--as", "ME", "the user who connects, with a token made for them"),
            Option("--token", "TOKEN", "a token instead of --as"),
            Option("--name", "TEXT", "what others see that ME is called"),
            Option("--device", "NAME", "which device of the user this is (default: cli-PID)"),
            Option("--server", "URL", "such as wss://calls.example.com or 127.0.0.1:7600"),
            Option("--json", nil, "one JSON object a line: every message, with its time"),
        ] + Installation.options

    init(_ arguments: CommandArguments) throws(CommandError) {
        credential = try Credential(arguments)
        device = try CommandArguments.device(arguments.text("--device") ?? "cli-\(getpid())")
        isJSON = arguments.has("--json")
        name = try arguments.personName()
        server = try Installation.server(arguments)
    }
}

/// Who a command is for the server: the token of `--token`, or one that is made for `--as`.
///
/// Where the operator's file has signing keys, a token of ten minutes is made with them; without
/// keys it is the development token. A server that `--server` names gets no token made with these
/// keys, unless `--config` says that they are its own.
struct Credential {
    /// The token in `hello`.
    let token: String
    /// Whose token it is; nil: it was given.
    private let user: UserID?
    private let arguments: CommandArguments

    /// How long a token is good, in milliseconds.
    private static let lifetime: Int64 = 600_000

    init(_ arguments: CommandArguments) throws(CommandError) {
        self.arguments = arguments
        switch try arguments.oneOf("--as", "--token") {
        case "--token"?:
            user = nil
            token = arguments.text("--token") ?? ""
        case nil: throw .usage("--as ME is missing")
        default:
            let user = try CommandArguments.user(arguments.text("--as") ?? "", "--as")
            self.user = user
            token = try Self.mint(for: user, arguments)
        }
    }

    /// A token that is valid for longer; nil: there is none.
    func renewed() -> String? {
        guard let user, let new = try? Self.mint(for: user, arguments), new != token else {
            return nil
        }
        return new
    }

    /// What to do when the server refuses the token.
    var remedy: String {
        guard user != nil, token.hasPrefix("dev:") else { return "" }
        return "; --as made a development token: say --config FILE where the operator's file is, "
            + "or --token with what 'callagent token ME' makes there"
    }

    private static func mint(
        for user: UserID, _ arguments: CommandArguments
    ) throws(CommandError) -> String {
        if arguments.has("--server"), !arguments.has("--config") { return "dev:\(user)" }
        var minted = MintedToken(user: user.text)
        minted.lifetime = lifetime
        let name = try arguments.personName()
        do throws(AgentError) {
            let configuration = try Installation.configurationWithSecrets(arguments)
            // Without keys `hello` says it.
            if !configuration.auth.isEmpty { minted.name = name?.text }
            return try minted.token(by: configuration)
        } catch {
            throw .failure(
                "--as \(user): cannot make a token: \(error); make one where the keys are, with "
                    + "'callagent token \(user)', and say --token TOKEN")
        }
    }
}
