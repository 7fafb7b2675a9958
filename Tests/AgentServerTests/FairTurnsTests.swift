// Turns on the policy thread: nobody waits for what others have begun (clarifications 76).

import AgentCore
import CallClient
import CallClientCore
import CallModel
import Configuration
import EventLoop
import Lua
import PolicyHost
import Testing

@testable import AgentServer

@Suite struct FairTurnsTests {
    private typealias Turns = FairTurns<String>
    private let mallory = Cause(UserID("mallory"))
    private let alice = Cause(UserID("alice"))
    private let millisecond: UInt64 = 1_000_000

    /// Takes so many, each of which takes so long; counts whose they were.
    private func take(
        _ count: Int, _ turns: inout Turns, each nanoseconds: UInt64
    ) -> [String: Int] {
        var counts: [String: Int] = [:]
        for _ in 0..<count {
            guard let item = turns.next() else { break }
            counts[item, default: 0] += 1
            turns.took(nanoseconds)
        }
        return counts
    }

    @Test func whoIsQuietWaitsForTheRunAtHandOnly() {
        var turns = Turns()
        for number in 0..<30 {
            for _ in 0..<100 { turns.add("heavy", Cause(UserID("heavy-\(number)")), .decision) }
        }
        for _ in 0..<20 {
            #expect(take(40, &turns, each: 10 * millisecond) == ["heavy": 40])
            turns.add("alice", alice, .decision)
            #expect(turns.next() == "alice")
            turns.took(millisecond / 10)
        }
    }

    @Test func thePairsOfOneAccountHaveFourPartsAtMost() {
        var turns = Turns()
        for number in 0..<20 {
            let pair = Cause(UserID("user-\(number)"), caller: UserID("mallory"))
            for _ in 0..<100 { turns.add("mallory", pair, .decision) }
        }
        for _ in 0..<100 { turns.add("alice", alice, .decision) }
        let counts = take(100, &turns, each: millisecond)
        #expect((18...22).contains(counts["alice"] ?? 0), "\(counts)")
    }

    @Test func thePairsOfOneAccountShareWhatItHas() {
        var turns = Turns()
        for _ in 0..<100 { turns.add("one", Cause(UserID("bob"), caller: UserID("ann")), .report) }
        for _ in 0..<10 { turns.add("two", Cause(UserID("eve"), caller: UserID("ann")), .report) }
        #expect(take(20, &turns, each: millisecond) == ["one": 10, "two": 10])
    }

    @Test func decisionsGoBeforeReportsButNotForEver() {
        var turns = Turns()
        for _ in 0..<10 { turns.add("report", alice, .report) }
        for _ in 0..<100 { turns.add("decision", mallory, .decision) }
        #expect(take(5, &turns, each: 10 * millisecond) == ["decision": 5])
        let counts = take(20, &turns, each: 10 * millisecond)
        #expect(counts["report"] ?? 0 >= 8, "\(counts)")
    }

    @Test func itIsKnownOfAnAccountWhetherItsLastRunWasLong() {
        var turns = Turns()
        func serve(_ time: UInt64, _ isLong: Bool) -> String? {
            let takesLong = turns.takesLong()
            #expect(takesLong == isLong)
            defer { turns.took(time) }
            return turns.next()
        }
        for _ in 0..<3 { turns.add("mallory", mallory, .decision) }
        #expect(serve(8 * millisecond, false) == "mallory")
        turns.add("alice", alice, .decision)
        #expect(serve(millisecond / 10, false) == "alice")
        #expect(serve(0, true) == "mallory")
        #expect(serve(0, false) == "mallory", "it was quick again")
    }

    /// A look through all accounts for each of them would take minutes.
    @Test(.timeLimit(.minutes(1)))
    func howeverManyAccountsWaitEachCostsTheSame() {
        var turns = Turns()
        let count = 30_000
        for number in 0..<count { turns.add("one", Cause(UserID("user-\(number)")), .decision) }
        #expect(take(count, &turns, each: millisecond) == ["one": count])
        #expect(turns.isEmpty)
    }

    @Test func whatCameFirstOfACauseIsFirst() {
        var turns = Turns()
        for number in 0..<2_000 { turns.add("\(number)", mallory, .report) }
        for number in 0..<2_000 {
            #expect(turns.next() == "\(number)")
            turns.took(millisecond)
        }
        #expect(turns.next() == nil && turns.isEmpty)
    }
}

