// Waiting inside handlers, and what ends it.

import CallModel
import Configuration
import JSON
import PolicyTestSupport
import Testing
import WebProtocols

@testable import PolicyHost

@Suite struct WaitTests {
    @Test func whatAllReturnsMayBeACallOrAUser() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              local a, b, c = all {
                function() sleep "10ms" return call end,
                function() return { call, call.caller } end,
                function() return call.caller end,
              }
              log.info(a .. " " .. b[1] .. " " .. b[2].id .. " " .. c.id .. tostring(c.online))
            end)
            """)
        let call = rig.call()
        _ = rig.ask(call)
        let id = call.id.description
        #expect(rig.pass(10).said == ["\(id) \(id) ann anntrue"])
    }

    @Test func whatAllRefusesIsNotKept() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              local text = string.rep("x", 100000) .. call.id
              local functions = {}
              for i = 1, 17 do functions[i] = function() return text end end
              if not pcall(all, functions) then return reject "busy" end
            end)
            """)
        for id in 1...100 {
            let answer = rig.ask(rig.call(id: UInt64(id))).answer
            #expect(answer == .decided(.reject(busy: true, extendedData: nil)))
        }
        let plugin = try #require(rig.host.generation.plugins.first)
        #expect(plugin.bytesInUse < 5_000_000)
    }

    @Test func theDurableStore() throws {
        let rig = try Rig(
            """
            on.invite(function()
              local v, err = kv.get("a")
              log.info(json.encode(v) .. tostring(err))
              assert(kv.set("b", { n = v.n + 1 }, { ttl = "7d" }))
              log.info(kv.incr("c", 5))
              log.info(json.encode(kv.keys("x")))
              return reject "busy"
            end)
            """)
        var effects = rig.ask(rig.call())
        #expect(effects.request == .store(.get(key: "a")))
        effects = rig.reply(effects.wait, .value(["n": 1]))
        #expect(effects.said == [#"{"n":1}nil"#])
        #expect(
            effects.request == .store(.set(key: "b", ["n": 2], lifetime: 7 * 86_400_000)))
        effects = rig.reply(effects.wait, .value(true))
        #expect(effects.request == .store(.increment(key: "c", by: 5, lifetime: nil)))
        effects = rig.reply(effects.wait, .value(12))
        effects = rig.reply(effects.wait, .value(["x1", "x2"]))
        #expect(effects.said == [#"["x1","x2"]"#])
        #expect(effects.answer == .decided(.reject(busy: true, extendedData: nil)))
    }

    @Test func troubleIsAValue() throws {
        let rig = try Rig(
            "on.invite(function() local v, err = kv.get 'a' log.info(tostring(v) .. err) end)")
        let wait = rig.ask(rig.call()).wait
        #expect(rig.reply(wait, .trouble("the store is away")).said == ["nilthe store is away"])
    }

    @Test(arguments: [
        (#"kv.set("k", 1, "1h")"#, "bad argument #3 to 'kv.set' (table expected, got string)"),
        (#"http.get("http://x.y/", 5)"#, "bad argument #2 to 'http.get' (table expected, got"),
        (#"jwt({}, { ky = "k" })"#, "jwt: unknown field 'ky' (did you mean 'key'?)"),
        (#"count("n", -1)"#, "count: a counter grows by 0 or more, not by -1"),
        (#"cfg.who:has(5)"#, "bad argument #2 to 'users:has' (user id expected, got number)"),
    ])
    func anArgumentThatWouldBeIgnoredIsAnError(_ text: String, _ expected: String) throws {
        let rig = try Rig(
            """
            local cfg = config { who = option.users { "*" } }
            on.invite(function() assert(not cfg.who:has "a b") return \(text) end)
            """
        ) { $0.plugins[0].setting.grants = ["http:x.y"] }
        let lines = rig.ask(rig.call()).said
        #expect(lines.first?.hasPrefix("p.lua:2: \(expected)") == true, "\(lines)")
    }

    @Test(arguments: [
        (#"call:invite { "a b" }"#, "bad user id 'a b'"),
        (#"call:invite "a b""#, "bad user id 'a b'"),
        ("call:invite(5)", "bad argument #1 to 'call:invite' (user id expected, got number)"),
        ("call:set_items { n = 5 }", "call:set_items: 'n' is a string or false"),
        (#"call:set_items { "a" }"#, "call:set_items: items have names"),
        ("call:set_items()", "bad argument #2 to 'call:set_items' (table expected, got no value)"),
        (#"call:signal("x", "a b")"#, "bad user id 'a b'"),
        (#"call:signal(("x"):rep(16384))"#, "call:signal: over 16 KiB of data"),
        (#"users.get "a b""#, "bad user id 'a b'"),
    ])
    func badValuesForACallAreTroubleAndNoFailure(_ text: String, _ trouble: String) throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              local ok, err = \(text)
              log.info(tostring(ok) .. " " .. err)
              return reject "busy"
            end)
            """)
        let effects = rig.ask(rig.call())
        #expect(effects.said == ["nil \(trouble)"])
        #expect(effects.answer == .decided(.reject(busy: true, extendedData: nil)))
    }

    @Test func webRequestsGoToGrantedHostsOnly() throws {
        let text = """
            plugin { needs = { "http:crm.example.com" } }
            on.invite(function(call)
              local res, err = http.post("https://crm.example.com/who?x=1",
                { json = { id = call.caller.id }, headers = { ["X-A"] = "b" }, timeout = "1s" })
              log.info(res.status .. res.json.name .. res.headers["content-type"])
              http.get "https://evil.example.com/"
            end)
            """
        #expect(
            Rig.problem(text)
                == #"p.lua:1: needs "http:crm.example.com", which is not granted "#
                + #"(write override["p"] = { grant = { "http:crm.example.com" } })"# + "\n"
                + #"p.lua:6: the plugin does not say that it needs "http:evil.example.com" "#
                + #"(write plugin { needs = { "http:evil.example.com" } })"#)
        let rig = try Rig(text) {
            $0.plugins[0].setting.grants = ["http:crm.example.com"]
        }
        let effects = rig.ask(rig.call())
        guard case .fetch(let request)? = effects.request else {
            Issue.record("no request")
            return
        }
        #expect(request.method == "POST")
        #expect(request.timeout == 1_000)
        #expect(String(decoding: request.body, as: UTF8.self) == #"{"id":"ann"}"#)
        let type = HTTPHeader("Content-Type", "application/json")
        let reply = FetchReply(status: 200, headers: [type], body: Array(#"{"name":"A"}"#.utf8))
        let after = rig.reply(effects.wait, .fetched(reply))
        #expect(after.said.first == "200Aapplication/json")
        #expect(after.record?.asked.first?.verdict == .noOpinion)
        #expect(after.said.last?.contains("is not granted to this plugin") == true)
    }

    @Test(arguments: [
        ("http://a.b/c", "a.b"), ("https://A.B:8443", "a.b"), ("https://u@a.b/", nil),
        ("ftp://a.b", nil), ("https://", nil), ("https://a b/", nil), ("https://[::1]/", nil),
        ("https://a.b:x/", nil), ("https://a.b\n/", nil), ("https://a.b?x", "a.b"),
    ])
    func hostsOfAddresses(_ address: String, _ host: String?) {
        #expect(WebAddress.host(of: address) == host)
    }

    @Test func severalWaitsAtOnce() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              local a, b, c = all {
                function() sleep "30ms" return 1 end,
                function() return users.get("carl").calls end,
                function() return { n = 3 } end,
              }
              log.info(a .. " " .. b .. " " .. c.n)
              return ring {}
            end)
            """)
        let effects = rig.ask(rig.call())
        #expect(effects.request == .lookUp(UserID("carl"), besides: rig.call().id))
        let reply = rig.reply(
            effects.wait, .user(UserFacts(UserID("carl"), calls: 2, devices: 0)))
        #expect(reply.answer == nil)
        let after = rig.pass(30)
        #expect(after.said == ["1 2 3"])
        #expect(after.answer == .decided(.ring(for: nil)))
    }

    @Test func anErrorInOneOfAllEndsTheOthers() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              local ok, err = pcall(all, {
                function() kv.get "x" end,
                function() error("broken", 0) end,
              })
              log.info(tostring(ok) .. " " .. err)
            end)
            """)
        let effects = rig.ask(rig.call())
        #expect(effects.said == ["false broken"])
        #expect(effects.isAbandoning)
    }

    @Test func aKillInOneOfAllIsNotCaught() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              pcall(all, { function() while true do end end })
              return reject "busy"
            end)
            """)
        let effects = rig.ask(rig.call())
        #expect(effects.answer == Answer.none)
        #expect(effects.record?.asked.first?.verdict == .failed(.cpu))
    }

    @Test func waitsPassThroughCoroutinesOfTheScript() throws {
        let rig = try Rig(
            """
            local function work()
              sleep "500ms"
              coroutine.yield "a"
              sleep "500ms"
              return "b"
            end
            on.invite(function(call)
              local step = coroutine.wrap(function()
                local inner = coroutine.create(work)
                local _, x = coroutine.resume(inner)
                coroutine.yield(x)
                local _, y = coroutine.resume(inner)
                return y
              end)
              log.info(step() .. step())
            end)
            """)
        #expect(rig.ask(rig.call()).answer == nil)
        #expect(rig.pass(500).answer == nil)
        #expect(rig.pass(500).said == ["ab"])
    }

    @Test func theEndOfTheCallEndsItsHandlers() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              local done <close> = setmetatable({}, { __close = function() log.info "closed" end })
              detach(function() sleep "1s" log.info "detached" end)
              kv.get "x"
              log.info "never"
            end)
            """)
        let call = rig.call()
        let wait = rig.ask(call).wait
        #expect(wait != nil)
        let effects = rig.end(call)
        #expect(effects.said == ["closed"])
        #expect(effects.isAbandoning)
        #expect(rig.reply(wait, .value(1)).isEmpty)
        #expect(rig.pass(1_000).said == ["detached"])
    }

    @Test func aQuestionTakenBackEndsItsHandler() throws {
        let rig = try Rig("on.invite(function() kv.get 'x' return accept {} end)")
        let effects = rig.ask(rig.call())
        #expect(rig.host.handle(.withdrawn(QuestionID(1)), at: rig.now).isAbandoning)
        #expect(rig.reply(effects.wait, .value(1)).isEmpty)
        #expect(rig.pass(5_000).isEmpty)
    }

    @Test func reportsOfOneCallComeOneAtATime() throws {
        let rig = try Rig(
            """
            on.participant(function(call, who, from, to)
              sleep "1s"
              log.info(who.id .. " " .. tostring(from) .. " " .. to)
            end)
            on.ended(function(call, summary) log.info("ended " .. summary.reason) end)
            """)
        var call = rig.call()
        let bob = UserID("bob")
        #expect(rig.tell(.participant(bob, from: .inviting, to: .ringing), call).said.isEmpty)
        #expect(rig.tell(.participant(bob, from: .ringing, to: .joined), call).said.isEmpty)
        #expect(rig.pass(1_000).said == ["bob inviting ringing"])
        call.state = .ended
        call.end = Call.End(.completed)
        #expect(rig.tell(.ended, call).said.isEmpty)
        #expect(rig.pass(1_000).said == ["bob ringing joined", "ended completed"])
    }

    @Test func operationsSpeakForTheAccount() throws {
        let rig = try Rig(
            """
            on.accepted(function(call, who)
              local ok, err = call:signal({ hello = who.id }, "ann")
              log.info(tostring(ok) .. tostring(err))
              ok, err = call:finish()
              log.info(tostring(ok) .. tostring(err))
            end)
            """)
        let call = rig.call()
        var effects = rig.tell(.accepted(UserID("bob")), call)
        let data = Array(#"{"hello":"bob"}"#.utf8)
        #expect(effects.operation == .call(call.id, .signal(to: UserID("ann"), data: data)))
        if case .operate(_, let user, let plugin, _, _)? = effects.first {
            #expect(user == UserID("bob") && plugin == "p")
        }
        effects = rig.reply(effects.wait, .operation(nil))
        #expect(effects.said == ["truenil"])
        effects = rig.reply(effects.wait, .operation(Refusal(.wrongMode, "no")))
        #expect(effects.said == ["nilwrong_mode"])
    }

    @Test func aCodeEndsTheCallForAReasonOfThePolicys() throws {
        let rig = try Rig(
            """
            on.accepted(function(call, who)
              local ok, err = call:finish(who.id == "bob" and "over_limit" or "two words")
              log.info(tostring(ok) .. tostring(err))
            end)
            """)
        let call = rig.call()
        let effects = rig.tell(.accepted(UserID("bob")), call)
        #expect(effects.operation == .call(call.id, .finish(code: EndDetail(code: "over_limit"))))
        #expect(rig.reply(effects.wait, .operation(nil)).said == ["truenil"])
        let refused = rig.tell(.accepted(UserID("ann")), call).said
        #expect(
            refused == ["nilcall:finish: a code is 1-64 bytes of printable ASCII without space"])
    }

    @Test(arguments: ["sleep '1s'", "kv.get 'k'", "all { function() sleep '1s' end }"])
    func whoEndsItsCallHearsOfItAndWaitsNoMore(_ wait: String) throws {
        let rig = try Rig(
            """
            timer("t", function(_, call)
              log.info(tostring(call:finish()))
              \(wait)
              log.info "never"
            end)
            on.invite(function(call)
              call:later("1s", "t")
              return ring {}
            end)
            """)
        let call = rig.call()
        _ = rig.ask(call)
        let fired = rig.pass(1_000).wait
        let effects = rig.reply(fired, .call(call, []))
        #expect(effects.operation == .call(call.id, .end()))
        #expect(rig.end(call).isEmpty)
        #expect(rig.reply(effects.wait, .operation(nil)).said == ["true"])
        #expect(rig.pass(10_000).said.isEmpty)
        #expect(rig.host.running.isEmpty)
    }

    @Test func aHandlerThatNeverEndsIsEnded() throws {
        let rig = try Rig("on.accepted(function() while true do sleep '10s' end end)")
        _ = rig.tell(.accepted(UserID("bob")))
        #expect(rig.pass(60_000).said == ["p.lua: a handler took too long"])
        #expect(rig.host.running.isEmpty)
    }

    @Test func theProcessorTimeOfAnEventIsLimited() throws {
        let rig = try Rig(
            """
            on.accepted(function()
              while true do
                for _ = 1, 100000 do end
                sleep "1ms"
              end
            end)
            """
        ) { $0.plugins[0].setting.limits.eventTime = 20 }
        _ = rig.tell(.accepted(UserID("bob")))
        let said = rig.pass(50_000).said
        #expect(said.count == 1)
        #expect(said.first?.contains("over the processor budget") == true)
    }

    @Test func tooManyRequestsAtOnce() throws {
        let text = "on.presence(function() log.info(select(2, http.get 'https://a.b/')) end)"
        let rig = try Rig(text) {
            $0.plugins[0].setting.limits.fetches = 3
            $0.plugins[0].setting.grants = ["http:a.b"]
        }
        func come() -> [PolicyEffect] {
            rig.host.handle(
                .told(Report(call: nil, at: rig.now, kind: .presence(UserID("x"), online: true))),
                at: rig.now)
        }
        let waits = (0..<3).map { _ in come().wait }
        #expect(come().said == ["limit"])
        _ = rig.reply(waits[0], .trouble("gone"))
        #expect(come().wait != nil)
    }

    @Test func theStoreMayBeAskedByManyHandlersAtOnce() throws {
        let rig = try Rig("on.presence(function() kv.get 'x' end)") {
            $0.plugins[0].setting.limits.fetches = 3
        }
        let report = Report(call: nil, at: rig.now, kind: .presence(UserID("x"), online: true))
        let asked = (0..<100).map { _ in rig.host.handle(.told(report), at: rig.now) }
        #expect(asked.allSatisfy { $0.wait != nil && $0.said.isEmpty })
    }

    @Test func noWaitWhereNothingCanWait() throws {
        #expect(
            Rig.problem("sleep '1s'") == "p.lua:1: 'sleep' cannot be used while a plugin is loaded")
        let rig = try Rig(
            """
            on.invite(function()
              table.sort({ 2, 1 }, function(a, b) sleep "1s" return a < b end)
            end)
            """)
        #expect(
            rig.ask(rig.call()).said.first?.contains(
                "'sleep' cannot wait inside a callback of the library") == true)
    }

    /// A coroutine could wait there; whoever resumed it cannot. What it wanted is asked of nobody.
    @Test func noWaitInACoroutineOfACallback() throws {
        let rig = try Rig(
            """
            on.invite(function()
              local sleeper = coroutine.create(function() sleep "1s" end)
              local done, problem
              string.gsub("x", "x", function() done, problem = coroutine.resume(sleeper) end)
              log.info(tostring(done) .. tostring(problem))
              local other = coroutine.wrap(function() coroutine.yield "yielded" end)
              log.info(other())
              return reject "busy"
            end)
            """)
        let said = rig.ask(rig.call())
        #expect(said.wait == nil)
        #expect(said.said.count == 2)
        #expect(
            said.said.first?.hasSuffix("'sleep' cannot wait inside a callback of the library")
                == true)
        #expect(said.said.last == "yielded")
        #expect(said.answer == .decided(.reject(busy: true, extendedData: nil)))
    }

    @Test func aTimerOfACallThatIsOverIsNotStarted() throws {
        let rig = try Rig(
            """
            timer("t", function() log.info "fired" end)
            local function start(call)
              local done, problem = call:later("1h", "t")
              log.info(tostring(done) .. tostring(problem))
            end
            on.accepted(start)
            on.ended(start)
            on.rejected(function() log.info(tostring(later("1h", "t"))) end)
            """)
        let call = rig.call()
        #expect(rig.tell(.accepted(UserID("bob")), call).said == ["truenil"])
        #expect(rig.host.status.first?.timers == 1)
        _ = rig.end(call)
        #expect(rig.tell(.ended, call).said == ["nilcall_ended"])
        #expect(rig.host.status.first?.timers == 0)
        #expect(rig.tell(.rejected(UserID("bob"), .declined), call).said == ["true"])
        #expect(rig.host.status.first?.timers == 1)
    }

    @Test func theAccountWeAnswerForIsTheCalleeOfEveryHook() throws {
        let rig = try Rig(
            """
            on.token(function(call, user) return { a = call.callee.id .. " " .. user.id } end)
            on.extended_data(function(data, call) return call.callee.id end)
            """)
        let call = rig.call()
        let token = rig.ask(.token(call, user: UserID("ann")))
        #expect(token.answer == .token(Array(#"{"a":"bob ann"}"#.utf8)))
        let data = rig.ask(.incomingData(call, user: UserID("ann"), data: "x"))
        #expect(data.answer == .data("bob"))
    }
}
