// What clients do while a call runs, and beside it: media, hold, items, tokens, pushes.

import CallClient
import CallClientCore
import CallModel
import CallWire
import JSON
import Testing

@Suite struct DuringCallTests {
    private struct Pair {
        let alice: TestDevice
        let bob: TestDevice
        let call: CallID
    }

    /// A call of mode `direct` that bob has accepted.
    private func directCall(_ rig: Rig) throws -> Pair {
        let (alice, bob) = (try rig.connected("alice"), try rig.connected("bob"))
        var invitation = Invitation(invitees: ["bob"])
        invitation.mode = .direct
        let call = try alice.ask { $0.invite(invitation, $1) }.call.id
        _ = try bob.incoming()
        _ = try bob.ask { $0.accept(call, $1) }
        _ = try alice.change(of: "bob")
        return Pair(alice: alice, bob: bob, call: call)
    }

    @Test func mediaFlagsAreToldAndWhatIsLeftOutStays() throws {
        let rig = try Rig()
        defer { rig.close() }
        let pair = try directCall(rig)
        let _: Void = try pair.alice.ask { $0.media(video: true, in: pair.call, $1) }
        let _: Void = try pair.alice.ask { $0.media(audio: false, in: pair.call, $1) }
        func flags() throws -> [Bool] {
            try pair.bob.event("the flags") {
                if case .mediaFlags("alice", let audio, let video) = $0 {
                    [audio, video]
                } else {
                    nil
                }
            }
        }
        #expect(try flags() == [true, true])
        #expect(try flags() == [false, true])
    }

    @Test func reportsOfBothMakeTheMediaConnected() throws {
        let rig = try Rig()
        defer { rig.close() }
        let pair = try directCall(rig)
        let _: Void = try pair.alice.ask { $0.report(.connected, in: pair.call, $1) }
        let _: Void = try pair.bob.ask { $0.report(.connected, in: pair.call, $1) }
        let phase = try pair.alice.event("connected media") {
            if case .mediaPhase(.connected) = $0 { true } else { nil }
        }
        #expect(phase)
    }

    @Test func aCallIsHeldAndGoneOnWith() throws {
        let rig = try Rig()
        defer { rig.close() }
        let pair = try directCall(rig)
        func state() throws -> Bool {
            try pair.bob.event("the hold") {
                if case .hold("alice", let on) = $0 { on } else { nil }
            }
        }
        let _: Void = try pair.alice.ask { $0.hold(pair.call, $1) }
        #expect(try state())
        let _: Void = try pair.alice.ask { $0.hold(pair.call, on: false, force: true, $1) }
        #expect(try !state())
    }

    @Test func itemsAreChangedAndAnsweredWhole() throws {
        let rig = try Rig()
        defer { rig.close() }
        let pair = try directCall(rig)
        var change = ItemsChange()
        change.put = [Call.Item(key: "lang", value: "de"), Call.Item(key: "desk", value: "7")]
        _ = try pair.alice.ask { $0.items(change, in: pair.call, $1) }
        change.delete = ["desk"]
        change.put = [Call.Item(key: "lang", value: "en")]
        let changed = try pair.alice.ask { $0.items(change, in: pair.call, $1) }
        #expect(changed.items == [Call.Item(key: "lang", value: "en")])
        #expect(Set(changed.keys) == ["desk", "lang"])
        let told = try pair.bob.event("the second change") {
            if case .items(_, let deleted, let items) = $0, !deleted.isEmpty {
                [deleted, items.map(\.value)]
            } else {
                nil
            }
        }
        #expect(told == [["desk"], ["en"]])
    }

    @Test func withoutAPluginThereIsNoMediaToken() throws {
        let rig = try Rig()
        defer { rig.close() }
        let pair = try directCall(rig)
        guard
            case .failure(.refused(let refusal)) = try pair.alice.result({
                $0.token(for: pair.call, $1)
            })
        else {
            Issue.record("somebody made a token")
            return
        }
        #expect(refusal.code == .unsupported)
    }

    @Test func aMediaTokenIsTheObjectThatThePluginMade() throws {
        let script = try answering(["token": ["room": "r1", "ttl": 60]])
        defer { script.close() }
        let token = try script.device.ask { $0.token(for: none, $1) }
        #expect(token == ["room": "r1", "ttl": 60])
    }

    @Test func anAnswerThatLacksWhatItMustHaveIsUnreadable() throws {
        let script = try answering([:])
        defer { script.close() }
        let device = script.device
        #expect(try device.result { $0.token(for: none, $1) } == .failure(.unreadable))
        #expect(
            try device.result { $0.items(ItemsChange(), in: none, $1) } == .failure(.unreadable))
        #expect(try device.result { $0.get(none, $1) } == .failure(.unreadable))
    }

    @Test func anErrorOfAnUnknownCodeStillNamesItsUser() throws {
        let call: JSONValue = [
            "call_id": .string(none.description), "mode": "common", "kind": "audio",
            "state": "ringing", "media": "none", "timeout_ms": 90_000, "created_at": 1,
            "participants": [
                ["user": "alice", "role": "caller", "state": "joined", "invited_at": 1]
            ],
        ]
        let script = try answering(
            ["call": call, "errors": [["user": "bob", "code": "on_the_moon"]]])
        defer { script.close() }
        let cancelled = try script.device.ask { $0.cancel(none, $1) }
        #expect(cancelled.errors == [InviteeError("bob", .refused)])
    }

    private let none = CallID(high: 1, low: 2)

    /// A client of a server that answers everything with `ok`.
    private func answering(_ ok: JSONValue) throws -> Script {
        let script = try Script()
        script.server.onMessage = { message, peer in
            guard message["op"] != "hello" else { return peer.welcome(message) }
            peer.reply(message, ok: ok)
        }
        try script.open()
        return script
    }

    @Test func aDeviceRegistersForPushesAndTakesItBack() throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = try rig.connected("alice")
        let registration = PushRegistration(provider: "fcm", token: "t-1")
        let _: Void = try alice.ask { $0.registerPush(registration, $1) }
        let _: Void = try alice.ask { $0.unregisterPush("fcm", $1) }
        let wrong = try alice.result { $0.unregisterPush("pigeon", $1) }
        guard case .failure(.refused(let refusal)) = wrong else {
            Issue.record("took back what there is not")
            return
        }
        #expect(refusal.code == .badRequest && refusal.detail == .field("provider"))
    }

    @Test(arguments: zip(Mode.all.map(\.name), modes))
    func everyModeHasItsName(_ name: String, _ mode: ModeRow) {
        #expect(ModeRow(named: name) == mode)
        #expect(ModeRow(named: name.uppercased()) == nil)
    }

    private static let modes: [ModeRow] = [
        .common, .advanced, .managed, .direct, .ringing, .group, .handshake,
    ]
}