@Suite struct PolicyQueueTests {
    private let host: PolicyHost
    private let now = Moment(1_790_000_000_000)

    init() throws { host = PolicyHost(try Generation(GenerationPlan(), seed: 1), seed: 1) }

    private func call(_ id: UInt64) -> Call {
        var call = Call(
            id: CallID(high: 1, low: id), mode: .advanced, kind: "audio", ringTime: 60_000,
            deliveryCheck: nil, createdAt: now)
        call.participants = [
            Participant(user: UserID("ann"), role: .caller, state: .joined, at: now),
            Participant(user: UserID("bob"), role: .invitee, state: .inviting, at: now),
        ]
        return call
    }

    private func add(_ input: PolicyInput, to queue: inout PolicyQueue) -> Bool {
        queue.add(PolicyQueue.Job(input: input, generation: host.generation), host)
    }

    @Test func reportsOfACallComeInTheirOrderWhoeverBroughtThemAbout() throws {
        var queue = PolicyQueue()
        let call = call(1)
        for number in 0..<20 {
            let user = UserID(number % 3 == 0 ? "ann" : "bob")
            let report = Report(
                call: call, at: now + Int64(number), kind: .ended,
                cause: Cause(user, caller: UserID("ann")))
            #expect(add(.told(report), to: &queue))
        }
        #expect(add(.callEnded(call.id), to: &queue))
        var moments: [Int64] = []
        var ends = 0
        while let job = queue.next() {
            guard case .told(let report, _) = job.input else { continue }
            moments.append(report.at - now)
            ends += queue.done(job, rest: nil, nanoseconds: 9_000_000).count
        }
        #expect(moments == Array(0..<20))
        #expect(ends == 1, "the end of the call comes behind them")
        #expect(!add(.callEnded(call.id), to: &queue), "with nothing before it, at once")
    }

    /// Copying the row for each of them would take minutes.
    @Test(.timeLimit(.minutes(1)))
    func howeverManyReportsOfACallWaitEachCostsTheSame() {
        var queue = PolicyQueue()
        let (call, count) = (call(1), 40_000)
        for number in 0..<count {
            let report = Report(
                call: call, at: now + Int64(number), kind: .ended, cause: Cause(UserID("ann")))
            #expect(add(.told(report), to: &queue))
        }
        var taken = 0
        while let job = queue.next() {
            taken += 1
            _ = queue.done(job, rest: nil, nanoseconds: 1_000)
        }
        #expect(taken == count)
    }

    @Test func aQuestionThatIsTakenBackIsNotAsked() {
        var queue = PolicyQueue()
        let question = Question(
            id: QuestionID(1), decideBy: now,
            subject: .invite(call(1), callee: UserID("bob"), from: 0),
            cause: Cause(UserID("ann")))
        #expect(!add(.withdrawn(QuestionID(1)), to: &queue), "it is not here: at once")
        #expect(add(.asked(question), to: &queue))
        #expect(add(.withdrawn(QuestionID(1)), to: &queue))
        #expect(queue.next()?.isWithdrawn == true)
    }
}

@Suite struct PolicyTurnsTests {
    /// A policy thread whose plugin burns almost as much as it may for whoever has extended data.
    private final class Bench {
        let waiter: LoopWaiter
        let thread: PolicyThread
        var answers: [UInt64] = []
        /// How many answers there were when the thread had been through each batch.
        var thoughts: [Int] = []
        private let now = Moment(1_790_000_000_000)
        private let relay = Relay()

        private final class Relay { weak var bench: Bench? }

        init(_ text: String) throws {
            waiter = try LoopWaiter()
            var plan = GenerationPlan()
            let file = SourceFile(name: "p.lua", text: Array(text.utf8))
            var setting = PluginSetting()
            setting.limits.runTime = 1_000
            setting.limits.eventTime = 10_000
            plan.plugins = [(PluginSource(name: "p", main: file), setting)]
            let (relay, now) = (relay, now)
            let news = try Mailbox<PolicyNews>(on: waiter.loop) { batch in
                for news in batch {
                    switch news {
                    case .effect(.answer(let id, _)): relay.bench?.answers.append(id.value)
                    case .reported(let counts): relay.bench?.thread.reported(counts)
                    case .thought: relay.bench?.hasThought()
                    default: break
                    }
                }
            }
            thread = try PolicyThread(
                PolicyHost(try Generation(plan, seed: 1), seed: 1), clock: { (now, 0) },
                news: news, write: { _ in })
            relay.bench = self
        }

