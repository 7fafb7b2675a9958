// Connections over real loopback sockets.
import EventLoop
import Glibc
import TestSupport
import Testing

@Suite struct ConnectionTests {
    @Test(arguments: ["127.0.0.1", "::1", "localhost"])
    func tcpBringsEveryByteBack(host: String) throws {
        let rig = try Rig()
        defer { rig.close() }
        try echo(on: rig, at: .tcp(host: host, port: 0))
    }

    @Test func aUnixSocketBringsEveryByteBack() throws {
        let folder = TemporaryFolder()
        let rig = try Rig()
        defer { rig.close() }
        try echo(on: rig, at: .unix(path: "\(folder.path)/echo.sock"))
    }

    private func echo(on rig: Rig, at endpoint: NetworkAddress) throws {
        let listener = try rig.listen(at: endpoint) { $0.handler = Peer.echo() }
        let client = Peer()
        var heard = ""
        client.onBytes = { connection, bytes in
            heard += String(decoding: bytes, as: UTF8.self)
            if heard == "hello again" { connection.close() }
        }
        client.onClosed = { _, error in
            #expect(error == nil)
            rig.finish()
        }
        rig.connect(to: listener.endpoint) { connection in
            connection.handler = client
            connection.send("hello")
            connection.send(" again")
        }
        rig.run()
        #expect(heard == "hello again")
    }

    @Test func whatIsSentInOneTurnArrivesInOneRead() throws {
        let rig = try Rig()
        defer { rig.close() }
        let server = Peer()
        var reads: [Int] = []
        server.onBytes = { _, bytes in
            reads.append(bytes.count)
            rig.finish()
        }
        let listener = try rig.listen { $0.handler = server }
        rig.connect(to: listener.endpoint) { connection in
            for _ in 0..<100 { connection.send([1, 2, 3]) }
            #expect(connection.unsentBytes == 300)
        }
        rig.run()
        #expect(reads == [300])
    }

    @Test func aReadTakesNoMoreThanTheBufferOfTheLoop() throws {
        var options = EventLoop.Options()
        options.readBufferBytes = 16
        let rig = try Rig(options: options)
        defer { rig.close() }
        let server = Peer()
        var reads: [Int] = []
        server.onBytes = { _, bytes in
            reads.append(bytes.count)
            if reads.reduce(0, +) == 33 { rig.finish() }
        }
        let listener = try rig.listen { $0.handler = server }
        rig.connect(to: listener.endpoint) { $0.send([UInt8](repeating: 1, count: 33)) }
        rig.run()
        #expect(reads == [16, 16, 1])
    }

    @Test func aSlowReaderHoldsTheSenderBackAndLosesNothing() throws {
        var options = EventLoop.Options()
        options.closeTimeout = 60_000
        let rig = try Rig(options: options)
        defer { rig.close() }
        let total = 16 << 20
        let source = Source(total: total)
        let listener = try rig.listen { source.feed($0) }
        let sink = Sink(rig)
        rig.connect(to: listener.endpoint) { $0.handler = sink }
        rig.run(limit: 60_000)
        #expect(sink.received == total)
        #expect(sink.wrong == 0)
        #expect(source.pauses > 0)
        #expect(source.mostUnsent <= Source.highWater + 65_536)
    }

    @Test func afterThePeersEndOneCanStillSend() throws {
        let rig = try Rig()
        defer { rig.close() }
        let server = Peer()
        server.onEnd = { connection in
            connection.send("late answer")
            connection.close()
        }
        let listener = try rig.listen { $0.handler = server }
        let client = Peer()
        var heard = ""
        client.onBytes = { heard += String(decoding: $1, as: UTF8.self) }
        client.onClosed = { _, _ in rig.finish() }
        // close() announces our end and drops what comes, so a bare descriptor plays the
        // half-closing client.
        let descriptor = try bareConnection(to: listener.endpoint)
        shutdown(descriptor, Int32(SHUT_WR))
        server.onClosed = { _, error in
            #expect(error == nil)
            rig.finish()
        }
        rig.loop.atEndOfTurn { heard += readAvailable(descriptor) }
        rig.run()
        heard += readAvailable(descriptor)
        Glibc.close(descriptor)
        #expect(heard == "late answer")
    }

    @Test func closingDoesNotDestroyAnAnswerThatThePeerHasNotReadYet() throws {
        let rig = try Rig()
        defer { rig.close() }
        let server = Peer()
        var isAnswered = false
        server.onBytes = { connection, _ in
            if isAnswered { Issue.record("received after close") }
            isAnswered = true
            connection.send("too large")
            connection.close()
        }
        let listener = try rig.listen { $0.handler = server }
        let client = Peer()
        var heard = ""
        client.onBytes = { heard += String(decoding: $1, as: UTF8.self) }
        client.onClosed = { _, error in
            #expect(error == nil)
            rig.finish()
        }
        rig.connect(to: listener.endpoint) { connection in
            connection.handler = client
            connection.send([UInt8](repeating: 1, count: 4 << 20))
        }
        rig.run()
        #expect(heard == "too large")
    }

    @Test func aPeerThatNeverClosesIsDroppedWhenTheTimeForClosingIsOver() throws {
        var options = EventLoop.Options()
        options.closeTimeout = 50
        let rig = try Rig(options: options)
        defer { rig.close() }
        let server = Peer()
        var closedAfter: Int64?
        let listener = try rig.listen { connection in
            connection.handler = server
            let began = rig.loop.now
            server.onClosed = { _, error in
                #expect(error == nil)
                closedAfter = rig.loop.now - began
                rig.finish()
            }
            connection.send("bye")
            connection.close()
        }
        let descriptor = try bareConnection(to: listener.endpoint)
        rig.run()
        Glibc.close(descriptor)
        #expect(try #require(closedAfter) >= 50)
    }

