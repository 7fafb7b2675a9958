// Every decision a hook may return, and what happens to those it may not.

import CallModel
import Configuration
import JSON
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct DecisionTests {
    private func answer(_ expression: String, data: String? = nil) throws -> Answer? {
        try Rig("on.invite(function(call) return \(expression) end)").invite(data: data)
    }

    private func failure(_ expression: String) throws -> String {
        let rig = try Rig("on.invite(function(call) return \(expression) end)")
        let effects = rig.ask(rig.call())
        #expect(effects.answer == Answer.none)
        return effects.lines.first ?? "nothing"
    }

    @Test func everyDecisionAboutAnInvitation() throws {
        #expect(try answer("accept {}") == .decided(.accept(wait: 0, extendedData: nil)))
        #expect(
            try answer("accept { wait = '250ms', extended_data = 'plain' }")
                == .decided(.accept(wait: 250, extendedData: "plain")))
        #expect(
            try answer("reject 'declined'") == .decided(.reject(busy: false, extendedData: nil)))
        #expect(
            try answer("reject('busy', { extended_data = { a = 1 } })")
                == .decided(.reject(busy: true, extendedData: #"{"a":1}"#)))
        #expect(try answer("ring {}") == .decided(.ring(for: nil)))
        #expect(try answer("ring { for_ = '20s' }") == .decided(.ring(for: 20_000)))
        #expect(
            try answer("ring { for_ = '20s', again = true }")
                == .decided(.ring(for: 20_000), next: 0))
        #expect(try answer("forward 'carl'") == .decided(.forward([UserID("carl")])))
        #expect(try answer("nil") == Answer.none)
    }

    @Test func aUserObjectCanBeForwardedTo() throws {
        let rig = try Rig(
            """
            on.invite(function(call) return forward(users.get "carl") end)
            """)
        let carl = UserFacts(UserID("carl"), calls: 0, devices: 1)
        let asked = rig.ask(rig.call())
        #expect(
            rig.reply(asked.wait, .user(carl)).answer == .decided(.forward([UserID("carl")])))
        #expect(try failure("forward {}").contains("string expected, got table"))
    }

    @Test func whoIsNotInTheDirectoryIsNotForwardedTo() throws {
        let rig = try Rig("on.invite(function(call) return forward 'carl' end)") {
            $0.plugins[0].setting.directory = Accounts(["ann", "bob", "dora"])
        }
        let effects = rig.ask(rig.call())
        #expect(effects.answer == Answer.none)
        #expect(effects.lines.first?.contains("forward: there is no user 'carl'") == true)
    }

    @Test func aPluginAsksItselfAgainAtMostOnceASecond() throws {
        #expect(
            try answer("ring { for_ = '1s', again = true }")
                == .decided(.ring(for: 1_000), next: 0))
        for options in ["again = true", "for_ = '999ms', again = true"] {
            let problem = try failure("ring { \(options) }")
            #expect(problem.contains(#"ring: again needs a for_ of at least "1s""#))
        }
        #expect(try failure("ring { for_ = '2s', again = 1 }").contains("again is true or false"))
    }

    @Test func anOwnReasonGoesIntoTheData() throws {
        #expect(
            try answer("reject 'closed'")
                == .decided(.reject(busy: false, extendedData: #"{"reason":"closed"}"#)))
        #expect(
            try answer("reject('closed', { extended_data = { reason = 'holiday' } })")
                == .decided(.reject(busy: false, extendedData: #"{"reason":"holiday"}"#)))
        #expect(
            try answer("reject('closed', { extended_data = 'text' })")
                == .decided(.reject(busy: false, extendedData: "text")))
    }

    @Test(arguments: [
        ("'busy'", "p.lua: on.invite returned a string, not a decision"),
        ("true", "on.invite returned a boolean, not a decision"),
        ("refuse 'x'", "p.lua:1: on.invite cannot answer with 'refuse'"),
        ("drop 'x'", "on.invite cannot answer with 'drop'"),
        ("reject '\\xff'", "the reason is not UTF-8"),
        ("reject ''", "a reason has 1 to 64 bytes"),
        ("reject(('x'):rep(65))", "a reason has 1 to 64 bytes"),
        ("accept { wait = 'soon' }", "bad duration 'soon'"),
        ("accept { wait = 3 }", "bad duration '3'"),
        ("forward 'no such'", "bad user id 'no such'"),
        ("accept { extended_data = ('x'):rep(2049) }", "2049 bytes, over the limit of 2048"),
    ])
    func aBadReturnIsNoAnswer(_ expression: String, _ expected: String) throws {
        let text = try failure(expression)
        #expect(text.contains(expected), "\(text)")
    }

    @Test(arguments: [
        (
            "accept { wiat = '3s' }",
            "p.lua:1: unknown field 'wiat' of accept (did you mean 'wait'?)"
        ),
        ("reject { 'busy' }", "bad argument #1 to 'reject' (string expected, got table)"),
        ("reject('busy', {}, 1)", "too many arguments to 'reject'"),
        ("call.calee", "unknown field 'calee' of call (did you mean 'callee'?)"),
        ("call.callee.cals", "unknown field 'user.cals' (did you mean 'user.calls'?)"),
        ("_G.rejct 'busy'", "unknown name 'rejct' (did you mean 'reject'?)"),
    ])
    func aTypoIsAnErrorWithItsLine(_ expression: String, _ expected: String) throws {
        let text = try failure(expression)
        #expect(text.contains(expected), "\(text)")
    }

    @Test func theFieldsOfACall() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              log.info(table.concat({
                call.mode, call.kind, call.caller.id, call.callee.id, call.inviter.id,
                #call.users, #call.invitees, call.timeout, call.remaining, tostring(call.group),
                call.extended_data.type, math.type(call.extended_data.n),
                json.encode(call.extended_data.empty), json.encode(call.extended_data.list),
                tostring(call.extended_data.none), tostring(call.alive), call.callee.devices,
                tostring(call.callee.online), #call.id, tostring(call.callee == call.callee),
              }, " "))
            end)
            """)
        let data = #"{"type":"x","n":3,"empty":{},"list":[],"none":null}"#
        #expect(
            rig.ask(rig.call(data: data)).said == [
                "advanced audio ann bob ann 2 1 60 60 false x integer {} [] nil true 2 true 32 true"
            ])
    }

    @Test func dataThatIsNoObjectStaysText() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              log.info(tostring(call.extended_data) .. call.extended_raw)
            end)
            """)
        #expect(rig.ask(rig.call(data: "[1]")).said == ["nil[1]"])
        #expect(rig.ask(rig.call(data: "{broken")).said == ["nil{broken"])
    }

    @Test func theFirstAnswerWins() throws {
        let rig = try Rig([
            (
                "a",
                """
                on.invite(function(call)
                  if call.extended_raw == "a" then return reject "a" end
                end)
                """
            ),
            ("b", "on.invite(function(call) return reject 'b' end)"),
            ("c", "on.invite(function(call) error 'never asked' end)"),
        ])
        #expect(
            rig.invite(data: "a")
                == .decided(.reject(busy: false, extendedData: #"{"reason":"a"}"#), by: "a"))
        let effects = rig.ask(rig.call())
        #expect(
            effects.answer
                == .decided(
                    .reject(busy: false, extendedData: #"{"reason":"b"}"#), by: "b", next: 2))
        #expect(effects.record?.asked.map(\.plugin) == ["a", "b"])
        #expect(effects.record?.asked.map(\.verdict) == [.noOpinion, .decided])
    }

    @Test func aLaterQuestionBeginsBehindThePluginThatLetItRing() throws {
        let rig = try Rig([
            ("a", "on.invite(function() return ring { for_ = '5s' } end)"),
            ("b", "on.invite(function() return accept {} end)"),
        ])
        #expect(rig.invite() == .decided(.ring(for: 5_000), by: "a", next: 1))
        #expect(
            rig.ask(rig.call(), from: 1).answer
                == .decided(.accept(wait: 0, extendedData: nil), by: "b", next: 2))
    }

    @Test func aPluginIsAskedOnlyAboutItsUsers() throws {
        let rig = try Rig("on.invite(function() return reject 'busy' end)") {
            $0.plugins[0].setting.users = Accounts(["desk-*"])
        }
        #expect(rig.invite() == Answer.none)
    }

    // MARK: Other questions

    @Test func dialling() throws {
        let rig = try Rig(
            """
            on.dial(function(call)
              if call.caller.id == "ann" and #call.invitees == 1 then return refuse "lonely" end
              local kept = { call.invitees[1].id }
              return allow { timeout = "5s", invitees = kept, extended_data = { x = 1 } }
            end)
            """)
        let ann = UserID("ann")
        let one = rig.ask(.dial(rig.call(), user: ann, invitees: [UserID("bob")])).answer
        #expect(one == .refuse(code: "lonely", by: "p"))
        var allowance = Allowance()
        allowance.timeout = 5_000
        allowance.invitees = [UserID("bob")]
        allowance.extendedData = .some(#"{"x":1}"#)
        let two = rig.ask(
            .dial(rig.call(), user: ann, invitees: [UserID("bob"), UserID("carl")])
        ).answer
        #expect(two == .allow(allowance))
    }

    /// Whoever is in a call may add people to it: then who asks is not the call's caller.
    @Test func whoAddsPeopleIsTheInviter() throws {
        let rig = try Rig("on.dial(function(call) return refuse(call.inviter.id) end)")
        for user in [UserID("ann"), UserID("bob")] {
            let answer = rig.ask(.dial(rig.call(), user: user, invitees: [UserID("carl")])).answer
            #expect(answer == .refuse(code: user.text, by: "p"))
        }
    }

    @Test func extendedDataIsFoldedStepByStep() throws {
        let rig = try Rig([
            ("a", "on.extended_data(function(d, call, dir) d.a = dir return d end)"),
            ("b", "on.extended_data(function(d) if d.bad then return function() end end end)"),
            ("c", "on.extended_data(function(d) d.c = 1 return d end)"),
        ])
        let user = UserID("ann")
        let good = rig.ask(.incomingData(rig.call(), user: user, data: #"{"x":{}}"#))
        #expect(good.answer == .data(#"{"a":"in","c":1,"x":{}}"#))
        // The step that broke it is left out, the others count.
        let bad = rig.ask(.incomingData(rig.call(), user: user, data: #"{"bad":true}"#))
        #expect(bad.answer == .data(#"{"a":"in","bad":true,"c":1}"#))
    }

    @Test func extendedDataMayBeDropped() throws {
        let rig = try Rig("on.extended_data(function(d) return drop 'no' end)")
        #expect(
            rig.ask(.incomingData(rig.call(), user: UserID("ann"), data: "x")).answer == .data(nil))
    }

    @Test func everyReceiverHasItsView() throws {
        let rig = try Rig(
            """
            on.extended_data(function(d, call, dir)
              sleep "10ms"
              if call.receiver.id == "bob" then return d .. "!" end
            end)
            """)
        let texts = ["ann", "bob", "bob"].map {
            Question.OutgoingText(owner: .call, receiver: UserID($0), data: "x")
        }
        #expect(rig.ask(.outgoingData(rig.call(), texts)).answer == nil)
        let view = Call.View(receiver: UserID("bob"), owner: .call, text: "x!")
        #expect(rig.pass(100).answer == .views([view, view]))
    }

    @Test func shapingThatTakesTooLongLeavesTheTextAsItIs() throws {
        let rig = try Rig("on.extended_data(function(d) sleep '1s' return 'never' end)")
        #expect(rig.ask(.incomingData(rig.call(), user: UserID("ann"), data: "x")).answer == nil)
        #expect(rig.pass(199).answer == nil)
        #expect(rig.pass(1).answer == .data("x"))
    }

    @Test func credentials() throws {
        let rig = try Rig(
            "on.token(function(call, user) return { room = call.id, who = user.id } end)")
        let answer = rig.ask(.token(rig.call(), user: UserID("bob"))).answer
        let text = #"{"room":"00000000000001990000000000000001","who":"bob"}"#
        #expect(answer == .token(Array(text.utf8)))
        let none = try Rig("on.token(function() end)")
        #expect(none.ask(.token(none.call(), user: UserID("bob"))).answer == Answer.none)
    }

    // MARK: Push

    private func shape(_ text: String, reason: String = "invite") throws -> [PolicyEffect] {
        let rig = try Rig(text)
        let draft = PushDraft(
            user: UserID("bob"), provider: "apns", kind: "voip", reason: reason, expiresIn: 30,
            payload: ["id": 1])
        return rig.host.handle(.pushing(PushID(7), draft, rig.call(), []), at: rig.now)
    }

    private func shaped(_ effects: [PolicyEffect]) -> PushDraft? {
        for case .shaped(_, let draft) in effects { return draft }
        return nil
    }

    @Test func aPushIsShaped() throws {
        let effects = try shape(
            """
            on.push(function(push, call)
              push.topic = "com.example.voip"
              push.expires_in = 0
              push.payload = { call_id = call.id, ring_s = call.remaining }
              return push
            end)
            """)
        let draft = shaped(effects)
        #expect(draft?.topic == "com.example.voip")
        #expect(draft?.expiresIn == 0)
        #expect(draft?.payload["ring_s"] == 60)
    }

    /// (H93)
    @Test func aPayloadThatIsNoObjectIsNoTable() throws {
        let rig = try Rig(
            """
            on.push(function(push)
              log.info(type(push.payload) .. " " .. tostring(push.payload_raw))
              if push.payload_raw == "[1]" then
                push.payload = { more = true }
                return push
              end
            end)
            """)
        func shape(_ raw: String?) -> [PolicyEffect] {
            var draft = PushDraft(
                user: UserID("bob"), provider: "fcm", kind: "alert", reason: "invite",
                expiresIn: 30)
            draft.payloadRaw = raw
            return rig.host.handle(.pushing(PushID(7), draft, rig.call(), []), at: rig.now)
        }
        #expect(shape("hello").said == ["nil hello"])
        #expect(shape(nil).said == ["table nil"], "it can be added to")
        let both = shaped(shape("[1]"))
        #expect(both?.payload == ["more": true] && both?.payloadRaw == "[1]")
    }

    @Test func aConstructorThatWasNotCalledGetsAHint() throws {
        let hint = #"p.lua: bad result: a function is not data (write accept {}, reject "busy")"#
        let rig = try Rig("on.invite(function() return reject end)")
        #expect(rig.ask(rig.call()).said.first?.hasSuffix(hint) == true)
        let lines = try shape("on.push(function() return print end)").lines
        #expect(lines.first?.contains("a function is not data") == true)
        #expect(lines.first?.contains("write accept") == false)
    }

    @Test func aPushMayBeDroppedOrLeftAlone() throws {
        #expect(shaped(try shape("on.push(function() return drop 'quiet' end)")) == nil)
        #expect(shaped(try shape("on.push(function() end)"))?.payload == ["id": 1])
    }

    @Test(arguments: [
        ("push.topic = 'com.example'", "ends in \".voip\""),
        ("push.payload = { f = print }", "bad result: payload.f: a function is not data"),
        ("push.tpoic = 'x'", "unknown field 'push.tpoic' (did you mean 'topic'?)"),
        ("push.provider = 'fcm'", "push.provider cannot be changed"),
        ("push.expires_in = -1", "push.expires_in is whole seconds, 0 to 2419200 (28 days)"),
        ("push.kind = 'alert'", "push.kind cannot become 'alert': the token is for 'voip'"),
        ("push.kind = 'alter'", "push.kind is 'voip' or 'alert', not 'alter' (did you mean"),
        ("push.topic = 'com example.voip'", "push.topic is printable ASCII without space"),
        ("push.collapse_id = 'a\\n'", "push.collapse_id is printable ASCII without space"),
        ("push.collapse_id = ('x'):rep(65)", "push.collapse_id has 65 bytes"),
    ])
    func aPushThatBreaksTheRulesIsLeftAsItWas(_ change: String, _ expected: String) throws {
        let effects = try shape("on.push(function(push) \(change) return push end)")
        #expect(shaped(effects)?.payload == ["id": 1])
        #expect(effects.lines.first?.contains(expected) == true, "\(effects.lines)")
    }

    /// Much of it may be the caller's, who must not make the plugin fail.
    @Test func aPayloadWithoutRoomStaysAsItWasAndIsNoFailure() throws {
        let effects = try shape(
            """
            on.push(function(push)
              push.topic, push.payload.x = "a.voip", ("x"):rep(6000)
              return push
            end)
            """)
        let draft = shaped(effects)
        #expect(draft?.payload == ["id": 1] && draft?.topic == "a.voip")
        #expect(draft?.isIncomplete == false && effects.lines.isEmpty)
        #expect(shaped(try shape("on.push(function() error 'no' end)"))?.isIncomplete == true)
    }

    @Test func aVoipPushIsForIncomingCallsOnly() throws {
        let effects = try shape(
            "on.push(function(push) return push end)", reason: "cancel")
        #expect(effects.lines.first?.contains("incoming calls only") == true)
    }
}
