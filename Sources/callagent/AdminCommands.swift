// The commands that ask a running server: `status`, `plugins`, `reload`, `rollback`, `explain`.

import CallClient
import JSON

extension Command {
    private static let json = [Option("--json", nil, "the server's answer as it is")]

    static let status = Command(
        "status", "tell whether the server runs, with its figures",
        options: json + Installation.options
    ) { (arguments) throws(CommandError) in
        let server = try Installation.admin(arguments)
        let health = AdminAnswer.get("/healthz", from: server)
        guard case .answer = health else { return health.show(isJSON: false) { _ in } }
        let figures = MetricsText(AdminAnswer.get("/metrics", from: server))
        return figures.show(isJSON: arguments.has("--json"), of: server)
    }

    static let plugins = Command(
        "plugins", "show the chain of plugins with their state",
        options: json + Installation.options
    ) { (arguments) throws(CommandError) in
        let answer = AdminAnswer.get("/admin/plugins", from: try Installation.admin(arguments))
        return answer.show(isJSON: arguments.has("--json")) { PlainJSON.show($0) }
    }

    static let reload = Command(
        "reload", "read the operator's file and the plugins again",
        options: json + Installation.options
    ) { (arguments) throws(CommandError) in
        let answer = AdminAnswer.post("/admin/reload", to: try Installation.admin(arguments))
        return answer.show(isJSON: arguments.has("--json")) { PlainJSON.show($0) }
    }

    static let rollback = Command(
        "rollback", "go back to the last set of plugins, or to the one named",
        operands: .optional("GENERATION"), options: json + Installation.options
    ) { (arguments) throws(CommandError) in
        var path = "/admin/rollback"
        if let generation = arguments.operands.first {
            guard generation.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
                throw .usage("GENERATION '\(generation)' is not made of letters and digits")
            }
            path += "?generation=\(generation)"
        }
        let answer = AdminAnswer.post(path, to: try Installation.admin(arguments))
        return answer.show(isJSON: arguments.has("--json")) { PlainJSON.show($0) }
    }

    static let explain = Command(
        "explain", "tell what the plugins said about a call", operands: .one("CALL"),
        options: json + Installation.options
    ) { (arguments) throws(CommandError) in
        let call = arguments.operands.first ?? ""
        guard call.utf8.count == 32, call.allSatisfy(\.isHexDigit) else {
            throw .usage("CALL '\(call)' is not 32 hex digits")
        }
        let server = try Installation.admin(arguments)
        let answer = AdminAnswer.get("/admin/explain?call=\(call)", from: server)
        return answer.show(isJSON: arguments.has("--json")) { PlainJSON.show($0) }
    }
}
