// Calls as objects: the same as long as a call lives, and right after every word of the server.

import AgentCore
import CallClient
import CallClientCore
import CallModel
import CallWire
import JSON
import Testing

@testable import AgentServer

@Suite struct CallObjectTests {
    @Test func aCallIsTheSameObjectFromTheRingToTheEnd() throws {
        let rig = try Rig()
        defer { rig.close() }
        let (alice, bob) = (try rig.connected("alice"), rig.device("bob"))
        var rung: [ClientCall] = []
        bob.client.calls.incoming.add { rung.append($0) }
        bob.client.connect()
        try bob.welcome()
        let id = try alice.invite("bob").id
        let made = try #require(alice.client.calls.live[id])
        #expect(made.isHere && !made.isPending && made.me?.role == .caller)
        try rig.waiter.wait(for: "the ring") { rung.count == 1 }
        let call = rung[0]
        #expect(call.id == id && call.isPending && !call.isHere && call.caller == "alice")
        // The app shows it, so the caller hears that it rings.
        try rig.waiter.wait(for: "ringing") { made.others.first?.state == .ringing }
        var news: [CallNews] = []
        call.listeners.add { news.append($0) }
        let _: Void = try bob.ask { _, done in call.accept(saying: "hello", done) }
        #expect(call.state == .active && call.me?.state == .joined && call.isHere)
        try rig.waiter.wait(for: "the answer") { made.state == .active }
        #expect(made.others.first?.extendedData == "hello" && made.duration >= 0)
        let _: Void = try alice.ask { _, done in made.end(saying: "bye", done) }
        try rig.waiter.wait(for: "the end") { call.isEnded && made.isEnded }
        #expect(call.outcome?.reason == .completed && call.outcome?.extendedData == "bye")
        #expect(call.duration == made.duration)
        #expect(news.filter(\.isLast).count == 1 && news.last?.isLast == true)
        #expect(bob.client.calls.live.isEmpty && bob.client.calls[id] === call && rung.count == 1)
    }

    @Test func whoIsAddedByOthersStandsInTheCallWithEverything() throws {
        let rig = try Rig()
        defer { rig.close() }
        let (alice, bob) = (try rig.connected("alice"), try rig.connected("bob"))
        let id = try alice.invite("bob").id
        _ = try bob.incoming()
        let call = try #require(bob.client.calls.live[id])
        let _: Void = try bob.ask { _, done in call.accept(done) }
        let errors = try alice.ask { _, done in
            alice.client.calls.live[id]?.add(["carol", "bob"], done)
        }
        #expect(errors == [InviteeError("bob", .alreadyInCall)])
        try rig.waiter.wait(for: "carol") { call.others.map(\.user) == ["alice", "carol"] }
        #expect(call.others.last?.invitedBy == "alice")
    }

