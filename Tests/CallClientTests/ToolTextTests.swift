// What the tool reads and shows: the operator's file, calls, answers, figures.

import AgentCore
import CallClient
import CallClientCore
import CallModel
import EventLoop
import JSON
import TestSupport
import Testing

@testable import callagent

@Suite struct InstallationTests {
    private let folder = TemporaryFolder()

    private func arguments(_ words: String...) throws(CommandError) -> CommandArguments {
        try CommandArguments(words + ["--config", "\(folder.path)/callagent.lua"], of: .calls)
    }

    @Test func theOperatorsFileSaysWhereTheServerIs() throws {
        folder.write(
            """
            listen = "127.0.0.1:7711"
            state_dir = "state"
            auth = { { alg = "HS256", key = secret "env:CALLAGENT_TEST_NO_SUCH_KEY" } }
            """, to: "callagent.lua")
        let arguments = try arguments()
        #expect("\(try Installation.server(arguments))" == "ws://127.0.0.1:7711")
        #expect(
            try Installation.admin(arguments).endpoint
                == .unix(path: "\(folder.path)/state/admin.sock"))
    }

    @Test func whatIsNamedComesFirst() throws {
        folder.write(#"admin = "unix:/run/x.sock""#, to: "callagent.lua")
        #expect(try Installation.admin(arguments()).endpoint == .unix(path: "/run/x.sock"))
        let named = try arguments("--server", "wss://example.com")
        #expect("\(try Installation.server(named))" == "wss://example.com")
    }

    @Test func aBrokenFileIsNamedWithItsLine() throws {
        folder.write("listen = \"127.0.0.1:7711\"\nlisen = 1\n", to: "callagent.lua")
        let error = try #require(throws: CommandError.self) {
            try Installation.server(arguments())
        }
        #expect(error.code == ExitCode.failure)
        #expect(error.message.hasPrefix("callagent.lua:2: "), "\(error.message)")
        #expect(error.message.contains("listen"))
    }

    @Test func aFileThatIsNotThereIsNamed() throws {
        let error = try #require(throws: CommandError.self) {
            try Installation.admin(arguments())
        }
        #expect(
            error.message == "cannot read \(folder.path)/callagent.lua: No such file or directory")
        #expect(error.code == ExitCode.failure)
    }
}

@Suite struct AdminAnswerTests {
    private func show(_ answer: AdminAnswer) -> (code: Int32, value: JSONValue?) {
        var value: JSONValue?
        let code = answer.show(isJSON: false) { value = $0 }
        return (code, value)
    }

    @Test func theOperatorSeesLiveCalls() throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = try rig.connected("alice")
        let calls = [try alice.invite("bob"), try alice.invite("carol")]
        let server = ServerAddress(rig.server.admin)
        let all = AdminAnswer.ask(.calls, ["limit": "10"], of: server)
        let shown = show(all)
        #expect(shown.code == ExitCode.success)
        #expect(
            shown.value?["items"]?.array?.map { $0["call_id"]?.string }
                == [calls[1].id.description, calls[0].id.description])
        let one = AdminAnswer.ask(.call, ["call_id": "\(calls[0].id)"], of: server)
        #expect(show(one).value?["call"]?["caller"] == "alice")
        let none = show(
            AdminAnswer.ask(.call, ["call_id": "\(CallID(high: 1, low: 2))"], of: server))
        #expect(none.code == ExitCode.failure && none.value == nil)
    }

    @Test func errorsOfTheServerAreToldInItsWords() throws {
        let rig = try Rig()
        defer { rig.close() }
        let server = ServerAddress(rig.server.admin)
        guard case .refused(let words) = AdminAnswer.ask(.reload, of: server) else {
            Issue.record("there is nothing to reload")
            return
        }
        #expect(words == "this process has no file to read again")
        #expect(show(AdminAnswer.get("/nowhere", from: server)).code == ExitCode.failure)
    }

    @Test func whoDoesNotAnswerIsNamed() {
        let server = ServerAddress(.unix(path: "/nonexistent/admin.sock"))
        guard case .unreachable(let words) = AdminAnswer.get("/healthz", from: server) else {
            Issue.record("answered")
            return
        }
        #expect(
            words.hasPrefix(
                "nobody answers at unix:/nonexistent/admin.sock: no server has made this socket;"))
        #expect(show(.unreachable(words)).code == ExitCode.unreachable)
    }
}

@Suite struct TextTests {
    @Test func figuresAreReadFromPrometheusText() {
        let text = """
            # HELP callagent_calls Calls.
            # TYPE callagent_calls gauge
            callagent_calls 3
            callagent_time{kind="a b"} 0.5
            broken
            callagent_odd x

            """
        let samples = MetricsText.samples(in: text)
        #expect(samples.map(\.name) == ["callagent_calls", #"callagent_time{kind="a b"}"#])
        #expect(samples.map(\.value) == [3, 0.5])
    }

    @Test func whatAPersonCanDoWithoutIsNotShown() {
        #expect(!MetricsText.isDetail("callagent_calls", 0), "it has no labels")
        #expect(!MetricsText.isDetail(#"callagent_calls{mode="direct"}"#, 1))
        #expect(MetricsText.isDetail(#"callagent_calls{mode="direct"}"#, 0))
        #expect(MetricsText.isDetail(#"callagent_time_sum{op="hello"}"#, 0.0))
        #expect(MetricsText.isDetail(#"callagent_time_bucket{le="0.1"}"#, 7))
    }

