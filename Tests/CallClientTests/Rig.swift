// A real server on a thread of its own, and clients on the test's own loop.

import AgentCore
import AgentTestSupport
import CallClient
import CallClientCore
import CallModel
import CallWire
import EventLoop
import TestSupport
import Testing

@testable import AgentServer

/// A server on a free port of the loopback, and a loop for clients. Nothing waits by time: a test
/// waits for what must happen, and fails at a limit.
final class Rig {
    let waiter: LoopWaiter
    let server: TestServer

    init(_ adjust: (inout AgentOptions) -> Void = { _ in }) throws {
        waiter = try LoopWaiter()
        server = try TestServer(waiter, adjust)
    }

    /// Must be called: loops are closed, not dropped.
    func close() {
        server.close()
        waiter.close()
    }

    /// A client that has not connected yet.
    func device(
        _ user: String, _ device: String = "phone", token: String? = nil,
        _ adjust: (inout CallClient.Options) -> Void = { _ in }
    ) -> TestDevice {
        var options = CallClient.Options(
            ServerAddress(server.endpoint), token: token ?? "dev:\(user)", device: DeviceID(device))
        options.backoff.first = 20
        options.backoff.steadyAfter = 0
        adjust(&options)
        return TestDevice(options, waiter)
    }

    /// A client that is connected.
    func connected(
        _ user: String, _ name: String = "phone",
        _ adjust: (inout CallClient.Options) -> Void = { _ in }
    ) throws -> TestDevice {
        let device = device(user, name, adjust)
        device.client.connect()
        try device.welcome()
        return device
    }
}

/// An agent in memory that runs on a thread of its own.
final class TestServer {
    let admin: NetworkAddress
    private let folder = TemporaryFolder()
    private let thread: AgentThread

    var endpoint: NetworkAddress { thread.endpoint }

    init(_ waiter: LoopWaiter, _ adjust: (inout AgentOptions) -> Void) throws {
        admin = .unix(path: "\(folder.path)/admin.sock")
        var options = AgentOptions()
        options.listen = [.tcp(host: "127.0.0.1", port: 0)]
        options.admin = admin
        options.stateDirectory = ":memory:"
        adjust(&options)
        let chosen = options
        thread = try AgentThread(waiter) { try Agent(chosen, log: Log(level: .error)) }
    }

    /// Does something on the server's thread, and waits until it is done.
    func run(_ job: @escaping AgentThread.Job) throws { try thread.run(job) }

    /// Breaks every connection of `user` off.
    func cutOff(_ user: UserID) throws {
        try run { agent in
            for link in agent.gateway.links where link.line.session?.address.user == user {
                link.transport.abort()
            }
        }
    }

    /// Closes every connection of `user` with `code`.
    func close(_ user: UserID, with code: CloseCode) throws {
        try run { agent in
            for link in agent.gateway.links where link.line.session?.address.user == user {
                link.close(code, "as the test says")
            }
        }
    }

    func close() { thread.close() }
}

/// A client that keeps what it is told.
final class TestDevice {
    let client: CallClient
    private let waiter: LoopWaiter
    private let box = NewsBox()

    init(_ options: CallClient.Options, _ waiter: LoopWaiter) {
        self.waiter = waiter
        client = CallClient(options, on: waiter.loop) { [box] in box.news.append($0) }
    }

    private final class NewsBox {
        var news: [ClientEvent] = []
        var place = 0
    }

    /// All that was told.
    var news: [ClientEvent] { box.news }

    /// The events that were told, in order.
    var events: [CallEvent] {
        news.compactMap { if case .event(let event) = $0 { event } else { nil } }
    }

    /// Waits for the next news that `find` finds something in, and goes on behind it.
    func next<Found>(
        _ what: String, sourceLocation: SourceLocation = #_sourceLocation,
        _ find: @escaping (ClientEvent) -> Found?
    ) throws -> Found {
        var found: Found?
        do {
            try waiter.wait(for: what) { [box] in
                while found == nil, box.place < box.news.count {
                    found = find(box.news[box.place])
                    box.place += 1
                }
                return found != nil
            }
        } catch {
            Issue.record("\(error); told: \(news)", sourceLocation: sourceLocation)
            throw error
        }
        return try #require(found)
    }

    @discardableResult
    func welcome(sourceLocation: SourceLocation = #_sourceLocation) throws -> Welcome {
        try next("the welcome", sourceLocation: sourceLocation) {
            if case .opened(let welcome) = $0 { welcome } else { nil }
        }
    }

    func loss(sourceLocation: SourceLocation = #_sourceLocation) throws -> ConnectionLoss {
        try next("the loss", sourceLocation: sourceLocation) {
            if case .lost(let loss, _) = $0 { loss } else { nil }
        }
    }

    func ending(sourceLocation: SourceLocation = #_sourceLocation) throws -> ClientEvent.Ending {
        try next("the end", sourceLocation: sourceLocation) {
            if case .stopped(let ending) = $0 { ending } else { nil }
        }
    }

    /// The next event of a kind that `find` takes.
    func event<Found>(
        _ what: String, sourceLocation: SourceLocation = #_sourceLocation,
        _ find: @escaping (CallEvent.Kind) -> Found?
    ) throws -> Found {
        try next(what, sourceLocation: sourceLocation) {
            if case .event(let event) = $0 { find(event.kind) } else { nil }
        }
    }

    func incoming(sourceLocation: SourceLocation = #_sourceLocation) throws -> Call {
        try event("the incoming call", sourceLocation: sourceLocation) {
            if case .incoming(let call, _, _, _) = $0 { call } else { nil }
        }
    }

    func ended(sourceLocation: SourceLocation = #_sourceLocation) throws -> Call.End {
        try event("the end of the call", sourceLocation: sourceLocation) {
            if case .ended(let end, _, _) = $0 { end } else { nil }
        }
    }

    /// The next change of `user`'s state.
    func change(
        of user: UserID, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> CallEvent.Change {
        try event("a change of \(user)", sourceLocation: sourceLocation) {
            if case .changed(let changes) = $0 { changes.first { $0.user == user } } else { nil }
        }
    }

    /// What came of a request.
    func result<Value>(
        _ begin: (CallClient, @escaping (Result<Value, RequestFailure>) -> Void) -> Void
    ) throws -> Result<Value, RequestFailure> {
        try waiter.result(of: "an answer") { completion in begin(client, completion) }
    }

    /// What came of a request that must succeed.
    func ask<Value>(
        _ begin: (CallClient, @escaping (Result<Value, RequestFailure>) -> Void) -> Void
    ) throws -> Value {
        try result(begin).get()
    }

    /// Calls `users` in mode `advanced`.
    func invite(_ users: UserID...) throws -> Call {
        var invitation = Invitation(invitees: users)
        invitation.mode = .advanced
        return try ask { $0.invite(invitation, $1) }.call
    }
}

extension UserID: ExpressibleByStringLiteral {
    /// The user of this name.
    public init(stringLiteral text: String) { self.init(text) }
}
