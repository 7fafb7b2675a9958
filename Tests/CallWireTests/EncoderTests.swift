// Replies, events and errors, byte for byte.

import CallModel
import JSON
import Testing

@testable import CallWire

/// Calls to encode.
enum Sample {
    static let id = OperationTests.id
    static let idText = OperationTests.idText
    static let created = Moment(1_795_000_000_000)

    /// Alice calls Bob, whose phone rings.
    static var ringing: Call {
        var call = Call(
            id: id, mode: .common, kind: "video", ringTime: 90_000, deliveryCheck: nil,
            createdAt: created)
        call.revision = 2
        call.extendedData = #"{"type":"video"}"#
        var alice = Participant(user: "alice", role: .caller, state: .joined, at: created)
        alice.answeredAt = created
        alice.device = "tablet"
        alice.video = true
        var bob = Participant(user: "bob", role: .invitee, state: .ringing, at: created)
        bob.invitedBy = "alice"
        bob.deadlineAt = created + 90_000
        bob.video = true
        call.participants = [alice, bob]
        return call
    }

    /// Bob said that they are busy.
    static var refused: Call {
        var call = ringing
        call.revision = 3
        call.state = .ended
        call.endedAt = created + 10
        call.end = Call.End(.busy, by: "bob", extendedData: "later")
        call.participants[1].state = .rejected
        call.participants[1].reason = .busy
        call.participants[1].extendedData = "later"
        call.participants[1].deadlineAt = nil
        call.participants[1].answeredAt = created + 10
        return call
    }

