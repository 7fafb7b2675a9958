// A whole server on a thread of its own with plugins that say which version they are, a caller who
// invites steadily, and an operator who reloads.

import AgentCore
import AgentTestSupport
import CallClient
import CallClientCore
import CallModel
import CallWire
import Decisions
import EventLoop
import Glibc
import JSON
import TestSupport
import Testing
import WebProtocols

@testable import AgentServer
@testable import PolicyHost

/// A folder with `callagent.lua`, `plugins/` and the state.
final class ReloadRig {
    let waiter: LoopWaiter
    private let place = TemporaryFolder()
    private let admin: ServerAddress
    private let client: CallClient
    private let thread: AgentThread
    private let news = News()
    private var pace: Timer?
    /// Invitations that were sent, and those that the server took.
    private(set) var sent = 0
    private(set) var calls: [CallID] = []
    private(set) var refusals: [RequestFailure] = []
    /// Who is invited, and who of them was not in the user directory, by call.
    var invitees = ["support"]
    private(set) var unknown: [CallID: [String]] = [:]
    /// Why the caller's connection was lost, each time.
    var losses: [ConnectionLoss] {
        news.all.compactMap { if case .lost(let loss, _) = $0 { loss } else { nil } }
    }

    private final class News {
        var all: [ClientEvent] = []
        var isOpen = false
        var answers = 0

        func note(_ item: ClientEvent) {
            all.append(item)
            if case .opened = item { isOpen = true }
            guard case .event(let event) = item, case .changed(let changes) = event.kind
            else { return }
            answers += changes.count(where: ReloadRig.isAnswer)
        }
    }

    /// The plugins accept; a reject is the server's when they failed.
    private static func isAnswer(_ change: CallEvent.Change) -> Bool {
        change.state == .joined || change.state == .rejected
    }

    /// A machine that has other things to do is not flooded: it is reloads that are tested.
    private static let openMax = 100

    var folder: String { place.path }

    init() throws {
        let folder = place.path
        mkdir("\(folder)/plugins", 0o700)
        Self.write(Self.configuration(folder), to: "\(folder)/callagent.lua")
        Self.writePlugins(version: 0, in: folder)
        waiter = try LoopWaiter()
        admin = ServerAddress(.unix(path: "\(folder)/admin.sock"))
        thread = try AgentThread(waiter, upTo: 60_000) {
            try Agent(
                file: "\(folder)/callagent.lua", log: { _ in Log(level: .error, descriptor: -1) })
        }
        var options = CallClient.Options(
            ServerAddress(thread.endpoint), token: "dev:ann", device: DeviceID("phone"))
        options.backoff.first = 20
        client = CallClient(options, on: waiter.loop) { [news] item in
            news.note(item)
        }
        client.connect()
        try waiter.wait(for: "the connection", upTo: 60_000) { [news] in news.isOpen }
    }

    func close() {
        pace = nil
        thread.close()
        waiter.close()
    }

    // MARK: The files

    private static func configuration(_ folder: String) -> String {
        // A sanitizer, or a machine that was taken away for a moment, is no plugin's fault.
        """
        listen = "127.0.0.1:0"
        admin = "unix:\(folder)/admin.sock"
        state_dir = "state"
        answer_for = { "support" }
        plugins = { "a", "b", "c" }
        invite = { default = "reject", decide_in = "30s" }
        decision_log = { replay = 200 }
        limits = { requests_per_second = 100000, timers_per_cause = 10000 }
        for _, name in ipairs(plugins) do override[name] = { limits = { cpu = "1s" } } end
        """
    }

    /// Three plugins that look up users named for themselves and their version, so that the
    /// decision log tells which versions took part; the last one answers.
    static func writePlugins(version: Int, in folder: String) {
        for name in ["a", "b"] {
            write(
                """
                on.invite(function(call)
                  users.get("\(name)-\(version)")
                  sleep "2ms"
                end)
                """, to: "\(folder)/plugins/\(name).lua")
        }
        write(
            """
            timer("fire", function(data)
              count("fired", 1)
              -- A store that is behind says so with nil; a plugin that fails would be passed over.
              local times = kv.incr("fired:" .. data.id, 1)
              if times and times > 1 then count("repeated", 1) end
            end)
            on.invite(function(call)
              users.get("c-\(version)")
              -- One caller has a part of the timers (G75), which a slow machine can fill.
              if not later("100ms", "fire", { id = call.id }) then count("full", 1) end
              return accept { extended_data = { version = \(version) } }
            end)
            """, to: "\(folder)/plugins/c.lua")
    }

