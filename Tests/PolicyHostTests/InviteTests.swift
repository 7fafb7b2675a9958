// on.invite: what plugins may answer and what becomes of it.

import CallModel
import Lua
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct InviteTests {
    @Test func theFirstPluginOfTheManualRefusesASecondCall() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              if call.callee.calls > 0 then
                return reject "busy"
              end
            end)
            """)
        #expect(rig.invite(busy: 1) == .decided(.reject(busy: true, extendedData: nil)))
        #expect(rig.invite(busy: 0) == Answer.none)
    }

    /// Each place of the caller's rate is for one: two that are decided late do not share one.
    @Test func whomAForwardWouldAddBeyondTheRateIsLeftOut() throws {
        let rig = try Rig("on.invite(function(call) sleep('1s') return forward 'carol' end)")
        var left = 1
        rig.host.mayForward = { user, _ in
            #expect(user == UserID("ann"))
            defer { left -= 1 }
            return left > 0
        }
        for id in [1, 2] as [UInt64] {
            #expect(rig.ask(rig.call(id: id)).answer == nil)
        }
        let effects = rig.pass(1_000)
        let records = effects.compactMap {
            if case .record(let record) = $0 { record.asked.first } else { nil }
        }
        #expect(records.map(\.verdict) == [.decided, .unfit])
        #expect(records.last?.message == "forward: rate_limited")
    }

    @Test func anUnknownEventFailsAtLoadWithASuggestion() {
        #expect(
            Rig.problem("\non.invte(function(call) end)")
                == "p.lua:2: unknown event 'on.invte' (did you mean 'on.invite'?)")
    }

    @Test func aDecisionThatIsNotReturnedWarns() throws {
        let rig = try Rig("on.invite(function(call)\n  reject 'busy'\nend)")
        #expect(rig.ask(rig.call()).lines == ["warn: p.lua:2: decision made but not returned"])
    }

    @Test(arguments: [
        ("if call.group then reject 'busy' end return accept {}", ["reject"]),
        ("if call.group then ring { for_ = '1s' } end drop 'no'", ["ring", "drop"]),
        ("local no = reject 'busy' return no", []), ("return reject(call.kind)", []),
        ("if call.group then return reject 'busy' end log.info 'x' return accept {}", []),
        ("if reject then log.info 'x' end return accept {}", []),
        ("local all = { reject 'busy', accept {} } return all[1]", []),
        ("return call.group and reject 'busy' or accept {}", []),
        ("local reject = log.info reject 'x'", []),
    ])
    func aDecisionThatIsAStatementWarnsBeforeItIsMade(_ body: String, _ names: [String]) throws {
        let generation = try Rig.generation([("p", "on.invite(function(call)\n\(body)\nend)")])
        #expect(
            generation.mistakes.map(\.description)
                == names.map { "p.lua:2: '\($0)' without 'return' decides nothing" })
    }

    @Test(arguments: [
        ("return { name = 'p', on = { invite = print } }", true), ("", true),
        ("local function f() end", true), ("on.invite(function() end)", false),
        ("every('1m', 'tick', function() end)", false), ("timer('t', function() end)", false),
        ("config { a = option.int(1) }", true),
        ("test('t', function() end)", true),
    ])
    func aPluginThatDeclaresNothingWarns(_ text: String, _ warns: Bool) throws {
        let generation = try Rig.generation([("p", text)])
        #expect(
            generation.warnings.map(\.description)
                == [
                    "p.lua: does nothing: it declares no event such as on.invite and no timer"
                ].filter { _ in warns })
    }

    @Test func waitingInsideTheHookDelaysTheAnswer() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              local ok = pcall(function() sleep "1s" end)
              if ok then return accept { wait = "3s", extended_data = { a = 1, b = {} } } end
            end)
            """)
        #expect(rig.invite() == nil)
        #expect(
            rig.pass(1_000).answer
                == .decided(.accept(wait: 3_000, extendedData: #"{"a":1,"b":{}}"#)))
    }

    @Test func anEndlessLoopCostsOneDecision() throws {
        let rig = try Rig(
            "on.invite(function(call) while call.callee.calls == 0 do end return reject 'busy' end)"
        )
        let effects = rig.ask(rig.call())
        #expect(effects.answer == Answer.none)
        #expect(effects.lines == ["error: p.lua:1: over the processor budget of 10 ms"])
        #expect(rig.invite(busy: 1) == .decided(.reject(busy: true, extendedData: nil)))
    }
}
