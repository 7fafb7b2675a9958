// A generation that decides for some accounts beside the one in force.

import CallModel
import Configuration
import Decisions
import JSON
import Lua
import PolicyTestSupport
import Testing

@testable import PolicyHost

/// A host with accounts `desk-1`, `desk-2`, …, and an operator who tries plugins for some of them.
private final class CanaryRig {
    let rig: Rig
    private var lastCall: UInt64 = 0

    init(_ text: String) throws {
        rig = try Rig([("p", text)]) { $0.answerFor = Accounts(["desk-*"]) }
    }

    var host: PolicyHost { rig.host }

    static func generation(_ text: String, _ name: String = "new") throws -> Generation {
        try Rig.generation([("p", text)]) {
            ($0.name, $0.answerFor) = (name, Accounts(["desk-*"]))
        }
    }

    /// Lets `text` decide for `accounts` from now on.
    @discardableResult
    func tryOut(
        _ text: String, for accounts: String, abortOnFailure: Int? = nil, control: String? = nil,
        name: String = "new"
    ) throws -> [PolicyEffect] {
        let extent = try #require(CanaryExtent(accounts, salt: "s"))
        let order = CanaryOrder(extent, abortOnFailure: abortOnFailure, since: rig.now)
        let control = try control.map { Replay(try Self.generation($0, "empty")) }
        try host.prepareCanary(
            try Self.generation(text, name), order, control: control, at: rig.now)
        return host.cut(at: rig.now)
    }

    /// The canary decides for others from the next millisecond on.
    func extend(to accounts: String) throws {
        var order = try #require(host.canary?.order)
        let extent = try #require(CanaryExtent(accounts, salt: "s"))
        order.extend(to: extent, since: rig.now + 1)
        host.extendCanary(order)
        _ = rig.pass(1)
    }

    /// A call of `caller` to each of `accounts` that rings.
    func call(_ accounts: String..., by caller: String = "ann") -> Call {
        lastCall += 1
        var call = rig.call(id: lastCall, by: caller)
        call.participants.removeLast()
        for account in accounts { join(account, &call) }
        return call
    }

    /// Adds a participant who is invited now.
    func join(_ account: String, _ call: inout Call) {
        var invitee = Participant(
            user: UserID(account), role: .invitee, state: .inviting, at: rig.now)
        invitee.deadlineAt = rig.now + 60_000
        call.participants.append(invitee)
    }

    /// What comes of an invitation.
    func invite(_ account: String, in call: Call) -> [PolicyEffect] {
        rig.ask(.invite(call, callee: UserID(account), from: 0))
    }

    func invite(_ account: String, by caller: String = "ann") -> [PolicyEffect] {
        invite(account, in: call(account, by: caller))
    }
}

extension [PolicyEffect] {
    /// The name of the generation that decided.
    fileprivate var decider: String? { record?.generation }
    /// Why a canary was taken back.
    fileprivate var takenBack: GenerationFault? {
        for case .canaryTakenBack(_, let reason) in self { return reason }
        return nil
    }
    fileprivate var alarms: [PolicyAlarm] {
        compactMap { if case .alarm(let alarm) = $0 { alarm } else { nil } }
    }
}

@Suite struct CanaryTests {
    private static let rings = "on.invite(function() return ring {} end)"
    private static let rejects = "on.invite(function() return reject \"declined\" end)"