    static let ringingText = #"""
        {"call_id":"0199aabbccdd00000123456789abcdef","mode":"common","kind":"video",\#
        "state":"ringing","caller":"alice","receiver":null,\#
        "extended_data":"{\"type\":\"video\"}","items":{},\#
        "created_at":1795000000000,"answered_at":null,"connected_at":null,"ended_at":null,\#
        "duration_ms":null,"timeout_ms":90000,"revision":2,"media":"none","end":null,\#
        "participants":[\#
        {"user":"alice","role":"caller","invited_by":null,"state":"joined","reason":null,\#
        "extended_data":null,"invited_at":1795000000000,"deadline_at":null,\#
        "answered_at":1795000000000,"device":"tablet","audio":true,"video":true,"held":false,\#
        "name":null},\#
        {"user":"bob","role":"invitee","invited_by":"alice","state":"ringing","reason":null,\#
        "extended_data":null,"invited_at":1795000000000,"deadline_at":1795000090000,\#
        "answered_at":null,"device":null,"audio":true,"video":true,"held":false,"name":null}]}
        """#
}

@Suite struct ReplyTests {
    private let encoder = WireEncoder()

    private func text(_ reply: Reply, to id: MessageID? = .integer(7)) -> String {
        String(decoding: encoder.reply(reply, to: id), as: UTF8.self)
    }

    @Test func doneIsAnEmptyObject() {
        #expect(text(.done) == #"{"re":7,"ok":{}}"#)
        #expect(text(.done, to: .text("a\"b")) == #"{"re":"a\"b","ok":{}}"#)
        #expect(text(.done, to: .integer(-1)) == #"{"re":-1,"ok":{}}"#)
        #expect(text(.done, to: nil) == #"{"re":null,"ok":{}}"#)
    }

    @Test func repliesWithCalls() {
        let call = Sample.ringingText
        #expect(
            text(.call(Sample.ringing, viewer: "alice")) == #"{"re":7,"ok":{"call":\#(call)}}"#)
        #expect(
            text(.callWithErrors(Sample.ringing, viewer: "alice", errors: []))
                == #"{"re":7,"ok":{"call":\#(call),"errors":[]}}"#)
        let errors = [InviteeError("dave", .alreadyInCall), InviteeError("alice", .itself)]
        #expect(
            text(.invited(Sample.ringing, viewer: "alice", errors: errors))
                == #"{"re":7,"ok":{"call_id":"\#(Sample.idText)","call":\#(call),"errors":["#
                + #"{"user":"dave","code":"already_in_call"},{"user":"alice","code":"self"}]}}"#)
    }

    @Test func repliesWithItemsAndTokens() {
        #expect(
            text(
                .items(
                    [Call.Item(key: "b\"", value: "\n"), Call.Item(key: "a", value: "")],
                    keys: ["b\""]))
                == #"{"re":7,"ok":{"items":{"b\"":"\n","a":""},"keys":["b\""]}}"#)
        #expect(
            text(.token(Array(#"{"url": "wss://x"}"#.utf8)))
                == #"{"re":7,"ok":{"token":{"url": "wss://x"}}}"#)
    }

    @Test func aKeptReplyComesBackUnchangedUnderAnotherID() {
        let replies: [Reply] = [
            .done, .call(Sample.refused, viewer: "bob"),
            .refused(Refusal(.callEnded, "the call has ended")),
        ]
        for reply in replies {
            let kept = encoder.kept(reply)
            #expect(text(.kept(kept), to: .text("x")) == text(reply, to: .text("x")))
            #expect(encoder.kept(.kept(kept)) == kept)
        }
    }

    @Test func errorsSayWhetherAndWhenToTryAgain() {
        #expect(
            text(.refused(Refusal(.alreadyAnswered, "bob has answered")))
                == #"{"re":7,"error":{"code":"already_answered","message":"bob has answered","#
                + #""retryable":false,"detail":{}}}"#)
        #expect(
            text(.refused(Refusal(.rateLimited, "slow down", retryAfter: 40)))
                == #"{"re":7,"error":{"code":"rate_limited","message":"slow down","#
                + #""retryable":true,"retry_after_ms":40,"detail":{}}}"#)
        #expect(
            text(.refused(Refusal(.unavailable, "no disk")))
                == #"{"re":7,"error":{"code":"unavailable","message":"no disk","#
                + #""retryable":true,"retry_after_ms":1000,"detail":{}}}"#)
        #expect(
            text(.refused(Refusal(.badRequest, "no", detail: .field("push.title"))), to: nil)
                == #"{"re":null,"error":{"code":"bad_request","message":"no","retryable":false,"#
                + #""detail":{"field":"push.title"}}}"#)
        #expect(
            text(.refused(Refusal(.wrongState, "no", detail: .code("already_held"))))
                .hasSuffix(#""detail":{"code":"already_held"}}}"#))
        #expect(
            text(.refused(Refusal(.tooMany, "no", detail: .errors([.init("x", .tooMany)]))))
                .hasSuffix(#""detail":{"errors":[{"user":"x","code":"too_many"}]}}}"#))
    }

    @Test(arguments: Refusal.Code.allCases)
    func everyCodeIsWrittenAsTheProtocolNamesIt(_ code: Refusal.Code) throws {
        let reply = try JSONValue(parsing: encoder.reply(.refused(Refusal(code, "m")), to: nil))
        let error = try #require(reply["error"])
        #expect(error["code"]?.string == code.rawValue)
        #expect(
            error["retryable"]?.bool == ["rate_limited", "unavailable"].contains(code.rawValue))
        #expect((error["retry_after_ms"] != nil) == (error["retryable"]?.bool == true))
    }
}

@Suite struct CallObjectTests {
    private func value(_ call: Call, for viewer: UserID = "alice") throws -> JSONValue {
        var writer = JSONWriter()
        WireEncoder().write(call, for: viewer, into: &writer)
        return try JSONValue(parsing: writer.bytes)
    }

    @Test func aCallHasEveryFieldOfTheProtocolInOrder() throws {
        #expect(
            try value(Sample.refused).object?.members.map(\.key) == [
                "call_id", "mode", "kind", "state", "caller", "receiver", "extended_data",
                "items", "created_at", "answered_at", "connected_at", "ended_at", "duration_ms",
                "timeout_ms", "revision", "media", "end", "participants",
            ])
        #expect(try value(Sample.refused)["duration_ms"] == 0)
        #expect(
            try value(Sample.refused)["end"]
                == ["reason": "busy", "detail": nil, "by": "bob", "extended_data": "later"])
        #expect(
            try value(Sample.refused)["participants"]?[1] == [
                "user": "bob", "role": "invitee", "invited_by": "alice", "state": "rejected",
                "reason": "busy", "extended_data": "later", "invited_at": 1_795_000_000_000,
                "deadline_at": nil, "answered_at": 1_795_000_000_010, "device": nil, "audio": true,
                "video": true, "held": false, "name": nil,
            ])
    }

    @Test func whatWasNotSaidIsNull() throws {
        var call = Sample.refused
        call.extendedData = nil
        call.end = Call.End(.idle, detail: .maxAge)
        let value = try value(call)
        #expect(value["extended_data"] == .null)
        #expect(
            value["end"]
                == ["reason": "idle", "detail": "max_age", "by": nil, "extended_data": nil])
    }

    @Test(arguments: Array(Mode.all.enumerated().map { ($0.offset, $0.element.name) }))
    func everyModeIsNamed(_ place: Int, _ name: String) throws {
        let call = Call(
            id: Sample.id, mode: ModeRow.all[place], kind: "audio", ringTime: 1,
            deliveryCheck: nil, createdAt: Sample.created)
        var made = call
        made.participants = Sample.ringing.participants
        #expect(try value(made)["mode"]?.string == name)
    }

    /// Names may hold what JSON escapes.
    @Test func whatPeopleChooseIsEscaped() throws {
        let (caller, callee) = (UserID(#"an"n\"#), UserID(#"\"bob"#))
        var call = Call(
            id: Sample.id, mode: .common, kind: #"vi"de\o"#, ringTime: 1,
            deliveryCheck: nil, createdAt: Sample.created)
        var first = Participant(user: caller, role: .caller, state: .joined, at: Sample.created)
        first.device = DeviceID(#"tab"let\"#)
        var second = Participant(user: callee, role: .invitee, state: .left, at: Sample.created)
        second.invitedBy = caller
        second.extendedData = #"{"a":"\n"}"#
        call.participants = [first, second]
        call.items = [Call.Item(key: #"k"\"#, value: #"v"\"#)]
        call.end = Call.End(.completed, by: callee, extendedData: #"\""#)
        let value = try value(call)
        #expect(value["caller"]?.string == caller.text)
        #expect(value["kind"]?.string == call.kind)
        #expect(value["items"] == .object([#"k"\"#: .string(#"v"\"#)]))
        #expect(value["end"]?["by"]?.string == callee.text)
        #expect(value["end"]?["extended_data"]?.string == #"\""#)
        let people = value["participants"]?.array ?? []
        #expect(people.map { $0["user"]?.string } == [caller.text, callee.text])
        #expect(people.map { $0["invited_by"]?.string } == [nil, caller.text])
        #expect(people.first?["device"]?.string == first.device?.text)
        #expect(people.last?["extended_data"]?.string == second.extendedData)
    }

    @Test func eachViewerSeesItsOwnTexts() throws {
        var call = Sample.refused
        call.views = [
            Call.View(receiver: "alice", owner: .call, text: "for alice"),
            Call.View(receiver: "alice", owner: .participant("bob"), text: nil),
            Call.View(receiver: "alice", owner: .end, text: "end for alice"),
            Call.View(receiver: "bob", owner: .participant("bob"), text: "for bob"),
        ]
        let alice = try value(call, for: "alice")
        #expect(alice["extended_data"] == "for alice")
        #expect(alice["participants"]?[1]?["extended_data"] == .null)
        #expect(alice["end"]?["extended_data"] == "end for alice")
        let bob = try value(call, for: "bob")
        #expect(bob["extended_data"] == #"{"type":"video"}"#)
        #expect(bob["participants"]?[1]?["extended_data"] == "for bob")
        #expect(bob["end"]?["extended_data"] == "later")
    }
}

@Suite struct EventTests {
    struct Example: CustomTestStringConvertible, Sendable {
        let name: EventName
        let kind: CallEvent.Kind
        let members: String

        var testDescription: String { name.rawValue }
    }

    static let examples: [Example] = [
        Example(
            name: .created, kind: .created(Sample.ringing),
            members: #","call":\#(Sample.ringingText)"#),
        Example(
            name: .incoming,
            kind: .incoming(Sample.ringing, inviter: "alice", expiresIn: 89_000),
            members: #","call":\#(Sample.ringingText),"inviter":"alice","expires_in_ms":89000"#
                + #","inviter_name":null"#),
        Example(
            name: .incoming, kind: .incoming(Sample.ringing, inviter: "alice", expiresIn: nil),
            members: #","call":\#(Sample.ringingText),"inviter":"alice","expires_in_ms":null"#
                + #","inviter_name":null"#),
        Example(
            name: .changed,
            kind: .changed([
                .init("bob", .rejected, reason: .busy, extendedData: "x\ty"),
                .init("carol", .timedOut),
            ]),
            members: #","changes":[{"user":"bob","state":"rejected","reason":"busy","#
                + #""extended_data":"x\ty"},{"user":"carol","state":"timed_out","reason":null,"#
                + #""extended_data":null}]"#),
        Example(name: .timedOut, kind: .timedOut, members: ""),
        Example(
            name: .cancelled,
            kind: .cancelled(inviter: "alice", extendedData: "no", reason: .byInviter),
            members: #","inviter":"alice","extended_data":"no","reason":"by_inviter""#),
        Example(
            name: .cancelled, kind: .cancelled(inviter: nil, extendedData: nil, reason: .whole),
            members: #","inviter":null,"extended_data":null,"reason":"whole""#),
        Example(
            name: .ended,
            kind: .ended(
                Call.End(.completed, by: "bob", extendedData: "bye"), at: Moment(1_000),
                duration: 900),
            members: #","end":{"reason":"completed","detail":null,"by":"bob","#
                + #""extended_data":"bye"},"ended_at":1000,"duration_ms":900"#),
        Example(
            name: .elsewhere, kind: .elsewhere(.answered, "phone"),
            members: #","what":"answered","device":"phone""#),
        Example(
            name: .elsewhere, kind: .elsewhere(.rejected, nil),
            members: #","what":"rejected","device":null"#),
        Example(name: .transferred, kind: .transferred(to: "carol"), members: #","to":"carol""#),
        Example(name: .removed, kind: .removed(by: "alice"), members: #","by":"alice""#),
        Example(
            name: .incoming,
            kind: .incoming(
                Sample.ringing, inviter: "alice", expiresIn: nil,
                transfer: CallEvent.TransferOffer(by: "alice", extendedData: "hi")),
            members: #","call":\#(Sample.ringingText),"inviter":"alice","expires_in_ms":null,"#
                + #""transfer":{"by":"alice","extended_data":"hi"},"inviter_name":null"#),
        Example(name: .failed, kind: .failed(.noAck), members: #","reason":"no_ack""#),
        Example(
            name: .mediaPhase, kind: .mediaPhase(.reconnecting),
            members: #","media":"reconnecting""#),
        Example(
            name: .mediaFlags, kind: .mediaFlags("bob", audio: false, video: true),
            members: #","user":"bob","audio":false,"video":true"#),
        Example(name: .hold, kind: .hold("bob", on: true), members: #","user":"bob","on":true"#),
        Example(
            name: .items,
            kind: .items(
                keys: ["a", "b"], deleted: ["b"], items: [Call.Item(key: "a", value: "1")]),
            members: #","keys":["a","b"],"deleted":["b"],"items":{"a":"1"}"#),
        Example(
            name: .missed, kind: .missed(Sample.ringing, count: 3),
            members: #","call":\#(Sample.ringingText),"missed":3"#),
        Example(
            name: .signal, kind: .signal(from: "bob", data: Array(#"{ "sdp":1.50 }"#.utf8)),
            members: #","from":"bob","data":{ "sdp":1.50 }"#),
    ]

    @Test(arguments: examples) func anEventIsWritten(_ example: Example) {
        let event = CallEvent(
            callID: Sample.id, revision: 4, at: Moment(1_795_000_000_500),
            actor: .user("bob", "phone"), kind: example.kind)
        var writer = JSONWriter()
        WireEncoder.eventHead(17, into: &writer)
        WireEncoder().eventTail(event, for: "alice", into: &writer)
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"{"seq":17,"event":"\#(example.name.rawValue)","data":{"call_id":"#
                + #""\#(Sample.idText)","revision":4,"at":1795000000500,"#
                + #""actor":{"user":"bob","device":"phone"}\#(example.members)}}"#)
    }

    @Test(arguments: examples) func whatIsWrittenIsWhatTheRowNames(_ example: Example) throws {
        let event = CallEvent(
            callID: Sample.id, revision: 4, at: Moment(5), actor: .timer(.ring),
            kind: example.kind)
        let text = WireEncoder().event(event, for: "alice")
        let data = try #require(try JSONValue(parsing: [UInt8(ascii: "{")] + text)["data"])
        let row = EventDescriptor.of(example.name)
        let members = EventDescriptor.inEvery + row.members
        let written = try #require(data.object?.members.map(\.key))
        #expect(
            written == members.filter { !$0.isOptional || written.contains($0.name) }.map(\.name))
    }

    @Test func everyEventHasAnExample() {
        #expect(Set(Self.examples.map(\.name)) == Set(EventName.allCases))
    }

    @Test func theActorMayBeAPolicyOrATimer() {
        for (actor, text) in [
            (Actor.policy("desk\"hours"), #""actor":{"policy":"desk\"hours"}"#),
            (.timer(.ringFor), #""actor":{"timer":"for"}"#),
            (.timer(.maxAge), #""actor":{"timer":"max_age"}"#),
        ] {
            let event = CallEvent(
                callID: Sample.id, revision: 1, at: Moment(0), actor: actor, kind: .timedOut)
            let bytes = WireEncoder().event(event, for: "bob")
            #expect(String(decoding: bytes, as: UTF8.self).contains(text))
        }
    }

    @Test func anEventWithACallShowsTheViewersTexts() throws {
        var call = Sample.ringing
        call.views = [Call.View(receiver: "bob", owner: .call, text: "shaped")]
        let event = CallEvent(
            callID: call.id, revision: 1, at: Moment(0), actor: .timer(.ring),
            kind: .incoming(call, inviter: "alice", expiresIn: 1))
        for (viewer, wanted) in [("bob", "shaped"), ("carol", #"{"type":"video"}"#)] {
            let bytes = Array("{".utf8) + WireEncoder().event(event, for: UserID(viewer))
            let value = try JSONValue(parsing: bytes)
            #expect(value["data"]?["call"]?["extended_data"]?.string == wanted)
        }
    }
}
