// Reloads under load, probation and rollback.

import CallModel
import JSON
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
        // One failure in ten, 20 s apart, quarantines nothing.
        var rolledBack: PolicyEffect?
        for number in 0..<40 where rolledBack == nil {
            let effects = rig.ask(rig.call(data: number % 10 == 0 ? "x" : nil))
            rolledBack = effects.first { if case .rolledBack = $0 { true } else { false } }
            if rolledBack != nil { #expect(number + 1 == 20) }
            _ = rig.pass(2_000)
        }
        #expect(
            rolledBack
                == .rolledBack(
                    from: "empty", to: "empty",
                    reason: "10 % of decisions failed, 0 % before"))
        #expect(rig.invite() == .decided(.ring(for: nil)))
        #expect(!rig.host.isOnProbation)
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
        for _ in 0..<20 { effects += rig.ask(rig.call()) }
        #expect(
            effects.contains(
                .rolledBack(from: "empty", to: "empty", reason: "a plugin was quarantined")))
        #expect(rig.invite() == .decided(.ring(for: nil)))
    }

    @Test func aGenerationThatProvesItselfStays() throws {
        let rig = try Rig("on.invite(function() return ring {} end)")
        _ = try rig.reload([("p", "on.invite(function() return accept {} end)")])
        for _ in 0..<100 { _ = rig.invite() }
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
        #expect(throws: PolicyProblems.self) { try bad.take(states) }
        let odd = try Rig.generation([
            ("p", "plugin { state_version = 2 } migrate(function(old) return print end)")
        ])
        let problem = #expect(throws: PolicyProblems.self) { try odd.take(states) }
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
        #expect(accepted.quarantined == 1, "five failures quarantine it at every hook")
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
        #expect(rig.host.status.first?.quarantinedUntil == rig.now + 60_000)
    }
}
