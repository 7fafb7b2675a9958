// What `call` and `phone` have in common: who connects, where, and how that is told.

import CallClient
import CallModel
import EventLoop
import Glibc

/// Who connects to which server.
struct DeviceOptions {
    let server: ServerAddress
    let token: String
    let device: DeviceID
    let isJSON: Bool

    /// What stands in the help.
    static let options: [Option] =
        [
            Option("--as", "ME", "the user that connects, with the development token dev:ME"),
            Option("--token", "TOKEN", "a token instead of --as"),
            Option("--device", "NAME", "which device of the user this is (default: cli-PID)"),
            Option("--server", "URL", "such as wss://calls.example.com or 127.0.0.1:7600"),
            Option("--json", nil, "one JSON object a line: every message, with its time"),
        ] + Installation.options

    init(_ arguments: Arguments) throws(CommandError) {
        token = try Self.token(arguments)
        device = try Arguments.device(arguments.text("--device") ?? "cli-\(getpid())")
        isJSON = arguments.has("--json")
        server = try Installation.server(arguments)
    }

    /// The token of `--token` or `--as`.
    static func token(_ arguments: Arguments) throws(CommandError) -> String {
        switch try arguments.oneOf("--as", "--token") {
        case "--token"?: return arguments.text("--token") ?? ""
        case nil: throw .usage("--as ME is missing")
        default:
            let user = try Arguments.user(arguments.text("--as") ?? "", "--as")
            return "dev:\(user)"
        }
    }
}