    @Test func anotherDeviceThatAnswersTakesTheCallAlong() throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = try rig.connected("alice")
        let phone = try rig.connected("bob", "phone")
        let laptop = try rig.connected("bob", "laptop")
        let id = try alice.invite("bob").id
        _ = try phone.incoming()
        _ = try laptop.incoming()
        let here = try #require(phone.client.calls.live[id])
        let _: Void = try laptop.ask { _, done in laptop.client.calls.live[id]?.accept(done) }
        try rig.waiter.wait(for: "the other device") { !here.isPending }
        #expect(here.me?.device == "laptop" && !here.isHere && !here.isEnded)
    }

    @Test func aHeldCallSaysSoOnBothSides() throws {
        let rig = try Rig()
        defer { rig.close() }
        let (alice, bob) = (try rig.connected("alice"), try rig.connected("bob"))
        var invitation = Invitation(invitees: ["bob"])
        invitation.mode = .direct
        let id = try alice.ask { $0.invite(invitation, $1) }.call.id
        _ = try bob.incoming()
        let call = try #require(bob.client.calls.live[id])
        let made = try #require(alice.client.calls.live[id])
        let _: Void = try bob.ask { _, done in call.accept(done) }
        for device in [alice, bob] {
            let _: Void = try device.ask {
                $0.calls.live[id]?.report(.connected, $1)
            }
        }
        try rig.waiter.wait(for: "the media") {
            made.mediaPhase == .connected && call.mediaPhase == .connected
        }
        let _: Void = try bob.ask { _, done in call.hold(done) }
        #expect(call.me?.held == true)
        try rig.waiter.wait(for: "the hold") { made.others.first?.held == true }
        var change = ItemsChange()
        change.put = [Call.Item(key: "a", value: "1")]
        #expect(try bob.ask { _, done in call.items(change, done) } == change.put)
        try rig.waiter.wait(for: "the item") { made.values == change.put }
    }

    @Test func aNewSessionTellsWhatEndedMeanwhile() throws {
        let rig = try Rig()
        defer { rig.close() }
        let (alice, bob) = (try rig.connected("alice"), try rig.connected("bob"))
        let (first, second) = (try alice.invite("bob").id, try alice.invite("bob").id)
        _ = try bob.incoming()
        _ = try bob.incoming()
        let (over, still) = try (
            #require(bob.client.calls.live[first]), #require(bob.client.calls.live[second])
        )
        var isOver = false
        over.listeners.add { isOver = isOver || $0.isLast }
        bob.client.disconnect()
        _ = try alice.ask { $0.cancel(first, $1) }
        try rig.server.run { $0.gateway.desk.dropEverything() }
        bob.client.connect()
        #expect(try !bob.welcome().resumed)
        try rig.waiter.wait(for: "the end") { isOver }
        #expect(over.outcome?.reason == .cancelled)
        #expect(bob.client.calls.live[second] === still && !still.isEnded)
    }

    @Test func anAppThatStartsAgainGoesOnWithItsCalls() throws {
        let rig = try Rig()
        defer { rig.close() }
        let (alice, bob) = (try rig.connected("alice"), try rig.connected("bob"))
        let id = try alice.invite("bob").id
        _ = try bob.incoming()
        let _: Void = try bob.ask { _, done in bob.client.calls.live[id]?.accept(done) }
        let kept = try #require(bob.client.machine.kept)
        #expect(KeptSession(json: kept.json) == kept)
        bob.client.disconnect()
        let again = rig.device("bob") { $0.kept = KeptSession(json: kept.json) }
        let call = try #require(again.client.calls.live[id])
        #expect(call.isHere && call.state == .active && call.duration == 0)
        again.client.connect()
        #expect(try again.welcome().resumed && call.duration >= 0)
        _ = try alice.ask { $0.end(id, $1) }
        try rig.waiter.wait(for: "the end") { call.isEnded }
        #expect(call.outcome?.by == "alice" && again.client.machine.kept?.json != kept.json)
    }

    @Test(arguments: ["", "{}", #"{"user":"a b","session":"5e","received":1}"#, "[1]", "{"])
    func whatIsNoKeptSessionIsNone(_ text: String) {
        #expect(KeptSession(json: Array(text.utf8)) == nil)
    }

    @Test func newsAreASequenceForAnyNumberOfReaders() async throws {
        let told = try await Self.told(by: 2)
        for states in told {
            #expect(states.first == .ringing && states.last == .ended)
            #expect(states.contains(.active))
        }
    }

    /// The states that so many readers read of one call, and one more who came after its end.
    private static func told(by readers: Int) async throws -> [[Call.State]] {
        let streams = try streamsOfOneCall(readers)
        var all: [[Call.State]] = []
        for stream in streams {
            var states: [Call.State] = []
            for await news in stream { states.append(news.call.state) }
            all.append(states)
        }
        return all
    }

    private static func streamsOfOneCall(_ readers: Int) throws -> [AsyncStream<CallNews>] {
        let rig = try Rig()
        defer { rig.close() }
        let (alice, bob) = (try rig.connected("alice"), try rig.connected("bob"))
        let id = try alice.invite("bob").id
        let made = try #require(alice.client.calls.live[id])
        let streams = (0..<readers).map { _ in made.news() }
        let incoming = try bob.incoming()
        let _: Void = try bob.ask { $0.ringing(incoming.id, $1) }
        let _: Void = try bob.ask { _, done in bob.client.calls.live[incoming.id]?.accept(done) }
        try rig.waiter.wait(for: "the answer") { made.state == .active }
        let _: Void = try alice.ask { _, done in made.end(done) }
        return streams
    }
}

@Suite struct LateWordTests {
    @Test func anOlderWordChangesNothing() throws {
        let script = try Script()
        defer { script.close() }
        let id = String(repeating: "0a", count: 16)
        script.server.onMessage = { message, peer in
            switch message["op"]?.string {
            case "hello": peer.welcome(message)
            case "call.get": peer.reply(message, ok: ["call": Self.call(id, revision: 2)])
            default: break
            }
        }
        try script.open()
        let peer = script.server.peers[0]
        peer.send(Self.event(1, "call.incoming", id, 5, ["call": Self.call(id, revision: 5)]))
        try script.wait(for: "the call") { script.client.calls.live.count == 1 }
        let call = try #require(script.client.calls.live.values.first)
        _ = try script.device.ask { $0.get(call.id, $1) }
        #expect(call.revision == 5)
        let gone: JSONValue = ["user": "bob", "state": "left", "reason": "self"]
        peer.send(Self.event(2, "call.changed", id, 4, ["changes": [gone]]))
        peer.send(Self.event(3, "call.timed_out", id, 6, [:]))
        try script.wait(for: "the end for this user") { call.isEnded }
        #expect(call.others.first?.state == .joined && call.me?.state == .timedOut)
        #expect(call.state == .ringing && script.client.calls.live.isEmpty)
    }

    @Test func aCallThatNobodyToldOfIsAskedForOnce() throws {
        let script = try Script()
        defer { script.close() }
        let id = String(repeating: "0b", count: 16)
        try script.open()
        let peer = script.server.peers[0]
        for seq: Int64 in 1...3 {
            let change: JSONValue = ["user": "bob", "state": "ringing"]
            peer.send(Self.event(seq, "call.changed", id, seq, ["changes": [change]]))
        }
        try script.wait(for: "the question") { !script.server.requests("call.get").isEmpty }
        let asked = script.server.requests("call.get")
        peer.reply(asked[0], ok: ["call": Self.call(id, revision: 3)])
        try script.wait(for: "the call") { script.client.calls.live.count == 1 }
        #expect(asked.count == 1 && script.server.requests("call.get").count == 1)
    }

    private static func call(_ id: String, revision: Int64) -> JSONValue {
        func one(_ user: JSONValue, _ role: JSONValue, _ state: JSONValue) -> JSONValue {
            ["user": user, "role": role, "state": state, "invited_at": 1, "audio": true]
        }
        return [
            "call_id": .string(id), "mode": "advanced", "kind": "audio", "state": "ringing",
            "media": "none", "created_at": 1, "timeout_ms": 60_000,
            "revision": .integer(revision),
            "participants": [one("bob", "caller", "joined"), one("alice", "invitee", "inviting")],
        ]
    }

    private static func event(
        _ seq: Int64, _ name: String, _ id: String, _ revision: Int64, _ more: JSONObject
    ) -> JSONValue {
        var data = more
        data["call_id"] = .string(id)
        data["revision"] = .integer(revision)
        data["at"] = 1
        data["actor"] = ["user": "bob", "device": "phone"]
        data["inviter"] = "bob"
        return ["seq": .integer(seq), "event": .string(name), "data": .object(data)]
    }
}