    @Test func aPeerThatNeverReadsIsDroppedWhenTheTimeForClosingIsOver() throws {
        var options = EventLoop.Options()
        options.closeTimeout = 50
        let rig = try Rig(options: options)
        defer { rig.close() }
        let server = Peer()
        server.onClosed = { _, error in
            #expect(error == nil)
            rig.finish()
        }
        let listener = try rig.listen { connection in
            connection.handler = server
            connection.send([UInt8](repeating: 1, count: 64 << 20))
            rig.later {
                #expect(connection.unsentBytes > 0, "the socket took it all")
                connection.close()
            }
        }
        let descriptor = try bareConnection(to: listener.endpoint)
        rig.run()
        Glibc.close(descriptor)
    }

    @Test func abortIsAResetForThePeer() throws {
        let rig = try Rig()
        defer { rig.close() }
        let server = Peer()
        server.onBytes = { connection, _ in
            connection.abort()
            #expect(!connection.isOpen)
        }
        let listener = try rig.listen { connection in
            connection.handler = server
        }
        let client = Peer()
        client.onEnd = { _ in Issue.record("a reset, not an end") }
        client.onClosed = { _, error in
            #expect(error?.kind == .reset)
            rig.finish()
        }
        rig.connect(to: listener.endpoint) { connection in
            connection.handler = client
            connection.send("please")
        }
        rig.run()
    }

    @Test func whatIsSentAfterTheCloseIsDropped() throws {
        let rig = try Rig()
        defer { rig.close() }
        let listener = try rig.listen { connection in
            connection.handler = Peer.echo()
            connection.send("one")
            connection.close()
            connection.send("two")
        }
        let client = Peer()
        var heard = ""
        client.onBytes = { heard += String(decoding: $1, as: UTF8.self) }
        client.onClosed = { _, _ in rig.finish() }
        rig.connect(to: listener.endpoint) { $0.handler = client }
        rig.run()
        #expect(heard == "one")
    }

    @Test func aThousandConnectionsAreServedAtOnce() throws {
        let rig = try Rig()
        defer { rig.close() }
        let count = 1_000
        let listener = try rig.listen { $0.handler = Peer.echo() }
        var open: Set<ObjectIdentifier> = []
        var answered = 0
        var closed = 0
        var connections: [Connection] = []
        for _ in 0..<count {
            rig.connect(to: listener.endpoint) { connection in
                let client = Peer()
                client.onBytes = { connection, _ in
                    answered += 1
                    if answered == count { for each in connections { each.close() } }
                }
                client.onClosed = { _, error in
                    #expect(error == nil)
                    closed += 1
                    if closed == count { rig.finish() }
                }
                connection.handler = client
                open.insert(ObjectIdentifier(connection))
                connections.append(connection)
                if open.count == count { for each in connections { each.send("ping") } }
            }
        }
        rig.run()
        #expect(answered == count)
        #expect(closed == count)
    }

    @Test func peersAreNamedByTheirAddress() throws {
        let rig = try Rig()
        defer { rig.close() }
        var names: [String] = []
        let listener = try rig.listen(at: .tcp(host: "::", port: 0)) { connection in
            names.append(connection.peer.host)
            #expect(connection.peer.port > 0)
            if names.count == 2 { rig.finish() }
        }
        guard case .tcp(_, let port) = listener.endpoint else { return }
        rig.connect(to: .tcp(host: "127.0.0.1", port: port)) { connection in
            #expect("\(connection.peer)" == "127.0.0.1:\(port)")
            rig.connect(to: .tcp(host: "::1", port: port)) { connection in
                #expect("\(connection.peer)" == "[::1]:\(port)")
            }
        }
        rig.run()
        #expect(names == ["127.0.0.1", "::1"])
    }

    @Test func aClosedConnectionIsForgotten() throws {
        let rig = try Rig()
        defer { rig.close() }
        weak var accepted: Connection?
        weak var connected: Connection?
        let listener = try rig.listen { connection in
            connection.handler = Peer.echo()
            accepted = connection
        }
        let client = Peer()
        client.onClosed = { _, _ in rig.later { rig.finish() } }
        rig.connect(to: listener.endpoint) { connection in
            connection.handler = client
            connected = connection
            connection.close()
        }
        rig.run()
        #expect(accepted == nil)
        #expect(connected == nil)
    }

    @Test func theEndOfTheLoopClosesWhatIsOpenAndSaysSo() throws {
        var reported = 0
        do {
            let rig = try Rig()
            defer { rig.close() }
            let server = Peer()
            server.onClosed = { _, error in
                #expect(error == nil)
                reported += 1
            }
            let listener = try rig.listen { connection in
                connection.handler = server
                rig.finish()
            }
            rig.connect(to: listener.endpoint) { _ in }
            rig.run()
        }
        #expect(reported == 1)
    }
}

/// A blocking client below the library: for peers that do not behave.
func bareConnection(to endpoint: NetworkAddress) throws -> Int32 {
    guard case .tcp(_, let port) = endpoint else { throw CancellationError() }
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let code = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    #expect(code == 0)
    return descriptor
}

/// What has arrived; does not wait.
func readAvailable(_ descriptor: Int32) -> String {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
}
