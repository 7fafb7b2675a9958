// on.join: who was not invited asks to come in.

import CallModel
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct JoinTests {
    private static let shut = Answer.refuse(code: "refused", by: "p")

    private func ask(_ rig: Rig, _ user: String = "eve") -> [PolicyEffect] {
        rig.ask(.join(rig.call(), user: UserID(user)))
    }

    @Test func aPluginAdmitsRefusesOrSaysNothing() throws {
        let rig = try Rig(
            """
            on.join(function(call, user)
              if user.id == "ann" and call.alive then return admit end
              if user.id == "eve" then return refuse "full" end
            end)
            """)
        #expect(ask(rig, "ann").answer == .allow(Allowance()))
        #expect(ask(rig, "eve").answer == .refuse(code: "full", by: "p"))
        #expect(ask(rig, "dan").answer == Answer.none)
    }

    @Test(arguments: [
        "error 'x'", "while true do end", "return accept {}", "return {}", "return refuse ''",
        "local t = {} for n = 1, 1e9 do t[n] = ('x'):rep(1e6) .. n end",
    ])
    func whoFailsLetsNobodyIn(_ body: String) throws {
        // Also where the plugin would let others pass when it fails.
        for onError in ["skip", "accept", "default"] {
            let rig = try Rig("plugin { on_error = '\(onError)' } on.join(function() \(body) end)")
            let effects = ask(rig)
            #expect(effects.answer == Self.shut)
            #expect(effects.lines.count == 1)
        }
    }

    @Test func whoIsLateLetsNobodyIn() throws {
        let rig = try Rig([
            ("p", "on.join(function() sleep '10s' return admit end)"),
            ("q", "on.join(function() return admit end)"),
        ])
        #expect(ask(rig).answer == nil)
        #expect(rig.pass(1_999).answer == nil)
        #expect(rig.pass(1).answer == Self.shut)
    }

    @Test func whoIsPassedOverLetsNobodyIn() throws {
        let rig = try Rig("on.join(function() error 'x' end)")
        for _ in 0..<5 { #expect(ask(rig).answer == Self.shut) }
        let effects = ask(rig)
        #expect(effects.record?.asked.last?.verdict == .quarantined)
        #expect(effects.answer == Self.shut)
    }

    @Test func whatThereWasNoTimeToAskLetsNobodyIn() throws {
        for (code, answer) in [
            ("on.join(function() return admit end)", Self.shut),
            ("on.invite(function() end)", Answer.none),
        ] {
            let rig = try Rig(code)
            let question = Question(
                id: QuestionID(1_000), decideBy: rig.now + -1,
                subject: .join(rig.call(), user: UserID("eve")), cause: Cause(UserID("eve")))
            #expect(rig.host.handle(.asked(question), at: rig.now).answer == answer)
        }
    }

    @Test func itsDecisionIsAValueThatNothingChanges() throws {
        let rig = try Rig(
            """
            on.join(function(_, user)
              if user.id == "ann" then admit.x = 1 end
              local isSame = admit == admit and tostring(admit) == "decision: admit"
              if user.id == "bob" and isSame then return admit end
            end)
            """)
        #expect(ask(rig, "ann").answer == Self.shut)
        #expect(ask(rig, "bob").answer == .allow(Allowance()))
    }
}
