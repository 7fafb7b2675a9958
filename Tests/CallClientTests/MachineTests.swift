// The client without a socket: its transport is a list, its clock a number.

import CallModel
import CallWire
import JSON
import Testing
import WebProtocols

@testable import CallClientCore

/// Writes down what the machine does.
private final class PaperTransport: ClientTransport {
    var now: Int64 = 0
    var did: [String] = []
    var messages: [JSONValue] = []
    var alarm = Int64.max

    func dial() { did.append("dial") }
    func send(_ message: [UInt8]) {
        if let value = try? JSONValue(parsing: message) { messages.append(value) }
    }
    func close(_ code: WebSocketCloseCode, _ reason: String) {
        did.append("close \(code.rawValue)")
    }
    func abandon() { did.append("abandon") }
    func wake(at moment: Int64) { alarm = moment }
}

@Suite struct MachineTests {
    private let paper = PaperTransport()
    private let machine: ClientMachine

    init() {
        let options = ClientMachine.Options(token: "dev:alice", device: "phone")
        machine = ClientMachine(options, over: paper, dice: SeededGenerator(seed: 7))
    }

    private func answer(_ index: Int, _ ok: JSONValue) {
        machine.received(JSONValue.object(["re": paper.messages[index]["id"]!, "ok": ok]).bytes)
    }

    private func open() {
        machine.connect()
        machine.opened()
        answer(
            0,
            [
                "user": "alice", "device": "phone", "session": .string(session),
                "resumed": false, "server_time_at": 1_000_000, "ping_interval_ms": 25_000,
                "limits": [:], "calls": [],
            ])
    }

    private let session = String(repeating: "5e", count: 16)

    /// Goes on to the next moment at which the machine wants to be woken.
    private func wait() {
        paper.now = paper.alarm
        machine.woken()
    }

    @Test func itActsThroughItsTransportAlone() {
        #expect(paper.did.isEmpty && machine.state == .idle)
        open()
        #expect(paper.did == ["dial"] && machine.state == .open && machine.user == "alice")
        #expect(paper.messages[0]["data"]?["token"] == "dev:alice")
        paper.now = 500
        #expect(machine.serverTime == Moment(1_000_500))
        var answers: [Result<Call, RequestFailure>] = []
        machine.get(CallID(high: 1, low: 2)) { answers.append($0) }
        #expect(paper.messages[1]["op"] == "call.get" && answers.isEmpty)
        answer(1, [:])
        #expect(answers == [.failure(.unreadable)])
    }

    /// `hello` is refused for its token, with this `detail`.
    private func refuse(_ detail: JSONValue) {
        machine.opened()
        let error: JSONValue = [
            "code": "unauthenticated", "message": "why", "retryable": false, "detail": detail,
        ]
        let id = paper.messages.last?["id"] ?? .null
        machine.received(JSONValue.object(["re": id, "error": error]).bytes)
        machine.ended(.closed(CloseCode.forbidden.rawValue, "why"))
    }

    @Test(arguments: ["expired", "revoked"])
    func aTokenThatWasGoodOnceIsReplaced(_ code: String) {
        machine.connect()
        refuse(["code": .string(code)])
        #expect(machine.state == .awaitingToken && paper.did == ["dial", "abandon"])
        machine.renew(token: "dev:alice2")
        #expect(paper.did.last == "dial" && machine.state == .connecting)
        // Where that is refused as well, the next one has its time: no two machines with
        // different clocks may knock without a pause.
        refuse(["code": .string(code)])
        machine.renew(token: "dev:alice3")
        #expect(machine.state == .waiting && paper.did.last == "abandon")
        wait()
        #expect(machine.state == .connecting && paper.did.last == "dial")
        machine.opened()
        #expect(paper.messages.last?["data"]?["token"] == "dev:alice3")
    }

    @Test func aTokenThatIsNoneStopsTheClient() {
        machine.connect()
        refuse([:])
        #expect(machine.state == .stopped)
    }