    @Test func itDecidesForItsAccountsOnly() throws {
        let rig = try CanaryRig(Self.rings)
        try rig.tryOut(Self.rejects, for: "desk-1* desk-7")
        for account in ["desk-1", "desk-12", "desk-7"] {
            #expect(rig.invite(account).decider == "new")
        }
        for account in ["desk-2", "desk-77"] { #expect(rig.invite(account).decider == "empty") }
        #expect(rig.host.generation.name == "empty")
    }

    /// Each kind of question is asked about another account (E55).
    @Test func theAccountIsTheOneThatTheHookRunsFor() throws {
        let text = """
            on.dial(function() end) on.join(function() end) on.token(function() end)
            on.extended_data(function(data) return data end)
            on.push(function(push) return push end)
            """
        let rig = try CanaryRig(text)
        try rig.tryOut(text, for: "eve")
        let (ann, eve) = (UserID("ann"), UserID("eve"))
        func decider(_ subject: Question.Subject) -> String? { rig.rig.ask(subject).decider }
        let (anns, eves) = (rig.call("eve"), rig.call("ann", by: "eve"))
        #expect(decider(.dial(anns, user: ann, invitees: [eve])) == "empty")
        #expect(decider(.dial(eves, user: eve, invitees: [ann])) == "new")
        #expect(decider(.join(anns, user: eve)) == "empty", "of the caller")
        #expect(decider(.join(eves, user: ann)) == "new")
        #expect(decider(.token(anns, user: eve)) == "new")
        #expect(decider(.incomingData(anns, user: ann, data: "x")) == "empty")
        #expect(decider(.incomingData(anns, user: eve, data: "x")) == "new")
        let draft = PushDraft(
            user: eve, provider: "apns", kind: "voip", reason: "invite", expiresIn: 60)
        let pushed = rig.host.handle(.pushing(PushID(1), draft, anns, []), at: rig.rig.now)
        #expect(pushed.decider == "new")
    }

    /// One question about texts for several receivers goes from one generation to the other.
    @Test func eachReceiverHasItsOwnGeneration() throws {
        func shapes(_ word: String) -> String {
            "on.extended_data(function() return { by = '\(word)' } end)"
        }
        let rig = try CanaryRig(shapes("old"))
        try rig.tryOut(shapes("new"), for: "desk-1")
        let call = rig.call("desk-1", "desk-2")
        let texts = ["desk-2", "desk-1", "desk-3"].map {
            Question.OutgoingText(owner: .call, receiver: UserID($0), data: "{\"a\":1}")
        }
        let effects = rig.rig.ask(.outgoingData(call, texts))
        guard case .views(let views)? = effects.answer else {
            Issue.record("\(effects)")
            return
        }
        #expect(views.map(\.text) == ["old", "new", "old"].map { "{\"by\":\"\($0)\"}" })
        let record = try #require(effects.record)
        #expect(record.generation == "empty")
        #expect(record.asked.map(\.message) == [nil, "of generation new", nil])
    }

    @Test func anAccountKeepsItsGenerationInACall() throws {
        let rig = try CanaryRig(Self.rings)
        var before = rig.call("desk-1", "desk-2")
        #expect(rig.invite("desk-1", in: before).decider == "empty")
        _ = rig.rig.pass(5)
        try rig.tryOut(Self.rejects, for: "desk-1 desk-3")
        #expect(rig.invite("desk-1", in: before).decider == "empty", "asked before")
        rig.join("desk-3", &before)
        #expect(rig.invite("desk-3", in: before).decider == "new", "it came later")
        let during = rig.call("desk-1", "desk-2")
        #expect(rig.invite("desk-1", in: during).decider == "new")
        #expect(rig.invite("desk-2", in: during).decider == "empty")
        _ = rig.rig.pass(5)
        try rig.extend(to: "desk-2")
        #expect(rig.invite("desk-1", in: during).decider == "new", "as at first")
        #expect(rig.invite("desk-2", in: during).decider == "empty", "as at first")
        #expect(rig.invite("desk-1").decider == "empty")
        #expect(rig.invite("desk-2").decider == "new")
        #expect(rig.invite("desk-1", in: before).decider == "empty")
    }

    @Test func whoLeavesACallAndComesBackKeepsItToo() throws {
        let rig = try CanaryRig(Self.rings)
        var call = rig.call("desk-1")
        #expect(rig.invite("desk-1", in: call).decider == "empty")
        _ = rig.rig.pass(5)
        try rig.tryOut(Self.rejects, for: "desk-1")
        _ = rig.rig.pass(5)
        call.participants[1].state = .left
        call.comeBack(1, at: rig.rig.now)
        call.participants[1].state = .inviting
        #expect(rig.invite("desk-1", in: call).decider == "empty", "asked first in this call")
        #expect(rig.invite("desk-1").decider == "new", "in any other one")
    }

    @Test func aStartGoesOnWithTheSameChoice() throws {
        let rig = try CanaryRig(Self.rings)
        try rig.tryOut(Self.rejects, for: "desk-1")
        let call = rig.call("desk-1", "desk-2")
        _ = rig.rig.pass(5)
        try rig.extend(to: "desk-2")
        let order = try #require(rig.host.canary?.order)
        let kept = try #require(CanaryOrder(order.spans, abortOnFailure: order.abortOnFailure))
        let again = try CanaryRig(Self.rings)
        again.rig.now = rig.rig.now + 1_000
        again.host.resumeCanary(try CanaryRig.generation(Self.rejects), kept)
        _ = again.host.start(at: again.rig.now)
        #expect(again.invite("desk-1", in: call).decider == "new")
        #expect(again.invite("desk-2", in: call).decider == "empty")
        #expect(again.invite("desk-2").decider == "new")
    }

    @Test func whatWaitedBeforeItIsAnsweredAsBefore() throws {
        let rig = try CanaryRig(Self.rings)
        let call = rig.call("desk-1")
        let input = PolicyInput.asked(
            Question(
                id: QuestionID(900), decideBy: rig.rig.now + 2_000,
                subject: .invite(call, callee: UserID("desk-1"), from: 0),
                cause: Cause(UserID("ann"))))
        let chosen = rig.host.generation(for: input)
        try rig.tryOut(Self.rejects, for: "desk-1")
        let effects = rig.host.handle(input, at: rig.rig.now, in: chosen)
        #expect(effects.decider == "empty")
        let later = rig.host.generation(for: input)
        _ = rig.host.endCanary(at: rig.rig.now)
        #expect(rig.host.handle(input, at: rig.rig.now, in: later).decider == "empty")
    }

    @Test func stateIsItsOwnAndTheRestIsShared() throws {
        let counting = """
            on.invite(function(call)
              state.n = (state.n or 0) + 1
              call.vars.n = (call.vars.n or 0) + 1
              local room = limit("l", 3, "1h")
              local data = { n = state.n, v = call.vars.n, room = room }
              return reject("no", { extended_data = data })
            end)
            """
        let migrating =
            "plugin { state_version = 2 }\n"
            + "migrate(function(old) return { n = old.n * 100 } end)\n" + counting
        let rig = try CanaryRig(counting)
        func text(_ effects: [PolicyEffect]) -> String? {
            guard case .invite(.reject(_, let data), _, _)? = effects.answer else { return nil }
            return data
        }
        _ = rig.invite("desk-2")
        try rig.tryOut(migrating, for: "desk-1")
        let call = rig.call("desk-1", "desk-2")
        let first = text(rig.invite("desk-1", in: call))
        #expect(first?.contains("\"n\":101") == true, "copied and migrated: \(first ?? "")")
        let second = text(rig.invite("desk-2", in: call))
        #expect(second?.contains("\"n\":2") == true, "its own: \(second ?? "")")
        #expect(second?.contains("\"v\":2") == true, "vars are shared: \(second ?? "")")
        #expect(second?.contains("\"room\":true") == true)
        #expect(text(rig.invite("desk-1"))?.contains("\"room\":false") == true, "limits too")
        // It is put into force: the old state is migrated again.
        _ = try rig.host.activate(try CanaryRig.generation(migrating), at: rig.rig.now)
        #expect(rig.host.canary == nil)
        let promoted = text(rig.invite("desk-9"))
        #expect(promoted?.contains("\"n\":201") == true, "\(promoted ?? "")")
    }

    @Test func whatCannotTakeOverChangesNothing() throws {
        let rig = try CanaryRig("on.invite(function() state.n = 1 return ring {} end)")
        _ = rig.invite("desk-1")
        #expect(throws: ScriptProblems.self) {
            try rig.tryOut("plugin { state_version = 2 }\n" + Self.rejects, for: "desk-1")
        }
        #expect(rig.host.canary == nil && rig.invite("desk-1").decider == "empty")
    }

