// Scripts that would go on for ever: none keeps the thread, and none ends the process.

import CallModel
import Configuration
import JSON
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct EndlessTests {
    /// What a host that lives on answers.
    private func answers(_ rig: Rig) -> Bool {
        rig.ask(rig.call(id: 7)).answer
            == .decided(.reject(busy: true, extendedData: nil))
    }

    private func rig(_ text: String) throws -> Rig {
        try Rig(
            """
            \(text)
            on.invite(function(call)
              if call.id:sub(-1) ~= "7" then go() end
              return reject "busy"
            end)
            """)
    }

    @Test(arguments: [
        "local function f() all { f } end local go = f",
        "local function f() all { f, f, f } end local go = f",
        "local function f() pcall(all, { f, f }) end local go = f",
        "local function f() sleep '1ms' all { f, f } end local go = f",
    ])
    func allWithinAllGoesOnlySoDeep(_ text: String) throws {
        let rig = try rig(text)
        _ = rig.ask(rig.call())
        _ = rig.pass(10_000)
        #expect(answers(rig))
    }

    @Test func aRunThatTakesLongIsToldOfOnceWhileItGoesOn() throws {
        let rig = try rig("local function go() while true do end end")
        var told = 0
        rig.host.runIsLong = { told += 1 }
        let effects = rig.ask(rig.call())
        #expect(told == 1 && effects.lines.first?.contains("processor budget") == true)
        _ = rig.ask(rig.call(id: 2))
        #expect(told == 2)
    }

    @Test func theDepthIsNamed() throws {
        let rig = try Rig(
            """
            local depth = 0
            local function f() depth = depth + 1 all { f } end
            on.invite(function() f() end)
            """)
        let lines = rig.ask(rig.call()).lines
        #expect(lines.first?.contains("'all' within 'all' goes at most 8 deep") == true)
    }

    @Test(arguments: [
        "local function go() while true do all { function() end } end end",
        "local function go() while true do all { function() all { function() end } end } end end",
        "local function go() while true do pcall(all, { function() error 'x' end }) end end",
        "local function go() while true do sleep '0s' end end",
    ])
    func waitsThatAreOverAtOnceCostTheEventsTime(_ text: String) throws {
        let rig = try rig(text)
        let lines = rig.ask(rig.call()).lines + rig.pass(0).lines
        #expect(lines.contains { $0.contains("over the processor budget of ") }, "\(lines)")
        #expect(answers(rig))
    }

    @Test func aPartThatFailsKeepsTheOthersFromBeginning() throws {
        let rig = try Rig(
            """
            on.invite(function()
              local ok, problem = pcall(all, {
                function() error("first", 0) end,
                function() log.info "second" end,
              })
              log.info(tostring(ok) .. problem)
              sleep "1s"
              log.info "later"
            end)
            """)
        #expect(rig.ask(rig.call()).said == ["falsefirst"])
        #expect(rig.pass(1_000).said == ["later"])
    }

    @Test func aTimerThatStartsItselfAtOnceLeavesRoom() throws {
        let rig = try rig(
            """
            timer("loop", function() log.info "tick" later("0s", "loop") end)
            local function go() later("0s", "loop") end
            """)
        _ = rig.ask(rig.call())
        #expect(rig.pass(1).said == ["tick"])
        #expect(rig.pass(1).said == ["tick"])
        #expect(answers(rig))
    }

    @Test func whatIsDetachedByWhatWasDetachedComesLater() throws {
        let rig = try rig(
            "local function go() local function f() log.info 'tick' detach(f) end f() end")
        #expect(rig.ask(rig.call()).said == ["tick", "tick"])
        #expect(rig.pass(1).said == ["tick"])
        #expect(answers(rig))
    }

    @Test func soManyFunctionsAreDetachedAtMost() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              local count = 0
              while detach(function() sleep "1s" end) do count = count + 1 end
              log.info(count)
              local _, problem = detach(function() end)
              log.info(problem)
            end)
            """
        ) { $0.plugins[0].setting.limits.coroutines = 20 }
        #expect(
            rig.ask(rig.call()).said == [
                "19", "limit",
            ])
        _ = rig.pass(2_000)
        #expect(rig.ask(rig.call()).said.first == "19")
    }

    @Test func coroutinesThatAreGarbageLeaveRoomToDetach() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              if call.callee.calls > 0 then
                for _ = 1, 18 do coroutine.wrap(function() coroutine.yield() end)() end
              else
                detach(function() log.info "detached" end)
              end
              return ring {}
            end)
            """
        ) { $0.plugins[0].setting.limits.coroutines = 20 }
        for _ in 0..<3 { #expect(rig.ask(rig.call(), busy: 1).lines.isEmpty) }
        #expect(rig.ask(rig.call()).said == ["detached"])
    }
}
