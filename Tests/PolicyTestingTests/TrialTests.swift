// One question to one plugin, as `callagent try` asks it.

import CallModel
import Configuration
import JSON
import Lua
import Testing

@testable import PolicyHost
@testable import PolicyTesting

@Suite struct TrialTests {
    private static let text = """
        plugin { needs = { "http:x.y" } }
        local cfg = config { hours = option.hours "mon-fri 09:00-18:00", n = option.int(1) }
        on.invite(function(call)
          if call.kind == "video" then return ring { for_ = "5s" } end
          local data = { n = cfg.n }
          if not cfg.hours:open() then return reject("closed", { extended_data = data }) end
          if call.callee.calls > 0 then return accept { wait = "3s" } end
          local res = http.get "https://x.y/"
          log.info(time.format "%a %H:%M")
          if res then return forward(res.json.to) end
        end)
        on.token(function(_, user) return { user = user.id } end)
        on.extended_data(function(data, call, dir) 
          return { dir = dir, was = data, who = call.sender and call.sender.id }
        end)
        on.push(function(push) push.title = call end)
        on.accepted(function(call) call:signal { hi = true } end)
        """

    private func run(
        _ subject: PluginTrial.Subject, _ change: (inout PluginTrial) -> Void = { _ in }
    ) throws -> PluginTrial.Outcome {
        var trial = PluginTrial(subject, now: PluginTest.begin + 10 * 3_600_000)
        change(&trial)
        let text = Self.text.replacing(" = call end", with: " = 'Hi' return push end")
        let file = SourceFile(name: "p.lua", text: Array(text.utf8))
        var setting = PluginSetting()
        setting.options = ["n": 7]
        setting.grants = ["http:x.y"]
        return try trial.run(PluginSource(name: "p", main: file), setting)
    }

    @Test func anInvitationNow() throws {
        let outcome = try run(.invite)
        #expect(outcome.answers == ["nothing"])
        #expect(outcome.log == ["Mon 10:00"])
        #expect(outcome.actions == [#"{"op":"http","method":"GET","url":"https://x.y/"}"#])
        #expect(outcome.problem == nil)
    }

