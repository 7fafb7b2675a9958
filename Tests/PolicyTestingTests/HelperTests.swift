// Every helper works in every hook alike: nothing is known only here or only there.

import CallModel
import Configuration
import JSON
import Lua
import Testing

@testable import PolicyHost
@testable import PolicyTesting

@Suite struct HelperTests {
    @Test func everyHookHasItsPlace() {
        #expect(Hook.allCases.map(\.index) == Array(0..<Hook.allCases.count))
    }

    /// Uses every helper once and looks at what it gives; `call` is nil where the hook has none.
    private static let body = """
        local function everything(where, call)
          local key = where .. " " .. uuid()
          assert(random() < 1 and random(1) == 1 and random(2, 2) == 2)
          assert(#uuid() == 36 and uuid() ~= uuid())
          assert(time.now() >= 1704067200 and time.format("%Y", 0) == "1970")
          assert(time.seconds "90m" == 5400)
          assert(json.decode(json.encode { a = { 1 } }).a[1] == 1)
          assert(base64.decode(base64.encode("\\0x", true)) == "\\0x")
          assert(#hmac("sha256", "key", "text") > 0)
          assert(jwt({ sub = "bob" }, { key = "key", alg = "HS256" }):match "^[^.]+%.[^.]+%.[^.]+$")
          assert(limit(key, 1, "1h") and not limit(key, 1, "1h"))
          assert(kv.set(key, { n = 1 }, { ttl = "1h" }) and kv.get(key).n == 1)
          assert(kv.incr(key .. "+", 2) == 2 and #kv.keys(key .. "+") == 1)
          assert(kv.delete(key .. "+") and kv.get(key .. "+") == nil)
          assert(users.get("bob").devices == 3)
          assert(users.group("nobody") == nil)
          assert(http.get("https://x.y/").json.ok and http.post("https://x.y/", { json = {} }).ok)
          local function get() return kv.get(key) end
          local a, b = all { function() sleep "1ms" return 1 end, get }
          assert(a == 1 and b.n == 1)
          assert(pcall(function() sleep "1ms" end))
          assert(not pcall(function() sleep "1ms" error "x" end))
          detach(function() sleep "1ms" state.detached = (state.detached or 0) + 1 end)
          later("1h", "after", { where = where })
          count("hooks", 1, { hook = "x" })
          observe("seconds", 0.5)
          log.debug "d" log.warn "w" log.error "e" print("p", 1)
          assert(cfg.open:open() and cfg.open:next_open() == nil and cfg.who:has "ann")
          assert(cfg.who:at(1) == "ann" and cfg.who:len() == 1)
          state.hooks = (state.hooks or 0) + 1
          if call then
            call.vars.seen = true
            assert(call.vars.seen and type(call.alive) == "boolean" and call.caller.id)
            call:later("1h", "after", where)
            if call.callee or where == "dial" or where == "token" or where == "push" then
              for _, act in ipairs {
                function() return call:signal { hi = 1 } end,
                function() return call:set_items { a = "b" } end,
                function() return call:invite "dora" end,
                function() return call:transfer("carol", { extended_data = { why = 1 } }) end,
                function() return call:remove({ "carol" }) end,
                function() return call:leave() end,
                function() return call:finish() end,
              } do
                local done, code = act()
                assert(done == true or type(code) == "string")
              end
            end
          end
          log.info(where)
        end
        """

    private static let head = """
        plugin { needs = { "http:x.y" } }
        local cfg = config {
          open = option.hours "mon-sun 00:00-24:00", who = option.users { "ann" },
        }
        \(body)
        timer("after", function() end)
        timer("now", function(data, call) everything("timer", call) end)
        every("1m", "minute", function() everything "every" end)
        at("00:02", "daily", function() everything "at" end)

        """

    /// A plugin that does everything in every hook.
    private static let plugin: String = {
        let hooks = Hook.allCases.map { hook in
            switch hook {
            case .start:
                """
                on.start(function(ctx)
                  if ctx.reason == "boot" then later("10s", "now") else everything "start" end
                end)
                """
            case .stop, .pluginError:
                "on.\(hook.rawValue)(function() everything \"\(hook.rawValue)\" end)"
            case .presence: "on.presence(function() everything \"presence\" end)"
            case .push: "on.push(function(_, call) everything(\"push\", call) end)"
            case .extendedData: "on.extended_data(function(_, call) everything(\"data\", call) end)"
            case .pushFailed: "on.push_failed(function(_, call) everything(\"failed\", call) end)"
            case .dial, .invite, .join, .token, .accepted, .rejected, .cancelled, .timeout,
                .undelivered, .participant, .ended, .signal:
                "on.\(hook.rawValue)(function(call) everything(\"\(hook.rawValue)\", call) end)"
            }
        }
        return head + hooks.joined(separator: "\n")
    }()

    private static let cryptography = Cryptography(
        hmac: { _, key, text in key + text }, sign: { _, key, text in key + text })