    @Test func timersWithoutAnAccountRunInTheOldOne() throws {
        func text(_ word: String) -> String {
            """
            every("10s", "sweep", function() log.info "\(word) sweeps" end)
            timer("later", function(data, call) log.info("\(word) later") end)
            on.invite(function(call) call:later("5s", "later") return ring {} end)
            on.presence(function(user) log.info "\(word) sees" end)
            """
        }
        let rig = try CanaryRig(text("old"))
        _ = rig.host.start(at: rig.rig.now)
        try rig.tryOut(text("new"), for: "desk-1")
        var swept: [String] = []
        for (account, word) in [("desk-1", "new"), ("desk-2", "old")] {
            let call = rig.call(account)
            _ = rig.invite(account, in: call)
            let passed = rig.rig.pass(5_000)
            swept += passed.said
            #expect(rig.rig.reply(passed.wait, .call(call, [])).said == ["\(word) later"])
            let report = Report(
                call: nil, at: rig.rig.now, kind: .presence(UserID(account), online: true),
                facts: [UserFacts(UserID(account), calls: 0, devices: 1)],
                cause: Cause(UserID(account)))
            let told = rig.host.handle(.told(report), at: rig.rig.now)
            #expect(told.said == ["\(word) sees"])
        }
        #expect(swept == ["old sweeps"])
    }