        private func hasThought() {
            thread.thought()
            thoughts.append(answers.count)
        }

        func close() {
            thread.close()
            waiter.close()
        }

        private func call(_ number: UInt64, by caller: String) -> Call {
            var call = Call(
                id: CallID(high: 1, low: number), mode: .advanced, kind: "audio",
                ringTime: 60_000, deliveryCheck: nil, createdAt: now)
            call.participants = [
                Participant(user: UserID(caller), role: .caller, state: .joined, at: now),
                Participant(user: UserID("bob"), role: .invitee, state: .inviting, at: now),
            ]
            return call
        }

        func tell(_ number: UInt64, by user: String?, of caller: String) {
            let cause = Cause(user.map { UserID($0) }, caller: UserID(caller))
            thread.tell(Report(call: call(number, by: caller), at: now, kind: .ended, cause: cause))
        }

        func ask(_ number: UInt64, by caller: String, data: String? = nil) {
            var call = call(number, by: caller)
            call.extendedData = data
            thread.ask(
                Question(
                    id: QuestionID(number), decideBy: now + 60_000,
                    subject: .invite(call, callee: UserID("bob"), from: 0),
                    cause: Cause(UserID(caller))))
        }
    }

    private static let burning = """
        on.invite(function(call)
          if call.extended_raw == "wait" then sleep "1ms" end
          if call.extended_raw == "for a second" then while true do end end
          if call.extended_raw then for _ = 1, 1000000 do end end
          return ring {}
        end)
        """

    @Test func whatAnAccountHasBroughtAboutIsCountedForItUntilItIsTold() throws {
        let bench = try Bench("on.ended(function() end)")
        defer { bench.close() }
        let (ann, bob, eve) = (UserID("ann"), UserID("bob"), UserID("eve"))
        for number in 1...5 { bench.tell(UInt64(number), by: "bob", of: "ann") }
        bench.tell(6, by: "eve", of: "ann")
        bench.tell(7, by: "bob", of: "eve")
        bench.tell(8, by: nil, of: "ann")
        #expect(bench.thread.reportsWaiting(for: bob) == 6)
        #expect(bench.thread.reportsWaiting(for: eve) == 1)
        #expect(bench.thread.reportsWaiting(for: ann) == 0, "whoever made the call began nothing")
        bench.thread.flush()
        try bench.waiter.wait(for: "the end of it") {
            bench.thread.reportsWaiting(for: bob) + bench.thread.reportsWaiting(for: eve) == 0
        }
    }

    @Test func anAnswerDoesNotWaitForTheRunThatComesAfterIt() throws {
        let bench = try Bench(Self.burning)
        defer { bench.close() }
        bench.ask(1, by: "alice")
        bench.ask(2, by: "mallory", data: "for a second")
        bench.thread.flush()
        try bench.waiter.wait(for: "an answer") { !bench.answers.isEmpty }
        #expect(bench.answers == [1])
    }

    @Test func noCommitWaitsForAQuestionThatWaitsForItsTurn() throws {
        let bench = try Bench(Self.burning)
        defer { bench.close() }
        for number in 1...20 { bench.ask(UInt64(number), by: "mallory", data: "burn") }
        bench.thread.flush()
        #expect(bench.thread.isThinking)
        try bench.waiter.wait(for: "all answers") { bench.answers.count == 20 }
        #expect(!bench.thread.isThinking && bench.thoughts.allSatisfy { $0 < 10 })
    }

    @Test(arguments: ["burn", "wait"])
    func aCallerWhoKeepsThePluginsBusyIsNotFeltByAnotherOne(_ data: String) throws {
        let bench = try Bench(Self.burning)
        defer { bench.close() }
        for number in 1...100 { bench.ask(UInt64(number), by: "mallory", data: data) }
        bench.thread.flush()
        try bench.waiter.wait(for: "some answers") { bench.answers.count >= 3 }
        let before = bench.answers.count
        bench.ask(1_000, by: "alice")
        bench.thread.flush()
        try bench.waiter.wait(for: "alice's answer") { bench.answers.contains(1_000) }
        // Those that were given while the question was on its way come before it.
        #expect(bench.answers.count - before < 20, "\(bench.answers)")
        try bench.waiter.wait(for: "all answers") { bench.answers.count == 101 }
        #expect(Set(bench.answers).count == 101)
    }
}
