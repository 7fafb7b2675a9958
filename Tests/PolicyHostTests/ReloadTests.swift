// Reloads under load, probation and rollback.

import CallModel
import Configuration
import Decisions
import JSON
import Lua
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct ReloadTests {
    /// Three plugins that all know which version they are; the last one answers with it.
    private func plugins(_ version: Int, isBroken: Bool = false) -> [(String, String)] {
        [
            (
                "a",
                """
                on.invite(function(call)
                  call.vars.version = \(version)
                  log.info(call.id .. " \(version)")
                  sleep "3ms"
                end)
                """
            ),
            ("b", "on.invite(function(call) log.info(call.id .. ' \(version)') sleep '2ms' end)"),
            (
                "c",
                isBroken
                    ? "on.invite(function(call) retrun nil end)"
                    : """
                    on.invite(function(call)
                      log.info(call.id .. " \(version)")
                      return accept {}
                    end)
                    """
            ),
        ]
    }

    @Test func nothingIsLostMixedOrLateWhileReloading() throws {
        let rig = try Rig(plugins(0))
        var versions: [String: Set<Substring>] = [:]
        var answers: [QuestionID: Int] = [:]
        var refused = 0
        func note(_ effects: [PolicyEffect]) {
            for effect in effects {
                switch effect {
                case .answer(let id, .invite(.accept, _, _)): answers[id, default: 0] += 1
                case .answer(let id, _): Issue.record("\(id) was answered otherwise")
                case .log(let line) where line.level == .info:
                    let words = line.text.split(separator: " ")
                    versions[String(words[0]), default: []].insert(words[1])
                default: continue
                }
            }
        }
        // 400 invitations in 2 s, 50 reloads, every third of them broken.
        for number in 0..<400 {
            note(rig.ask(rig.call(id: UInt64(number + 1))))
            if number % 8 == 4 {
                let round = number / 8
                do {
                    note(try rig.reload(plugins(round + 1, isBroken: round % 3 == 2)))
                } catch {
                    refused += 1
                    #expect("\(error)".hasPrefix("c.lua:1: "))
                }
            }
            note(rig.pass(5))
        }
        note(rig.pass(2_000))
        #expect(refused == 16)
        #expect(answers.count == 400)
        #expect(answers.values.allSatisfy { $0 == 1 })
        #expect(versions.count == 400)
        #expect(versions.values.allSatisfy { $0.count == 1 })
        #expect(rig.host.running.isEmpty && rig.host.chains.isEmpty)
        #expect(rig.host.memories["a"]?.vars.count == 400)
    }

    @Test func aGenerationThatFailsMoreIsRolledBack() throws {
        let rig = try Rig("on.invite(function() return ring {} end)")
        for _ in 0..<50 { _ = rig.invite() }
        _ = try rig.reload([
            (
                "p",
                """
                on.invite(function(call)
                  if call.extended_raw == "x" then error "x" end
                  return accept {}
                end)
                """
            )
        ])
        #expect(rig.host.isOnProbation)
        // One failure in ten, 20 s apart, passes it over for nobody.
        var rolledBack: PolicyEffect?
        for number in 0..<40 where rolledBack == nil {
            let data = number % 10 == 0 ? "x" : nil
            let effects = rig.ask(rig.call(data: data, by: "user-\(number % 20)"))
            rolledBack = effects.first { if case .rolledBack = $0 { true } else { false } }
            if rolledBack != nil { #expect(number + 1 == 20) }
            _ = rig.pass(2_000)
        }
        #expect(
            rolledBack
                == .rolledBack(
                    from: "empty", to: "empty",
                    reason: .share(10, before: 0)))
        #expect(rig.invite() == .decided(.ring(for: nil)))
        #expect(!rig.host.isOnProbation)
    }

    /// Fails for calls with data that `pattern` matches.
    private static func failing(_ pattern: String) -> String {
        """
        on.invite(function(call)
          if (call.extended_raw or ""):find "\(pattern)" then error "x" end
          return ring {}
        end)
        """
    }

    /// Whether the generation goes back while two of twenty accounts trip it up by `data`.
    private func goesBack(_ rig: Rig, _ data: String, times: Int = 1) -> Bool {
        var effects: [PolicyEffect] = []
        for number in 0..<40 {
            let isBad = number % 10 == 0
            for _ in 0..<(isBad ? times : 1) {
                effects += rig.ask(
                    rig.call(data: isBad ? data : nil, by: "user-\(number % 20)"))
                effects += rig.pass(100)
            }
        }
        return effects.contains { if case .rolledBack = $0 { true } else { false } }
    }

    /// (G72)
    @Test func aBugThatIsNotNewUndoesNoReload() throws {
        func reload(_ rig: Rig, to text: String, control: String?) throws {
            let control = try control.map { try Rig.generation([("p", $0)]) }
            let next = try Rig.generation([("p", text)])
            try rig.host.prepare(next, control: control.map { Replay($0) }, at: rig.now)
            _ = rig.host.cut(at: rig.now)
        }
        let (old, new) = (Self.failing("x"), Self.failing("[xy]"))
        for times in [1, 8] {
            let rig = try Rig(old)
            try reload(rig, to: new, control: old)
            #expect(!goesBack(rig, "x", times: times), "the plugins before fail alike")
            #expect(rig.host.isOnProbation)
            let worse = try Rig(old)
            try reload(worse, to: new, control: old)
            #expect(goesBack(worse, "y", times: times), "they do not")
        }
        let rig = try Rig(old)
        try reload(rig, to: new, control: nil)
        #expect(goesBack(rig, "x"), "nobody knows")
    }

    /// Where the plugins before cannot be asked, the operator hears of it.
    @Test(arguments: [true, false]) func whatCannotBeComparedIsSaid(_ isSlow: Bool) throws {
        let text = """
            on.invite(function()
              for _ = 1, \(isSlow ? 6 : 0) do
                for _ = 1, 800000 do end
                sleep "1ms"
              end
              error "x"
            end)
            """
        let rig = try Rig(text)
        let next = try Rig.generation([("p", text + "\n-- another")])
        let control = Replay(try Rig.generation([("p", text)]))
        try rig.host.prepare(next, control: control, at: rig.now)
        var effects = rig.host.cut(at: rig.now)
        for number in 0..<3 {
            effects += rig.ask(rig.call(by: "user-\(number)"))
            effects += rig.pass(1_000)
        }
        let lines = effects.lines.filter { $0.contains("the failure counts as new") }
        #expect(lines.count == (isSlow ? 1 : 0), "\(effects.lines)")
    }

    /// (G82)
    @Test func theLimitsOfTheServerDoNotGoBack() throws {
        func bound(_ plan: inout GenerationPlan, memory: Int, lines: Int) {
            var limits = PluginLimits()
            (limits.memory, limits.logLines) = (memory, lines)
            plan.share = .init(directory: nil, extendedDataMax: 2_048, limits: limits)
            plan.plugins[0].setting.keep(to: limits)
        }
        let text = """
            on.invite(function(call)
              for line = 1, 5 do log.info(line) end
              if call.extended_raw == "much" then state.n = #("x"):rep(1500000) end
              return ring {}
            end)
            """
        let rig = try Rig([("p", text)]) { bound(&$0, memory: 16 << 20, lines: 100) }
        #expect(rig.invite(data: "much") == .decided(.ring(for: nil)))
        _ = try rig.reload([("p", Self.failing("x"))]) { bound(&$0, memory: 2 << 20, lines: 3) }
        #expect(goesBack(rig, "x"))
        #expect(
            rig.ask(rig.call(by: "zoe")).said == [
                "1", "2", "3", "more than 3 lines at once: the others are left out",
            ])
        let much = rig.ask(rig.call(data: "much", by: "yan"))
        #expect(much.record?.asked.first?.verdict == .failed(.memory))
    }

    @Test func aQuarantineInProbationRollsBack() throws {
        let rig = try Rig("on.invite(function() state.n = (state.n or 0) + 1 return ring {} end)")
        _ = rig.invite()
        _ = try rig.reload([
            (
                "p",
                """
                plugin { state_version = 2 }
                migrate(function(old) return { m = old.n } end)
                on.invite(function() error 'x' end)
                """
            )
        ])
        var effects: [PolicyEffect] = []
        for number in 0..<20 { effects += rig.ask(rig.call(by: "user-\(number)")) }
        #expect(
            effects.contains(
                .rolledBack(from: "empty", to: "empty", reason: .quarantine)))
        #expect(rig.invite() == .decided(.ring(for: nil)))
    }

    @Test func aGenerationThatProvesItselfStays() throws {
        let rig = try Rig("on.invite(function() return ring {} end)")
        _ = try rig.reload([("p", "on.invite(function() return accept {} end)")])
        for _ in 0..<100 { _ = rig.invite() }
        #expect(rig.host.isOnProbation, "one account says little")
        for number in 0..<100 { _ = rig.invite(by: "user-\(number % 10)") }
        #expect(!rig.host.isOnProbation)
        _ = try rig.reload([("p", "on.invite(function() return accept {} end)")])
        #expect(rig.host.isOnProbation)
        _ = rig.pass(300_000)
        #expect(!rig.host.isOnProbation)
    }

    @Test func stateIsMigratedOrNothingIsTaken() throws {
        let rig = try Rig("on.invite(function() state.n = 1 end)")
        _ = rig.invite()
        let states = rig.host.savedStates()
        let good = try Rig.generation([
            ("p", "plugin { state_version = 2 } migrate(function(old) return { m = old.n } end)")
        ])
        try good.take(states)
        let bad = try Rig.generation([
            ("p", "plugin { state_version = 2 }\nmigrate(function(old) return old.n + {} end)")
        ])
        #expect(throws: ScriptProblems.self) { try bad.take(states) }
        let odd = try Rig.generation([
            ("p", "plugin { state_version = 2 } migrate(function(old) return print end)")
        ])
        let problem = #expect(throws: ScriptProblems.self) { try odd.take(states) }
        #expect(problem?.description.hasSuffix("bad result: a function is not data") == true)
    }

    @Test func nothingIsLeftOfAGenerationThatWasReplaced() throws {
        let rig = try Rig("on.invite(function() sleep '1s' return ring {} end)")
        var old: [() -> Generation?] = []
        for round in 1...5 {
            weak let generation = rig.host.generation
            old.append { generation }
            _ = rig.ask(rig.call(id: UInt64(round)))
            _ = try rig.reload([("p", "on.invite(function() sleep '1s' return ring {} end)")])
        }
        #expect(old.contains { $0() != nil }, "handlers wait in them")
        // The handlers end, the time to drain and the probation are over.
        _ = rig.pass(400_000)
        for _ in 0..<2 { _ = rig.invite() }
        _ = rig.pass(2_000)
        #expect(old.allSatisfy { $0() == nil })
        #expect(rig.host.drainingHandlers == 0 && !rig.host.isOnProbation)
    }

    @Test func whatEachHookIsDoing() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              if call.extended_raw == "error" then error "x" end
              if call.extended_raw == "late" then sleep "10s" end
              if call.extended_raw == "slow" then sleep "20ms" end
              if call.extended_raw then return ring {} end
            end)
            on.accepted(function() error "y" end)
            """)
        for data in ["error", "late", "slow", "x"] {
            _ = rig.ask(rig.call(data: data))
            _ = rig.pass(2_000)
        }
        _ = rig.invite()
        let status = try #require(rig.host.status.first)
        let invite = try #require(status.byHook[.invite])
        #expect(invite.asked == 5 && invite.answered == 2 && invite.quarantined == 0)
        #expect(invite.failures == [.error: 1, .late: 1])
        #expect(invite.wall.count == 5 && invite.wall.bound(of: 0.5) == 0.001)
        #expect(invite.wall.bound(of: 1) == 3 && invite.wall.sum == 2.02)
        #expect(invite.processor.count == 5 && invite.processor.sum > 0)
        for _ in 0..<4 { _ = rig.tell(.accepted(UserID("bob"))) }
        let accepted = try #require(rig.host.status.first?.byHook[.accepted])
        #expect(accepted.asked == 4 && accepted.failures == [.error: 3])
        #expect(accepted.quarantined == 1, "after five failures it is passed over at every hook")
        #expect(rig.host.status.first?.byHook[.dial] == nil)
    }

    @Test func whatThePluginsAreDoing() throws {
        let rig = try Rig(
            """
            plugin { version = "1.2" }
            timer("t", function() end)
            on.invite(function(call)
              if call.callee.calls > 0 then error "x" end
              later("1h", "t")
              return ring {}
            end)
            on.accepted(function() sleep "5s" end)
            """)
        _ = rig.invite()
        _ = rig.invite(busy: 1)
        _ = rig.tell(.accepted(UserID("bob")))
        let status = try #require(rig.host.status.first)
        #expect(status.name == "p" && status.version == "1.2" && status.file == "p.lua")
        #expect(status.hooks == [.invite, .accepted])
        #expect(status.asked == 3 && status.decided == 1 && status.failures == [.error: 1])
        #expect(status.waiting == 1 && status.timers == 1 && status.quarantinedUntil == nil)
        #expect(status.memory > 10_000 && status.nanoseconds > 0)
        for _ in 0..<5 { _ = rig.invite(busy: 1) }
        let pauses = rig.host.status.first?.paused
        #expect(pauses == [PluginPause(text: "ann", until: rig.now + 60_000)])
    }

    @Test func oneAccountEndsNoProbation() throws {
        let rig = try Rig("on.invite(function() return ring {} end)")
        _ = try rig.reload([("p", "on.invite(function() return accept {} end)")])
        _ = (rig.invite(by: "user-1"), rig.invite(by: "user-2"))
        for _ in 0..<200 { _ = rig.invite() }
        #expect(rig.host.isOnProbation)
        for number in 3..<20 { for _ in 0..<10 { _ = rig.invite(by: "user-\(number)") } }
        #expect(!rig.host.isOnProbation)
    }

    @Test func whatFailsInAnOldGenerationSaysNothingAboutTheNewOne() throws {
        let rig = try Rig("on.accepted(function() sleep '10s' error 'x' end)")
        for id in 1...10 { _ = rig.tell(.accepted(UserID("bob")), rig.call(id: UInt64(id))) }
        _ = try rig.reload([("p", "on.accepted(function() log.info 'mended' end)")])
        #expect(rig.pass(10_000).lines.contains { $0.contains("passed over") })
        #expect(rig.host.status.first?.paused.isEmpty == true)
        #expect(rig.tell(.accepted(UserID("bob")), rig.call(id: 20)).said == ["mended"])
    }

    @Test func nothingBeginsInAGenerationThatHasEnded() throws {
        let rig = try Rig("on.accepted(function() log.info 'old' sleep '55s' end)")
        for _ in 0..<5 { _ = rig.tell(.accepted(UserID("bob"))) }
        _ = try rig.reload([("p", "on.accepted(function() end)")])
        #expect(rig.pass(59_999).said == ["old"], "while it drains")
        #expect(rig.host.drainingHandlers == 1)
        #expect(rig.pass(100_000).said == [])
        #expect(rig.host.drainingHandlers == 0 && rig.host.queues.isEmpty)
        #expect(rig.host.memories["p"]?.held.total == 0)
    }

    @Test func aLateAnswerIsTheOneOfItsOwnGeneration() throws {
        let text = "on.invite(function() sleep '10s' end)"
        let rig = try Rig([("p", text)]) { $0.onError = .reject }
        #expect(rig.invite() == nil)
        _ = try rig.reload([("p", text)]) { $0.onError = .default }
        #expect(
            rig.pass(2_000).answer == .decided(.reject(busy: false, extendedData: nil)))
    }
}
