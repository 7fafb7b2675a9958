// Calls between clients of a real server.

import CallClient
import CallClientCore
import CallModel
import CallWire
import JSON
import Testing

@Suite struct CallTests {
    @Test func aCallIsAcceptedAndLeft() throws {
        let rig = try Rig()
        defer { rig.close() }
        let (alice, bob) = (try rig.connected("alice"), try rig.connected("bob"))
        let call = try alice.invite("bob")
        #expect(call.caller == "alice" && call.state == .ringing)
        let incoming = try bob.incoming()
        #expect(incoming.id == call.id)
        bob.client.ringing(call.id)
        #expect(try alice.change(of: "bob").state == .ringing)
        let accepted = try bob.ask { $0.accept(call.id, saying: #"{"hello":1}"#, $1) }
        #expect(accepted.state == .active)
        let change = try alice.change(of: "bob")
        #expect(change.state == .joined && change.extendedData == #"{"hello":1}"#)
        #expect(try alice.ask { $0.leave(call.id, $1) }.participant("alice")?.state == .left)
        #expect(try bob.change(of: "alice").reason == .itself)
        let ended = try bob.ask { $0.end(call.id, saying: "bye", $1) }
        #expect(ended.state == .ended)
        let end = try bob.ended()
        #expect(end.reason == .completed && end.by == "bob" && end.extendedData == "bye")
    }

    @Test func everyDeviceRingsAndTheFirstAcceptWins() throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = try rig.connected("alice")
        let phone = try rig.connected("bob", "phone")
        let laptop = try rig.connected("bob", "laptop")
        let call = try alice.invite("bob")
        #expect(try phone.incoming().id == call.id)
        #expect(try laptop.incoming().id == call.id)
        _ = try laptop.ask { $0.accept(call.id, $1) }
        let what = try phone.event("what the laptop did") {
            if case .elsewhere(let what, let device) = $0 {
                [what.rawValue, device?.text]
            } else {
                nil
            }
        }
        #expect(what == ["answered", "laptop"])
        let late = try phone.result { $0.accept(call.id, $1) }
        guard case .failure(.refused(let refusal)) = late else {
            Issue.record("accepted twice")
            return
        }
        #expect(refusal.code == .alreadyAnswered)
    }

    @Test func aDeviceThatComesLateIsToldOfTheInvitation() throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = try rig.connected("alice")
        let call = try alice.invite("bob")
        let bob = rig.device("bob")
        bob.client.connect()
        #expect(try bob.welcome().calls.map(\.id) == [call.id])
        #expect(try bob.incoming().id == call.id)
    }

    @Test func aRejectionSaysWhy() throws {
        let rig = try Rig()
        defer { rig.close() }
        let (alice, bob) = (try rig.connected("alice"), try rig.connected("bob"))
        let call = try alice.invite("bob")
        _ = try bob.incoming()
        _ = try bob.ask { $0.reject(call.id, busy: true, saying: "later", $1) }
        let change = try alice.change(of: "bob")
        #expect(change.state == .rejected && change.reason == .busy)
        #expect(change.extendedData == "later")
    }

    @Test func aCancelledInvitationStopsRinging() throws {
        let rig = try Rig()
        defer { rig.close() }
        let (alice, bob) = (try rig.connected("alice"), try rig.connected("bob"))
        let call = try alice.invite("bob")
        _ = try bob.incoming()
        #expect(try alice.ask { $0.cancel(call.id, $1) }.errors.isEmpty)
        let reason = try bob.event("the cancel") {
            if case .cancelled(_, _, let reason) = $0 { reason } else { nil }
        }
        #expect(reason == .whole)
        #expect(try alice.ended().reason == .cancelled)
    }

    @Test func signalsPassByteForByte() throws {
        let rig = try Rig()
        defer { rig.close() }
        let (alice, bob) = (try rig.connected("alice"), try rig.connected("bob"))
        let call = try alice.invite("bob")
        _ = try bob.incoming()
        _ = try bob.ask { $0.accept(call.id, $1) }
        _ = try alice.change(of: "bob")
        let _: Void = try alice.ask { $0.signal(["sdp": "v=0", "n": [1, 2.5]], in: call.id, $1) }
        let data = try bob.event("the signal") {
            if case .signal(let from, let data) = $0 {
                "\(from) \(String(decoding: data, as: UTF8.self))"
            } else {
                nil
            }
        }
        #expect(data == #"alice {"sdp":"v=0","n":[1,2.5]}"#)
    }

    @Test func moreAreAddedAndSomeLeftOut() throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = try rig.connected("alice")
        let call = try alice.invite("bob")
        let added = try alice.ask { $0.add(["carol", "bob"], to: call.id, $1) }
        #expect(added.call.participants.map(\.user) == ["alice", "bob", "carol"])
        #expect(added.errors == [InviteeError("bob", .alreadyInCall)])
    }

    @Test func callsAreListedAndFetched() throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = try rig.connected("alice")
        let calls = [try alice.invite("bob"), try alice.invite("carol"), try alice.invite("dave")]
        var query = ListQuery()
        query.limit = 2
        let first = try alice.ask { $0.list(query, $1) }
        #expect(first.calls.map(\.id) == [calls[2].id, calls[1].id])
        query.before = first.cursor
        let second = try alice.ask { $0.list(query, $1) }
        #expect(second.calls.map(\.id) == [calls[0].id] && second.cursor == nil)
        #expect(try alice.ask { $0.get(calls[0].id, $1) }.caller == "alice")
    }

    @Test func aCallThatEndedLongAgoIsStillThere() throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = try rig.connected("alice")
        let first = try alice.invite("bob")
        _ = try alice.ask { $0.cancel(first.id, $1) }
        // More than the switchboard holds when the store is in memory.
        for _ in 0..<100 {
            let call = try alice.invite("bob")
            _ = try alice.ask { $0.cancel(call.id, $1) }
        }
        let call = try alice.ask { $0.get(first.id, $1) }
        #expect(call.id == first.id && call.end?.reason == .cancelled)
        guard case .failure(.refused(let refusal)) = try alice.result({ $0.join(first.id, $1) })
        else {
            Issue.record("joined a call that has ended")
            return
        }
        #expect(refusal.code == .callEnded)
    }

    @Test func whatThereIsNotIsRefused() throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = try rig.connected("alice")
        let none = CallID(high: 1, low: 2)
        guard case .failure(.refused(let refusal)) = try alice.result({ $0.get(none, $1) }) else {
            Issue.record("found what there is not")
            return
        }
        #expect(refusal.code == .notFound)
    }

    @Test func anyOperationCanBeAskedByName() throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = try rig.connected("alice")
        let ok = try alice.ask {
            $0.perform(named: "call.invite", data: ["invitees": ["bob"], "kind": "tea"], $1)
        }
        #expect(ok["call"]?["kind"]?.string == "tea")
        let unknown = try alice.result { $0.perform(named: "call.sing", data: [:], $1) }
        guard case .failure(.refused(let refusal)) = unknown else {
            Issue.record("there is no such operation")
            return
        }
        #expect(refusal.code == .unsupported)
    }
}
