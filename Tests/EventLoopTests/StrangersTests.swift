// Those whom nobody knows have a part of each turn, and everybody else is served as ever.
import Glibc
import TestSupport
import Testing

@testable import EventLoop

@Suite struct StrangersTests {
    /// A socket that sends one byte, once the connection is there.
    private func speak(_ clients: [Int32]) {
        for client in clients { send(client, "x", 1, 0) }
    }

    /// Each look at it is so many nanoseconds after the last one.
    private func stopwatch(_ step: Int64) -> () -> Int64 {
        var elapsed: Int64 = 0
        return {
            elapsed += step
            return elapsed
        }
    }

    @Test func strangersHaveTheirPartOfATurnInOrderAndWhoIsKnownIsNotPutOff()
        throws
    {
        let rig = try Rig()
        defer { rig.close() }
        rig.loop.strangersTime = 1
        // Each look at the stopwatch is 0.4 ms after the last one, so that three fill a part.
        rig.loop.strangers.stopwatch = stopwatch(400_000)
        var connections: [Connection] = []
        var (heard, turns): ([Int], [[Int]]) = ([], [])
        let listener = try rig.listen { connection in
            let (number, peer) = (connections.count, Peer())
            peer.onBytes = { _, _ in heard.append(number) }
            connection.handler = peer
            // The last one is known.
            connection.isKnown = number == 10
            connections.append(connection)
        }
        let clients = try (0...10).map { _ in try bareConnection(to: listener.endpoint) }
        defer { for client in clients { close(client) } }
        rig.loop.atEndOfTurn {
            if connections.count == 11, heard.isEmpty, turns.isEmpty { speak(clients) }
            if !heard.isEmpty { turns.append(heard) }
            heard = []
            if turns.joined().count == 11 { rig.finish() }
        }
        rig.run()
        #expect(turns.map { $0.filter { $0 < 10 }.count } == [3, 3, 3, 1])
        #expect(turns[0].contains(10))
        #expect(turns.joined().filter { $0 < 10 } == Array(0..<10))
        #expect(rig.loop.strangers.waiting == 0)
    }

    @Test func whoComesInTakesOfThatTimeAndOneComesInEachTurn() throws {
        let rig = try Rig()
        defer { rig.close() }
        rig.loop.strangersTime = 1
        rig.loop.strangers.stopwatch = stopwatch(400_000)
        var turns: [Int] = []
        var count = 0
        let listener = try rig.listen { connection in
            connection.handler = Peer()
            count += 1
        }
        let clients = try (0..<10).map { _ in try bareConnection(to: listener.endpoint) }
        defer { for client in clients { close(client) } }
        rig.loop.atEndOfTurn {
            if count > 0 { turns.append(count) }
            // What others take of a turn leaves room for one.
            let isHalf = turns.reduce(0, +) >= 6
            rig.loop.strangersTime = isHalf ? 0 : 1
            count = 0
            if turns.reduce(0, +) == 10 { rig.finish() }
        }
        rig.run()
        #expect(turns == [3, 3, 1, 1, 1, 1])
    }

    @Test(arguments: [false, true])
    func ofVeryManyWhoGoAtOnceSomeEndInEachTurn(isReset: Bool) throws {
        let rig = try Rig()
        defer { rig.close() }
        // Each look at the stopwatch is 1 ms after the last one: three fill a turn.
        var elapsed: Int64 = 1
        rig.loop.stopwatch = {
            elapsed += 1_000_000
            return elapsed
        }
        var (count, gone): (Int, [Int]) = (0, [0])
        let listener = try rig.listen { connection in
            let peer = Peer()
            peer.onClosed = { _, error in
                #expect((error != nil) == isReset)
                gone[gone.count - 1] += 1
            }
            connection.handler = peer
            connection.isKnown = true
            count += 1
        }
        let clients = try (0..<12).map { _ in try bareConnection(to: listener.endpoint) }
        rig.loop.atEndOfTurn {
            if gone.last ?? 0 > 0 { gone.append(0) }
            if count == 12 {
                count = 0
                for client in clients {
                    if isReset { Connection.resetAtClose(client) }
                    close(client)
                }
            }
            if gone.reduce(0, +) == 12 { rig.finish() }
        }
        rig.run()
        #expect(gone.reduce(0, +) == 12 && gone.allSatisfy { $0 <= 6 })
    }

    @Test func withoutABoundStrangersAreServedInOneTurn() throws {
        let rig = try Rig()
        defer { rig.close() }
        var connections: [Connection] = []
        var (heard, turns) = (0, [Int]())
        let listener = try rig.listen { connection in
            let peer = Peer()
            peer.onBytes = { _, _ in heard += 1 }
            connection.handler = peer
            connections.append(connection)
        }
        let clients = try (0..<10).map { _ in try bareConnection(to: listener.endpoint) }
        defer { for client in clients { close(client) } }
        rig.loop.atEndOfTurn {
            if connections.count == 10, heard == 0 { speak(clients) }
            if heard > 0 { turns.append(heard) }
            if heard == 10 { rig.finish() }
        }
        rig.run()
        #expect(turns.last == 10)
    }

