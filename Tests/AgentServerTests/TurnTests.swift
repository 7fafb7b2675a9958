// What one turn of the loop does for one connection and for strangers, at its edges.

import AgentCore
import CallClient
import CallClientCore
import CallModel
import CallWire
import JSON
import Testing
import WebProtocols

@testable import AgentServer
@testable import EventLoop

@Suite struct TurnTests {
    private func nothing(_ id: Int) -> String {
        #"{"id":\#(id),"op":"call.get","data":{"call_id":"\#(CallID(high: 1, low: 1))"}}"#
    }

    @Test func ofOneConnectionATurnTakesSoManyMessagesThenTheOthersHaveTheirs()
        throws
    {
        let rig = try GatewayRig { $0.messagesPerTurn = 4 }
        defer { rig.close() }
        let bob = try rig.device("bob")
        var (before, turns) = (rig.gateway.desk.figures.requests.total, [UInt64]())
        rig.waiter.loop.atEndOfTurn {
            let taken = rig.gateway.desk.figures.requests.total
            if taken > before { turns.append(taken - before) }
            before = taken
        }
        for id in 1...9 { bob.say(nothing(id)) }
        try rig.waiter.wait(for: "all answers") { (1...9).allSatisfy { bob.reply(to: $0) != nil } }
        #expect(turns == [4, 4, 1])
    }

    @Test func inALongTurnOfWhoeverHasMuchToSayOneMessageIsTaken() throws {
        let rig = try GatewayRig { $0.messagesPerTurn = 4 }
        defer { rig.close() }
        let devices = try ["ann", "bob", "cat"].map { try rig.device($0) }
        // Each look at the stopwatch is 2 ms after the last one: the third one is in a long turn.
        var elapsed: Int64 = 1
        rig.waiter.loop.stopwatch = {
            elapsed += 2_000_000
            return elapsed
        }
        var (before, turns) = (rig.gateway.desk.figures.requests.total, [UInt64]())
        rig.waiter.loop.atEndOfTurn {
            let taken = rig.gateway.desk.figures.requests.total
            if taken > before { turns.append(taken - before) }
            before = taken
        }
        for id in 1...9 { for device in devices { device.say(nothing(id)) } }
        try rig.waiter.wait(for: "all answers") {
            (1...9).allSatisfy { id in devices.allSatisfy { $0.reply(to: id) != nil } }
        }
        #expect(turns.reduce(0, +) == 27 && turns.allSatisfy { $0 <= 9 })
    }

