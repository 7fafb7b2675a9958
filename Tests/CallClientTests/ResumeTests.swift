// Connections that break: nothing is missed, nothing is told or done twice.

import AgentCore
import CallClient
import CallClientCore
import CallModel
import CallWire
import JSON
import Testing
import WebProtocols

@testable import AgentServer

@Suite struct ResumeTests {
    @Test func whatHappenedDuringALossIsToldOnceAndInOrder() throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = try rig.connected("alice")
        let bob = try rig.connected("bob") { $0.backoff.shortest = 300 }
        let call = try alice.invite("bob")
        _ = try bob.incoming()
        _ = try bob.ask { $0.accept(call.id, $1) }
        try rig.server.cutOff("bob")
        _ = try bob.loss()
        #expect(bob.client.state == .waiting)
        for user: UserID in ["carol", "dave", "erin"] {
            _ = try alice.ask { $0.add([user], to: call.id, $1) }
        }
        let welcome = try bob.welcome()
        #expect(welcome.resumed && welcome.calls.map(\.id) == [call.id])
        for user: UserID in ["carol", "dave", "erin"] {
            #expect(try bob.change(of: user).state == .inviting)
        }
        let revisions = bob.events.map(\.revision)
        #expect(revisions == revisions.sorted() && Set(revisions).count == revisions.count)
    }

    @Test func lossesAgainAndAgainLoseNothing() throws {
        let rig = try Rig()
        defer { rig.close() }
        let (alice, bob) = (try rig.connected("alice"), try rig.connected("bob"))
        let call = try alice.invite("bob")
        _ = try bob.incoming()
        _ = try bob.ask { $0.accept(call.id, $1) }
        for round in 0..<10 {
            let _: Void = try alice.ask {
                $0.signal(["n": .integer(Int64(round))], in: call.id, $1)
            }
            try rig.server.cutOff("bob")
            #expect(try bob.welcome().resumed)
        }
        let _: Void = try alice.ask { $0.signal(["n": 10], in: call.id, $1) }
        var heard: [String] = []
        for event in bob.events {
            if case .signal(_, let data) = event.kind {
                heard.append(String(decoding: data, as: UTF8.self))
            }
        }
        while heard.count < 11 {
            heard.append(
                try bob.event("a signal") {
                    if case .signal(_, let data) = $0 {
                        String(decoding: data, as: UTF8.self)
                    } else {
                        nil
                    }
                })
        }
        #expect(Set(heard) == Set((0...10).map { #"{"n":\#($0)}"# }))
    }

    @Test func aServerThatForgotTheSessionSaysSoWithTheWholeTruth() throws {
        let rig = try Rig()
        defer { rig.close() }
        let (alice, bob) = (try rig.connected("alice"), try rig.connected("bob"))
        let call = try alice.invite("bob")
        _ = try bob.incoming()
        try rig.server.run { $0.gateway.desk.dropEverything() }
        guard case .closed(4001, _) = try bob.loss() else {
            Issue.record("closed otherwise")
            return
        }
        let welcome = try bob.welcome()
        #expect(!welcome.resumed && welcome.calls.map(\.id) == [call.id])
        #expect(try bob.incoming().id == call.id)
    }

    @Test func aRequestMadeWithoutAConnectionIsCarriedOutLater() throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = rig.device("alice")
        var call: Call?
        alice.client.invite(Invitation(invitees: ["bob"])) { call = try? $0.get().call }
        alice.client.connect()
        try rig.waiter.wait(for: "the answer") { call != nil }
        #expect(call?.caller == "alice")
    }

    @Test func theSameKeyChangesNothingTwice() throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = try rig.connected("alice")
        let invitation = Invitation(invitees: ["bob"])
        let first = try alice.ask { $0.invite(invitation, key: .text("k"), $1) }
        try rig.server.cutOff("alice")
        try alice.welcome()
        let again = try alice.ask { $0.invite(invitation, key: .text("k"), $1) }
        #expect(again == first)
        #expect(try alice.ask { $0.list(ListQuery(), $1) }.calls.count == 1)
        let other = try alice.result {
            $0.invite(Invitation(invitees: ["carol"]), key: .text("k"), $1)
        }
        guard case .failure(.refused(let refusal)) = other else {
            Issue.record("the key was used for another body")
            return
        }
        #expect(refusal.code == .keyReused)
    }
}