    @Test func answersAreShownWithoutBrackets() throws {
        let value = try JSONValue(
            parsing: #"{"a":1,"b":{"c":"x","d":[]},"e":[{"f":true,"g":null},"h"]}"#)
        #expect(
            PlainJSON.lines(value) == [
                "a: 1", "b:", "  c: x", "  d: none", "e:", "  - f: true", "    g: null", "  - h",
            ])
        #expect(PlainJSON.lines([]) == [] && PlainJSON.lines("x") == ["x"])
    }

    private static let call: JSONValue = [
        "call_id": "0199", "state": "ended", "mode": "common", "kind": "audio", "caller": "alice",
        "extended_data": "a\nb", "created_at": 1_000,
        "end": ["reason": "rejected", "detail": "mixed"],
        "participants": [
            ["user": "alice", "role": "caller", "state": "joined", "device": "tablet"],
            [
                "user": "bob", "role": "invitee", "state": "rejected", "reason": "busy",
                "extended_data": "x",
            ],
            ["user": "carol", "role": "invitee", "state": "timed_out"],
        ],
    ]

    @Test func aCallFitsOnALine() {
        #expect(
            CallListing.line(Self.call, now: 13_000)
                == "0199  ended   common   alice → bob rejected, carol timed_out  12 s ago  "
                + "rejected (mixed)")
        #expect(CallListing.line([:]) == "?  ?       ?        ? →   ")
    }

    @Test func aCallIsShownInFull() {
        #expect(
            CallListing.lines(Self.call) == [
                "call   0199", "state  ended  rejected (mixed)", "mode   common, audio",
                "data   a b", "       alice (caller) joined on tablet",
                "       bob (invitee) rejected (busy): x", "       carol (invitee) timed_out",
            ])
    }
}

@Suite struct CallStandingTests {
    private func progress(
        _ mode: String, me: UserID = "a", _ states: [Participant.State]
    ) throws -> CallProgress {
        CallProgress(try call(mode, states), me: me)
    }

    private func call(_ mode: String, _ states: [Participant.State]) throws -> Call {
        let index = try #require(ModeRow(named: mode))
        var call = Call(
            id: CallID(high: 1, low: 2), mode: index, kind: "audio",
            ringTime: 1_000, deliveryCheck: nil, createdAt: Moment(0))
        for (user, state) in zip(["a", "b", "c"] as [UserID], states) {
            call.participants.append(
                Participant(
                    user: user, role: user == "a" ? .caller : .invitee, state: state, at: Moment(0))
            )
        }
        return call
    }

    @Test(
        arguments: [
            ("advanced", "a", [.joined, .ringing], "cancel"),
            ("advanced", "a", [.joined, .joined, .ringing], "leave"),
            ("advanced", "a", [.joined, .rejected], "leave"),
            ("advanced", "b", [.joined, .joined, .ringing], "leave"),
            ("common", "a", [.joined, .inviting], "cancel"),
            ("direct", "a", [.joined, .undelivered], "cancel"),
            ("direct", "b", [.joined, .joined], "end"),
            ("ringing", "a", [.joined, .joined], "end"),
            ("group", "b", [.left, .joined, .ringing], "leave"),
        ] as [(String, UserID, [Participant.State], String)])
    func theWayOutFitsTheState(
        _ mode: String, _ me: UserID, _ states: [Participant.State], _ way: String
    ) throws {
        #expect(try progress(mode, me: me, states).wayOut.word == way)
    }

    @Test(
        arguments: [
            ("advanced", [.joined, .ringing], false), ("advanced", [.joined, .joined], false),
            ("advanced", [.joined, .accepting], false), ("advanced", [.joined, .rejected], true),
            ("advanced", [.joined, .left], true), ("common", [.joined, .timedOut], false),
            ("managed", [.joined, .left], false), ("direct", [.joined, .rejected], false),
            ("group", [.joined, .timedOut], false), ("group", [.joined, .left], true),
        ] as [(String, [Participant.State], Bool)])
    func whoIsLeftAloneGoesWhereTheServerWouldWait(
        _ mode: String, _ states: [Participant.State], _ isLeft: Bool
    ) throws {
        #expect(try progress(mode, states).isLeftAlone == isLeft)
    }

    @Test func endingForAllNeedsSomebodyAndAModeThatHasIt() throws {
        #expect(try progress("advanced", [.joined, .joined]).wayOutForAll.word == "end")
        #expect(try progress("advanced", [.joined, .ringing]).wayOutForAll.word == "cancel")
        var changed = try progress("advanced", [.joined, .ringing])
        changed.take([.init("b", .joined)], at: 1)
        #expect(changed.isAnswered && changed.hasJoined)
        #expect(changed.wayOut.word == "leave")
    }

    @Test func whatIsOlderThanWhatIsKnownChangesNothing() throws {
        var call = try call("advanced", [.joined, .joined])
        call.revision = 5
        var known = CallProgress(call, me: "a")
        known.take([.init("b", .ringing)], at: 4)
        #expect(known.isAnswered)
        call.revision = 4
        call.participants[1].state = .rejected
        known.take(call)
        #expect(known.isAnswered)
        // Two events of one commit have the same revision.
        known.take([.init("b", .left)], at: 5)
        #expect(!known.isAnswered)
        call.revision = 6
        call.participants[1].state = .joined
        known.take(call)
        #expect(known.isAnswered)
    }
}
