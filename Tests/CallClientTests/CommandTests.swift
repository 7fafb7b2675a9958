// The commands `call` and `phone` against a real server: what they show, do and end with.

import AgentCore
import CallClient
import CallClientCore
import CallModel
import CallWire
import EventLoop
import JSON
import Testing

@testable import AgentServer
@testable import callagent

/// A command that runs on a thread of its own.
private final class Running {
    private final class Shared: Sendable {
        let lines = Locked<[String]>([])
        let code = Locked<Int32?>(nil)
    }

    private let shared = Shared()
    private let thread: WorkerThread
    private let interrupts: Mailbox<Bool>
    private let waiter: LoopWaiter

    /// Runs `make` as the command line `words` says.
    init(
        _ words: String, of command: Command, at endpoint: NetworkAddress, _ waiter: LoopWaiter,
        _ make: @escaping @Sendable (CommandArguments) throws -> (DeviceProgram) -> any DeviceScript
    ) throws {
        self.waiter = waiter
        let all = words.split(separator: " ").map(String.init) + ["--server", "\(endpoint)"]
        let arguments = try CommandArguments(all, of: command)
        let options = try DeviceOptions(arguments)
        var opened: Mailbox<Bool>?
        let doors = try Mailbox<Mailbox<Bool>>(on: waiter.loop) { opened = $0.last }
        let bell = try Mailbox<Bool>(on: waiter.loop) { _ in }
        thread = try WorkerThread(name: "command", stackSize: 2 << 20) { [shared] in
            let ladder = Ladder(isJSON: options.isJSON) { line in
                shared.lines.withLock { $0.append(line) }
                bell.post(true)
            }
            let code = DeviceProgram.run(options, ladder: ladder) { program in
                let interrupts = try? Mailbox<Bool>(on: program.loop) { _ in program.interrupt() }
                if let interrupts { doors.post(interrupts) }
                return (try? make(arguments)(program)) ?? Idler()
            }
            shared.code.withLock { $0 = code }
            bell.post(true)
        }
        try waiter.wait(for: "the command") { opened != nil }
        interrupts = try #require(opened)
    }

    private final class Idler: DeviceScript {
        func opened(_ welcome: Welcome) {}
        func happened(_ event: CallEvent) {}
        func interrupted() {}
    }

    /// Without their times.
    var lines: [String] {
        shared.lines.withLock { lines in
            lines.map { String($0.drop { $0 != " " }.dropFirst()) }
        }
    }

    var rawLines: [String] { shared.lines.withLock { $0 } }

    func sees(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        do {
            try waiter.wait(for: text) { self.lines.contains { $0.contains(text) } }
        } catch {
            Issue.record("\(error); seen: \(lines)", sourceLocation: sourceLocation)
            throw error
        }
    }

    func interrupt() { interrupts.post(true) }

    func code(sourceLocation: SourceLocation = #_sourceLocation) throws -> Int32 {
        do {
            try waiter.wait(for: "the end") { self.shared.code.withLock { $0 != nil } }
        } catch {
            Issue.record("\(error); seen: \(lines)", sourceLocation: sourceLocation)
            throw error
        }
        thread.join()
        return try #require(shared.code.withLock { $0 })
    }
}

extension Rig {
    fileprivate func call(_ words: String) throws -> Running {
        try Running(words, of: .call, at: server.endpoint, waiter) { arguments in
            let plan = try CallPlan(arguments)
            return { OutgoingCall(plan, $0) }
        }
    }

    fileprivate func phone(_ words: String) throws -> Running {
        let phone = try Running(words, of: .phone, at: server.endpoint, waiter) { arguments in
            let plan = try PhonePlan(arguments)
            return { Phone(plan, $0) }
        }
        try phone.sees("connected as")
        return phone
    }
}