    /// What the plugin logs at level info when `steps` are done, by name and how often.
    private func said(_ steps: String) throws -> [String] {
        let test = """

            test("x", function(t)
              t.user("bob", { devices = 3 })
              t.http("https://x.y/", { json = { ok = true } })
            \(steps)
              t.advance "10ms"
              t.equal(state.detached, state.hooks)
              t.equal(t.logs(), {})
            end)
            """
        let file = SourceFile(name: "p.lua", text: Array((Self.plugin + test).utf8))
        var setting = PluginSetting()
        (setting.limits.runTime, setting.limits.eventTime) = (1_000, 10_000)
        let report = try PluginTest.run(
            PluginSource(name: "p", main: file), setting: setting,
            cryptography: Self.cryptography)
        let problem = report.results[0].problem?.text ?? ""
        #expect(problem.contains("expected {}, got ["), "\(problem)")
        return report.results[0].log.filter { !["d", "w", "e", "p\t1"].contains($0) }
    }

    @Test func theScriptUsesEveryName() {
        let atLoad = ["plugin", "every", "at", "timer", "migrate", "test", "config"]
        for binding in Bindings.all {
            let name = binding.name
            if name.hasPrefix("on.") || name.hasPrefix("option.") || atLoad.contains(name) {
                continue
            }
            let short = name.split(separator: ":").last.map { ":\($0)" } ?? name
            let used = name.contains(":") ? short : name
            #expect(Self.body.contains(used), "\(name)")
        }
    }