    @Test func atAnotherTimeWithTheOperatorsOptions() throws {
        let outcome = try run(.invite) { $0.time = "Sat 10:00" }
        #expect(
            outcome.answers == [
                #"reject("declined", { extended_data = {"n":7,"reason":"closed"} })"#
            ])
        #expect(throws: ScriptProblems.self) { try run(.invite) { $0.time = "soon" } }
    }

    @Test func whatIsKnownOfUsersAndOfTheWeb() throws {
        #expect(
            try run(.invite) { $0.users = ["bob": ["calls": 1]] }.answers
                == [#"accept { wait = "3s" }"#])
        #expect(
            try run(.invite) { $0.pages = ["https://x.y/": ["json": ["to": "carl"]]] }.answers
                == [#"forward "carl""#])
    }

    @Test func theSecondQuestion() throws {
        let outcome = try run(.invite) { $0.call = ["kind": "video"] }
        #expect(outcome.answers == [#"ring { for_ = "5s" }"#, "nothing"])
    }

    @Test func theOtherHooks() throws {
        #expect(try run(.dial).answers == ["nothing"])
        #expect(
            try run(.token) { $0.call = ["user": "carl"] }.answers == [#"{"user":"carl"}"#])
        #expect(
            try run(.data("x", direction: "out")).answers == [#"{"dir":"out","was":"x"}"#])
        let sent = try run(.data("x", direction: "in")) { $0.call = ["user": "bob"] }
        #expect(sent.answers == [#"{"dir":"in","was":"x","who":"bob"}"#])
        #expect(try run(.push(["provider": "fcm"])).answers[0].contains(#""title":"Hi""#))
        let told = try run(.event("accepted")) { $0.call = ["to": "desk"] }
        #expect(told.answers.isEmpty)
        #expect(told.actions.count == 1 && told.actions[0].contains(#""op":"signal""#))
    }

    @Test(arguments: [
        PluginTrial.Subject.invite, .dial, .join, .token, .push([:]), .data("x", direction: "in"),
        .event("accepted"), .event("ended"), .event("push_failed"),
    ])
    func aCallToNobodyIsRefused(_ subject: PluginTrial.Subject) throws {
        let outcome = try run(subject) { $0.call = ["to": []] }
        #expect(outcome.problem?.hasSuffix("to: at least one user") == true)
    }

    private func ask(
        _ plugins: [(String, String)], _ change: (inout PluginTrial, inout Settings) -> Void
    ) throws -> PluginTrial.Outcome {
        var trial = PluginTrial(.invite, now: PluginTest.begin)
        trial.call = ["from": "ann", "to": "desk"]
        var settings = Settings()
        settings.answerFor = Accounts(["desk"])
        change(&trial, &settings)
        var plan = GenerationPlan()
        plan.plugins = plugins.map { name, text in
            let file = SourceFile(name: "\(name).lua", text: Array(text.utf8))
            return (PluginSource(name: name, main: file), PluginSetting())
        }
        return try trial.run(plan, settings)
    }

    private static let chain = [
        ("silent", "on.invite(function(call) log.info('asked', { who = call.caller }) end)"),
        ("broken", "on.invite(function(call) if call.kind == 'x' then error 'oops' end end)"),
        ("busy", "on.invite(function(c) if c.callee.calls > 0 then return reject 'busy' end end)"),
        ("greeter", "on.invite(function() return accept { wait = '2s' } end)"),
    ]

    /// Whoever was asked before it, it is the one that is asked again.
    @Test func aRingThatAsksItselfAgainSaysSo() throws {
        let ring = "return ring { for_ = '20s', again = true }"
        let again = ("again", "on.invite(function() \(ring) end)")
        let once = ("once", "on.invite(function() return ring { for_ = '20s' } end)")
        for chain in [[again], [Self.chain[0], again], [again, Self.chain[3]]] {
            let outcome = try ask(chain) { _, _ in }
            #expect(outcome.answers.first == #"ring { again = true, for_ = "20s" }"#)
            #expect(outcome.answers.count > 1)
        }
        let outcome = try ask([Self.chain[0], once, Self.chain[3]]) { _, _ in }
        #expect(outcome.answers == [#"ring { for_ = "20s" }"#, #"accept { wait = "2s" }"#])
    }

    @Test func allPluginsAreAskedInTheirOrder() throws {
        let outcome = try ask(Self.chain) { _, _ in }
        #expect(outcome.answers == [#"accept { wait = "2s" }"#])
        #expect(
            outcome.asked == [
                "on.invite for desk: silent: no opinion, broken: no opinion, busy: no opinion, "
                    + "greeter: decided"
            ])
        #expect(outcome.log == ["asked who=ann"])
        #expect(outcome.problem == nil)
        let busy = try ask(Self.chain) { trial, _ in trial.users = ["desk": ["calls": 1]] }
        #expect(busy.answers == [#"reject "busy""#])
    }

    @Test func aPluginThatFailsIsNamedAndTheOthersAnswer() throws {
        let outcome = try ask(Self.chain) { trial, _ in trial.call["kind"] = "x" }
        #expect(outcome.answers == [#"accept { wait = "2s" }"#])
        #expect(outcome.problem == "broken.lua:1: oops")
        #expect(outcome.asked[0].contains("broken: failed (error)"))
        #expect(outcome.log == ["asked who=ann"])
    }

    @Test func whereNobodyDecidesTheOperatorsWordIsTold() throws {
        let silent = Array(Self.chain.prefix(1))
        let outcome = try ask(silent) { _, settings in settings.inviteDefault = .reject }
        #expect(outcome.answers == ["nothing"])
        #expect(outcome.otherwise == "the operator's default: reject")
        let other = try ask(silent) { trial, _ in trial.call["to"] = "bob" }
        #expect(other.asked.isEmpty && other.log.isEmpty)
        #expect(other.otherwise == "bob is not in answer_for, so on.invite is not asked")
    }

    @Test func theChainGoesOnAfterARing() throws {
        let ring = [("first", "on.invite(function() return ring { for_ = '5s' } end)")]
        let outcome = try ask(ring + Self.chain) { _, _ in }
        #expect(outcome.answers == [#"ring { for_ = "5s" }"#, #"accept { wait = "2s" }"#])
        #expect(outcome.asked.count == 2)
    }

    @Test func whatIsWrongIsSaid() throws {
        let outcome = try run(.invite) { $0.call = ["frm": "ann"] }
        #expect(outcome.problem == "--invite: unknown field 'frm' (did you mean 'from'?)")
        #expect(try run(.event("acepted")).problem?.contains("did you mean 'accepted'?") == true)
    }
}
