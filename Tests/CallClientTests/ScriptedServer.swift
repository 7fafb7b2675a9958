// A server that does what a test says, right or wrong, on the test's own loop.

import CallClient
import CallClientCore
import EventLoop
import JSON
import Testing
import WebProtocols

/// Accepts connections and hands what comes to the test.
final class ScriptedServer {
    private(set) var endpoint: NetworkAddress
    /// Every connection so far, the newest last.
    private(set) var peers: [ScriptedPeer] = []
    /// What it does with a request; by default it takes WebSockets.
    var onRequest: (HTTPRequest, ScriptedPeer) -> Void = { request, peer in peer.upgrade(request) }
    /// What it does with a message; by default it welcomes.
    var onMessage: (JSONValue, ScriptedPeer) -> Void = { message, peer in
        if message["op"] == "hello" { peer.welcome(message) }
    }
    private var listener: Listener?

    init(_ waiter: LoopWaiter, tls: TLSContext? = nil) throws {
        endpoint = .tcp(host: "127.0.0.1", port: 0)
        var options = Listener.Options()
        options.tls = tls
        let listener = try Listener(
            at: endpoint, on: waiter.loop, options: options,
            failed: { if tls == nil { Issue.record("accepting failed: \($0)") } },
            accepted: { [weak self] connection in
                guard let self else { return connection.abort() }
                peers.append(ScriptedPeer(connection, of: self))
            })
        self.listener = listener
        endpoint = listener.endpoint
    }

    /// The messages of all connections, in order.
    var messages: [JSONValue] { peers.flatMap(\.messages) }

    /// The messages of all connections that ask for `op`.
    func requests(_ op: String) -> [JSONValue] { messages.filter { $0["op"]?.string == op } }

    func close() {
        listener?.close()
        for peer in peers { peer.abort() }
    }
}

/// One connection of a scripted server.
final class ScriptedPeer: ConnectionHandler {
    private let connection: Connection
    private weak var server: ScriptedServer?
    private var parser = HTTPRequestParser()
    private var frames = FrameDecoder(role: .server)
    private var isUpgraded = false
    private(set) var messages: [JSONValue] = []
    private(set) var pongs: [[UInt8]] = []
    private(set) var closedWith: WebSocketCloseCode?

    init(_ connection: Connection, of server: ScriptedServer) {
        self.connection = connection
        self.server = server
        connection.handler = self
    }

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        do {
            if isUpgraded {
                var rest = UnsafeMutableRawBufferPointer(mutating: bytes)
                while let event = try frames.next(&rest) { try take(event) }
            } else {
                var rest = bytes
                guard case .request(let request) = try parser.next(&rest) else { return }
                server?.onRequest(request, self)
            }
        } catch {
            Issue.record("the client sent nonsense: \(error)")
        }
    }

    private func take(_ event: WebSocketEvent) throws {
        switch event {
        case .text(let text):
            let message = try JSONValue(parsing: text)
            messages.append(message)
            server?.onMessage(message, self)
        case .pong(let payload): pongs.append([UInt8](payload))
        case .close(let code, _):
            closedWith = code
            connection.close()
        case .binary, .ping: Issue.record("clients send no such frames")
        }
    }

    func connectionClosed(_ connection: Connection, error: EventLoopError?) {}

    // MARK: What a test does

    /// Takes the WebSocket, and sends `more` along with the answer.
    func upgrade(_ request: HTTPRequest, with more: [UInt8] = []) {
        do {
            let acceptance = try WebSocketAcceptance(
                of: request, subprotocols: ["callagent.v1.json"])
            #expect(acceptance.subprotocol == "callagent.v1.json")
            isUpgraded = true
            var output: [UInt8] = []
            acceptance.response.write(to: &output)
            connection.send(output + more)
        } catch {
            Issue.record("no request for a WebSocket: \(error)")
        }
    }

    func respond(_ response: HTTPResponse) {
        var output: [UInt8] = []
        response.write(to: &output)
        connection.send(output)
    }

    func send(_ bytes: [UInt8]) { connection.send(bytes) }

    func send(_ opcode: WebSocketOpcode, _ payload: [UInt8], mask: UInt32? = nil) {
        var output: [UInt8] = []
        FrameEncoder.append(opcode, payload, mask: mask, to: &output)
        connection.send(output)
    }

    func send(_ message: JSONValue) { send(.text, message.bytes) }

    func reply(_ request: JSONValue, ok: JSONValue) { send(["re": request["id"] ?? 0, "ok": ok]) }

    func refuse(_ request: JSONValue, _ code: String, retryAfter: Int64? = nil) {
        var error: JSONObject = ["code": .string(code), "message": "as the test says"]
        error["retry_after_ms"] = retryAfter.map { .integer($0) }
        send(["re": request["id"] ?? 0, "error": .object(error)])
    }

    func welcome(
        _ hello: JSONValue, resumed: Bool = false, pingInterval: Int64 = 25_000,
        limits: JSONValue = [:]
    ) {
        reply(
            hello,
            ok: [
                "user": "alice", "device": hello["data"]?["device"] ?? "phone",
                "session": .string(String(repeating: "5e", count: 16)),
                "resumed": .bool(resumed), "server_time_at": 1_795_000_000_000,
                "ping_interval_ms": .integer(pingInterval), "limits": limits, "calls": [],
            ])
    }

    /// An event that names a song.
    func event(_ seq: Int64, _ song: String) {
        send(["seq": .integer(seq), "event": "call.sung", "data": ["song": .string(song)]])
    }

    func close(_ code: UInt16, _ reason: String = "") {
        var output: [UInt8] = []
        FrameEncoder.appendClose(
            WebSocketCloseCode(rawValue: code), reason: reason, to: &output)
        connection.send(output)
        connection.close()
    }

    func abort() { connection.abort() }

    func end() { connection.close() }
}

/// A scripted server with one client of it.
final class Script {
    let waiter: LoopWaiter
    let server: ScriptedServer
    let device: TestDevice

    init(_ adjust: (inout CallClient.Options) -> Void = { _ in }) throws {
        waiter = try LoopWaiter()
        server = try ScriptedServer(waiter)
        var options = CallClient.Options(
            ServerAddress(server.endpoint), token: "dev:alice", device: "phone")
        options.backoff.first = 20
        adjust(&options)
        device = TestDevice(options, waiter)
    }

    var client: CallClient { device.client }

    /// Connects and waits for the welcome.
    func open() throws {
        client.connect()
        try device.welcome()
    }

    func wait(for what: String, until condition: @escaping () -> Bool) throws {
        try waiter.wait(for: what, until: condition)
    }

    /// The songs that the client was told of.
    var songs: [String] {
        device.news.compactMap {
            if case .unknownEvent(_, let data) = $0 { data["song"]?.string } else { nil }
        }
    }

    func close() {
        client.disconnect()
        server.close()
        waiter.close()
    }
}