    @Test func aTimerThatOnlyTheCanaryHasGoesWithIt() throws {
        let rig = try CanaryRig(Self.rings)
        try rig.tryOut(
            """
            timer("later", function() end)
            on.invite(function(call) call:later("1h", "later") return ring {} end)
            """, for: "desk-1")
        _ = rig.invite("desk-1")
        #expect(rig.host.timers.count == 1)
        let effects = rig.host.endCanary(at: rig.rig.now)
        #expect(effects.lines.contains { $0.contains("not declared any more") })
        #expect(rig.host.timers.isEmpty)
    }

    @Test func reportsAreToldToOneGeneration() throws {
        func text(_ word: String) -> String {
            "on.ended(function() log.info '\(word)' end)"
        }
        let rig = try CanaryRig(text("old"))
        try rig.tryOut(text("new"), for: "desk-1")
        #expect(rig.rig.tell(.ended, rig.call("desk-1")).said == ["new"])
        #expect(rig.rig.tell(.ended, rig.call("desk-2", "desk-1")).said == ["old"])
        #expect(rig.rig.tell(.ended, rig.call("zoe", by: "desk-1")).said == ["new"])
    }

    @Test func beginningAndEndingAreTold() throws {
        let text = """
            on.start(function(ctx) log.info("start " .. ctx.reason) end)
            on.stop(function(ctx) log.info("stop " .. ctx.reason) end)
            """
        let rig = try CanaryRig("on.stop(function() log.info 'old' end)")
        #expect(try rig.tryOut(text, for: "desk-1").said.contains("start reload"))
        #expect(rig.host.endCanary(at: rig.rig.now).said == ["stop rollback"])
        #expect(rig.host.endCanary(at: rig.rig.now).isEmpty)
    }
}

/// When a canary goes back, and what is said of it.
@Suite struct CanaryWatchTests {
    private static let rings = "on.invite(function() return ring {} end)"
    private static let fails = "on.invite(function() error 'x' end)"

