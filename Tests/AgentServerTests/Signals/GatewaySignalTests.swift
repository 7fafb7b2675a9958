// Signals to somebody whose line is down or slow: nobody else's doing loses them, or the line.

import CallClient
import CallClientCore
import CallModel
import CallWire
import EventLoop
import JSON
import Testing

@testable import AgentCore
@testable import AgentServer

@Suite struct GatewaySignalTests {
    private func invite(
        _ rig: GatewayRig, _ caller: TestClient, _ id: Int64, _ callee: String = "bob"
    ) throws -> String {
        caller.say(
            #"{"id":\#(id),"op":"call.invite","data":{"invitees":["\#(callee)"],"#
                + #""mode":"advanced","timeout_ms":600000}}"#)
        try rig.waiter.wait(for: "the call") { caller.reply(to: id) != nil }
        return try #require(caller.reply(to: id)?["ok"]?["call_id"]?.string)
    }

    private func signal(_ call: String, _ id: Int64, _ data: String, to user: String) -> String {
        #"{"id":\#(id),"op":"call.signal","data":{"call_id":"\#(call)","to":"\#(user)","#
            + #""data":"\#(data)"}}"#
    }

    private func hello(_ session: String, _ seq: Int64) -> String {
        #"{"id":0,"op":"hello","data":{"token":"dev:bob","device":"phone","resume":"#
            + #"{"session":"\#(session)","seq":\#(seq)}}}"#
    }

    /// How the signals and invitations came that a device has heard, in order.
    private func heard(_ client: TestClient) -> [String] {
        client.messages.compactMap { message in
            switch message["event"]?.string {
            case "call.signal": message["data"]?["data"]?.string
            case "call.incoming": "incoming"
            default: nil
            }
        }
    }

    // MARK: A line that is down

    @Test func aStrangersCallsLoseNobodysSignalToWhoIsAway() throws {
        let rig = try GatewayRig { $0.session.heldEvents = 4 }
        defer { rig.close() }
        let (alice, mallory) = (try rig.device("alice"), try rig.device("mallory"))
        let bob = try rig.device("bob")
        let call = try invite(rig, alice, 1)
        try rig.waiter.wait(for: "the invitation") { bob.event("call.incoming") != nil }
        bob.say(#"{"id":1,"op":"call.accept","data":{"call_id":"\#(call)"}}"#)
        try rig.waiter.wait(for: "the call") { bob.event("call.changed") != nil }
        let session = try #require(bob.reply(to: 0)?["ok"]?["session"]?.string)
        let seq = bob.messages.compactMap { $0["seq"]?.integer }.max() ?? 0
        bob.close()
        try rig.waiter.wait(for: "the loss") { rig.gateway.links.count == 2 }
        alice.say(signal(call, 2, "candidate", to: "bob"))
        for id in 1...6 { _ = try invite(rig, mallory, Int64(id)) }
        #expect(alice.reply(to: 2)?["ok"] != nil)

        let back = try rig.socket()
        back.say(hello(session, seq))
        try rig.waiter.wait(for: "all of it") { heard(back).count == 7 }
        #expect(back.reply(to: 0)?["ok"]?["resumed"]?.bool == false)
        #expect(heard(back) == ["candidate"] + Array(repeating: "incoming", count: 6))
        #expect(back.messages.compactMap { $0["seq"]?.integer } == Array(1...7))
    }

    @Test func inACallThatRingsTheSignalComesBehindTheInvitation() throws {
        let rig = try GatewayRig { $0.session.heldEvents = 4 }
        defer { rig.close() }
        let (alice, mallory) = (try rig.device("alice"), try rig.device("mallory"))
        let bob = try rig.device("bob")
        let call = try invite(rig, alice, 1)
        try rig.waiter.wait(for: "the invitation") { bob.event("call.incoming") != nil }
        let session = try #require(bob.reply(to: 0)?["ok"]?["session"]?.string)
        bob.close()
        try rig.waiter.wait(for: "the loss") { rig.gateway.links.count == 2 }
        alice.say(signal(call, 2, "candidate", to: "bob"))
        let over = try invite(rig, mallory, 1)
        mallory.say(signal(over, 2, "of a call that is over", to: "bob"))
        for id in 3...8 { _ = try invite(rig, mallory, Int64(id)) }
        mallory.say(#"{"id":9,"op":"call.cancel","data":{"call_id":"\#(over)"}}"#)
        try rig.waiter.wait(for: "the cancel") { mallory.reply(to: 9) != nil }

        let back = try rig.socket()
        back.say(hello(session, 1))
        try rig.waiter.wait(for: "all of it") { heard(back).count == 8 }
        #expect(heard(back).prefix(2) == ["incoming", "candidate"])
        #expect(heard(back).count { $0 == "incoming" } == 7)
    }

    // MARK: A line that is slow

    /// Mallory's signals to Bob, who reads nothing, until one is refused; returns how many were
    /// taken.
    private func flood(
        _ rig: GatewayRig, _ mallory: TestClient, _ call: String, _ data: String
    ) throws -> Int64 {
        var id: Int64 = 100
        while id < 4_000 {
            mallory.say(signal(call, id, data, to: "bob"))
            try rig.waiter.wait(for: "an answer") { mallory.reply(to: id) != nil }
            if mallory.refusal(of: id) != nil { break }
            id += 1
        }
        #expect(mallory.refusal(of: id) == "rate_limited")
        return id - 100
    }

    @Test func signalsNeverMakeWhoIsCalledASlowReader() throws {
        let rig = try GatewayRig()
        defer { rig.close() }
        let (alice, mallory) = (try rig.device("alice"), try rig.device("mallory"))
        let bob = try rig.device("bob")
        let call = try invite(rig, mallory, 1)
        try rig.waiter.wait(for: "the invitation") { bob.event("call.incoming") != nil }
        bob.pauseReading()
        let taken = try flood(rig, mallory, call, String(repeating: "x", count: 16_000))
        // The kernel has taken the others.
        #expect(taken >= 4)
        #expect((48_000...90_000).contains(rig.gateway.unsentBytes))
        #expect(rig.metrics.slowReaders == 0 && !bob.isClosed)
        // It is nobody else's fault.
        let other = try invite(rig, alice, 1)
        alice.say(signal(other, 2, "hello", to: "bob"))
        try rig.waiter.wait(for: "Alice's answer") { alice.reply(to: 2) != nil }
        #expect(alice.refusal(of: 2) == nil)
        // Whoever reads again can be told again.
        bob.resumeReading()
        try rig.waiter.wait(for: "the rest") { heard(bob).contains("hello") }
        mallory.say(signal(call, 2, "again", to: "bob"))
        try rig.waiter.wait(for: "an answer") { mallory.reply(to: 2) != nil }
        #expect(mallory.refusal(of: 2) == nil)
        #expect(rig.gateway.desk.crowded.isEmpty)
    }

    @Test func smallSignalsAreCounted() throws {
        let rig = try GatewayRig()
        defer { rig.close() }
        let (mallory, bob) = (try rig.device("mallory"), try rig.device("bob"))
        let call = try invite(rig, mallory, 1)
        try rig.waiter.wait(for: "the invitation") { bob.event("call.incoming") != nil }
        bob.pauseReading()
        _ = try flood(rig, mallory, call, String(repeating: "x", count: 16_000))
        let link = rig.gateway.links.first { $0.line.session?.address.user.text == "bob" }
        link?.line.unsentSignals = nil
        for id in 1...64 {
            mallory.say(signal(call, Int64(5_000 + id), "x", to: "bob"))
        }
        mallory.say(signal(call, 6_000, "x", to: "bob"))
        try rig.waiter.wait(for: "the last answer") { mallory.reply(to: 6_000) != nil }
        #expect(mallory.refusal(of: 5_064) == nil)
        #expect(mallory.refusal(of: 6_000) == "rate_limited")
    }
}
