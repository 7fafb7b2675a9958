// Which events other systems hear of, made of what the report hooks are told.

import CallModel
import CallWire
import JSON
import Testing

@testable import AgentServer

@Suite struct WebhookEventsTests {
    private let now = Moment(1_795_000_000_000)

    private func call(_ revision: UInt32 = 1, high: UInt64 = 1) -> Call {
        var call = Call(
            id: CallID(high: high, low: 2), mode: .common, kind: "audio", ringTime: 90_000,
            deliveryCheck: nil, createdAt: now)
        call.revision = revision
        var ann = Participant(user: UserID("ann"), role: .caller, state: .joined, at: now)
        ann.device = DeviceID("tablet")
        var bob = Participant(user: UserID("bob"), role: .invitee, state: .inviting, at: now)
        bob.invitedBy = UserID("ann")
        call.participants = [ann, bob]
        return call
    }

    private func events(_ reports: [(Call, Report.Kind)]) throws -> [JSONValue] {
        var gatherer = WebhookGatherer(WireEncoder())
        for (call, kind) in reports {
            gatherer.note(
                Report(call: call, at: now, actor: ann, kind: kind, cancelText: "sorry"))
        }
        return try gatherer.takeEvents().map { try JSONValue(parsing: gatherer.body(of: $0)) }
    }

    private let ann = Actor.user(UserID("ann"), DeviceID("tablet"))

    private func types(_ events: [JSONValue]) -> [String?] { events.map { $0["type"]?.string } }

    @Test func aNewCallIsCreatedAndRings() throws {
        let call = call()
        let events = try events([
            (call, .participant(UserID("ann"), from: nil, to: .joined)),
            (call, .participant(UserID("bob"), from: nil, to: .inviting)),
        ])
        #expect(types(events) == ["call.created", "call.incoming"])
        #expect(events[0]["timestamp_at"]?.integer == now.milliseconds)
        #expect(events[0]["data"]?["call_id"]?.string == call.id.description)
        #expect(events[0]["data"]?["call"]?["caller"]?.string == "ann")
        #expect(events[1]["data"]?["user"]?.string == "bob")
        #expect(events[1]["data"]?["inviter"]?.string == "ann")
        #expect(events[1]["data"]?["expires_in_ms"] == .null)
        for event in events {
            #expect(event["data"]?["actor"] == ["user": "ann", "device": "tablet"])
        }
    }

    @Test func oneCommitIsOneChangeItsEndComesLast() throws {
        var call = call(4)
        call.state = .ended
        call.end = Call.End(.cancelled, by: UserID("ann"))
        call.participants[0].state = .cancelled
        call.participants[1].state = .cancelled
        call.participants[1].reason = .byInviter
        let events = try events([
            (call, .participant(UserID("ann"), from: .joined, to: .cancelled)),
            (call, .participant(UserID("bob"), from: .ringing, to: .cancelled)),
            (call, .cancelled(by: UserID("ann"))), (call, .ended),
        ])
        #expect(types(events) == ["call.changed", "call.cancelled", "call.ended"])
        #expect(events[0]["data"]?["changes"]?.array?.count == 2)
        #expect(events[1]["data"]?["users"] == ["bob"])
        #expect(events[1]["data"]?["reason"]?.string == "by_inviter")
        #expect(events[1]["data"]?["inviter"]?.string == "ann")
        #expect(events[1]["data"]?["extended_data"]?.string == "sorry")
        #expect(events[2]["data"]?["call"]?["end"]?["by"]?.string == "ann")
        #expect(events[2]["data"]?["end"]?["reason"]?.string == "cancelled")
        #expect(events[2]["data"]?["duration_ms"] == 0)
        #expect(events.allSatisfy { $0["data"]?["revision"]?.integer == 4 })
    }

    @Test func commitsAndCallsStayApartAndNothingIsToldTwice() throws {
        var gatherer = WebhookGatherer(WireEncoder())
        for call in [call(2), call(3), call(3, high: 9)] {
            gatherer.note(
                Report(
                    call: call, at: now, actor: ann,
                    kind: .participant(UserID("bob"), from: .inviting, to: .ringing)))
        }
        gatherer.note(
            Report(call: nil, at: now, kind: .presence(UserID("bob"), online: true)))
        let revisions = gatherer.takeEvents().map(\.call.revision)
        #expect(revisions == [2, 3, 3])
        #expect(gatherer.takeEvents().isEmpty)
    }

    @Test func whoRanOutOfTimeIsNamed() throws {
        var call = call(2)
        call.participants[1].state = .timedOut
        let events = try events([
            (call, .participant(UserID("bob"), from: .ringing, to: .timedOut)),
            (call, .timeout([UserID("bob")])),
        ])
        #expect(types(events) == ["call.changed", "call.timed_out"])
        #expect(events[1]["data"]?["users"] == ["bob"])
    }

    @Test func whoIsCalledAgainIsToldOfLikeAtTheFirstTime() throws {
        let again = Report.Kind.participant(UserID("bob"), from: .rejected, to: .inviting)
        let events = try events([(call(5), again)])
        #expect(types(events) == ["call.incoming", "call.changed"])
    }

    @Test func partsThatEndDifferentlyAreToldApart() throws {
        var call = call(6)
        for (name, inviter) in [("carl", "ann"), ("dora", "bob")] {
            var one = Participant(user: UserID(name), role: .invitee, state: .cancelled, at: now)
            (one.reason, one.invitedBy) = (.byInviter, UserID(inviter))
            call.participants.append(one)
        }
        call.participants[1].state = .failed
        call.participants[1].reason = .noAck
        let events = try events(
            ["bob", "carl", "dora"].map { name in
                let user = UserID(name)
                let state = call.participant(user)?.state ?? .inviting
                return (call, .participant(user, from: .ringing, to: state))
            })
        #expect(
            types(events) == ["call.changed", "call.failed", "call.cancelled", "call.cancelled"])
        #expect(events[1]["data"]?["reason"]?.string == "no_ack")
        #expect(events.dropFirst().map { $0["data"]?["users"] } == [["bob"], ["carl"], ["dora"]])
        #expect(
            events.dropFirst(2).map { $0["data"]?["inviter"]?.string } == ["ann", "bob"])
    }

    @Test func whatChangesNoParticipantIsToldWhatIsBetweenDevicesIsNot() throws {
        let notices: [CallEvent.Kind] = [
            .hold(UserID("ann"), on: true), .mediaPhase(.connected),
            .mediaFlags(UserID("ann"), audio: true, video: false),
            .items(keys: ["k"], deleted: [], items: [Call.Item(key: "k", value: "v")]),
            .elsewhere(.replaced, DeviceID("phone")),
        ]
        let events = try events(notices.map { (call(3), .notice($0)) })
        #expect(
            types(events) == [
                "call.hold", "call.media_phase", "call.media_flags", "call.items",
            ])
        #expect(events[0]["data"]?["user"]?.string == "ann")
        #expect(events[3]["data"]?["items"] == ["k": "v"])
    }

    @Test func commitsOfTwoActorsStayApart() {
        var gatherer = WebhookGatherer(WireEncoder())
        for actor in [ann, .timer(.ring)] {
            gatherer.note(
                Report(call: call(2), at: now, actor: actor, kind: .notice(.mediaPhase(.none))))
        }
        #expect(gatherer.takeEvents().map(\.event.actor) == [ann, .timer(.ring)])
    }
}
