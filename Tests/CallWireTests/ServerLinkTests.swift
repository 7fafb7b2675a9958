// The client's side: requests that the server understands, events that are handed out once.

import CallModel
import JSON
import Testing

@testable import CallWire

@Suite struct RequestEncoderTests {
    private static let examples =
        OperationTests.invitations + OperationTests.answers + OperationTests.inCall
        + OperationTests.others

    @Test(arguments: examples) func theServerUnderstandsWhatTheClientAsks(
        _ example: OperationTests.Example
    ) throws {
        let encoder = RequestEncoder()
        let message = encoder.request(example.operation, id: .text("7"))
        #expect(
            try WireDecoder().message(message)
                == .request(.text("7"), key: nil, example.operation))
        let body = encoder.body(example.operation)
        #expect(
            try WireDecoder().request(example.operation.name, body: body)
                == .operation(example.operation, key: nil))
        #expect(example.operation.name == example.name)
    }

    @Test func keysAndSessionMessages() throws {
        let encoder = RequestEncoder()
        let decoder = WireDecoder()
        guard
            case .request(_, let key?, _) = try decoder.message(
                encoder.request(.call(Sample.id, .end()), id: .integer(1), key: "k"))
        else {
            Issue.record("no key")
            return
        }
        #expect(key.text == "k")
        #expect(try decoder.message(encoder.ping(id: nil)) == .ping(nil))
        #expect(try decoder.message(encoder.bye(id: .integer(3))) == .bye(.integer(3)))
        #expect(try decoder.message(RequestEncoder.acknowledgement(17)) == .acknowledge(17))
        let session = SessionID(high: 1, low: 2)
        for hello in [
            Hello(token: "t", device: "d"),
            Hello(token: "t", device: "d", resume: .init(session: session, seq: 4)),
            Hello(token: "t", device: "d", wantsMissed: true),
        ] {
            let message = encoder.hello(hello, id: .integer(1))
            #expect(try decoder.message(message) == .hello(.integer(1), hello))
        }
    }
}

@Suite struct ServerMessageTests {
    private let decoder = ServerMessageDecoder()

    @Test(arguments: EventTests.examples)
    func theClientUnderstandsEveryEvent(_ example: EventTests.Example) throws {
        for actor in [Actor.user("bob", "phone"), .policy("busy"), .timer(.ring)] {
            let event = CallEvent(
                callID: Sample.id, revision: 4, at: Moment(5), actor: actor, kind: example.kind)
            var writer = JSONWriter()
            WireEncoder.eventHead(3, into: &writer)
            WireEncoder().eventTail(event, for: "alice", into: &writer)
            #expect(try decoder.message(writer.bytes) == .event(3, .call(event)))
        }
    }

    @Test func aCallSurvivesTheWire() throws {
        var call = Sample.refused
        call.items = [Call.Item(key: "k", value: "v")]
        call.answeredAt = Moment(1)
        call.connectedAt = Moment(2)
        call.media = .connected
        call.participants[0].held = true
        let bytes = WireEncoder().reply(.call(call, viewer: "alice"), to: .integer(1))
        guard case .reply(.integer(1), .ok(let value)) = try decoder.message(bytes) else {
            Issue.record("no reply")
            return
        }
        #expect(decoder.call(value["call"]) == call)
    }

    @Test(arguments: Refusal.Code.allCases)
    func everyErrorSurvivesTheWire(_ code: Refusal.Code) throws {
        let details: [Refusal.Detail?] = [
            nil, .field("a.b"), .code("x"), .errors([InviteeError("u", .blocked)]),
        ]
        for detail in details {
            let wait: Milliseconds? = code.isRetryable ? 30 : nil
            let refusal = Refusal(code, "because", detail: detail, retryAfter: wait)
            let bytes = WireEncoder().reply(.refused(refusal), to: .text("x"))
            #expect(try decoder.message(bytes) == .reply(.text("x"), .error(refusal)))
        }
    }

    @Test func whatIsUnknownIsKeptOrCalledInternal() throws {
        let event = Array(#"{"seq":1,"event":"call.sung","data":{"song":1}}"#.utf8)
        #expect(
            try decoder.message(event) == .event(1, .unknown("call.sung", ["song": 1])))
        let newer = Array(#"{"seq":1,"event":"call.failed","data":{"reason":"newer"}}"#.utf8)
        #expect(
            try decoder.message(newer)
                == .event(1, .unknown("call.failed", ["reason": "newer"])))
        let error = Array(#"{"re":null,"error":{"code":"teapot","message":"short"}}"#.utf8)
        #expect(
            try decoder.message(error)
                == .reply(nil, .error(Refusal(.internal, "teapot: short"))))
    }