    @Test func oneThatFailsMoreGoesBackByItself() throws {
        let rig = try CanaryRig(Self.rings)
        for number in 0..<30 { _ = rig.invite("desk-2", by: "user-\(number)") }
        try rig.tryOut(Self.fails, for: "desk-1")
        var fault: GenerationFault?
        for number in 0..<40 where fault == nil {
            let effects = rig.invite("desk-1", by: "user-\(number)")
            fault = effects.takenBack
            if fault != nil { #expect(number + 1 == Probation.decisionsMin) }
        }
        #expect(fault == .quarantine || fault == .share(100, before: 0))
        #expect(rig.host.canary == nil)
        #expect(rig.invite("desk-1").decider == "empty")
    }

    /// (G72)
    @Test func oneAccountAloneTakesNothingBack() throws {
        let rig = try CanaryRig(Self.rings)
        try rig.tryOut(Self.fails, for: "desk-1")
        var effects: [PolicyEffect] = []
        for _ in 0..<100 {
            effects += rig.invite("desk-1", by: "mallory")
            effects += rig.rig.pass(1_000)
        }
        #expect(effects.takenBack == nil && rig.host.canary != nil)
        #expect(effects.alarms == [.canaryFails("new", accounts: 1)])
    }

    @Test func aBugThatIsNotNewIsNoReasonToGoBack() throws {
        let rig = try CanaryRig(Self.fails)
        try rig.tryOut(Self.fails + "\n-- another", for: "desk-1", control: Self.fails)
        var effects: [PolicyEffect] = []
        for number in 0..<15 {
            effects += rig.invite("desk-1", by: "user-\(number % 5)")
            effects += rig.rig.pass(100_000)
        }
        #expect(effects.takenBack == nil && effects.alarms.isEmpty)
    }

    @Test(arguments: [1, 3]) func itGoesBackAfterSoManyFailures(_ most: Int) throws {
        let rig = try CanaryRig(Self.rings)
        try rig.tryOut(Self.fails, for: "desk-1", abortOnFailure: most)
        for _ in 1..<most { #expect(rig.invite("desk-1").takenBack == nil) }
        let effects = rig.invite("desk-1")
        #expect(effects.takenBack != nil && effects.alarms.isEmpty)
        #expect(effects.answer != nil, "the caller is answered")
        #expect(rig.host.canary == nil && rig.invite("desk-1").decider == "empty")
    }

    @Test func aReportThatFailsCountsToo() throws {
        let rig = try CanaryRig(Self.rings)
        try rig.tryOut("on.ended(function() error 'x' end)", for: "desk-1", abortOnFailure: 1)
        #expect(rig.rig.tell(.ended, rig.call("desk-2")).takenBack == nil)
        #expect(rig.rig.tell(.ended, rig.call("desk-1")).takenBack == .failures(1))
    }

    /// Whoever knows of a bug that both generations have ends no canary by it.
    @Test func whatFailsBesideItTooIsNotCounted() throws {
        let rig = try CanaryRig(Self.fails)
        try rig.tryOut(
            Self.fails + "\n-- another", for: "desk-1", abortOnFailure: 3, control: Self.fails)
        var effects: [PolicyEffect] = []
        for _ in 0..<9 {
            effects += rig.invite("desk-1", by: "mallory")
            effects += rig.rig.pass(100_000)
        }
        #expect(effects.takenBack == nil && effects.alarms.isEmpty)
        #expect(try #require(rig.host.canaryStatus).failures == 0)
    }

    @Test func whatFailsOnlyInItIsCounted() throws {
        let rig = try CanaryRig(Self.rings)
        try rig.tryOut(Self.fails, for: "desk-1", abortOnFailure: 3, control: Self.rings)
        var effects: [PolicyEffect] = []
        for _ in 0..<3 {
            #expect(effects.takenBack == nil)
            effects += rig.invite("desk-1")
            effects += rig.rig.pass(1)
        }
        #expect(effects.takenBack == .failures(3))
    }

    /// A text that a client sends is the easiest way to make plugins fail.
    @Test(arguments: [true, false]) func shapingIsComparedToo(_ isOld: Bool) throws {
        let shapes = "on.extended_data(function(data) return data end)"
        let fails = "on.extended_data(function(data) if data == 'x' then error 'x' end end)"
        let old = isOld ? fails : shapes
        let rig = try CanaryRig(old)
        try rig.tryOut(fails + "\n-- another", for: "eve", abortOnFailure: 2, control: old)
        var effects: [PolicyEffect] = []
        for _ in 0..<4 {
            let call = rig.call("desk-1", by: "eve")
            effects += rig.rig.ask(.incomingData(call, user: UserID("eve"), data: "x"))
            effects += rig.rig.pass(100_000)
        }
        #expect(effects.takenBack == (isOld ? nil : .failures(2)))
    }

    @Test(arguments: [true, false]) func whoHangsUpIsComparedToo(_ isOld: Bool) throws {
        let waits = "on.invite(function() sleep '1s' end)"
        func generation(_ first: String, _ name: String) throws -> Generation {
            try Rig.generation([("p", first), ("q", waits)]) {
                ($0.name, $0.answerFor) = (name, Accounts(["desk-*"]))
            }
        }
        let old = isOld ? Self.fails : Self.rings
        let rig = Rig(try generation(old, "old"))
        let extent = try #require(CanaryExtent("desk-1", salt: "s"))
        try rig.host.prepareCanary(
            try generation(Self.fails, "new"),
            CanaryOrder(extent, abortOnFailure: 1, since: rig.now),
            control: Replay(try generation(old, "old")), at: rig.now)
        var effects = rig.host.cut(at: rig.now)
        let call = rig.call()
        effects += rig.ask(.invite(call, callee: UserID("desk-1"), from: 0))
        effects += rig.host.handle(.withdrawn(QuestionID(1)), at: rig.now)
        effects += rig.pass(1)
        #expect(effects.takenBack == (isOld ? nil : .failures(1)))
    }

    /// (G72) Succeeding accounts hide failing ones up to the share that is said.
    @Test(arguments: [(50, false), (60, true)])
    func manyWhoSucceedHideOnlyFew(_ failing: Int, _ goesBack: Bool) throws {
        let rig = try CanaryRig(Self.rings)
        try rig.tryOut(
            """
            on.invite(function(call)
              if call.caller.id:find("bad", 1, true) then error 'x' end
              return ring {}
            end)
            """, for: "desk-1")
        var effects: [PolicyEffect] = []
        for number in 0..<1_000 {
            effects += rig.invite("desk-1", by: "good-\(number)")
            effects += rig.rig.pass(200)
        }
        for number in 0..<failing * 2 {
            effects += rig.invite("desk-1", by: "bad-\(number % failing)")
            effects += rig.rig.pass(1_000)
        }
        #expect((effects.takenBack != nil) == goesBack)
    }

    @Test func bothAreShownSideBySide() throws {
        let rig = try CanaryRig(
            "on.invite(function(call) if call.extended_raw then error 'x' end return ring {} end)")
        try rig.tryOut("on.invite(function() return reject \"declined\" end)", for: "desk-1")
        for _ in 0..<3 { _ = rig.invite("desk-1") }
        var bad = rig.call("desk-2")
        bad.extendedData = "x"
        _ = rig.invite("desk-2", in: bad)
        _ = rig.invite("desk-2")
        let status = try #require(rig.host.canaryStatus)
        #expect(status.generation == "new" && status.order.newest.extent.text == "desk-1")
        #expect(status.own.asked == 3 && status.own.failed == 0)
        #expect(status.own.decided.map { "\($0.action.word) \($0.count)" } == ["reject 3"])
        #expect(status.beside.asked == 2 && status.beside.failed == 1)
        #expect(
            status.beside.decided.map { "\($0.action.word) \($0.count)" }
                == ["ring 1", "default 1"])
        #expect(status.own.processor.count == 3 && status.own.processor.sum > 0)
        #expect(status.plugins.first?.decided == 3)
        #expect(rig.host.status.first?.asked == 2)
        let sum = try #require(rig.host.status.first).adding(try #require(status.plugins.first))
        #expect(sum.asked == 5 && sum.decided == 4 && sum.byHook[.invite]?.asked == 5)
        // Nothing that is counted falls when it ends.
        _ = rig.host.endCanary(at: rig.rig.now)
        #expect(rig.host.status.first?.asked == 5)
        #expect(rig.host.status.first?.byHook[.invite]?.asked == 5)
        #expect(rig.host.canaryStatus == nil && rig.host.drainingHandlers == 0)
    }

    @Test func whatWaitsInItGoesOn() throws {
        let rig = try CanaryRig(Self.rings)
        try rig.tryOut(
            "on.invite(function() sleep '1s' return reject \"declined\" end)", for: "desk-1")
        _ = rig.invite("desk-1")
        #expect(rig.host.drainingHandlers == 0)
        _ = rig.host.endCanary(at: rig.rig.now)
        #expect(rig.host.drainingHandlers == 1)
        #expect(
            rig.rig.pass(1_000).answer == .decided(.reject(busy: false, extendedData: nil)))
        #expect(rig.host.drainingHandlers == 0)
    }

