// How connections end, and what a client does then.

@testable import CallClientCore
@testable import CallClient
import CallModel
import CallWire
import EventLoop
import JSON
import Testing
import WebProtocols

@testable import AgentServer

@Suite struct CloseCodeTests {
    @Test(arguments: [CloseCode.draining, .tooSlow, .pingTimeout])
    func afterTheseItConnectsAgainAndResumes(_ code: CloseCode) throws {
        let rig = try Rig()
        defer { rig.close() }
        let bob = try rig.connected("bob")
        try rig.server.close("bob", with: code)
        #expect(try bob.loss() == .closed(code.rawValue, "as the test says"))
        #expect(try bob.welcome().resumed)
    }

    @Test(arguments: [CloseCode.expired, .revoked])
    func afterTheseItWaitsForANewToken(_ code: CloseCode) throws {
        let rig = try Rig()
        defer { rig.close() }
        let bob = try rig.connected("bob")
        try rig.server.close("bob", with: code)
        let loss = try bob.next("the wish for a token") {
            if case .tokenNeeded(let loss) = $0 { loss } else { nil }
        }
        #expect(loss == .closed(code.rawValue, "as the test says"))
        #expect(bob.client.state == .awaitingToken)
        bob.client.connect()
        #expect(bob.client.state == .awaitingToken)
        bob.client.renew(token: "dev:bob")
        #expect(try bob.welcome().resumed)
    }

    @Test(
        arguments: [
            CloseCode.normal, .unsupportedData, .protocolError, .forbidden, .replaced, .rateLimited,
        ])
    func afterTheseItStaysAway(_ code: CloseCode) throws {
        let rig = try Rig()
        defer { rig.close() }
        let bob = try rig.connected("bob")
        try rig.server.close("bob", with: code)
        #expect(try bob.ending() == .lost(.closed(code.rawValue, "as the test says")))
        #expect(bob.client.state == .stopped)
        bob.client.connect()
        try bob.welcome()
    }

    @Test(arguments: [1001, 1011, 1012, 3000, 4000, 4050, 4099] as [UInt16])
    func whatIsNotOursIsALostLine(_ code: UInt16) throws {
        let script = try Script()
        defer { script.close() }
        try script.open()
        script.server.peers[0].close(code, "why")
        #expect(try script.device.loss() == .closed(code, "why"))
        try script.device.welcome()
    }
}

@Suite struct EndingTests {
    @Test func aNewerConnectionOfTheSameDeviceReplacesTheOlder() throws {
        let rig = try Rig()
        defer { rig.close() }
        let older = try rig.connected("bob", "phone")
        let newer = try rig.connected("bob", "phone")
        guard case .lost(.closed(4209, _)) = try older.ending() else {
            Issue.record("another end")
            return
        }
        #expect(newer.client.state == .open)
    }

    @Test func aBadTokenIsRefusedInTheServersWords() throws {
        let rig = try Rig()
        defer { rig.close() }
        let nobody = rig.device("nobody", token: "guess")
        nobody.client.connect()
        guard case .refused(let refusal) = try nobody.ending() else {
            Issue.record("let in")
            return
        }
        #expect(refusal.code == .unauthenticated && refusal.message.contains("dev:USER"))
    }

    @Test func whoLogsOutIsGoneAtOnce() throws {
        let rig = try Rig()
        defer { rig.close() }
        let (alice, bob) = (try rig.connected("alice"), try rig.connected("bob"))
        let call = try alice.invite("bob")
        _ = try bob.incoming()
        alice.client.logOut()
        #expect(try alice.ending() == .loggedOut)
        // The caller is lost at once, which cancels the call.
        let reason = try bob.event("the cancel") {
            if case .cancelled(_, _, let reason) = $0 { reason } else { nil }
        }
        #expect(reason == .callerLost)
        #expect(bob.events.allSatisfy { $0.callID == call.id })
    }

    @Test func whoDisconnectsMayComeBack() throws {
        let rig = try Rig()
        defer { rig.close() }
        let bob = try rig.connected("bob")
        bob.client.disconnect()
        #expect(try bob.ending() == .disconnected)
        bob.client.connect()
        #expect(try bob.welcome().resumed)
    }

    @Test func aServerThatIsNotThereIsTriedAgain() throws {
        let waiter = try LoopWaiter()
        defer { waiter.close() }
        let place = try ScriptedServer(waiter)
        let endpoint = place.endpoint
        place.close()
        var options = CallClient.Options(ServerAddress(endpoint), token: "dev:a", device: "d")
        options.backoff.first = 20
        let device = TestDevice(options, waiter)
        device.client.connect()
        for _ in 0..<3 {
            guard case .network(let error) = try device.loss() else {
                Issue.record("another loss")
                return
            }
            #expect(error.description.contains("refused") && !error.isLasting)
        }
        device.client.disconnect()
    }

