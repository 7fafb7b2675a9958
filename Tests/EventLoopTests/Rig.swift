// What the tests share: a loop with a time limit, and a peer that records what it hears.
import EventLoop
import Glibc
import Testing

/// A loop on the test's own thread. Nothing in a test waits by time: it ends by `finish`, or fails
/// at the limit.
final class Rig {
    let loop: EventLoop
    /// Keeps objects alive that the loop only borrows.
    var kept: [AnyObject] = []

    init(options: EventLoop.Options = EventLoop.Options()) throws {
        loop = try EventLoop(options: options)
    }

    /// Runs until `finish`.
    func run(limit: Int64 = 20_000, sourceLocation: SourceLocation = #_sourceLocation) {
        let guardian = Timer(on: loop) { [loop] in
            Issue.record("not finished after \(limit) ms", sourceLocation: sourceLocation)
            loop.stop()
        }
        guardian.arm(after: limit)
        loop.run()
        guardian.cancel()
    }

    func finish() { loop.stop() }

    /// Runs `body` in a later turn.
    func later(_ body: @escaping () -> Void) {
        let timer = Timer(on: loop, body)
        timer.arm(after: 0)
        kept.append(timer)
    }

    func listen(
        at endpoint: NetworkAddress = .tcp(host: "127.0.0.1", port: 0),
        options: Listener.Options = Listener.Options(), _ accepted: @escaping (Connection) -> Void
    ) throws -> Listener {
        try Listener(
            at: endpoint, on: loop, options: options,
            failed: { Issue.record("accepting failed: \($0)") }, accepted: accepted)
    }

    /// Connects and hands the connection over; a failure fails the test.
    func connect(
        to endpoint: NetworkAddress, options: Connector.Options = Connector.Options(),
        _ connected: @escaping (Connection) -> Void
    ) {
        Connector.connect(to: endpoint, on: loop, options: options) { [weak self] result in
            switch result {
            case .success(let connection): connected(connection)
            case .failure(let error):
                Issue.record("\(error)")
                self?.finish()
            }
        }
    }

    /// Must be called: handlers and the rig hold each other.
    func close() {
        kept = []
        loop.close()
    }
}

/// A handler made of closures.
final class Peer: ConnectionHandler {
    var onBytes: (Connection, UnsafeRawBufferPointer) -> Void = { _, _ in }
    var onEnd: (Connection) -> Void = { $0.close() }
    var onDrained: (Connection) -> Void = { _ in }
    var onClosed: (Connection, EventLoopError?) -> Void = { _, _ in }

    static func echo() -> Peer {
        let peer = Peer()
        peer.onBytes = { $0.send($1) }
        return peer
    }

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        onBytes(connection, bytes)
    }

    func connectionReachedEnd(_ connection: Connection) { onEnd(connection) }

    func connectionDrained(_ connection: Connection) { onDrained(connection) }

    func connectionClosed(_ connection: Connection, error: EventLoopError?) {
        onClosed(connection, error)
    }
}

/// Sends a known stream, never keeping more than its high water unsent.
final class Source: ConnectionHandler {
    static let highWater = 1 << 20
    private let total: Int
    private var sent = 0
    private(set) var pauses = 0
    private(set) var mostUnsent = 0

    init(total: Int) { self.total = total }

    static func byte(at position: Int) -> UInt8 { UInt8(truncatingIfNeeded: position / 7) }

    func feed(_ connection: Connection) {
        connection.handler = self
        while connection.unsentBytes < Self.highWater, sent < total {
            let size = min(65_536, total - sent)
            connection.send(upTo: size) { room in
                for index in 0..<size { room[index] = Self.byte(at: sent + index) }
                return size
            }
            sent += size
        }
        mostUnsent = max(mostUnsent, connection.unsentBytes)
        if sent == total { connection.close() } else { connection.notifyWhenDrained() }
    }

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        Issue.record("received \(bytes.count) bytes")
    }

    func connectionDrained(_ connection: Connection) {
        pauses += 1
        feed(connection)
    }

    func connectionClosed(_ connection: Connection, error: EventLoopError?) {
        #expect(error == nil)
    }
}

/// Reads a known stream slowly: a pause after every read.
final class Sink: ConnectionHandler {
    var expected = Source.byte
    private(set) var received = 0
    private(set) var wrong = 0
    private let rig: Rig

    init(_ rig: Rig) { self.rig = rig }

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        for byte in bytes {
            if byte != expected(received) { wrong += 1 }
            received += 1
        }
        connection.pauseReading()
        rig.later { connection.resumeReading() }
    }

    func connectionClosed(_ connection: Connection, error: EventLoopError?) {
        #expect(error == nil)
        rig.finish()
    }
}