    @Test func anotherOneTakesItsPlace() throws {
        let rig = try CanaryRig(Self.rings)
        try rig.tryOut(Self.fails, for: "desk-1", name: "one")
        try rig.tryOut(Self.rings, for: "desk-2", name: "two")
        #expect(rig.invite("desk-1").decider == "empty")
        #expect(rig.invite("desk-2").decider == "two")
    }
}

/// For whom a canary decides.
@Suite struct CanaryExtentTests {
    private static let names = (0..<20_000).map { UserID("user-\($0)") }

    private func met(_ text: String, _ salt: String) throws -> Set<UserID> {
        let extent = try #require(CanaryExtent(text, salt: salt))
        return Set(Self.names.filter { extent.contains($0) })
    }

    @Test func aShareIsAsLargeAsItSays() throws {
        for (text, share) in [("1%", 0.01), ("10%", 0.1), ("12.5%", 0.125), ("100%", 1)] {
            let part = Double(try met(text, "g").count) / Double(Self.names.count)
            #expect(abs(part - share) < 0.01, "\(text): \(part)")
        }
    }

    @Test func aSaltRepeatsAShare() throws {
        let ten = try met("10%", "a")
        #expect(try met("10%", "a") == ten)
        #expect(try met("20%", "a").isSuperset(of: ten))
        let other = try met("10%", "b")
        #expect(other.intersection(ten).count < ten.count / 5, "others bear the next one")
        // The same on every machine, for ever.
        let extent = try #require(CanaryExtent("50%", salt: "salt"))
        let chosen = ["ann", "ben", "cid", "dan", "eve", "fay"].filter {
            extent.contains(UserID($0))
        }
        #expect(chosen == Self.always)
    }

