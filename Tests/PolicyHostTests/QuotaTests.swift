// What one pair of accounts can have of a plugin (clarifications 75).

import CallModel
import Configuration
import JSON
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct QuotaTests {
    private let ann = Cause(UserID("ann"))

    @Test func aPairHasItsPartAndAnAccountFourOfThem() {
        var quota = Quota()
        func hasRoom(_ cause: Cause) -> Bool { quota.hasRoom(cause, most: 100, part: 10) }
        for number in 0..<5 {
            let pair = Cause(UserID("user-\(number)"), caller: UserID("ann"))
            for _ in 0..<10 where hasRoom(pair) { quota.add(1, pair) }
        }
        #expect(quota.total == 40 && !hasRoom(Cause(UserID("x"), caller: UserID("ann"))))
        #expect(hasRoom(Cause(UserID("bob"))))
        for _ in 0..<60 { quota.add(1, .nobody) }
        #expect(!hasRoom(Cause(UserID("bob"))) && !hasRoom(.nobody), "all of it is used")
        quota.add(-60, .nobody)
        #expect(hasRoom(Cause(UserID("bob"))))
    }

    @Test func oneCallerHasSixtyFourTimersAndOthersHaveTheirs() throws {
        let rig = try Rig(
            """
            timer("t", function() end)
            on.invite(function()
              local ok, problem = later("1h", "t")
              log.info(tostring(ok) .. tostring(problem))
            end)
            """)
        for _ in 0..<64 { #expect(rig.ask(rig.call()).said == ["truenil"]) }
        #expect(rig.ask(rig.call()).said == ["nillimit"])
        #expect(rig.ask(rig.call(by: "alice")).said == ["truenil"])
        _ = rig.pass(3_600_000)
        #expect(rig.ask(rig.call()).said == ["truenil"], "those have fired")
    }

    @Test func oneCallerHasItsKeysOfLimitAndTakesNoneFromOthers() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              local made = 0
              while limit(call.caller.id .. made, 1, "1h") do made = made + 1 end
              local _, why = limit("another", 1, "1h")
              log.info(made .. tostring(why))
            end)
            """
        ) { $0.plugins[0].setting.limits.limitKeysOfCause = 50 }
        #expect(rig.ask(rig.call(by: "alice")).said == ["50limit"])
        #expect(rig.ask(rig.call()).said == ["50limit"])
        #expect(rig.ask(rig.call()).said == ["0limit"], "its own are all counted still")
        _ = rig.pass(3_600_000)
        #expect(rig.ask(rig.call()).said == ["50limit"], "those windows are empty")
    }

    @Test func whereThereIsNoRoomForAKeyOfLimitThoseOfWhoHasMostGo() {
        var windows = SlidingWindows()
        var limits = PluginLimits()
        (limits.limitKeys, limits.limitKeysOfCause) = (100, 60)
        func admits(_ key: String, by account: String, at time: Int64) -> Bool? {
            let event = SlidingWindows.Event(
                key: key, most: 1, span: 3_600_000, cause: Cause(UserID(account)))
            return windows.admit(event, limits, at: Moment(time))
        }
        for number in 0..<40 {
            #expect(admits("user-\(number)", by: "user-\(number)", at: 1) == true)
        }
        for number in 0..<60 { #expect(admits("m\(number)", by: "mallory", at: 2) == true) }
        #expect(admits("m60", by: "mallory", at: 2) == nil && windows.count == 100)
        #expect(admits("last", by: "last", at: 3) == true && windows.count == 91)
        for number in 0..<40 {
            #expect(admits("user-\(number)", by: "user-\(number)", at: 4) == false, "it is kept")
        }
        #expect(admits("last", by: "last", at: 3_600_002) == false)
        #expect(admits("last", by: "last", at: 3_600_003) == true)
    }

    @Test func oneCallerHasEightRequestsUnderWay() throws {
        let rig = try Rig(
            "on.accepted(function() log.info(select(2, http.get 'https://a.b/')) end)"
        ) { $0.plugins[0].setting.grants = ["http:a.b"] }
        func come(_ caller: String, _ id: UInt64) -> [PolicyEffect] {
            rig.tell(.accepted(UserID("bob")), rig.call(id: id, by: caller))
        }
        for id in 1...8 { #expect(come("ann", UInt64(id)).wait != nil) }
        #expect(come("ann", 9).said == ["limit"])
        #expect(come("alice", 10).wait != nil)
    }

    @Test func oneCallerHasSixtyFourCoroutines() throws {
        let rig = try Rig(
            """
            local kept = {}
            on.invite(function(call)
              local made = 0
              while true do
                local thread, problem = coroutine.create(function() coroutine.yield() end)
                if not thread then
                  log.info(made .. problem)
                  return
                end
                coroutine.resume(thread)
                kept[#kept + 1] = thread
                made = made + 1
              end
            end)
            on.dial(function() kept = {} end)
            """)
        #expect(rig.ask(rig.call()).said == ["64limit"])
        #expect(rig.ask(rig.call()).said == ["0limit"])
        #expect(rig.ask(rig.call(by: "alice")).said == ["64limit"])
        _ = rig.ask(.dial(rig.call(), user: UserID("ann"), invitees: []))
        #expect(rig.ask(rig.call()).said == ["64limit"], "those are gone")
    }

    @Test func oneCallerHasSixtyFourDetachedFunctions() throws {
        let rig = try Rig(
            """
            on.invite(function()
              local ok, problem = detach(function() sleep "5s" end)
              log.info(tostring(ok) .. tostring(problem))
            end)
            """)
        for _ in 0..<64 { #expect(rig.ask(rig.call()).said == ["truenil"]) }
        #expect(rig.ask(rig.call()).said == ["nillimit"])
        #expect(rig.ask(rig.call(by: "alice")).said == ["truenil"])
        _ = rig.pass(5_000)
        #expect(rig.ask(rig.call()).said == ["truenil"])
    }

    @Test func whatIsKeptForOnePairOfAccountsHasAnEndAndOthersHaveTheirs() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              local ok, problem = kv.set(call.extended_raw, ("x"):rep(700))
              log.info(tostring(ok) .. tostring(problem))
            end)
            on.accepted(function() kv.delete "a1" end)
            """
        ) { $0.plugins[0].setting.limits.keptOfCause = 3_000 }
        func keep(_ key: String, by caller: String = "ann") -> [String] {
            let asked = rig.ask(rig.call(data: key, by: caller))
            guard let wait = asked.wait else { return asked.said }
            return rig.reply(wait, .value(.bool(true))).said
        }
        for key in ["a1", "a2", "a3"] { #expect(keep(key) == ["truenil"]) }
        #expect(keep("a4") == ["nillimit"])
        #expect(keep("a1") == ["truenil"], "what is there may be kept anew")
        #expect(keep("b1", by: "bob") == ["truenil"])
        #expect(keep("a1", by: "bob") == ["truenil"] && keep("a4") == ["truenil"], "now bob's")
        _ = rig.tell(.accepted(UserID("bob")), rig.call())
        for key in ["b2", "b3"] { #expect(keep(key, by: "bob") == ["truenil"]) }
        #expect(keep("b4", by: "bob") == ["nillimit"])
    }

    @Test func whatHasExpiredCountsNoMore() {
        var kept = KeptKeys()
        let (now, bob) = (Moment(1_000), Cause(UserID("bob")))
        func keep(
            _ key: String, _ bytes: Int = 100, for cause: Cause, until end: Moment? = nil,
            at now: Moment
        ) -> Bool {
            let entry = KeptKeys.Entry(cause: cause, bytes: bytes, expiresAt: end)
            return kept.keep(entry, under: key, part: 800, at: now)
        }
        func add(to key: String, for cause: Cause) -> Bool {
            let entry = KeptKeys.Entry(cause: cause, bytes: 8, expiresAt: nil)
            return kept.add(entry, to: key, part: 800, at: now)
        }
        #expect(keep("k1", for: ann, until: now + 500, at: now) && keep("k2", for: ann, at: now))
        #expect(kept.bytes == 716)
        #expect(!keep("k3", for: ann, at: now) && !add(to: "k3", for: ann))
        #expect(keep("b1", 500, for: bob, at: now) && add(to: "k2", for: bob), "it is there")
        #expect(keep("k3", for: ann, at: now + 1_000))
        #expect(keep("k2", 10_000, for: .nobody, at: now), "timers may")
        kept.forget("k3")
        kept.forget("b1")
        #expect(kept.bytes == 0)
    }

    @Test func whoseAnEntryIsIsKnownOfSoMany() {
        var kept = KeptKeys()
        for number in 0...KeptKeys.entriesMax {
            let cause = Cause(UserID("user-\(number % 100)"))
            let entry = KeptKeys.Entry(cause: cause, bytes: 0, expiresAt: nil)
            let isKept = kept.keep(entry, under: "\(number)", part: 1 << 20, at: Moment(0))
            if !isKept { Issue.record("\(number) has no room") }
        }
        #expect(kept.bytes < KeptKeys.entriesMax * (KeptKeys.entryBytes + 6))
        #expect(kept.bytes > KeptKeys.entriesMax / 10 * 8 * KeptKeys.entryBytes)
    }

    @Test func linesForOnePairOfAccountsHaveAnEndInAMinute() throws {
        let rig = try Rig(
            "on.invite(function(call) for _ = 1, 4 do log.info(call.caller.id) end end)"
        ) { $0.plugins[0].setting.limits.logLinesOfCause = 10 }
        let over = "too many lines in a minute because of ann: the others are left out"
        for _ in 0..<2 { #expect(rig.ask(rig.call()).said.count == 4) }
        #expect(rig.ask(rig.call()).said == ["ann", "ann", over])
        #expect(rig.ask(rig.call()).said == [])
        #expect(rig.ask(rig.call(by: "bob")).said == ["bob", "bob", "bob", "bob"])
        _ = rig.pass(LogLines.window)
        #expect(rig.ask(rig.call()).said == ["6 lines were left out", "ann", "ann", "ann", "ann"])
        #expect(rig.host.memories["p"]?.lineage.tally.leftLines == 6)
    }

    @Test func linesOfOnePluginHaveAnEndInAMinute() throws {
        let rig = try Rig("on.invite(function(call) log.info(call.caller.id) end)") {
            $0.plugins[0].setting.limits.logLinesPerMinute = 3
        }
        for number in 0..<3 { #expect(rig.ask(rig.call(by: "user-\(number)")).said.count == 1) }
        #expect(rig.ask(rig.call(by: "late")).said.first?.hasPrefix("too many lines") == true)
        #expect(rig.ask(rig.call(by: "later")).said == [])
    }

    @Test func theVarsOfOneCallersCallsHaveAnEnd() throws {
        let rig = try Rig(
            "on.invite(function(call) call.vars.text = ('x'):rep(1000) return ring {} end)"
        ) { $0.plugins[0].setting.limits.varsOfCause = 10_000 }
        for id in 1...20 { _ = rig.ask(rig.call(id: UInt64(id))) }
        #expect(rig.host.memories["p"]?.vars.count == 9)
        _ = rig.ask(rig.call(id: 21, by: "alice"))
        #expect(rig.host.memories["p"]?.vars.count == 10)
        for id in 1...20 { _ = rig.end(rig.call(id: UInt64(id))) }
        _ = rig.pass(10_000)
        #expect(rig.host.memories["p"]?.vars.count == 1)
        #expect(rig.invite() == .decided(.ring(for: nil)), "and nothing has failed")
    }

    @Test func reportsBehindAWaitingHandlerHaveAnEndAndOthersHaveTheirs() throws {
        let rig = try Rig(
            "on.signal(function(call, from, data) log.info(data.n) sleep '1s' end)"
        ) { $0.plugins[0].setting.limits.heldReportsOfCause = 5_000 }
        func signal(_ number: Int, by caller: String = "ann", in id: UInt64 = 1) -> [String] {
            let data = Array(#"{"n":\#(number)}"#.utf8)
            return rig.tell(
                .signal(from: UserID(caller), to: nil, data: data), rig.call(id: id, by: caller)
            ).said
        }
        #expect(signal(0) == ["0"])
        for number in 1...4 { #expect(signal(number) == []) }
        #expect(signal(5) == ["a report was left out: too many wait because of ann"])
        #expect(signal(6, by: "alice", in: 2) == ["6"] && signal(7, by: "alice", in: 2) == [])
        #expect(rig.pass(10_000).said.sorted() == ["1", "2", "3", "4", "7"])
        #expect(rig.host.status.first?.leftReports == 1)
        #expect(rig.host.memories["p"]?.held.total == 0 && rig.host.varsNeeded.isEmpty)
        #expect(signal(8) == ["8"])
    }

    @Test func handlersThatWaitHaveAPartOfEachCallerAndWhatHasNoneWaits() throws {
        let rig = try Rig(
            """
            on.cancelled(function(call) log.info "begun" sleep "50s" end)
            timer("t", function() log.info "fired" sleep "10s" end)
            on.invite(function() later("1s", "t") end)
            """
        ) { $0.plugins[0].setting.limits.coroutinesOfCause = 3 }
        func cancel(_ id: UInt64, by caller: String) -> [String] {
            rig.tell(.cancelled(by: UserID(caller)), rig.call(id: id, by: caller)).said
        }
        for id in 1...3 { #expect(cancel(UInt64(id), by: "ann") == ["begun"]) }
        #expect(cancel(4, by: "ann") == [] && cancel(5, by: "alice") == ["begun"])
        #expect(rig.pass(50_100).said == ["begun"])
        _ = rig.pass(50_000)
        for _ in 0..<4 { _ = rig.ask(rig.call()) }
        #expect(rig.pass(1_000).said == ["fired", "fired", "fired"])
        #expect(rig.pass(10_100).said == ["fired"])
        _ = rig.pass(10_000)
        #expect(rig.host.memories["p"]?.handlers.total == 0)
    }

    @Test func allPairsOfOneCallerHaveFourPartsOfTheCoroutines() throws {
        let rig = try Rig(
            """
            local kept = {}
            on.accepted(function(call)
              local made = 0
              while true do
                local thread, problem = coroutine.create(function() coroutine.yield() end)
                if not thread then return log.info(made .. problem) end
                coroutine.resume(thread)
                kept[#kept + 1] = thread
                made = made + 1
              end
            end)
            """)
        func accept(_ user: String, of caller: String) -> [String] {
            let report = Report(
                call: rig.call(by: caller), at: rig.now, kind: .accepted(UserID("bob")),
                cause: Cause(UserID(user), caller: UserID(caller)))
            return rig.host.handle(.told(report), at: rig.now).said
        }
        for number in 0..<4 { #expect(accept("user-\(number)", of: "ann") == ["64limit"]) }
        #expect(accept("user-4", of: "ann") == ["0limit"] && accept("ann", of: "ann") == ["0limit"])
        #expect(accept("user-4", of: "alice") == ["64limit"])
    }

    @Test func theVarsOfACallThatNeverCameToBeGo() throws {
        let rig = try Rig("on.dial(function(call) call.vars.pad = 'x' end)")
        func dial(_ id: UInt64) {
            _ = rig.ask(.dial(rig.call(id: id), user: UserID("ann"), invitees: []))
        }
        dial(1)
        #expect(rig.host.memories["p"]?.vars.count == 1)
        _ = rig.reply(rig.pass(60_000).wait, .call(rig.call(id: 1), []))
        #expect(rig.host.memories["p"]?.vars.count == 1, "it is there")
        dial(2)
        _ = rig.reply(rig.pass(60_000).wait, .call(nil, []))
        #expect(rig.host.memories["p"]?.vars.keys.map(\.self) == [rig.call(id: 1).id])
    }

    @Test func whatIsToldOfTheEndKeepsTheVarsAndLeavesNoneBehind() throws {
        let rig = try Rig(
            """
            on.ended(function(call)
              call.vars.x = 1
              sleep "15s"
              log.info(call.vars.x)
              sleep "30s"
              call.vars.y = 2
            end)
            on.invite(function(call) sleep "1s" end)
            """)
        let call = rig.call()
        _ = rig.end(call)
        _ = rig.tell(.ended, call)
        #expect(rig.pass(15_000).said == ["1"])
        let effects = rig.pass(90_000)
        _ = rig.reply(effects.wait, .call(nil, []))
        #expect(rig.host.memories["p"]?.vars.isEmpty == true)
        #expect(rig.host.sought.isEmpty && rig.host.varsNeeded.isEmpty)
    }

    @Test func functionsOfAllThatNeverBeganAreGivenBack() throws {
        let rig = try Rig(
            """
            on.invite(function()
              local pad = ("x"):rep(100000)
              all { function() sleep "1s" end, function() return pad end }
            end)
            """)
        rig.host.patience = 1
        for number in 1...400 {
            let call = rig.call(id: UInt64(number))
            #expect(rig.ask(call).lines.isEmpty)
            _ = rig.end(call)
            _ = rig.pass(1)
        }
        #expect(rig.host.laterParts.isEmpty && rig.host.status.first?.failures.isEmpty == true)
    }
}