    @Test func ofRequestsOverHTTPATurnTakesSoManyAndAllAreAnsweredInOrder() throws {
        let rig = try GatewayRig { $0.messagesPerTurn = 4 }
        defer { rig.close() }
        var turns: [Int] = []
        var asked = 0
        rig.gateway.document = { _ in
            asked += 1
            return HTTPResponse(200, text: "\(asked)")
        }
        var before = 0
        rig.waiter.loop.atEndOfTurn {
            if asked > before { turns.append(asked - before) }
            before = asked
        }
        let client = try rig.client()
        for _ in 1...9 { client.request("GET", "/v1/openapi.json") }
        try rig.waiter.wait(for: "all answers") { client.responses.count == 9 }
        #expect(turns == [4, 4, 1])
        #expect(
            client.responses.map { String(decoding: $0.body, as: UTF8.self) }
                == (1...9).map { "\($0)" })
    }

    @Test func aLargeDocumentIsGivenAPieceAtATimeToWhoReadsIt() throws {
        let rig = try GatewayRig { $0.unsentAnswerBytes = 8_192 }
        defer { rig.close() }
        let document = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        rig.gateway.document = { _ in HTTPResponse(200, body: document) }
        var most = 0
        rig.waiter.loop.atEndOfTurn { most = max(most, rig.gateway.unsentBytes) }
        let client = try rig.client()
        for _ in 0..<20 { client.request("GET", "/v1/openapi.json") }
        client.request("GET", "/healthz", "Connection: close\r\n")
        try rig.waiter.wait(for: "the end") { client.isClosed }
        #expect(client.responses.count == 21 && client.status == 200)
        #expect(client.responses.dropLast().allSatisfy { $0.body == document })
        #expect(most <= 2 * 8_192 + 256)
    }

    @Test func whoAsksForOneDocumentAndNoMoreGetsItWhole() throws {
        let rig = try GatewayRig { $0.unsentAnswerBytes = 4_096 }
        defer { rig.close() }
        let document = [UInt8](repeating: 7, count: 100_001)
        rig.gateway.document = { _ in HTTPResponse(200, body: document) }
        let client = try rig.client()
        client.request("GET", "/v1/openapi.json", "Connection: close\r\n")
        try rig.waiter.wait(for: "the end") { client.isClosed }
        #expect(client.responses.first?.body == document)
    }

    @Test func whatStrangersBeginIsBoundedWhenItComesAndWhoBeganMostGoes() throws {
        let rig = try GatewayRig {
            $0.strangersBytes = 100_000
            $0.messageWithin = 600_000
        }
        defer { rig.close() }
        let (first, greedy, last) = (try rig.socket(), try rig.socket(), try rig.socket())
        first.begin(20_000, of: 60_000)
        greedy.begin(56_000, of: 60_000)
        try rig.waiter.wait(for: "two beginnings") { rig.gateway.beginners.bytes == 76_000 }
        #expect(rig.gateway.beginners.count == 2)
        // Less than an equal share, also when there are four of them.
        last.begin(24_000, of: 60_000)
        try rig.waiter.wait(for: "all that may be") { rig.gateway.beginners.bytes == 100_000 }
        #expect(rig.gateway.beginners.count == 3 && rig.metrics.slowSenders == 0)
        let small = try rig.socket()
        small.begin(1, of: 60_000)
        try rig.waiter.wait(for: "the end of the greedy one") { greedy.closeCode == 4008 }
        #expect(!first.isClosed && !last.isClosed)
        // The memory that is there for the one byte counts.
        #expect(rig.gateway.beginners.bytes == 44_256)
        #expect(rig.metrics.slowSenders == 1)
        small.close()
        last.close()
        first.close()
        try rig.waiter.wait(for: "the end of all") { rig.gateway.links.isEmpty }
        #expect(rig.gateway.beginners.bytes == 0 && rig.gateway.beginners.count == 0)
    }

    @Test func whatStrangersLeaveUnreadIsBoundedAndWhoHasLeftMostGoes() throws {
        let rig = try GatewayRig {
            $0.strangersBytes = 1_000_000
            $0.unsentAnswerBytes = 65_536
        }
        defer { rig.close() }
        let document = [UInt8](repeating: 7, count: 15 << 20)
        rig.gateway.document = { _ in HTTPResponse(200, body: document) }
        var silent: [TestClient] = []
        while rig.metrics.slowReaders == 0, silent.count < 40 {
            let client = try rig.client()
            client.pauseReading()
            client.request("GET", "/v1/openapi.json")
            silent.append(client)
            try rig.waiter.wait(for: "what is unread") {
                rig.gateway.beginners.count == silent.count || rig.metrics.slowReaders > 0
            }
        }
        // Each leaves two pieces of 64 KiB at most.
        #expect(silent.count >= 7 && rig.metrics.slowReaders > 0)
        #expect(rig.gateway.beginners.bytes <= 1_000_000)
        for client in silent { client.close() }
        try rig.waiter.wait(for: "the end of all") { rig.gateway.links.isEmpty }
        #expect(rig.gateway.beginners.bytes == 0)
        let reader = try rig.client()
        reader.request("GET", "/v1/openapi.json")
        try rig.waiter.wait(for: "the document") { !reader.responses.isEmpty }
        #expect(reader.responses.first?.body == document)
        try rig.waiter.wait(for: "nothing unread") { rig.gateway.beginners.bytes == 0 }
    }

    @Test func whatWasBegunAndIsWholeCountsNoMoreNorWhatUsersBegin() throws {
        let rig = try GatewayRig { $0.strangersBytes = 65_536 }
        defer { rig.close() }
        let stranger = try rig.socket()
        stranger.begin(30_000, of: 30_010)
        try rig.waiter.wait(for: "a beginning") { rig.gateway.beginners.bytes == 30_000 }
        stranger.send(String(repeating: " ", count: 10))
        try rig.waiter.wait(for: "an answer") { !stranger.messages.isEmpty }
        #expect(rig.gateway.beginners.bytes == 0)
        let bob = try rig.device("bob")
        bob.begin(60_000, of: 60_010)
        let alice = try rig.device("alice")
        alice.begin(60_000, of: 60_010)
        _ = try rig.device("cat")
        #expect(rig.gateway.beginners.bytes == 0 && !bob.isClosed && !alice.isClosed)
    }

    @Test func oneTurnAsksSoManyWhetherTheyAreThere() throws {
        let rig = try GatewayRig {
            $0.newcomersPerTurn = 1
            $0.session.pingInterval = 0
        }
        defer { rig.close() }
        for number in 0..<20 { _ = try rig.device("user-\(number)") }
        // Nothing of it has left, for no turn is over. A ping takes two bytes.
        var (turns, before) = ([Int](), rig.gateway.unsentBytes)
        for _ in 0..<3 {
            rig.gateway.runHousekeeping()
            turns.append((rig.gateway.unsentBytes - before) / 2)
            before = rig.gateway.unsentBytes
        }
        // A round may have been under way.
        #expect(turns.reduce(0, +) == 20 && turns.allSatisfy { $0 <= 8 })
    }

    @Test func oneTurnEndsSoManyWhoseTimeIsOverTheNextOneGoesOn() throws {
        let rig = try GatewayRig {
            $0.newcomersPerTurn = 2
            $0.session.helloWithin = 0
        }
        defer { rig.close() }
        var clients: [TestClient] = []
        for _ in 0..<5 { clients.append(try rig.socket()) }
        var turns: [Int] = []
        while rig.gateway.links.contains(where: \.isWebSocket) {
            let before = rig.gateway.links.count { $0.isWebSocket }
            rig.gateway.runHousekeeping()
            turns.append(before - rig.gateway.links.count { $0.isWebSocket })
        }
        #expect(turns == [2, 2, 1])
    }
}