    /// A directory that has one of two accounts, as the version of the plugins is even or odd.
    func writeDirectory(version: Int) {
        let users = "users = { \"ann\", \"support\", \"mark-\(version % 2)\" }\n"
        Self.write(Self.configuration(folder) + "\n" + users, to: "\(folder)/callagent.lua")
    }

    func breakPlugin(_ round: Int) {
        let broken = [
            "on.invite(function(call) return (\n", "\non.invte(function() end)\n",
            "local x = nil\nlocal y = x.z\n",
        ]
        Self.write(broken[round % broken.count], to: "\(folder)/plugins/c.lua")
    }

    /// As editors do it: nobody reads half a file.
    private static func write(_ text: String, to path: String) {
        let file = open("\(path).new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        _ = text.withCString { Glibc.write(file, $0, strlen($0)) }
        Glibc.close(file)
        rename("\(path).new", path)
    }

    // MARK: The caller

    /// Invites `support` so many times a second from now on; what is late is made up for, as far
    /// as answers come.
    func invite(perSecond rate: Int64) {
        let begin = Clock.bootMilliseconds()
        let timer = Timer(on: waiter.loop) { [unowned self] in
            let due = (Clock.bootMilliseconds() - begin) * rate / 1_000
            while sent < due, sent - news.answers < Self.openMax { invite() }
            pace?.arm(after: 5)
        }
        pace = timer
        timer.arm(after: 0)
    }

    func stopInviting() { pace = nil }

    private func invite() {
        sent += 1
        var invitation = Invitation(invitees: invitees.map { UserID($0) })
        invitation.mode = .advanced
        client.invite(invitation) { [unowned self] result in
            switch result {
            case .success(let made):
                calls.append(made.call.id)
                unknown[made.call.id] = made.errors.map(\.user.text)
            case .failure(let failure): refusals.append(failure)
            }
        }
    }

    /// How often each call was answered, and with which version; -1 is no plugin's answer.
    var answers: [CallID: [Int64]] {
        var answers: [CallID: [Int64]] = [:]
        for case .event(let event) in news.all {
            guard case .changed(let changes) = event.kind else { continue }
            for change in changes where Self.isAnswer(change) {
                let data = change.extendedData.flatMap { try? JSONValue(parsing: $0) }
                answers[event.callID, default: []].append(data?["version"]?.integer ?? -1)
            }
        }
        return answers
    }

    // MARK: The operator

    /// What a request to the admin socket comes to, later.
    func tell(
        _ method: HTTPMethod, _ path: String, _ body: JSONValue? = nil,
        _ done: @escaping (HTTPStatus?, JSONValue) -> Void
    ) {
        var options = HTTPExchange.Options()
        options.timeout = 60_000
        let request = HTTPRequest(method, admin.target(path), body: body?.bytes ?? [])
        HTTPExchange.send(request, to: admin, on: waiter.loop, options: options) { result in
            guard case .success(let response) = result else { return done(nil, .null) }
            let limits = JSONLimits(bytes: max(1, response.body.count))
            let text = String(decoding: response.body, as: UTF8.self)
            let json = try? JSONValue(parsing: response.body, limits: limits)
            done(response.status, json ?? .string(text))
        }
    }

    /// What a request to the admin socket comes to.
    func ask(_ method: HTTPMethod, _ path: String) throws -> (HTTPStatus?, JSONValue) {
        try waiter.result(of: path, upTo: 60_000) { completion in
            tell(method, path) { completion(($0, $1)) }
        }
    }

    /// A value of `/metrics`.
    func figure(_ name: String) throws -> Double {
        let text = try ask(.get, "/metrics").1.string ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) } ?? 0
    }

    /// All recorded decisions.
    var records: [DecisionRecord] {
        DecisionFiles(directory: "\(folder)/state").newest(1_000_000)
    }
}
