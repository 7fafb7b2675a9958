// One request over HTTP and its answer, for commands that ask once.

import AgentCore
import CallClient
import CallModel
import Configuration
import EventLoop
import JSON
import PolicyHost
import WebProtocols

/// What a server answered to a command.
enum AdminAnswer {
    /// JSON, or the text of a plain answer as a string.
    case answer(JSONValue)
    /// It refused; the text is the server's.
    case refused(String)
    /// It did not answer.
    case unreachable(String)

    /// Asks for an operation of the operator's socket; parameters without a value are left out.
    static func ask(
        _ name: ManagementOperation.Name, _ values: [String: String?] = [:],
        of server: ServerAddress
    ) -> AdminAnswer {
        let operation = ManagementOperation.of(name)
        let values = values.compactMapValues { $0 }
        let others = values.filter { !operation.hasInPath($0.key) }.sorted { $0.key < $1.key }
        var path = operation.path(with: values)
        var body: [UInt8] = []
        if operation.method == .get {
            let query = others.map { "\($0.key)=\(HTTPTarget.encoded($0.value))" }
            if !query.isEmpty { path += "?" + query.joined(separator: "&") }
        } else if !others.isEmpty {
            body =
                JSONValue.object(
                    JSONObject(others.map { .init(key: $0.key, value: .string($0.value)) })
                ).bytes
        }
        return ask(HTTPRequest(operation.method, server.target(path), body: body), of: server)
    }

    /// Asks for `GET path` of the operator's socket, for a page that is no operation.
    static func get(_ path: String, from server: ServerAddress) -> AdminAnswer {
        ask(HTTPRequest(.get, server.target(path)), of: server)
    }

    private static func ask(_ request: HTTPRequest, of server: ServerAddress) -> AdminAnswer {
        let answer = waiting(for: server) { loop, completion in
            let watch = SilenceWatch(server, on: loop) { completion(.unreachable($0)) }
            HTTPExchange.send(request, to: server, on: loop) { result in
                watch.end()
                completion(AdminAnswer(result, from: server))
            }
        }
        guard case .unreachable(let text) = answer else { return answer }
        return .unreachable(absence(of: server) ?? text)
    }

    /// What to check when the server's socket is missing.
    private static func absence(of server: ServerAddress) -> String? {
        guard case .unix(let path) = server.endpoint, !Files.exists(path) else { return nil }
        guard !Files.isHidden(path) else {
            return "nobody answers at \(server): \(Installation.notAllowed)"
        }
        // The tool finds the socket by the present file, the server made it by an earlier version
        // of the file.
        return "nobody answers at \(server): no server has made this socket; does it run, was it "
            + "started elsewhere (--config FILE), have state_dir or admin changed since?"
    }

    /// Waits for the result that `begin` gives to its completion.
    static func waiting(
        for server: ServerAddress,
        _ begin: (EventLoop, @escaping (AdminAnswer) -> Void) -> Void
    ) -> AdminAnswer {
        do {
            let waiter = try LoopWaiter()
            defer { waiter.close() }
            return try waiter.result(of: "an answer of \(server)", upTo: 60_000) { completion in
                begin(waiter.loop, completion)
            }
        } catch {
            return .unreachable("\(error)")
        }
    }

    private init(_ result: Result<HTTPResponse, HTTPFailure>, from server: ServerAddress) {
        switch result {
        case .failure(let failure): self = .unreachable(Self.words(failure, server))
        case .success(let response): self.init(response)
        }
    }

    private init(_ response: HTTPResponse) {
        let text = String(decoding: response.body, as: UTF8.self)
        let value = try? JSONValue(
            parsing: response.body, limits: JSONLimits(bytes: max(response.body.count, 1)))
        guard response.status.rawValue < 300 else {
            let words = value?["detail"]?.string
            self = .refused(words ?? "the server answered \(response.status.rawValue)")
            return
        }
        self = .answer(value ?? .string(text))
    }

    /// Asks for an operation of the protocol; `remedy` is added where the token is refused.
    init(
        _ result: Result<JSONValue, HTTPCaller.Failure>, from server: ServerAddress,
        remedy: String
    ) {
        switch result {
        case .success(let value): self = .answer(value)
        case .failure(.refused(let refusal)):
            let words = refusal.code == .unauthenticated ? remedy : ""
            self = .refused("\(refusal.code.rawValue): \(refusal.message)\(words)")
        case .failure(.unanswered(let failure)): self = .unreachable(Self.words(failure, server))
        case .failure(.unreadable(let status)):
            self = .refused("\(server) answered \(status.rawValue) and is not a callagent server")
        }
    }

    private static func words(_ failure: HTTPFailure, _ server: ServerAddress) -> String {
        "nobody answers at \(server): \(failure)"
    }

    /// The call `id` out of an answer with a list of calls.
    func only(_ id: CallID) -> AdminAnswer {
        guard case .answer(let value) = self, let calls = value["calls"]?.array else { return self }
        guard let call = calls.first(where: { $0["call_id"]?.string == id.description }) else {
            return .refused("no call \(id)")
        }
        return .answer(["call": call])
    }

    /// Shows the answer, raw or by `show`; returns the exit code.
    func show(isJSON: Bool, _ show: (JSONValue) -> Void) -> Int32 {
        switch self {
        case .answer(let value):
            if isJSON { Screen.say(value) } else { show(value) }
            return ExitCode.success
        case .refused(let text):
            Screen.complain("callagent: \(Screen.plain(text))")
            return ExitCode.failure
        case .unreachable(let text):
            Screen.complain("callagent: \(Screen.plain(text))")
            return ExitCode.unreachable
        }
    }
}