@Suite struct CommandTests {
    @Test func aCallIsAnsweredAndLeft() throws {
        let rig = try Rig()
        defer { rig.close() }
        let bob = try rig.phone(#"--as bob --accept --data {"hi":1} --once"#)
        let alice = try rig.call(#"bob --as alice --data {"type":"x"} --leave-after 1ms"#)
        #expect(try alice.code() == ExitCode.success)
        #expect(try bob.code() == ExitCode.success)
        #expect(alice.lines.first == #"→ invite bob: {"type":"x"}"#)
        #expect(alice.lines.contains(#"← bob accepted: {"hi":1}"#))
        #expect(alice.lines.contains("→ leave"))
        #expect(
            bob.lines.contains {
                $0.hasPrefix("← incoming audio call ") && $0.hasSuffix(#"{"type":"x"}"#)
            })
        #expect(bob.lines.contains("← alice left (self)"))
        #expect(bob.lines.contains { $0.hasPrefix("← ended last_left by bob after") })
    }

    @Test func whatTheCommandLineSaysOfTheInvitationIsOnTheWire() throws {
        let rig = try Rig()
        defer { rig.close() }
        let words = """
            bob --as alice --mode direct --timeout 1s --item lang=de --item desk=a=b
            --push-title Ring! --push-body from --push-payload {"x":1}
            --delivery-check 2000 --no-audio
            """
        let alice = try rig.call(words.replacing("\n", with: " ") + " --json")
        #expect(try alice.code() == ExitCode.failure)
        let values = try alice.rawLines.map { try JSONValue(parsing: $0) }
        let data = try #require(values.first { $0["op"] == "call.invite" }?["data"])
        #expect(data["items"] == ["lang": "de", "desk": "a=b"])
        #expect(
            data["push"] == ["title": "Ring!", "body": "from", "payload": #"{"x":1}"#])
        #expect(data["delivery_check"] == 2_000 && data["timeout_ms"] == 1_000)
        #expect(data["audio"] == false && data["video"] == nil)
        #expect(OperationName.invite.refusal(of: data) == nil)
    }

    /// (H88)
    @Test func withoutAModeTheServersIsTaken() throws {
        let rig = try Rig { $0.settings.defaultMode = .ringing }
        defer { rig.close() }
        let alice = try rig.call("bob --as alice --timeout 1s")
        try alice.sees("(ringing)")
        #expect(try alice.code() == ExitCode.failure)
        #expect(alice.lines.first == "→ invite bob")
        #expect(alice.lines.last?.hasPrefix("← ended no_answer") == true)
        let named = try rig.call("bob --as alice --timeout 1s --mode common")
        try named.sees("(common)")
        #expect(try named.code() == ExitCode.failure)
        #expect(named.lines.first == "→ invite bob (common)")
    }

    @Test func acceptsOfAHandshakeAreAcknowledgedByTheClient() throws {
        let rig = try Rig()
        defer { rig.close() }
        let bob = try rig.phone("--as bob --accept --once")
        let alice = try rig.call("bob --as alice --mode handshake --hang-up-after 1ms")
        #expect(try alice.code() == ExitCode.success)
        #expect(try bob.code() == ExitCode.success)
    }

    @Test func aCallIsEndedForAll() throws {
        let rig = try Rig()
        defer { rig.close() }
        let bob = try rig.phone("--as bob --accept-after 1ms --once")
        let alice = try rig.call("bob --as alice --video --hang-up-after 1ms")
        #expect(try alice.code() == ExitCode.success)
        #expect(try bob.code() == ExitCode.success)
        #expect(alice.lines.first == "→ invite bob (video)")
        #expect(alice.lines.contains("→ end"))
        #expect(bob.lines.contains { $0.hasPrefix("← ended completed by alice after") })
    }

    @Test(arguments: ["busy", "declined"]) func aCallIsRejected(_ reason: String) throws {
        let rig = try Rig()
        defer { rig.close() }
        let bob = try rig.phone("--as bob --once --reject \(reason)")
        let alice = try rig.call("bob --as alice")
        #expect(try alice.code() == ExitCode.failure)
        #expect(try bob.code() == ExitCode.success)
        #expect(alice.lines.contains("← bob rejected (\(reason))"))
        #expect(alice.lines.last?.hasPrefix("← ended last_left") == true)
    }

    @Test(arguments: Mode.all.map(\.name))
    func aCallThatNobodyAnswersEndsInEveryMode(_ mode: String) throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = try rig.call("bob --as alice --timeout 1s --mode \(mode)")
        // In the mode with delivery acknowledgements the ring time does not begin by itself.
        if mode == "handshake" {
            try alice.sees("call ")
            alice.interrupt()
        }
        #expect(try alice.code() == ExitCode.failure)
        #expect(alice.lines.last?.hasPrefix("← ended ") == true, "\(alice.lines)")
    }

    @Test func severalArePartlyLeftOut() throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = try rig.call("bob bob alice --as alice")
        try alice.sees("bob left out (duplicate)")
        try alice.sees("alice left out (self)")
        alice.interrupt()
        #expect(try alice.code() == ExitCode.failure)
        #expect(alice.lines.contains("→ cancel"))
        #expect(alice.lines.last?.hasPrefix("← ended cancelled") == true)
    }

    @Test func aRefusedInvitationIsShown() throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = try rig.call("alice --as alice")
        #expect(try alice.code() == ExitCode.failure)
        #expect(alice.lines.last?.hasPrefix("← refused self_call: ") == true)
    }

    @Test(arguments: ["advanced", "managed", "direct", "ringing", "group"])
    func controlCLeavesACallInEveryMode(_ mode: String) throws {
        let rig = try Rig()
        defer { rig.close() }
        let bob = try rig.phone("--as bob --accept --once")
        let alice = try rig.call("bob --as alice --mode \(mode)")
        try alice.sees("bob accepted")
        alice.interrupt()
        #expect(try alice.code() == ExitCode.success)
        #expect(try bob.code() == ExitCode.success)
        #expect(bob.lines.last?.hasPrefix("← ended ") == true, "\(bob.lines)")
    }