    @Test func inEveryDecisionAndShapingHook() throws {
        // The switchboard asks on.dial before it makes the call, and tells of the call it made.
        let asking: Set = ["invite", "dial", "join", "token", "data", "push"]
        #expect(
            try said(
                """
                  t.invite {} t.dial {} t.join {} t.token {}
                  t.data({ a = 1 }, "in") t.data("x", "out")
                  t.push({ provider = "fcm" })
                """
            ).filter(asking.contains) == [
                "dial", "invite", "dial", "join", "token", "data", "data", "push",
            ])
    }

    @Test func inEveryReport() throws {
        let events = Hook.allCases.filter { $0.kind == .report && $0 != .start }
        let steps =
            ["t.event('start', { reason = 'reload' })"]
            + events.map { "t.event \"\($0.rawValue)\" t.advance \"10ms\"" }
        let names = events.map { $0 == .pushFailed ? "failed" : $0.rawValue }
        #expect(try said(steps.joined(separator: "\n")) == ["start"] + names)
    }

    @Test func inEveryKindOfTimer() throws {
        let found = try said(
            """
            t.advance "130s"
            """)
        #expect(found.sorted() == ["at", "every", "every", "timer"])
    }

    /// What came of the tests of a plugin.
    private func results(of text: String) throws -> [PluginTestResult] {
        let file = SourceFile(name: "p.lua", text: Array(text.utf8))
        let source = PluginSource(name: "p", main: file)
        return try PluginTest.run(source, setting: PluginSetting()).results
    }

    /// What `t.expect` says of a decision about a call that rings for ten minutes.
    private func judged(_ decision: String, as expected: String) throws -> String {
        let text = """
            on.invite(function(call) return \(decision) end)
            test("it", function(t) t.expect(t.invite { timeout = "10m" }, \(expected)) end)
            """
        return try results(of: text).first?.problem?.text ?? "passed"
    }

    @Test(arguments: [
        (#"forward({ "c", "d" }, { each = "12s" })"#, #"forward({ "c", "d" }, { each = "12s" })"#),
        (#"forward { "c" }"#, #"forward "c""#),
        (#"forward({ "c" }, { first = true })"#, #"forward "c""#),
        (#"ring { for_ = "60s" }"#, #"ring { for_ = "60s" }"#),
        (#"ring { for_ = "60s" }"#, #"ring { for_ = "1m" }"#),
        (#"accept { wait = "1000ms" }"#, #"accept { wait = "1s" }"#),
    ])
    func theSameDecisionIsExpected(_ decision: String, _ expected: String) throws {
        #expect(try judged(decision, as: expected) == "passed")
    }

    @Test(arguments: [
        (
            #"forward({ "c", "d" }, { each = "12s" })"#,
            #"forward({ "c", "x" }, { each = "12s" })"#,
            #"expected forward({ "c", "x" }, { each = "12s" }), "#
                + #"got forward({ "c", "d" }, { each = "12s" })"#
        ),
        (
            #"forward({ "c", "d" }, { each = "12s" })"#, #"forward("c", { each = "12s" })"#,
            #"expected forward("c", { each = "12s" }), "#
                + #"got forward({ "c", "d" }, { each = "12s" })"#
        ),
        (
            #"ring { for_ = "60s" }"#, #"ring { for_ = "61s" }"#,
            #"expected ring { for_ = "61s" }, got ring { for_ = "1m" }"#
        ),
    ])
    func anotherDecisionIsNot(_ decision: String, _ expected: String, _ said: String) throws {
        #expect(try judged(decision, as: expected) == said)
    }

    /// Branches in several countries have hours of their own.
    @Test func anotherTimeZone() throws {
        let text = """
            local cfg = config {
              zone = option.timezone "Asia/Tokyo", hours = option.hours "mon-fri 09:00-18:00",
            }
            on.invite(function(call)
              local clock = time.format("%a %H:%M", nil, cfg.zone)
              if not cfg.hours:open(cfg.zone) then return reject(clock) end
              return accept { extended_data = clock }
            end)
            on.join(function(call)
              for n = 1, 12 do
                for _, sign in ipairs { "+", "-" } do
                  local want = ("%02d"):format(sign == "+" and 12 - n or (12 + n) % 24)
                  assert(time.format("%H", 43200, "Etc/GMT" .. sign .. n) == want)
                end
              end
              for _, city in ipairs { "Berlin", "Rome", "Paris", "Madrid", "Vienna", "Oslo",
                "Prague", "Warsaw", "Brussels", "Zurich" } do
                assert(time.format("%H", 1704110400, "Europe/" .. city) == "13")
              end
              local worked, trouble = pcall(time.format, "%H", 0, "Mars/Base")
              assert(not worked and trouble:find "unknown time zone 'Mars/Base'")
              return refuse "seen"
            end)
            test("it", function(t)
              t.clock "Mon 01:00"
              t.expect(t.invite {}, accept { extended_data = "Mon 10:00" })
              t.equal(time.format "%H:%M", "01:00")
              t.clock "Mon 10:00"
              t.expect(t.invite {}, reject "Mon 19:00")
              t.expect(t.join {}, refuse "seen")
            end)
            """
        #expect(try results(of: text).map { $0.problem?.description } == [nil])
    }

    /// Each event has user objects of its own; what they stand for is what counts.
    @Test func aUserIsTheSameUserEverywhere() throws {
        let text = """
            local function note(...)
              local words = {}
              for place = 1, select("#", ...) do words[place] = tostring((select(place, ...))) end
              log.info(table.concat(words, " "))
            end
            on.invite(function(call)
              note(call.inviter == call.caller, call.invitees[1] == call.callee)
              note(call.caller == users.get "ann", call.caller ~= call.callee)
              return accept {}
            end)
            on.accepted(function(call, who) note(who == call.callee, who == call.caller) end)
            test("it", function(t)
              t.invite { from = "ann", to = "bob" }
              t.equal(t.logs(), { "true true", "true true", "true false" })
            end)
            """
        #expect(try results(of: text).map { $0.problem?.description } == [nil])
    }

    /// `t.dial` shows a handler the call that `t.invite`, and so a server, shows it.
    @Test func dialSeesTheSameCallAsAnInvitation() throws {
        let text = """
            on.dial(function(call)
              local names = {}
              for place, user in ipairs(call.users) do names[place] = user.id end
              table.sort(names)
              log.info(("%s of %d, %s, for %d s, %s"):format(table.concat(names, "+"),
                #call.invitees, tostring(call.group), call.remaining, tostring(call.callee)))
            end)
            test("it", function(t)
              local call = { to = { "bob", "carl" }, mode = "advanced", timeout = "40s" }
              t.dial(call)
              t.invite(call)
              local seen = "ann+bob+carl of 2, true, for 40 s, nil"
              t.equal(t.logs(), { seen, seen })
            end)
            """
        #expect(try results(of: text).map { $0.problem?.description } == [nil])
    }

    /// A call under way has those in it whom `call.users` names; whom somebody wants to add are
    /// `call.invitees` alone, and `call.inviter` is who adds them.
    @Test func dialAddsPeopleToTheLastCall() throws {
        let text = """
            on.dial(function(call)
              log.info(("%s %s %d %d %s"):format(
                call.caller.id, call.inviter.id, #call.users, #call.invitees, call.invitees[1].id))
            end)
            test("it", function(t)
              t.invite {}
              t.accept()
              t.dial { by = "bob", to = { "carl", "dora" } }
              t.equal(t.logs(), { "ann ann 2 1 bob", "ann bob 2 2 carl" })
            end)
            test("nobody else adds anybody", function(t)
              t.invite {}
              t.dial { by = "bob", to = "carl" }
            end)
            test("there is no call", function(t)
              t.dial { by = "bob", to = "carl" }
            end)
            """
        #expect(
            try results(of: text).map { $0.problem?.description } == [
                nil, "p.lua:13: t.dial: by: 'bob' has not joined the last call",
                "p.lua:16: t.dial: with by, there is to alone, and a call before it",
            ])
    }

    /// A call that names no mode has the one that it would have at a server.
    @Test func theModeIsThatOfAServer() throws {
        let text = """
            on.invite(function(call) return accept { extended_data = call.mode } end)
            on.accepted(function(call) call:finish() end)
            test("it", function(t)
              t.expect(t.invite {}, accept { extended_data = "advanced" })
              t.equal(t.calls(), { { op = "finish" } })
            end)
            """
        #expect(try results(of: text).map { $0.problem?.description } == [nil])
    }
}