@Suite struct RepetitionTests {
    @Test func aRequestWithAKeyIsRepeatedUntilAnswered() throws {
        let script = try Script()
        defer { script.close() }
        script.server.onMessage = { message, peer in
            switch message["op"]?.string {
            case "hello": peer.welcome(message)
            case "call.end" where script.server.peers.count < 3: peer.abort()
            case "call.end": peer.reply(message, ok: ["call": .null])
            default: break
            }
        }
        try script.open()
        let end = Operation.call(CallID(high: 1, low: 2), .end())
        let ok = try script.device.ask { $0.perform(end, $1) }
        #expect(ok == ["call": .null])
        let asked = script.server.requests("call.end")
        #expect(asked.count == 3 && Set(asked.map { $0["key"]?.string }).count == 1)
        #expect(asked.allSatisfy { $0["key"]?.string?.utf8.count == 32 })
    }

    @Test func aRequestWithoutAKeyIsNot() throws {
        let script = try Script()
        defer { script.close() }
        script.server.onMessage = { message, peer in
            if message["op"] == "hello" { peer.welcome(message) } else { peer.abort() }
        }
        try script.open()
        let end = Operation.call(CallID(high: 1, low: 2), .end())
        let result = try script.device.result { $0.perform(end, key: .none, $1) }
        #expect(result == .failure(.unanswered))
        try script.device.welcome()
        #expect(script.server.requests("call.end").count == 1)
    }

    @Test func aServerThatIsBusyIsAskedAgain() throws {
        let script = try Script()
        defer { script.close() }
        script.server.onMessage = { message, peer in
            switch message["op"]?.string {
            case "hello": peer.welcome(message)
            case "call.leave" where script.server.requests("call.leave").count < 3:
                peer.refuse(message, "unavailable", retryAfter: 30)
            case "call.leave": peer.reply(message, ok: [:])
            default: peer.refuse(message, "rate_limited", retryAfter: 60_000)
            }
        }
        try script.open()
        let id = CallID(high: 1, low: 2)
        #expect(try script.device.ask { $0.perform(.call(id, .leave()), $1) } == [:])
        let asked = script.server.requests("call.leave")
        #expect(asked.count == 3 && Set(asked.map { $0["key"]?.string }).count == 1)
        // A wait beyond the time limit is not begun.
        let late = try script.device.result { $0.perform(.call(id, .end()), $1) }
        guard case .failure(.refused(let refusal)) = late else {
            Issue.record("waited beyond the limit")
            return
        }
        #expect(refusal.code == .rateLimited && refusal.retryAfter == 60_000)
    }

    @Test func nobodyWaitsForEver() throws {
        let script = try Script { $0.answerWithin = 60 }
        defer { script.close() }
        try script.open()
        var answers = 0
        let get = Operation.call(CallID(high: 1, low: 2), .get)
        let result: Result<JSONValue, RequestFailure> = try script.device.result { client, done in
            client.perform(get) {
                answers += 1
                done($0)
            }
        }
        #expect(result == .failure(.unanswered))
        let asked = try #require(script.server.requests("call.get").first)
        script.server.peers[0].reply(asked, ok: [:])
        script.server.peers[0].event(1, "after")
        try script.wait(for: "the event behind the late answer") { script.songs == ["after"] }
        #expect(answers == 1)
    }

    @Test(arguments: [false, true]) func nobodyWaitsForEverWithoutAConnection(
        _ wasConnected: Bool
    ) throws {
        let script = try Script { $0.answerWithin = 60 }
        defer { script.close() }
        if wasConnected {
            try script.open()
            script.server.onRequest = { _, peer in peer.abort() }
            script.server.peers[0].abort()
            _ = try script.device.loss()
        }
        let get = Operation.call(CallID(high: 1, low: 2), .get)
        #expect(try script.device.result { $0.perform(get, $1) } == .failure(.unanswered))
    }

    @Test func whatTheServerWouldNotTakeIsNotSent() throws {
        let script = try Script()
        defer { script.close() }
        let large: JSONValue = [
            "call_id": "1", "data": .string(String(repeating: "x", count: 70_000)),
        ]
        func code(_ name: String, _ data: JSONValue) throws -> Refusal.Code? {
            let result: Result<JSONValue, RequestFailure> = try script.device.result {
                $0.perform(named: name, data: data, key: "k", $1)
            }
            guard case .failure(.refused(let refusal)) = result else { return nil }
            return refusal.code
        }
        #expect(try code("call.signal", large) == .tooLarge)
        try script.open()
        #expect(try code("call.signal", large) == .tooLarge)
        #expect(try code("call.invite", ["invitees": ["bob"], "timeout": 5]) == .badRequest)
        #expect(try code("call.add", ["push": ["titel": "x"]]) == .badRequest)
        #expect(script.server.messages.count == 1 && script.server.peers.count == 1)
    }