    @Test(arguments: ["", "[]", "{}", "5", #"{"re":1}"#, #"{"seq":1}"#, #"{"event":"x"}"#])
    func whatIsNoMessageIsAViolation(_ text: String) {
        #expect(throws: ProtocolViolation.self) { try decoder.message(Array(text.utf8)) }
    }
}

@Suite struct ServerLinkTests {
    private let session = SessionID(high: 5, low: 6)

    private func welcome(resumed: Bool, _ id: SessionID? = nil) -> Welcome {
        Welcome(
            Address("bob", "phone"), session: id ?? session, resumed: resumed,
            serverTime: Moment(9),
            settings: WelcomeSettings(
                session: SessionLimits(), limits: AnnouncedLimits(), server: "callagent/0"),
            calls: [Sample.ringing])
    }

    private func reply(_ welcome: Welcome, to id: Int64) -> [UInt8] {
        var writer = JSONWriter()
        WireEncoder.replyHead(.integer(id), into: &writer)
        WireEncoder().welcomeTail(welcome, into: &writer)
        return writer.bytes
    }

    private func event(_ seq: UInt64) -> [UInt8] {
        var writer = JSONWriter()
        WireEncoder.eventHead(seq, into: &writer)
        let event = CallEvent(
            callID: Sample.id, revision: UInt32(seq), at: Moment(0), actor: .timer(.ring),
            kind: .timedOut)
        WireEncoder().eventTail(event, for: "bob", into: &writer)
        return writer.bytes
    }

    private func opened() -> ServerLink {
        var link = ServerLink(device: "phone")
        _ = link.connected(token: "t")
        _ = link.receive(reply(welcome(resumed: false), to: 1))
        return link
    }

    private func seqs(_ outputs: [ServerLink.Output]) -> [UInt32] {
        outputs.compactMap {
            if case .event(.call(let event)) = $0 { event.revision } else { nil }
        }
    }

    @Test func theFirstConnectionBeginsAnew() throws {
        var link = ServerLink(device: "phone")
        let hello = Hello(token: "t", device: "phone", wantsMissed: true)
        #expect(
            try WireDecoder().message(link.connected(token: "t")) == .hello(.integer(1), hello))
        #expect(!link.isOpen)
        let welcome = welcome(resumed: false)
        #expect(link.receive(reply(welcome, to: 1)) == [.welcomed(welcome)])
        #expect(link.isOpen)
        #expect(link.session == session)
    }

    @Test func aNewConnectionAsksForWhatFollowsTheLastEvent() throws {
        var link = opened()
        for seq in 1...3 as ClosedRange<UInt64> { _ = link.receive(event(seq)) }
        _ = link.disconnected()
        let hello = Hello(
            token: "u", device: "phone", resume: .init(session: session, seq: 3),
            wantsMissed: true)
        #expect(
            try WireDecoder().message(link.connected(token: "u")) == .hello(.integer(2), hello))
        let welcome = welcome(resumed: true)
        #expect(link.receive(reply(welcome, to: 2)) == [.welcomed(welcome)])
        #expect(seqs(link.receive(event(3))) == [])
        #expect(seqs(link.receive(event(4))) == [4])
        #expect(link.received == 4)
    }

    @Test func whenNothingIsResumedTheNumbersBeginAgain() {
        var link = opened()
        _ = link.receive(event(1))
        _ = link.disconnected()
        _ = link.connected(token: "t")
        let other = SessionID(high: 9, low: 9)
        _ = link.receive(reply(welcome(resumed: false, other), to: 2))
        #expect(link.session == other)
        #expect(link.received == 0)
        #expect(seqs(link.receive(event(1))) == [1])
    }

    @Test func eventsAreHandedOutOnce() {
        var link = opened()
        #expect(seqs(link.receive(event(1))) == [1])
        #expect(link.receive(event(1)) == [])
        #expect(seqs(link.receive(event(2))) == [2])
        #expect(link.receive(event(1)) == [])
    }

    @Test func aGapIsAViolationAndEndsTheSession() {
        var link = opened()
        _ = link.receive(event(1))
        guard case .violation = link.receive(event(3)).first else {
            Issue.record("the gap went unnoticed")
            return
        }
        #expect(link.session == nil)
    }

    @Test func acknowledgementsTellTheNewestOnce() throws {
        var link = opened()
        #expect(link.acknowledgement() == nil)
        for seq in 1...5 as ClosedRange<UInt64> { _ = link.receive(event(seq)) }
        let acknowledgement = link.acknowledgement()
        let message = try #require(acknowledgement)
        #expect(try WireDecoder().message(message) == .acknowledge(5))
        #expect(link.acknowledgement() == nil)
        _ = link.receive(event(6))
        _ = link.disconnected()
        #expect(link.acknowledgement() == nil)
    }

