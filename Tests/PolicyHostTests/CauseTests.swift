// Whatever goes wrong for one account is counted for that account alone (clarifications 71, 72).

import CallModel
import Decisions
import JSON
import Lua
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct CauseTests {
    /// Fails for calls with extended data.
    private static let failing = """
        on.invite(function(call)
          if call.extended_raw then error "x" end
          return ring {}
        end)
        """
    private let refused = Answer.decided(.reject(busy: false, extendedData: nil))

    @Test func whoeverTripsABugIsTheOnlyOneWhoFeelsIt() throws {
        let rig = try Rig(
            """
            plugin { guard = true }
            on.invite(function(call)
              return ring { for_ = call.extended_data.length .. "s" }
            end)
            """)
        let good = #"{"length":3}"#
        for _ in 0..<30 { #expect(rig.invite(data: "{}", by: "mallory") == refused) }
        #expect(rig.invite(data: good, by: "mallory") == refused, "passed over: a guard refuses")
        #expect(rig.invite(data: good, by: "alice") == .decided(.ring(for: 3_000)))
        #expect(rig.host.status.first?.quarantinedUntil == nil)
        #expect(rig.host.status.first?.paused.map(\.text) == ["mallory"])
        _ = rig.pass(60_000)
        let tried = rig.invite(data: good, by: "mallory")
        #expect(tried == .decided(.ring(for: 3_000)), "one event is tried")
    }

    @Test func aReportThatFailsIsNoFaultOfWhoWasCalled() throws {
        let rig = try Rig(
            """
            plugin { guard = true }
            on.rejected(function(call) return #call.extended_data.list end)
            on.invite(function() return ring {} end)
            """)
        let bob = UserID("bob")
        for _ in 0..<10 {
            let call = rig.call(data: "{}", by: "mallory")
            let report = Report(
                call: call, at: rig.now, kind: .rejected(bob, .declined),
                cause: Cause(bob, caller: UserID("mallory")))
            _ = rig.host.handle(.told(report), at: rig.now)
        }
        #expect(rig.host.status.first?.paused.map(\.text) == ["bob in calls of mallory"])
        #expect(rig.invite(by: "alice") == .decided(.ring(for: nil)))
    }

    @Test func aTimerThatFailsRestsByItself() throws {
        let rig = try Rig(
            """
            every("1s", "sweep", function() local value = kv.get "k" return #value.list end)
            every("1s", "other", function() log.info "other" end)
            on.invite(function() return ring {} end)
            """)
        _ = rig.host.start(at: rig.now)
        var failed = 0
        for _ in 0..<20 {
            let effects = rig.pass(1_000)
            failed += rig.reply(effects.wait, .value(["list": 1])).lines.isEmpty ? 0 : 1
        }
        #expect(failed == 5)
        #expect(rig.host.status.first?.paused.map(\.text) == ["the timer 'sweep'"])
        #expect(rig.pass(1_000).said == ["other"])
        #expect(rig.invite() == .decided(.ring(for: nil)))
        // After its pause one event is tried.
        var asked = 0
        for _ in 0..<120 { asked += rig.pass(1_000).wait == nil ? 0 : 1 }
        #expect(asked == 1)
    }

    @Test func aTimerThatIsSeldomRestsAfterFiveFailuresInARow() throws {
        let rig = try Rig("every('10m', 'sweep', function() error 'x' end)")
        _ = rig.host.start(at: rig.now)
        for _ in 0..<5 { #expect(rig.pass(600_000).lines.count >= 1) }
        #expect(rig.host.status.first?.paused.count == 1)
    }

    /// (G71)
    @Test func aReportWithoutAnAccountThatFailsRestsByItself() throws {
        let rig = try Rig(
            """
            on.presence(function() error "x" end)
            on.invite(function() return ring {} end)
            """)
        func tell() -> [String] {
            let report = Report(
                call: nil, at: rig.now, kind: .presence(UserID("bob"), online: true),
                cause: .nobody)
            return rig.host.handle(.told(report), at: rig.now).lines
        }
        for _ in 0..<5 { #expect(!tell().isEmpty) }
        #expect(tell().isEmpty)
        #expect(rig.host.status.first?.paused.map(\.text) == ["on.presence"])
        #expect(rig.invite() == .decided(.ring(for: nil)))
        _ = rig.pass(60_000)
        #expect(!tell().isEmpty, "one is tried")
        _ = rig.pass(60_000)
        #expect(tell().isEmpty, "the pause is twice as long")
    }

    /// (G71)
    @Test func pausesDoubleUpToAnHour() {
        var breaker = Breaker()
        var now = Moment(0)
        let opens = (0..<5).map { _ in breaker.failed(.error, of: 0, at: now) }
        #expect(opens == [false, false, false, false, true])
        var pauses: [Milliseconds] = []
        for trial in 1...9 {
            guard let until = breaker.openUntil else { break }
            pauses.append((until - now) / 1_000)
            now = until
            let admitted = breaker.admits(at: now, next: trial)
            #expect(admitted == trial)
            _ = breaker.failed(.error, of: trial, at: now)
        }
        #expect(pauses == [60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600])
    }

    @Test func whatAHandlerBeginsCountsForItsCause() throws {
        let rig = try Rig(
            """
            timer("t", function() error "in the timer" end)
            on.invite(function(call)
              later("1s", "t")
              detach(function() sleep "2s" error "detached" end)
              return ring {}
            end)
            """)
        for _ in 0..<3 { _ = rig.invite(by: "mallory") }
        let lines = rig.pass(3_000).lines
        #expect(lines.count == 7, "\(lines)")
        let alarm = "error: plugin 'p' is passed over for mallory after repeated failures"
        #expect(lines.contains(alarm))
        #expect(rig.invite(by: "alice") == .decided(.ring(for: nil)))
    }

    @Test func aQuarantineForEverybodyNeedsTwentyPairsAndMostOfThemFailing() throws {
        let rig = try Rig(Self.failing)
        for number in 0..<19 { _ = rig.invite(data: "x", by: "bad-\(number)") }
        #expect(rig.host.status.first?.quarantinedUntil == nil, "one below the least number")
        _ = rig.invite(data: "x", by: "bad-18")
        #expect(rig.host.status.first?.quarantinedUntil == nil, "nobody counts twice")
        let line = rig.ask(rig.call(data: "x", by: "bad-19")).lines.last
        #expect(line == "error: plugin 'p' is quarantined: it failed for 20 of 20 accounts")
        #expect(rig.host.status.first?.quarantinedUntil == rig.now + 60_000)
        #expect(rig.invite(by: "alice") == Answer.none)
        _ = rig.pass(60_000)
        #expect(rig.invite(by: "alice") == .decided(.ring(for: nil)))

        let half = try Rig(Self.failing)
        for number in 0..<20 { _ = half.invite(by: "good-\(number)") }
        for number in 0..<20 { _ = half.invite(data: "x", by: "bad-\(number)") }
        #expect(half.host.status.first?.quarantinedUntil == nil, "half of them is not most")
        _ = half.invite(data: "x", by: "bad-20")
        #expect(half.host.status.first?.quarantinedUntil != nil)
    }

    @Test func manyPairsOfOneAccountAreOne() throws {
        let rig = try Rig("on.accepted(function() error 'x' end)")
        for number in 0..<100 {
            let report = Report(
                call: rig.call(by: "mallory"), at: rig.now, kind: .accepted(UserID("bob")),
                cause: Cause(UserID("user-\(number)"), caller: UserID("mallory")))
            _ = rig.host.handle(.told(report), at: rig.now)
        }
        #expect(rig.host.status.first?.quarantinedUntil == nil)
    }

    @Test func theTableOfPairsIsBounded() {
        var table = FailureTable()
        for number in 0..<3_000 {
            let origin = Origin(cause: Cause(UserID("user-\(number)")))
            for _ in 0..<5 { _ = table.failed(.error, origin, at: Moment(Int64(number))) }
        }
        #expect(table.paused.count <= FailureTable.pairsMax)
        let newest = Origin(cause: Cause(UserID("user-2999")))
        #expect(table.admits(newest, at: Moment(3_000)) == nil, "the oldest have gone")
    }

    @Test func oneAccountTakesNoGenerationBack() throws {
        let rig = try Rig("on.invite(function() return ring {} end)")
        for number in 0..<10 { _ = rig.invite(by: "user-\(number)") }
        _ = try rig.reload([("p", Self.failing)])
        var effects: [PolicyEffect] = []
        for number in 0..<200 {
            effects += rig.ask(rig.call(data: "x", by: "mallory"))
            effects += rig.ask(rig.call(by: "user-\(number % 5)"))
        }
        #expect(!effects.contains { if case .rolledBack = $0 { true } else { false } })
    }

    @Test func whoHasHadHowMuchIsListed() throws {
        let rig = try Rig(Self.failing)
        for _ in 0..<3 { _ = rig.invite(by: "alice") }
        for _ in 0..<7 { _ = rig.invite(data: "x", by: "mallory") }
        let uses = try #require(rig.host.status.first?.byAccount)
        #expect(uses.allSatisfy { $0.nanoseconds > 0 })
        let counts = Dictionary(uniqueKeysWithValues: uses.map { ($0.account.text, $0) })
        #expect(counts["alice"]?.asked == 3 && counts["alice"]?.failed == 0)
        #expect(counts["mallory"]?.asked == 5 && counts["mallory"]?.failed == 5)
    }

    @Test func theCauseStandsInTheRecord() throws {
        let rig = try Rig("on.invite(function() return ring {} end)")
        let record = try #require(rig.ask(rig.call(by: "alice")).record)
        #expect(record.cause == Cause(UserID("alice")))
        let read = try #require(DecisionRecord(line: record.line))
        #expect(read.cause == record.cause)
        let old = String(decoding: record.line, as: UTF8.self)
            .replacing(#""cause":{"user":"alice","caller":"alice"},"#, with: "")
        #expect(DecisionRecord(line: Array(old.utf8))?.cause == .nobody)
    }
}
