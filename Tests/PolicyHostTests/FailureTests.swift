// What the host does in the place of a plugin that fails, and when it stops running it.

import CallModel
import Configuration
import JSON
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct FailureTests {
    private func answer(_ onError: String, next: String = "return ring {}") throws -> Answer? {
        try Rig([
            ("a", "plugin { on_error = '\(onError)' } on.invite(function() error 'x' end)"),
            ("b", "on.invite(function() \(next) end)"),
        ]).invite()
    }

    @Test func everyOnErrorOfADecisionHook() throws {
        #expect(try answer("skip") == .decided(.ring(for: nil), by: "b", next: 2))
        #expect(try answer("unchanged") == .decided(.ring(for: nil), by: "b", next: 2))
        #expect(try answer("default") == Answer.none)
        #expect(
            try answer("reject")
                == .decided(.reject(busy: false, extendedData: nil), by: "a", next: 1))
        #expect(
            try answer("accept")
                == .decided(.accept(wait: 0, extendedData: nil), by: "a", next: 1))
    }

    @Test func aGuardFailsClosedAndTheOperatorHasTheLastWord() throws {
        let text = "plugin { guard = true } on.invite(function() error 'x' end)"
        #expect(
            try Rig(text).invite()
                == .decided(.reject(busy: false, extendedData: nil)))
        let rig = try Rig(text) { $0.plugins[0].setting.onError = .skip }
        #expect(rig.invite() == Answer.none)
        let own = try Rig("plugin { on_error = 'accept' } on.invite(function() error 'x' end)") {
            $0.plugins[0].setting.onError = .reject
        }
        #expect(own.invite() == .decided(.reject(busy: false, extendedData: nil)))
    }

    @Test func dialThatFailsIsRefusedOrAllowed() throws {
        func dial(_ onError: String) throws -> Answer? {
            let rig = try Rig(
                "plugin { on_error = '\(onError)' } on.dial(function() error 'x' end)")
            return rig.ask(.dial(rig.call(), user: UserID("ann"), invitees: [])).answer
        }
        #expect(try dial("reject") == .refuse(code: "refused", by: "p"))
        #expect(try dial("accept") == .allow(Allowance()))
        #expect(try dial("skip") == Answer.none)
    }

    @Test func aChainThatIsLateUsesThePluginsWordThenTheOperators() throws {
        func late(_ onError: String?, _ operators: OnError) throws -> Answer? {
            let head = onError.map { "plugin { on_error = '\($0)' } " } ?? ""
            let rig = try Rig([
                ("a", "\(head)on.invite(function() sleep '10s' end)"),
                ("b", "on.invite(function() return ring {} end)"),
            ]) { $0.onError = operators }
            #expect(rig.invite() == nil)
            #expect(rig.pass(1_999).answer == nil)
            let effects = rig.pass(1)
            #expect(effects.record?.asked.last?.verdict == .failed(.late))
            return effects.answer
        }
        #expect(
            try late("accept", .reject)
                == .decided(.accept(wait: 0, extendedData: nil), by: "a", next: 2))
        #expect(
            try late(nil, .reject)
                == .decided(.reject(busy: false, extendedData: nil), by: "a", next: 2))
        #expect(try late(nil, .default) == Answer.none)
        #expect(try late(nil, .skip) == Answer.none)
    }

    @Test func fiveFailuresInAMinuteQuarantine() throws {
        let rig = try Rig("on.invite(function() error 'x' end)")
        for _ in 0..<4 { #expect(rig.ask(rig.call()).lines.count == 1) }
        let fifth = rig.ask(rig.call())
        #expect(
            fifth.lines.last == "error: plugin 'p' is passed over for ann after repeated failures")
        // Not run any more, for a minute.
        let sixth = rig.ask(rig.call())
        #expect(sixth.lines.isEmpty)
        #expect(sixth.record?.asked.first?.verdict == .quarantined)
        _ = rig.pass(59_999)
        #expect(rig.ask(rig.call()).lines.isEmpty)
        _ = rig.pass(1)
        // One event is tried; it fails, so the pause doubles.
        #expect(rig.ask(rig.call()).lines.count == 2)
        #expect(rig.ask(rig.call()).lines.isEmpty)
        _ = rig.pass(119_999)
        #expect(rig.ask(rig.call()).lines.isEmpty)
        _ = rig.pass(1)
        #expect(rig.ask(rig.call()).lines.count == 2)
    }

    @Test func failuresFarApartDoNotQuarantine() throws {
        let rig = try Rig("on.invite(function() error 'x' end)")
        for _ in 0..<12 {
            #expect(rig.ask(rig.call()).lines.count == 1)
            _ = rig.pass(15_000)
        }
    }

    @Test func threeKillsQuarantine() throws {
        let rig = try Rig("on.invite(function() while true do end end)") {
            $0.plugins[0].setting.limits.runTime = 1
        }
        for _ in 0..<2 { #expect(rig.ask(rig.call()).lines.count == 1) }
        #expect(rig.ask(rig.call()).lines.count == 2)
        #expect(rig.ask(rig.call()).lines.isEmpty)
    }

    @Test func killsFarApartDoNotQuarantine() throws {
        let rig = try Rig("on.invite(function() while true do end end)") {
            $0.plugins[0].setting.limits.runTime = 1
        }
        for _ in 0..<6 {
            #expect(rig.ask(rig.call()).lines.count == 1)
            _ = rig.pass(30_000)
        }
    }

    @Test func aTrialThatWorksEndsTheQuarantine() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              if call.callee.calls > 0 then error "x" end
              return ring {}
            end)
            """)
        for _ in 0..<5 { _ = rig.invite(busy: 1) }
        #expect(rig.invite() == Answer.none)
        _ = rig.pass(60_000)
        #expect(rig.invite() == .decided(.ring(for: nil)))
        for _ in 0..<4 { #expect(rig.ask(rig.call(), busy: 1).lines.count == 1) }
        #expect(rig.ask(rig.call(), busy: 1).lines.count == 2)
    }

    @Test func aTrialThatIsTakenBackIsTriedAgain() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              if call.callee.calls > 0 then error "x" end
              sleep "1s"
              return ring {}
            end)
            """)
        for _ in 0..<5 { _ = rig.invite(busy: 1) }
        _ = rig.pass(60_000)
        #expect(rig.invite() == nil)
        _ = rig.host.handle(.withdrawn(QuestionID(6)), at: rig.now)
        #expect(rig.invite() == nil)
        #expect(rig.pass(1_000).answer == .decided(.ring(for: nil)))
    }

    /// Fails while bob is busy, waits a second otherwise; what it detaches waits for two.
    private static let slow = """
        on.invite(function(call)
          if call.callee.calls > 0 then error "x" end
          detach(function() sleep "2s" log.info "detached" end)
          sleep "1s"
          return ring {}
        end)
        on.accepted(function(call)
          sleep "63s"
          if call.extended_raw == "bad" then error "late" end
        end)
        """

    @Test func aHandlerFromBeforeTheQuarantineDoesNotEndIt() throws {
        let rig = try Rig(Self.slow)
        #expect(rig.invite() == nil)
        for _ in 0..<5 { _ = rig.invite(busy: 1) }
        // Both the question and what it detached come to a good end.
        let effects = rig.pass(2_000)
        #expect(effects.answer == .decided(.ring(for: nil)) && effects.said == ["detached"])
        #expect(rig.host.status.first?.paused.first?.until == rig.now + 58_000)
        #expect(rig.invite() == Answer.none)
    }

    @Test(arguments: ["good", "bad"])
    func aHandlerFromBeforeTheTrialDoesNotDecideIt(_ end: String) throws {
        let rig = try Rig(Self.slow) { $0.plugins[0].setting.limits.reportTime = 90_000 }
        _ = rig.tell(.accepted(UserID("bob")), rig.call(data: end, id: 2))
        for _ in 0..<5 { _ = rig.invite(busy: 1) }
        _ = rig.pass(62_500)
        // The trial waits while the report ends.
        #expect(rig.invite() == nil)
        _ = rig.pass(500)
        #expect(rig.invite() == Answer.none)
        #expect(rig.pass(500).answer == .decided(.ring(for: nil)))
        #expect(rig.invite() == nil, "the trial has worked")
    }

    @Test func aTrialThatTakesTooLongDoublesThePause() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              if call.callee.calls > 0 then error "x" end
              sleep "1h"
            end)
            """)
        for _ in 0..<5 { _ = rig.invite(busy: 1) }
        _ = rig.pass(60_000)
        #expect(rig.invite() == nil)
        _ = rig.pass(2_000)
        #expect(rig.host.status.first?.paused.first?.until == rig.now + 120_000)
    }

    @Test func aLateHandlerIsLoggedWithItsOwnCall() throws {
        let rig = try Rig(
            "on.invite(function(call) if call.extended_raw then sleep '1h' end return ring {} end)")
        let slow = rig.call(data: "slow", id: 7)
        _ = rig.ask(slow)
        _ = rig.ask(rig.call(id: 8))
        let calls = rig.pass(2_000).compactMap { effect in
            if case .log(let line) = effect { line.call } else { nil }
        }
        #expect(calls == [slow.id])
    }

    /// Of a failure that is no error of Lua too: where it waited, or which handler returned that.
    @Test func everyFailureOfADecisionIsLoggedWithATraceback() throws {
        func traceback(_ text: String, after span: Milliseconds = 0) throws -> JSONValue? {
            let rig = try Rig(text)
            for case .log(let line) in rig.ask(rig.call()) + rig.pass(span) {
                return line.fields["traceback"]
            }
            return nil
        }
        let late = """
            local function rest()
              sleep "1h"
            end
            on.invite(function()
              rest()
            end)
            """
        #expect(try traceback(late, after: 2_000) == "p.lua:2 < p.lua:5")
        #expect(try traceback("\non.invite(function() return 7 end)") == "p.lua:2")
        #expect(try traceback("\n\non.invite(function() return print end)") == "p.lua:3")
        #expect(
            try traceback("on.invite(function()\n  return accept { wait = -1 }\nend)") == "p.lua:1")
    }

    @Test func aQuarantinedGuardKeepsFailingClosed() throws {
        let rig = try Rig("plugin { guard = true } on.invite(function() error 'x' end)")
        for _ in 0..<8 {
            #expect(rig.invite() == .decided(.reject(busy: false, extendedData: nil)))
        }
    }

    @Test func aReloadEndsAQuarantine() throws {
        let rig = try Rig("on.invite(function() error 'x' end)")
        for _ in 0..<6 { _ = rig.invite() }
        _ = try rig.reload([("p", "on.invite(function() return ring {} end)")])
        #expect(rig.invite() == .decided(.ring(for: nil)))
    }

    @Test func otherPluginsHearOfIt() throws {
        let rig = try Rig([
            (
                "a",
                "on.invite(function() error 'x' end) on.plugin_error(function() error 'own' end)"
            ),
            (
                "b",
                """
                on.plugin_error(function(e)
                  local quarantined = tostring(e.quarantined)
                  log.info(table.concat({ e.plugin, e.kind, e.message, quarantined }, " "))
                  error "never told"
                end)
                """
            ),
        ])
        #expect(
            rig.ask(rig.call()).said == [
                "a.lua:1: x", "a error a.lua:1: x false", "b.lua:4: never told",
            ])
    }

    @Test func theMemoryLimitIsALimit() throws {
        let text = "on.invite(function() local s = ('x'):rep(SIZE) return ring {} end)"
        func answer(_ size: Int) throws -> Answer? {
            try Rig(text.replacing("SIZE", with: "\(size)")) {
                $0.plugins[0].setting.limits.memory = 1 << 20
                $0.plugins[0].setting.limits.runTime = 200
            }.invite()
        }
        // A string of this size is built in a buffer of the same size.
        #expect(try answer(400_000) == .decided(.ring(for: nil)))
        #expect(try answer(600_000) == Answer.none)
    }

    @Test func coroutinesAreLimitedExactly() throws {
        func count(_ limit: Int) throws -> [String] {
            let rig = try Rig(
                """
                on.invite(function()
                  local kept = {}
                  while true do
                    local co, problem = coroutine.create(function() coroutine.yield() end)
                    if not co then error(problem) end
                    coroutine.resume(co)
                    kept[#kept + 1] = co
                    log.info(tostring(#kept))
                  end
                end)
                """
            ) {
                $0.plugins[0].setting.limits.coroutines = limit
                $0.plugins[0].setting.limits.runTime = 200
            }
            return rig.ask(rig.call()).said
        }
        // The handler itself is one of them.
        #expect(try count(10).dropLast().last == "9")
        #expect(try count(10).last?.contains("limit") == true)
    }

    @Test func aPluginWithoutMemoryIsNotLoaded() {
        let problem = Rig.problem("local t = {} for i = 1, 1e7 do t[i] = i end") {
            $0.plugins[0].setting.limits.loadTime = 5_000
        }
        #expect(problem == "p.lua:1: over the memory limit of 16384 KB")
        #expect(
            Rig.problem("") { $0.plugins[0].setting.limits.memory = 20_000 }
                .contains("memory limit"))
    }

    /// Asks when the time is over.
    private func askLate(_ rig: Rig, _ subject: Question.Subject) -> [PolicyEffect] {
        let question = Question(
            id: QuestionID(1_000), decideBy: rig.now + -1, subject: subject,
            cause: Cause(UserID("ann")))
        return rig.host.handle(.asked(question), at: rig.now)
    }

    @Test func aGuardRefusesWhatThereWasNoTimeToAsk() throws {
        let open = ("a", "on.invite(function() end) on.dial(function() end)")
        let closed = (
            "g",
            """
            plugin { guard = true }
            on.invite(function() return ring {} end)
            on.dial(function() end)
            """
        )
        let rejection = Answer.decided(.reject(busy: false, extendedData: nil), by: "g", next: 2)
        for (plugins, isGuarded) in [([open, closed], true), ([open], false)] {
            let rig = try Rig(plugins)
            let invited = askLate(rig, .invite(rig.call(), callee: UserID("bob"), from: 0))
            let dialled = askLate(rig, .dial(rig.call(), user: UserID("ann"), invitees: []))
            #expect(invited.answer == (isGuarded ? rejection : Answer.none))
            #expect(
                dialled.answer == (isGuarded ? .refuse(code: "refused", by: "g") : Answer.none))
            #expect(invited.record?.asked.last?.verdict == .failed(.late))
            #expect(rig.host.generation.decisions == 0, "that says nothing about the plugins")
            #expect(rig.host.generation.guards(of: .dial).count == (isGuarded ? 1 : 0))
        }
    }

    @Test func aGuardRefusesBehindAPluginThatIsLate() throws {
        let closed = ("g", "plugin { guard = true } on.invite(function() return ring {} end)")
        let rig = try Rig([("a", "on.invite(function() sleep '10s' end)"), closed])
        #expect(rig.invite() == nil)
        #expect(
            rig.pass(2_000).answer
                == .decided(.reject(busy: false, extendedData: nil), by: "g", next: 2))
    }

    @Test func aGuardRefusesWhoseTurnComesTooLate() throws {
        let closed = ("g", "plugin { guard = true } on.invite(function() return ring {} end)")
        let rig = try Rig([("a", "on.invite(function() end)"), closed])
        rig.host.patience = 1
        #expect(rig.invite() == nil)
        rig.now = rig.now + 3_000
        let effects = rig.host.handle(.deadlineReached, at: rig.now)
        #expect(
            effects.answer == .decided(.reject(busy: false, extendedData: nil), by: "g", next: 2))
    }

    @Test func whoWearsAStateOutTakesNobodysDecisions() throws {
        let rig = try Rig(
            """
            local kept = {}
            on.invite(function(call)
              while call.extended_raw == "fill" do kept[#kept + 1] = ("x"):rep(1000) .. #kept end
              log.info("asked")
              sleep "1s"
              return accept {}
            end)
            """
        ) { $0.plugins[0].setting.limits.runTime = 1_000 }
        #expect(rig.ask(rig.call(id: 1, by: "alice")).said == ["asked"])
        let killed = rig.ask(rig.call(data: "fill", id: 2, by: "mallory"))
        #expect(killed.record?.asked.first?.verdict == .failed(.memory))
        #expect(killed.record?.call == rig.call(id: 2).id, "alice's is not decided by it")
        #expect(rig.pass(0).said == ["asked"])
        let effects = rig.pass(1_000)
        #expect(effects.answer == .decided(.accept(wait: 0, extendedData: nil)))
        #expect(rig.host.generation.pairs.counted(since: Moment(0)).failed == 1)
        #expect(rig.host.status.first?.byAccount.count { $0.failed > 0 } == 1)
    }
}