    @Test func repliesFindTheirRequests() {
        var link = opened()
        let first = link.request(.call(Sample.id, .get))
        let second = link.request(.call(Sample.id, .ringing))
        #expect(first.message != nil)
        let encoder = WireEncoder()
        #expect(
            link.receive(encoder.reply(.done, to: .integer(second.id)))
                == [.reply(second.id, .ok([:]))])
        #expect(link.receive(encoder.reply(.done, to: .integer(second.id))) == [])
        #expect(link.receive(encoder.reply(.done, to: .text("x"))) == [])
        let refusal = Refusal(.notFound, "no such call")
        #expect(
            link.receive(encoder.reply(.refused(refusal), to: .integer(first.id)))
                == [.reply(first.id, .error(refusal))])
    }

    @Test func requestsWithAKeyAreRepeatedAndOthersAreLost() {
        var link = opened()
        let keyed = link.request(.call(Sample.id, .end()), key: "k")
        let plain = link.request(.call(Sample.id, .ringing))
        let reading = link.request(.call(Sample.id, .get))
        #expect(link.disconnected() == [.lost(plain.id)])
        let queued = link.request(.call(Sample.id, .leave()))
        #expect(queued.message == nil)
        _ = link.connected(token: "t")
        let outputs = link.receive(reply(welcome(resumed: true), to: queued.id + 1))
        let sent = outputs.compactMap { output -> [UInt8]? in
            if case .send(let message) = output { message } else { nil }
        }
        #expect(sent.count == 3)
        #expect(sent[0] == keyed.message)
        #expect(sent[1] == reading.message)
        #expect(link.disconnected() == [.lost(queued.id)])
    }

    @Test func whatIsForgottenIsNeitherHandedOutNorRepeated() throws {
        var link = opened()
        let forgotten = link.request(.call(Sample.id, .leave()), key: "a").id
        let kept = link.request(.call(Sample.id, .end()), key: "b")
        link.forget(forgotten)
        #expect(link.receive(Array(#"{"re":\#(forgotten),"ok":{}}"#.utf8)) == [])
        #expect(link.disconnected() == [])
        _ = link.connected(token: "t")
        let welcome = welcome(resumed: true)
        let message = try #require(kept.message)
        #expect(link.receive(reply(welcome, to: 4)) == [.welcomed(welcome), .send(message)])
    }

    @Test func anyOperationCanBeAskedByName() throws {
        var link = opened()
        let (id, sent) = link.request(named: "call.sing", data: ["song": 1], key: "k")
        let message = try JSONValue(parsing: try #require(sent))
        #expect(
            message == [
                "id": .integer(id), "op": "call.sing", "key": "k", "data": ["song": 1],
            ])
        let bare = link.request(named: "call.sing", data: [:]).id
        #expect(link.disconnected() == [.lost(bare)])
    }

    @Test func aRefusedHelloKeepsTheSession() {
        var link = opened()
        _ = link.disconnected()
        _ = link.connected(token: "old")
        let refusal = Refusal(.unauthenticated, "expired")
        #expect(
            link.receive(WireEncoder().reply(.refused(refusal), to: .integer(2)))
                == [.turnedAway(refusal)])
        #expect(!link.isOpen)
        #expect(link.session == session)
    }

    @Test func afterByeTheNextConnectionBeginsAnew() throws {
        var link = opened()
        #expect(try WireDecoder().message(link.bye()) == .bye(.integer(2)))
        #expect(link.disconnected() == [.lost(2)])
        #expect(
            try WireDecoder().message(link.connected(token: "t"))
                == .hello(.integer(3), Hello(token: "t", device: "phone", wantsMissed: true)))
    }

    /// Both machines over a line that breaks at random: every event arrives once and in order,
    /// unless the client was told that it begins anew.
    @Test(arguments: 0..<20) func serverAndClientAgreeOverALineThatBreaks(_ seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        let limits = SessionLimits()
        var server = ClientSession(id: session)
        var link = ServerLink(device: "phone")
        var (sent, heard, isUp): (UInt32, [UInt32], Bool) = (0, [], false)
        for step in 0..<400 {
            let now = Moment(Int64(step))
            switch dice.next() % 8 {
            case 0 where isUp:
                (isUp, _) = (false, link.disconnected())
                server.detach(at: now, limits: limits)
            case 1 where isUp:
                if let message = link.acknowledgement(),
                    case .acknowledge(let seq) = try WireDecoder().message(message)
                {
                    server.acknowledge(seq)
                }
            case 2, 3:
                if isUp { continue }
                guard
                    case .hello(.integer(let id), let hello) = try WireDecoder().message(
                        link.connected(token: "t"))
                else { continue }
                let first = server.state == .welcoming(resumed: false)
                let resumed =
                    !first && server.reconnect(hello.resume, newID: session, at: now)
                #expect(first || resumed)
                _ = link.receive(reply(welcome(resumed: resumed), to: id))
                for event in server.welcomed(limits: limits) {
                    heard += seqs(link.receive(head(event.seq) + event.tail))
                }
                isUp = true
            default:
                sent += 1
                let tail = Array(event(UInt64(sent)).drop { $0 != UInt8(ascii: ",") }.dropFirst())
                guard let seq = server.number(tail, limits: limits) else {
                    if server.state == .welcoming(resumed: false) { sent -= 1 }
                    continue
                }
                // The line may swallow what was sent just before it broke.
                if dice.next() % 10 == 0 {
                    (isUp, _) = (false, link.disconnected())
                    server.detach(at: now, limits: limits)
                } else {
                    heard += seqs(link.receive(head(seq) + tail))
                }
            }
        }
        #expect(heard == Array(1..<UInt32(heard.count + 1)))
        #expect(heard.count > 50)
    }

    private func head(_ seq: UInt64) -> [UInt8] {
        var writer = JSONWriter()
        WireEncoder.eventHead(seq, into: &writer)
        return writer.bytes
    }
}
