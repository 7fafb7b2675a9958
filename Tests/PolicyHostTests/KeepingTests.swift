// What plugins keep: state, call.vars, windows, timers; and what a reload does to it.

import CallModel
import Configuration
import JSON
import Lua
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct KeepingTests {
    // MARK: state and vars

    @Test func stateIsPlainDataAndSurvivesAReload() throws {
        let text = """
            state.count = state.count or 0
            state.list = state.list or {}
            on.invite(function(call)
              state.count = state.count + 1
              table.insert(state.list, { who = call.caller.id })
              log.info(state.count .. " " .. #state.list .. " " .. json.encode(state.list[1]))
              for k, v in pairs(state) do assert(k == "count" or v[1].who == "ann") end
            end)
            """
        let rig = try Rig(text)
        #expect(rig.ask(rig.call()).said == [#"1 1 {"who":"ann"}"#])
        #expect(rig.ask(rig.call()).said == [#"2 2 {"who":"ann"}"#])
        _ = try rig.reload([("p", text)])
        #expect(rig.ask(rig.call()).said == [#"3 3 {"who":"ann"}"#])
    }

    @Test(arguments: [
        ("state.f = print", "p.lua:1: state.f: a function is not data"),
        (
            "state.a = { b = { c = coroutine.create(print) } }",
            "state.a.b.c: a coroutine is not data"
        ),
        ("local t = {} t.t = t state.a = t", "state.a.t: a table inside itself"),
        ("state[1.5] = 1", "state: only strings and integers can be keys, not a number"),
        ("state.a = { [true] = 1 }", "only strings and integers can be keys"),
        ("state.big = ('x'):rep(65536)", "state.big: over the limit of 65536 bytes"),
        ("state = {}", "'state' belongs to callagent and cannot be changed"),
        ("rawset(state, 'x', 1)", "this table cannot be changed"),
        ("state.n = 0 / 0", "state.n: not a number (nan)"),
        ("state.a = {} state.a.b = {} state.a.b.c = print", "state.a.b.c: a function is not data"),
    ])
    func whatIsNoDataCannotBeKept(_ text: String, _ expected: String) {
        #expect(Rig.problem(text).contains(expected), "\(Rig.problem(text))")
    }

    @Test func partsOfStateAreDataInOtherTables() throws {
        let rig = try Rig(
            """
            state.missed = { bob = 1, carl = 2 }
            state.list = { { a = 1 }, { b = 2 } }
            on.invite(function(call)
              call.vars.seen = { x = { y = true } }
              log.info(json.encode { n = 1, missed = state.missed, z = { state.list, "end" } })
              log.info(json.encode { call.vars.seen, state.missed, last = nil })
              kv.set("k", { deep = { state.list[2], call.vars.seen.x } })
            end)
            """)
        let effects = rig.ask(rig.call())
        #expect(
            effects.said == [
                #"{"missed":{"bob":1,"carl":2},"n":1,"z":[[{"a":1},{"b":2}],"end"]}"#,
                #"[{"x":{"y":true}},{"bob":1,"carl":2}]"#,
            ])
        #expect(
            effects.request
                == .store(
                    .set(
                        key: "k", ["deep": [["b": 2], ["y": true]]], lifetime: nil)))
    }

    @Test func theLimitOfStateIsExact() throws {
        // A string of 5 bytes and its text, under a key of 5 bytes and its name.
        let fits = 65_536 - 5 - 5 - 1 - 5
        #expect(Rig.problem("state.a = ('x'):rep(\(fits))") == "no problem")
        #expect(Rig.problem("state.a = ('x'):rep(65536)").contains("over the limit"))
        #expect(
            Rig.problem(
                "for _ = 1, 100 do state.a = ('x'):rep(60000) state.a = nil end state.b = 1")
                == "no problem")
    }

    /// A list leaves Lua without the keys of its members, and a member that is taken out alone had
    /// one: what is counted must not go below nothing by that.
    @Test func listsOfStateShrinkAndGrow() throws {
        let text = """
            state.list = { 1, 2, 3 }
            on.invite(function(call)
              for _ = 1, 3 do table.remove(state.list) end
              state.list = nil
              for n = 1, 3 do
                state.list = state.list or {}
                table.insert(state.list, n)
              end
              log.info(#state.list)
            end)
            """
        let rig = try Rig(text)
        #expect(rig.ask(rig.call()).said == ["3"])
        // It is copied out, and counted anew by that.
        _ = try rig.reload([("p", text)])
        #expect(rig.ask(rig.call()).said == ["3"])
    }

    @Test func theLimitOfListsIsExact() throws {
        // Two tables of 5 bytes, a key of 5 and its name, and 9 for each integer; a member under a
        // key takes 9 more.
        let fits = (65_536 - 5 - 5 - 1 - 5) / 9
        func problem(_ count: Int, _ more: String = "") -> String {
            Rig.problem("state.a = {} for n = 1, \(count) do table.insert(state.a, n) end \(more)")
        }
        #expect(problem(fits) == "no problem")
        #expect(problem(fits + 1).contains("state.a[\(fits + 1)]: over the limit"))
        // With another key it is a list no more, and each member has its key.
        #expect(problem(fits / 2 - 2, "state.a.x = 1") == "no problem")
        #expect(problem(fits / 2 + 1, "state.a.x = 1").contains("state.a.x: over the limit"))
    }

    @Test func whatWasTakenOutOfStateDoesNotCount() throws {
        let text = """
            state.gone = { long = ('x'):rep(60000) }
            local gone = state.gone
            state.gone = nil
            gone.long = nil
            for n = 1, 5 do gone[n] = ('x'):rep(20000) end
            state.more = ('x'):rep(60000)
            """
        #expect(Rig.problem(text) == "no problem")
        let more = "\nstate.yet_more = ('x'):rep(60000)"
        #expect(Rig.problem(text + more).contains("over the limit"))
    }

    @Test func stateIsMigratedOrTheReloadIsRefused() throws {
        let rig = try Rig("state.n = 1 on.invite(function() state.n = state.n + 1 end)")
        _ = rig.ask(rig.call())
        #expect(throws: ScriptProblems.self) {
            try rig.reload([("p", "plugin { state_version = 2 }")])
        }
        #expect(throws: ScriptProblems.self) {
            try rig.reload([("p", "plugin { state_version = 2 } migrate(function() error 'x' end)")]
            )
        }
        // Nothing has changed.
        #expect(rig.ask(rig.call()).record?.asked.first?.verdict == .noOpinion)
        let next = """
            plugin { state_version = 2 }
            state.added = "new"
            migrate(function(old, from) return { m = old.n * 10 + from } end)
            on.invite(function() log.info(state.m .. tostring(state.n) .. state.added) end)
            """
        _ = try rig.reload([("p", next)])
        #expect(rig.ask(rig.call()).said == ["31nilnew"])
    }

    @Test func theWayBackIsOpenAfterAMigration() throws {
        let first = "on.invite(function() state.n = (state.n or 0) + 1 log.info(state.n) end)"
        let second =
            "plugin { state_version = 2 } migrate(function(old) return { n = old.n + 100 } end)"
            + first
        let rig = try Rig(first)
        func said() -> [String] { rig.ask(rig.call()).said }
        #expect(said() == ["1"])
        _ = try rig.reload([("p", second)])
        #expect(said() == ["102"])
        func goBack(_ text: String) throws -> [String] {
            let generation = try Rig.generation([("p", text)])
            return try rig.host.activate(generation, reason: .rollback, at: rig.now).said
        }
        #expect(try goBack(first).isEmpty)
        #expect(said() == ["2"])
        // The version that was left is remembered too; one that nobody had begins anew.
        #expect(try goBack(second).isEmpty)
        #expect(said() == ["103"])
        #expect(
            try goBack("plugin { state_version = 3 }" + first)
                == ["begins without 'state': what there is has version 2"])
        #expect(said() == ["1"])
    }

    @Test(.enabled(if: HostileTests.hasWatchdog, "this build cannot leave a run in the middle"))
    func stateSurvivesALuaStateThatIsGivenUp() throws {
        let rig = try Rig(
            """
            local size = 1 << 15
            local step = (size << 1) - 1
            local keys = {}
            for i = 1, size do keys[i * step + step * 7] = 1 end
            on.invite(function(call)
              state.n = (state.n or 0) + 1
              log.info(tostring(state.n))
              if call.callee.calls > 0 then keys[-5] = 1 end
            end)
            """
        ) { $0.plugins[0].setting.limits.loadTime = 2_000 }
        #expect(rig.ask(rig.call()).said == ["1"])
        _ = rig.pass(1_000)
        #expect(rig.ask(rig.call(), busy: 1).record?.asked.first?.verdict == .failed(.cpu))
        #expect(rig.ask(rig.call()).said == ["2"])
    }

    @Test func aSeedDecidesAllDice() throws {
        func rolls() throws -> [String] {
            let rig = try Rig(
                """
                on.invite(function()
                  log.info(random(6) .. " " .. math.random(1, 100) .. " " .. random() .. uuid())
                end)
                """)
            return (0..<5).flatMap { _ in rig.ask(rig.call()).said }
        }
        let first = try rolls()
        #expect(try rolls() == first)
        #expect(Set(first).count == 5)
    }

    @Test func pairsGoInAFixedOrder() throws {
        let rig = try Rig(
            """
            local function keys(t)
              local out = {}
              for k in pairs(t) do out[#out + 1] = tostring(k) end
              return table.concat(out, " ")
            end
            state.t = { b = 1, a = 2, [7] = 3, [3] = 4 }
            on.invite(function()
              local t = { 10, 20, zeta = 1, alpha = 2, [100] = 3, [-5] = 4, [true] = 5, al = 6 }
              log.info(keys(t) .. " | " .. keys(state.t) .. " | " .. keys { 1, 2, 3 })
              local seen = 0
              for k in pairs(t) do t[k] = nil seen = seen + 1 end
              log.info(seen .. tostring(next(t)))
            end)
            """)
        #expect(
            rig.ask(rig.call()).said == [
                "-5 1 2 100 al alpha zeta true | 3 7 a b | 1 2 3", "8nil",
            ])
    }

    @Test func varsFollowTheCall() throws {
        let text = """
            on.invite(function(call)
              call.vars.seen = (call.vars.seen or 0) + 1
              call.vars.who = { call.caller.id }
              log.info(tostring(call.vars.seen))
            end)
            on.ended(function(call) log.info(call.vars.who[1] .. call.vars.seen) end)
            """
        let rig = try Rig(text)
        let first = rig.call(id: 1)
        #expect(rig.ask(first).said == ["1"])
        #expect(rig.ask(rig.call(id: 2)).said == ["1"])
        _ = try rig.reload([("p", text)])
        #expect(rig.ask(first).said == ["2"])
        _ = rig.end(first)
        #expect(rig.tell(.ended, first).said == ["ann2"])
        _ = rig.pass(10_000)
        #expect(rig.ask(first).said == ["1"])
    }

    @Test(arguments: [
        "call.vars.big = ('x'):rep(65536)", "call.vars.big = ('x'):rep(1200000)",
        "call.vars.small.big = ('x'):rep(65536)", "table.insert(call.vars.list, ('x'):rep(65536))",
    ])
    func varsOverTheirSizeAreLeftOut(_ text: String) throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              call.vars.small = { n = 1 }
              call.vars.list = {}
              \(text)
              call.vars.small.n = 2
              return reject(json.encode(call.vars))
            end)
            """)
        let effects = rig.ask(rig.call())
        #expect(effects.lines == ["warn: call.vars: no room for a change (too_large)"])
        let data = #"{"reason":"{\"list\":{},\"small\":{\"n\":2}}"}"#
        #expect(effects.answer == .decided(.reject(busy: false, extendedData: data)))
        let status = try #require(rig.host.status.first)
        #expect(status.failures == [:] && status.droppedVars == 1)
        for _ in 0..<20 { _ = rig.ask(rig.call()) }
        #expect(rig.host.status.first?.paused == [])
        let bad = try Rig("on.invite(function(call) call.vars.f = print end)")
        #expect(bad.ask(bad.call()).record?.asked.first?.verdict == .failed(.error))
    }

    @Test func twoHandlersOfACallShareItsVars() throws {
        let rig = try Rig(
            """
            on.accepted(function(call)
              call.vars.n = 1
              sleep "1s"
              log.info(tostring(call.vars.n))
            end)
            on.invite(function(call) call.vars.n = call.vars.n + 1 end)
            """)
        let call = rig.call()
        _ = rig.tell(.accepted(UserID("bob")), call)
        _ = rig.ask(call)
        #expect(rig.pass(1_000).said == ["2"])
    }

    @Test func slidingWindows() throws {
        let rig = try Rig(
            "on.invite(function() if not limit('x', 2, '1m') then return reject 'limit' end end)")
        #expect(rig.invite() == Answer.none)
        _ = rig.pass(30_000)
        #expect(rig.invite() == Answer.none)
        #expect(rig.invite() != Answer.none)
        _ = rig.pass(30_000)
        #expect(rig.invite() == Answer.none)
        #expect(rig.invite() != Answer.none)
    }

    // MARK: Timers

    @Test func timersComeAgainAndKeepTheirPhaseOverAReload() throws {
        let text = #"every("10s", "sweep", function() log.info("v1 " .. time.now() % 100) end)"#
        let rig = try Rig(text)
        let kept = rig.host.start(at: rig.now).kept
        #expect(kept.map(\.name) == ["sweep"])
        #expect(rig.pass(25_000).said == ["v1 10", "v1 20"])
        _ = try rig.reload([("p", text.replacing("v1", with: "v2"))])
        #expect(rig.pass(25_000).said == ["v2 30", "v2 40", "v2 50"])
        // Another period begins anew.
        _ = try rig.reload([("p", text.replacing("10s", with: "20s"))])
        #expect(rig.pass(20_000).said == ["v1 70"])
    }

    @Test func timersOfALater() throws {
        let rig = try Rig(
            """
            timer("remind", function(data, call)
              log.info(data.n .. tostring(call and call.caller.id))
            end)
            on.invite(function(call)
              later("5s", "remind", { n = 1 })
              call:later("5s", "remind", { n = 2 })
            end)
            """)
        let call = rig.call()
        #expect(rig.ask(call).kept.map(\.dueAt) == [rig.now + 5_000, rig.now + 5_000])
        let due = rig.pass(5_000)
        #expect(due.said == ["1nil"])
        #expect(due.request == .call(call.id))
        #expect(rig.reply(due.wait, .call(call, [])).said == ["2ann"])
        _ = rig.ask(call)
        _ = rig.end(call)
        #expect(rig.pass(5_000).said == ["1nil"])
        #expect(rig.host.timers.isEmpty)
    }

    @Test func timersComeBackFromAStore() throws {
        let text = """
            timer("t", function(data) log.info("t " .. data) end)
            every("1m", "e", function() log.info "e" end)
            """
        let rig = try Rig(text)
        let kept = [
            PolicyTimer(id: 5, plugin: "p", name: "t", dueAt: rig.now + 1_000, data: "x"),
            PolicyTimer(id: 6, plugin: "p", name: "gone", dueAt: rig.now + 1_000),
            PolicyTimer(
                id: 7, plugin: "p", name: "e", dueAt: rig.now + -90_000, schedule: "every 60000"),
        ]
        let effects = rig.host.restore(kept, at: rig.now)
        #expect(effects.said == ["timer 'gone' is not declared any more: dropped"])
        #expect(effects.contains(.dropTimer(6)))
        // The one that was missed comes once, and then in its phase.
        #expect(rig.pass(1_000).said == ["e", "t x"])
        #expect(rig.pass(60_000).said == ["e"])
    }

    @Test func aTimerFromAStoreEndsWithItsCall() throws {
        let rig = try Rig("timer('t', function() end)")
        let call = rig.call()
        let kept = PolicyTimer(
            id: 5, plugin: "p", name: "t", dueAt: rig.now + 1_000, call: call.id)
        _ = rig.host.restore([kept], at: rig.now)
        #expect(rig.end(call).contains(.dropTimer(5)))
        #expect(rig.host.timers.isEmpty)
    }

    @Test func aTimeOfDay() throws {
        let rig = try Rig(#"at("09:00", "open", function() log.info(time.format("%a %H:%M")) end)"#)
        rig.host.wallOffset = 0
        _ = rig.host.start(at: rig.now)
        let effects = rig.pass(2 * 86_400_000)
        #expect(effects.said.count == 2)
        #expect(effects.said.allSatisfy { $0.hasSuffix("09:00") })
    }

    @Test func anUndeclaredTimerIsSaid() throws {
        let rig = try Rig(
            "timer('remind', function() end) on.invite(function() later('1s', 'remid') end)")
        #expect(
            rig.ask(rig.call()).said.first?.contains(
                "unknown timer 'remid' (did you mean 'remind'?)")
                == true)
    }

    @Test func timersAreLimited() throws {
        let rig = try Rig(
            """
            timer("t", function() end)
            on.invite(function()
              local ok, problem = later("1h", "t")
              log.info(tostring(ok), { problem = problem })
            end)
            """
        ) { $0.plugins[0].setting.limits.timers = 2 }
        #expect(rig.ask(rig.call()).said == ["true"])
        #expect(rig.ask(rig.call()).said == ["true"])
        #expect(rig.ask(rig.call()).said == ["nil"])
    }

    // MARK: Reload

    @Test func aWaitingHandlerGoesOnInItsGeneration() throws {
        let rig = try Rig("on.invite(function() sleep '1s' return reject 'old' end)")
        #expect(rig.invite() == nil)
        let started = try rig.reload([
            (
                "p",
                """
                on.start(function(ctx) log.info(ctx.reason) end)
                on.invite(function() return reject "new" end)
                """
            )
        ])
        #expect(started.said == ["reload"])
        #expect(
            rig.invite() == .decided(.reject(busy: false, extendedData: #"{"reason":"new"}"#)))
        #expect(
            rig.pass(1_000).answer
                == .decided(.reject(busy: false, extendedData: #"{"reason":"old"}"#)))
    }

    @Test func anOldGenerationEndsAfterThirtySeconds() throws {
        let rig = try Rig(
            """
            on.invite(function()
              detach(function() while true do sleep "5s" log.info "old" end end)
            end)
            """)
        _ = rig.invite()
        _ = try rig.reload([("p", "")])
        #expect(rig.pass(29_000).said.count == 5)
        _ = rig.pass(1_000)
        #expect(rig.pass(60_000).said.isEmpty)
        #expect(rig.host.running.isEmpty)
    }

    @Test func soManyGenerationsExistAtMost() throws {
        let text = "on.accepted(function() sleep '20s' end)"
        let rig = try Rig(text)
        weak let first = rig.host.generation
        let most = PolicyHost.generationsMax
        for _ in 1..<most {
            _ = rig.tell(.accepted(UserID("bob")))
            _ = try rig.reload([("p", text)])
        }
        #expect(rig.host.running.count == most - 1)
        _ = rig.tell(.accepted(UserID("bob")))
        _ = try rig.reload([("p", text)])
        #expect(rig.host.running.count == most - 1)
        #expect(first == nil)
    }

    @Test func manyReloadsLeaveNothingBehind() throws {
        let text =
            """
            local t = {}
            for i = 1, 1000 do t[i] = i end
            on.invite(function() return t[1] and ring {} end)
            """
        let rig = try Rig(text)
        for _ in 0..<200 {
            _ = try rig.reload([("p", text)])
            #expect(rig.invite() == .decided(.ring(for: nil)))
        }
        #expect(rig.host.memories.count == 1)
    }
}