    @Test func silenceIsALossAndTheNextAttemptResumes() throws {
        open()
        paper.now = 20_000
        machine.heard()
        paper.now = 33_333
        machine.woken()
        #expect(machine.state == .open && paper.alarm == 53_333)
        wait()
        #expect(machine.state == .waiting && paper.did == ["dial", "abandon"])
        let pause = paper.alarm - paper.now
        #expect((20...500).contains(pause))
        wait()
        machine.opened()
        let hello = try #require(paper.messages.last?["data"])
        #expect(hello["resume"] == ["session": .string(session), "seq": 0])
    }

    @Test func whoNeverAnswersIsGivenUpAndAskedAgain() {
        machine.connect()
        for attempt in 1...3 {
            #expect(paper.did.filter { $0 == "dial" }.count == attempt)
            paper.now += 10_000
            machine.woken()
            #expect(machine.state == .waiting)
            wait()
        }
        machine.ended(.network(NetworkFault("no such address", isLasting: true)))
        #expect(machine.state == .stopped && paper.alarm == .max)
    }

    @Test func aRequestWithoutAnAnswerSettlesWhateverTheSocketDoes() {
        open()
        var results: [Result<Call, RequestFailure>] = []
        machine.get(CallID(high: 1, low: 2)) { results.append($0) }
        machine.ended(.dropped)
        while results.isEmpty, paper.alarm < 60_000 { wait() }
        #expect(results == [.failure(.unanswered)] && paper.now == 30_000)
        machine.disconnect()
        machine.get(CallID(high: 1, low: 2)) { results.append($0) }
        wait()
        #expect(results.last == .failure(.stopped))
    }

    /// Also one that reckons badly: with numbers of any size nothing here may overflow.
    @Test(arguments: [Int64.max, .min, .max / 2, -1, 0])
    func timesOfTheServerAreReckonedWith(number: Int64) throws {
        let time = JSONValue.integer(number)
        paper.now = 1_000
        machine.connect()
        machine.opened()
        answer(
            0,
            [
                "user": "alice", "device": "phone", "session": .string(session),
                "resumed": false, "server_time_at": time, "ping_interval_ms": time,
                "resume_window_ms": time, "limits": [:], "calls": [],
            ])
        #expect(machine.state == .open && paper.alarm > 1_000)
        paper.now = 1_500
        #expect(machine.serverTime != nil)
        var calls: [Call] = []
        machine.get(CallID(high: 1, low: 2)) { calls += (try? $0.get()).map { [$0] } ?? [] }
        let alice: JSONValue = [
            "user": "alice", "role": "caller", "state": "left", "invited_at": time,
        ]
        answer(
            1,
            [
                "call": [
                    "call_id": "00000000000000010000000000000002", "mode": "advanced",
                    "kind": "audio", "timeout_ms": time, "state": "ended", "media": "none",
                    "created_at": time, "answered_at": .integer(.min), "ended_at": time,
                    "revision": time, "participants": [alice],
                ]
            ])
        #expect(try #require(calls.first).duration >= 0)
        machine.get(CallID(high: 1, low: 2)) { _ in }
        let error: JSONValue = [
            "code": "unavailable", "message": "why", "retryable": true, "retry_after_ms": time,
            "detail": [:],
        ]
        let id = try #require(paper.messages.last?["id"])
        machine.received(JSONValue.object(["re": id, "error": error]).bytes)
        machine.ended(.dropped)
        #expect(machine.state == .waiting && paper.alarm > paper.now)
    }

    @Test func theSameDiceGiveTheSameKeys() {
        let other = PaperTransport()
        let again = ClientMachine(
            ClientMachine.Options(token: "dev:alice", device: "phone"), over: other,
            dice: SeededGenerator(seed: 7))
        for one in [machine, again] {
            one.invite(Invitation(invitees: ["bob"])) { _ in }
            one.connect()
            one.opened()
        }
        #expect(paper.messages == other.messages && paper.messages.count == 1)
    }
}