    @Test func oneThatWasPutOffAndGoesIsToldOfOnceAndTheOthersAreServed() throws {
        let rig = try Rig()
        defer { rig.close() }
        rig.loop.strangersTime = 1
        rig.loop.strangers.stopwatch = stopwatch(1_000_000)
        var (connections, ended): ([Connection], Int) = ([], 0)
        let listener = try rig.listen { connection in
            let peer = Peer()
            peer.onBytes = { connection, _ in
                // All others are waiting by now, or about to.
                for other in connections where other !== connection && other.isOpen {
                    other.abort()
                }
                connection.close()
            }
            peer.onClosed = { _, _ in
                ended += 1
                if ended == 5 { rig.later { rig.later { rig.finish() } } }
            }
            connection.handler = peer
            connections.append(connection)
        }
        let clients = try (0..<5).map { _ in try bareConnection(to: listener.endpoint) }
        var hasSpoken = false
        rig.loop.atEndOfTurn {
            guard connections.count == 5, !hasSpoken else { return }
            hasSpoken = true
            speak(clients)
            for client in clients { close(client) }
        }
        rig.run()
        #expect(ended == 5 && rig.loop.strangers.waiting == 0)
    }

    @Test func theKernelKeepsLittleForAStrangerWhoDoesNotReadUntilItIsKnown()
        throws
    {
        let rig = try Rig()
        defer { rig.close() }
        var options = Listener.Options()
        options.strangersSendBuffer = 64 << 10
        let sent = 8 << 20
        var (accepted, taken): (Connection?, UInt64) = (nil, 0)
        let listener = try rig.listen(options: options) { connection in
            connection.handler = Peer()
            connection.send([UInt8](repeating: 7, count: sent))
            accepted = connection
        }
        let client = try bareConnection(to: listener.endpoint)
        defer { close(client) }
        var arrived = 0
        rig.loop.atEndOfTurn {
            guard let accepted, accepted.sentBytes > 0 else { return }
            if taken == 0 {
                taken = accepted.sentBytes
                #expect(bound(of: accepted) == 64 << 10)
                accepted.isKnown = true
                #expect(bound(of: accepted) == .max)
            }
            arrived += readAvailable(client).utf8.count
            if arrived == sent { return rig.finish() }
            // The socket may have nothing to tell while the client has everything.
            rig.later {}
        }
        rig.run()
        #expect(arrived == sent)
        // That much, and what the client's side takes; of others, more than 2 MB.
        #expect(taken <= 512 << 10)
    }

    /// How many bytes the kernel takes for it that it cannot send.
    private func bound(of connection: Connection) -> UInt32 {
        var bytes: UInt32 = 0
        var length = socklen_t(MemoryLayout<UInt32>.size)
        getsockopt(
            connection.socket, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &bytes, &length)
        return bytes
    }

    @Test func aTLSClientThatSaysHalfAWordCostsNoSessionAndItsEndIsNoticed()
        throws
    {
        let rig = try Rig()
        defer { rig.close() }
        let folder = TemporaryFolder()
        var options = Listener.Options()
        options.tls = try TestCertificate("a", in: folder).serverContext()
        var (begun, failure): (Connection?, EventLoopError?) = (nil, nil)
        let listener = try Listener(
            at: .tcp(host: "127.0.0.1", port: 0), on: rig.loop, options: options,
            failed: {
                failure = $0
                rig.finish()
            }, accepted: { _ in Issue.record("let in") })
        listener.began = { begun = $0 }
        let client = try bareConnection(to: listener.endpoint)
        defer { close(client) }
        let half: [UInt8] = [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03]
        var turns = 0
        let timer = Timer(on: rig.loop) {}
        rig.loop.atEndOfTurn {
            guard let begun else { return }
            turns += 1
            switch turns {
            case 1: send(client, half, half.count, 0)
            case 2...20: #expect(begun.session?.hasBegun == false)
            case 21: shutdown(client, Int32(SHUT_WR))
            default: break
            }
            if turns < 21 { timer.arm(after: 1) }
        }
        rig.run()
        #expect(failure?.kind == .tls || failure?.kind == .reset)
        #expect(turns > 20)
    }

    @Test func ofHandshakesThatHaveBegunTheOldestGoesForOneMore() throws {
        let rig = try Rig()
        defer { rig.close() }
        let folder = TemporaryFolder()
        var options = Listener.Options()
        options.tls = try TestCertificate("a", in: folder).serverContext()
        options.handshakesAtOnce = 2
        var (begun, turnedBack): ([Connection], [Int]) = ([], [])
        let listener = try Listener(
            at: .tcp(host: "127.0.0.1", port: 0), on: rig.loop, options: options,
            failed: { _ in }, accepted: { _ in Issue.record("let in") })
        listener.began = { begun.append($0) }
        listener.turnedBack = { connection in
            turnedBack += begun.indices.filter { begun[$0] === connection }
        }
        // A whole record with an empty hello inside would be refused: this one goes on in the next.
        let part: [UInt8] = [0x16, 0x03, 0x01, 0x00, 0x04, 0x01, 0x00, 0x01, 0xFC]
        var clients: [Int32] = []
        defer { for client in clients { close(client) } }
        rig.loop.atEndOfTurn {
            // One after the other, and one that says nothing counts for nothing.
            let heard = begun.count { $0.session?.hasBegun == true }
            if clients.count == 4, heard == 3, !turnedBack.isEmpty { return rig.finish() }
            guard clients.count < 4, begun.count == clients.count,
                heard == max(0, clients.count - 1)
            else { return }
            guard let client = try? bareConnection(to: listener.endpoint) else { return }
            if !clients.isEmpty { send(client, part, part.count, 0) }
            clients.append(client)
        }
        rig.run()
        #expect(turnedBack == [1])
        #expect(listener.handshakes == 3)
    }
}