    @Test(arguments: [400, 401, 404, 426] as [UInt16])
    func anAnswerThatWillNotChangeEndsIt(_ status: UInt16) throws {
        let script = try Script()
        defer { script.close() }
        script.server.onRequest = { $1.respond(HTTPResponse(HTTPStatus(rawValue: status))) }
        script.client.connect()
        #expect(try script.device.ending() == .lost(.status(HTTPStatus(rawValue: status))))
    }

    @Test(arguments: [408, 429, 500, 502, 503] as [UInt16])
    func anAnswerThatMayChangeIsTriedAgain(_ status: UInt16) throws {
        let script = try Script()
        defer { script.close() }
        script.server.onRequest = { request, peer in
            if script.server.peers.count > 1 { return peer.upgrade(request) }
            peer.respond(HTTPResponse(HTTPStatus(rawValue: status)))
        }
        script.client.connect()
        #expect(try script.device.loss() == .status(HTTPStatus(rawValue: status)))
        try script.device.welcome()
    }

    @Test func aServerThatDoesNotProveThatItReadTheKeyIsNoWebSocket() throws {
        let script = try Script()
        defer { script.close() }
        script.server.onRequest = { _, peer in
            peer.respond(
                HTTPResponse(
                    101,
                    headers: [
                        "Upgrade": "websocket", "Connection": "Upgrade",
                        "Sec-WebSocket-Accept": "AAAAAAAAAAAAAAAAAAAAAAAAAAA=",
                    ]))
        }
        script.client.connect()
        guard case .lost(.notWebSocket(let words)) = try script.device.ending() else {
            Issue.record("another end")
            return
        }
        #expect(words == "the answer does not belong to the request")
    }

    @Test func aServerThatSpeaksNoHTTPIsNoWebSocket() throws {
        let script = try Script()
        defer { script.close() }
        script.server.onRequest = { $1.send(Array("SSH-2.0-OpenSSH_9.2\r\n".utf8)) }
        script.client.connect()
        guard case .lost(.notWebSocket) = try script.device.ending() else {
            Issue.record("another end")
            return
        }
    }

    @Test func aServerThatSaysNothingIsLeft() throws {
        let script = try Script { $0.connectWithin = 80 }
        defer { script.close() }
        script.server.onMessage = { _, _ in }
        script.client.connect()
        #expect(try script.device.loss() == .silence)
    }

    @Test func aConnectionOnWhichNothingIsHeardIsGivenUp() throws {
        let script = try Script()
        defer { script.close() }
        script.server.onMessage = { message, peer in
            let isFirst = script.server.peers.count == 1
            peer.welcome(message, resumed: !isFirst, pingInterval: isFirst ? 100 : 25_000)
        }
        try script.open()
        #expect(try script.device.loss() == .silence)
        try script.device.welcome()
        #expect(script.server.requests("hello").last?["data"]?["resume"]?["seq"] == 0)
    }

    @Test func pingsAreAnsweredAndFramesBehindTheHandshakeAreRead() throws {
        let script = try Script()
        defer { script.close() }
        var ping: [UInt8] = []
        FrameEncoder.append(.ping, Array("there?".utf8), to: &ping)
        script.server.onRequest = { $1.upgrade($0, with: ping) }
        try script.open()
        script.server.peers[0].send(.ping, [])
        try script.wait(for: "the pongs") {
            script.server.peers[0].pongs == [Array("there?".utf8), []]
        }
    }

    @Test func framesThatNoServerSendsEndTheConnection() throws {
        let script = try Script()
        defer { script.close() }
        try script.open()
        script.server.peers[0].send(.text, Array("{}".utf8), mask: 7)
        #expect(try script.device.loss() == .violation("a server's frame must not be masked"))
        try script.device.welcome()
        script.server.peers[1].send(.binary, [1])
        #expect(try script.device.loss() == .violation("a binary message"))
        try script.device.welcome()
        #expect(script.server.peers.map(\.closedWith) == [.protocolError, .unsupportedData, nil])
    }
}

@Suite struct BackoffTests {
    @Test func waitsGrowToABoundAndAreSpread() {
        let backoff = Backoff()
        for (failures, bound) in [
            (1, 500), (2, 1_000), (5, 8_000), (6, 16_000), (7, 20_000), (900, 20_000),
        ] {
            var dice = SystemRandomNumberGenerator()
            let waits = (0..<400).map { _ in backoff.wait(after: failures, &dice) }
            #expect(waits.allSatisfy { (20...Milliseconds(bound)).contains($0) })
            #expect(waits.max() ?? 0 > Milliseconds(bound / 2))
            #expect(waits.min() ?? .max < Milliseconds(bound / 2))
        }
    }
}