    @Test func aSmallerServerRefusesWhatWaitedForIt() throws {
        let script = try Script()
        defer { script.close() }
        script.server.onMessage = { message, peer in
            if message["op"] == "hello" { peer.welcome(message, limits: ["message_bytes": 100]) }
        }
        var waited: Result<JSONValue, RequestFailure>?
        let data: JSONValue = ["data": .string(String(repeating: "x", count: 100))]
        script.client.perform(named: "call.signal", data: data, key: "k") { waited = $0 }
        try script.open()
        try script.wait(for: "the refusal") { waited != nil }
        guard case .failure(.refused(let refusal)) = waited else {
            Issue.record("it was sent")
            return
        }
        #expect(refusal.code == .tooLarge && refusal.message.contains("100"))
        #expect(script.server.requests("call.signal").isEmpty)
    }

    @Test func acceptsOfOthersAreAcknowledged() throws {
        let script = try Script()
        defer { script.close() }
        try script.open()
        let change: (String) -> JSONValue = { ["user": .string($0), "state": "accepting"] }
        script.server.peers[0].send([
            "seq": 1, "event": "call.changed",
            "data": [
                "call_id": .string(CallID(high: 1, low: 2).description), "revision": 2, "at": 5,
                "actor": ["user": "bob", "device": "phone"],
                "changes": [change("bob"), change("alice")],
            ],
        ])
        try script.wait(for: "the acknowledgement") {
            !script.server.requests("call.accept_ack").isEmpty
        }
        let asked = script.server.requests("call.accept_ack")
        #expect(asked.map { $0["data"]?["user"] } == ["bob"])
    }

    @Test func aClientThatStoppedAnswersAtOnce() throws {
        let script = try Script()
        defer { script.close() }
        try script.open()
        var under: Result<JSONValue, RequestFailure>?
        let get = Operation.call(CallID(high: 1, low: 2), .get)
        script.client.perform(get) { under = $0 }
        script.client.disconnect()
        #expect(under == .failure(.stopped))
        #expect(try script.device.result { $0.perform(get, $1) } == .failure(.stopped))
    }

    @Test func eventsAreToldOnceAndAcknowledged() throws {
        let script = try Script()
        defer { script.close() }
        try script.open()
        let peer = script.server.peers[0]
        for (seq, song) in [(1, "a"), (1, "a"), (2, "b"), (1, "a"), (3, "c")] {
            peer.event(Int64(seq), song)
        }
        try script.wait(for: "the acknowledgement") { peer.messages.last?["ack"] == 3 }
        #expect(script.songs == ["a", "b", "c"])
        peer.abort()
        try script.device.welcome()
        let resume = script.server.requests("hello").last?["data"]?["resume"]
        #expect(resume?["seq"] == 3 && resume?["session"] != nil)
    }

    @Test func aGapBeginsTheSessionAnew() throws {
        let script = try Script()
        defer { script.close() }
        try script.open()
        script.server.peers[0].event(2, "too early")
        guard case .violation = try script.device.loss() else {
            Issue.record("another loss")
            return
        }
        try script.device.welcome()
        #expect(script.songs.isEmpty)
        #expect(script.server.requests("hello").map { $0["data"]?["resume"] } == [nil, nil])
        #expect(script.server.peers[0].closedWith == .protocolError)
    }

    @Test func theTokenIsNeverTraced() throws {
        let script = try Script { $0.token = "a secret" }
        defer { script.close() }
        var seen: [String] = []
        script.client.trace = { traffic in
            switch traffic {
            case .sent(let bytes): seen.append("> \(String(decoding: bytes, as: UTF8.self))")
            case .received(let bytes): seen.append("< \(String(decoding: bytes, as: UTF8.self))")
            }
        }
        try script.open()
        script.client.ringing(CallID(high: 1, low: 2))
        #expect(seen.contains { $0.contains("call.ringing") && $0.hasPrefix(">") })
        #expect(seen.contains { $0.contains("ping_interval_ms") && $0.hasPrefix("<") })
        #expect(!seen.contains { $0.contains("secret") })
    }
}

extension DeviceID: ExpressibleByStringLiteral {
    /// The device of this name.
    public init(stringLiteral text: String) { self.init(text) }
}