    private static let always = ["ann", "ben", "cid", "eve"]

    @Test func namesAndPatterns() throws {
        let extent = try #require(CanaryExtent("desk-1*  ann", salt: ""))
        #expect(extent.text == "desk-1* ann")
        for user in ["desk-1", "desk-19", "ann"] { #expect(extent.contains(UserID(user))) }
        #expect(!extent.contains(UserID("desk-2")))
        #expect(try #require(CanaryExtent("*", salt: "")).contains(UserID("x")))
        let wrong = [
            "", " ", "0%", "0.00%", "100.01%", "101%", "%", "1.234%", "1.%", "-1%", "x%y*z", "a*b",
            "**", "10% ann*b", String(repeating: "x", count: 65),
        ]
        for text in wrong {
            #expect(CanaryExtent(text, salt: "") == nil, "\(text)")
        }
        #expect(CanaryExtent("0.01%", salt: "") != nil)
    }

    @Test func onlySoManyExtentsAreKept() throws {
        let extent = try #require(CanaryExtent("ann", salt: ""))
        var order = CanaryOrder(extent, since: Moment(1_000))
        for number in 1...CanaryOrder.spansMax {
            let next = try #require(CanaryExtent("user-\(number)", salt: ""))
            order.extend(to: next, since: Moment(1_000 + Int64(number)))
        }
        #expect(order.spans.count == CanaryOrder.spansMax)
        #expect(order.decides(for: UserID("user-1"), comingAt: Moment(1_000)))
        #expect(!order.decides(for: UserID("user-1"), comingAt: Moment(999)))
        let last = UserID("user-\(CanaryOrder.spansMax)")
        #expect(order.newest.extent.contains(last))
        #expect(order.decides(for: last, comingAt: Moment(9_000)))
    }
}
