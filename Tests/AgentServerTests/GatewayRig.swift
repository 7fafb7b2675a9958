// A gateway with real sockets and its clients, all on one loop.

import AgentCore
import CallClient
import CallClientCore
import CallModel
import CallWire
import EventLoop
import JSON
import Storage
import Testing
import WebProtocols

@testable import AgentServer

/// A gateway that listens on the loopback; its store is in memory, or a double.
final class GatewayRig {
    let waiter: LoopWaiter
    let exchange: Exchange
    let gateway: Gateway
    let metrics = Metrics()
    private var listener: Listener?

    init(
        tokens: any TokenChecker = DevelopmentTokens(), store double: StoreDouble? = nil,
        _ adjust: (inout ServerLimits) -> Void = { _ in }
    ) throws {
        waiter = try LoopWaiter()
        var limits = ServerLimits()
        adjust(&limits)
        let log = Log(level: .error, descriptor: -1)
        let kept = MemoryStore()
        exchange = Exchange(
            Settings(), restored: try kept.restore(at: Moment(0)), seed: 1, limits: limits,
            log: log, loop: waiter.loop)
        gateway = Gateway(
            exchange: exchange, loop: waiter.loop, limits: limits, modes: Settings().modes,
            tokens: tokens, log: log, metrics: metrics)
        if let double {
            exchange.store = double
        } else {
            exchange.store = try StoreInPlace(kept) { [unowned exchange] in exchange.receive($0) }
        }
        listener = try Listener(
            at: .tcp(host: "127.0.0.1", port: 0), on: waiter.loop,
            failed: { Issue.record("accepting failed: \($0)") },
            accepted: { [unowned gateway] in gateway.accept($0) })
        listener?.admits = { [unowned gateway] in gateway.admits($0) }
        listener?.began = { [unowned gateway] in gateway.begins($0) }
    }

    /// Must be called: a loop is closed, not dropped.
    func close() { waiter.close() }

    /// A connection on which nothing has been said.
    func client() throws -> TestClient {
        let client = TestClient()
        let endpoint = try #require(listener?.endpoint)
        Connector.connect(to: endpoint, on: waiter.loop) { result in
            switch result {
            case .success(let connection): client.begin(connection)
            case .failure: client.isClosed = true
            }
        }
        try waiter.wait(for: "a connection") { client.isConnected || client.isClosed }
        return client
    }

    /// A connection that has become a WebSocket.
    func socket(_ headers: HTTPHeaders = [:]) throws -> TestClient {
        let client = try client()
        client.upgrade(headers)
        try waiter.wait(for: "a WebSocket") { client.status != nil }
        return client
    }

    /// A device that has said `hello`.
    func device(_ user: String, _ name: String = "phone") throws -> TestClient {
        let client = try socket()
        client.say(#"{"id":0,"op":"hello","data":{"token":"dev:\#(user)","device":"\#(name)"}}"#)
        try waiter.wait(for: "a welcome") { client.reply(to: 0) != nil }
        return client
    }
}

/// The other end of one connection: it speaks HTTP and WebSocket, and keeps what it hears.
final class TestClient: ConnectionHandler {
    private(set) var isConnected = false
    /// The connection is gone, or never came about.
    fileprivate(set) var isClosed = false
    /// Of the newest response.
    private(set) var status: UInt16?
    private(set) var responses: [HTTPResponse] = []
    private(set) var messages: [JSONValue] = []
    private(set) var closeCode: UInt16?
    private var connection: Connection?
    private var parser = HTTPResponseParser(limits: HTTPLimits(body: 1 << 24))
    private var frames = FrameDecoder(role: .client, maximumMessage: 1 << 24)
    private var isWebSocket = false

    func begin(_ connection: Connection) {
        self.connection = connection
        connection.handler = self
        isConnected = true
    }

    /// The reply to the request `id`.
    func reply(to id: Int64) -> JSONValue? { messages.first { $0["re"]?.integer == id } }

    /// The code of the error that answers the request `id`.
    func refusal(of id: Int64) -> String? { reply(to: id)?["error"]?["code"]?.string }

    /// The data of the first event of this name.
    func event(_ name: String) -> JSONValue? {
        messages.first { $0["event"]?.string == name }?["data"]
    }

    // MARK: Saying

    func send(_ bytes: String) { connection?.send(bytes) }

    /// A request over HTTP.
    func request(_ method: String, _ path: String, _ fields: String = "", body: String = "") {
        send(
            "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    func upgrade(_ headers: HTTPHeaders) {
        do {
            let offer = WebSocketOffer(
                host: "test", target: try HTTPTarget("/v1/ws"), nonce: (1, 2), headers: headers)
            var output: [UInt8] = []
            offer.request.write(to: &output)
            connection?.send(output)
        } catch {
            Issue.record("\(error)")
        }
    }

    /// A text message.
    func say(_ text: String) {
        var output: [UInt8] = []
        FrameEncoder.append(.text, Array(text.utf8), mask: 0x1234_5678, to: &output)
        connection?.send(output)
    }

    /// The head of a text message of `length` bytes, and the first `count` of them.
    func begin(_ count: Int, of length: Int) {
        // The mask of zeros leaves all as it is.
        let head = [0x81, 0xFE, UInt8(length >> 8), UInt8(length & 0xFF), 0, 0, 0, 0]
        connection?.send(head + [UInt8](repeating: 0x20, count: count))
    }

    func close() { connection?.close() }
    func pauseReading() { connection?.pauseReading() }
    func resumeReading() { connection?.resumeReading() }

    // MARK: Hearing

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        do {
            var rest = bytes
            if !isWebSocket {
                while let response = try parser.next(&rest) { take(response) }
            }
            guard isWebSocket else { return }
            var input = UnsafeMutableRawBufferPointer(mutating: rest)
            while let event = try frames.next(&input) { try take(event) }
        } catch {
            Issue.record("the server sent nonsense: \(error)")
        }
    }

    private func take(_ response: HTTPResponse) {
        responses.append(response)
        status = response.status.rawValue
        isWebSocket = status == 101
    }

    private func take(_ event: WebSocketEvent) throws {
        switch event {
        case .text(let text): messages.append(try JSONValue(parsing: text))
        case .close(let code, _):
            closeCode = code?.rawValue
            connection?.close()
        case .ping, .pong: break
        case .binary: Issue.record("a binary message")
        }
    }

    func connectionClosed(_ connection: Connection, error: EventLoopError?) { isClosed = true }
}

/// Believes everybody, for as long as a test says.
struct BriefTokens: TokenChecker {
    let expiresAt: Int64

    func identity(in token: String, at now: Int64) throws(Refusal) -> Identity {
        var identity = Identity(user: UserID(String(token.dropFirst(4))))
        identity.token = SignedToken(expiresAt: expiresAt)
        return identity
    }
}