    @Test func controlCOnAPhoneLeavesItsCall() throws {
        let rig = try Rig()
        defer { rig.close() }
        let bob = try rig.phone("--as bob --accept")
        let alice = try rig.call("bob --as alice")
        try alice.sees("bob accepted")
        bob.interrupt()
        #expect(try bob.code() == ExitCode.success)
        #expect(try alice.code() == ExitCode.success)
        #expect(alice.lines.contains("← bob left (self)"))
    }

    @Test func aPhoneThatOnlyRingsIsToldOfTheCancel() throws {
        let rig = try Rig()
        defer { rig.close() }
        let bob = try rig.phone("--as bob --ring --once")
        let alice = try rig.call("bob --as alice")
        try alice.sees("bob ringing")
        alice.interrupt()
        #expect(try alice.code() == ExitCode.failure)
        #expect(try bob.code() == ExitCode.success)
        #expect(bob.lines.last == "← cancelled (whole)")
    }

    @Test func aLossInTheMiddleIsShownAndSurvived() throws {
        let rig = try Rig()
        defer { rig.close() }
        let bob = try rig.phone("--as bob --accept --once")
        let alice = try rig.call("bob --as alice")
        try alice.sees("bob accepted")
        try rig.server.cutOff("alice")
        try alice.sees("connection lost")
        try alice.sees("connected again")
        try rig.server.run { $0.gateway.desk.dropEverything() }
        try alice.sees("connected again, anew")
        try bob.sees("connected again, anew")
        alice.interrupt()
        #expect(try alice.code() == ExitCode.success)
        #expect(try bob.code() == ExitCode.success)
        #expect(bob.lines.last?.hasPrefix("← ended ") == true)
    }

    @Test func linesOfJSONAreWholeMessagesWithTheirTime() throws {
        let rig = try Rig()
        defer { rig.close() }
        let bob = try rig.phone("--as bob --accept --once")
        let alice = try rig.call("bob --as alice --json --hang-up-after 1ms")
        #expect(try alice.code() == ExitCode.success)
        _ = try bob.code()
        let values = try alice.rawLines.map { try JSONValue(parsing: $0) }
        #expect(values.allSatisfy { $0["at_ms"]?.integer != nil })
        #expect(values.contains { $0["op"] == "call.invite" })
        #expect(values.contains { $0["event"] == "call.ended" && $0["seq"] != nil })
        #expect(values.contains { $0["ok"]?["session"] != nil })
        #expect(!values.contains { $0["op"] == "hello" || $0["ack"] != nil })
    }

    @Test func whatEndsBeforeItBegan() throws {
        let rig = try Rig()
        defer { rig.close() }
        let guess = try rig.call("bob --token guess")
        #expect(try guess.code() == ExitCode.failure)
        let closed = try ScriptedServer(rig.waiter)
        let endpoint = closed.endpoint
        closed.close()
        let nobody = try Running("bob --as alice", of: .call, at: endpoint, rig.waiter) {
            let plan = try CallPlan($0)
            return { OutgoingCall(plan, $0) }
        }
        #expect(try nobody.code() == ExitCode.unreachable)
        #expect(nobody.lines.isEmpty && guess.lines.isEmpty)
    }
}

@Suite struct LadderTests {
    @Test func whatOthersSentNeitherBreaksALineNorPaintsTheTerminal() {
        var lines: [String] = []
        let ladder = Ladder(isJSON: false) { lines.append($0) }
        ladder.sees(
            .changed([
                .init("bob", .joined, extendedData: "a\u{1B}[31mb\nc\u{202E}d\r"),
                .init("bob", .left, reason: .itself, extendedData: "a\u{1B}[31mb\nc\u{202E}d\r"),
            ]))
        #expect(
            lines.map { $0.drop { $0 != "←" } } == [
                "← bob accepted: a [31mb c d ", "← bob left (self)",
            ])
    }

    @Test(
        arguments: [
            (.timedOut, "timed_out"),
            (
                .cancelled(inviter: "a", extendedData: "x", reason: .byInviter),
                "cancelled (by_inviter): x"
            ),
            (.elsewhere(.answered, "tablet"), "answered elsewhere on tablet"),
            (.failed(.expired), "failed: expired"),
            (.mediaPhase(.connected), "media connected"),
            (.mediaFlags("bob", audio: true, video: false), "bob audio on, video off"),
            (.hold("bob", on: true), "bob holds"),
            (.items(keys: ["a"], deleted: ["b"], items: []), "items a, -b"),
            (.signal(from: "bob", data: Array("[1]".utf8)), "bob signals: [1]"),
            (
                .ended(.init(.completed, by: "bob"), at: Moment(0), duration: 12_000),
                "ended completed by bob after 12 s"
            ),
        ] as [(CallEvent.Kind, String)])
    func everyEventHasItsWords(_ event: CallEvent.Kind, _ words: String) {
        var lines: [String] = []
        Ladder(isJSON: false) { lines.append($0) }.sees(event)
        #expect(lines.map { String($0.drop { $0 != "←" }.dropFirst(2)) } == [words])
    }
}
