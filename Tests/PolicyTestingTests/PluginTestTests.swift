// `test(…)` blocks: the bundled plugins pass theirs, and every step does what it says.

import CallModel
import Configuration
import JSON
import Lua
import Testing

@testable import PolicyHost
@testable import PolicyTesting

@Suite struct PluginTestTests {
    private static let library: PluginLibrary = {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return PluginLibrary(folders: ["/\(root)/plugins"])
    }()

    /// Signatures that sign nothing: the real ones are no part of this target.
    private static let plain = Cryptography(
        hmac: { algorithm, key, text in Array("\(algorithm) ".utf8) + key + text },
        sign: { algorithm, key, text in key.count < 32 ? nil : Array(algorithm.utf8) + key })

    @Test(arguments: library.names)
    func aBundledPluginPassesItsOwnTests(_ name: String) throws {
        let source = try #require(Self.library.find(name))
        let report = try PluginTest.run(
            source, setting: PluginSetting(), cryptography: Self.plain)
        #expect(!report.results.isEmpty)
        for result in report.results {
            let problem = result.problem?.description ?? ""
            #expect(result.problem == nil, "\(result.name): \(problem)")
        }
        for file in report.coverage { #expect(file.missed.isEmpty, "\(file.file)") }
    }

    @Test func theFirstPluginPassesItsTests() throws {
        let text = Array(EditorFiles.plugin(named: "first").utf8)
        let report = try PluginTest.run(
            PluginSource(name: "first", main: SourceFile(name: "first.lua", text: text)),
            setting: PluginSetting())
        #expect(report.results.count == 2)
        #expect(report.isPassed)
        #expect(report.coverage.allSatisfy { $0.missed.isEmpty })
    }

    private func run(_ text: String) throws -> [PluginTestResult] {
        let file = SourceFile(name: "p.lua", text: Array(text.utf8))
        return try PluginTest.run(
            PluginSource(name: "p", main: file), setting: PluginSetting()
        ).results
    }

    /// The first problem, or `passed`.
    private func verdict(_ text: String) throws -> String {
        try run(text).first { $0.problem != nil }?.problem?.description ?? "passed"
    }

    /// A plugin that does something of everything, and tests that see it.
    private static let everything = """
        plugin { needs = { "http:x.y" } }
        local cfg = config { n = option.int(1) }
        state.seen = state.seen or 0
        on.invite(function(call)
          state.seen = state.seen + 1
          if call.callee.calls > cfg.n then return reject "busy" end
          if call.kind == "video" then
            local res = assert(http.get "https://x.y/")
            return accept { wait = "1s", extended_data = { name = res.json.name } }
          end
          if call.extended_data and call.extended_data.slow then
            sleep "500ms"
            return forward "carl"
          end
          if call.extended_data then kv.set("last", call.extended_data) return ring {} end
        end)
        on.dial(function(call)
          if #call.invitees > 1 then return refuse "many" end
          return allow { timeout = "5s" }
        end)
        on.token(function(call, user) return { user = user.id, at = time.now() } end)
        on.extended_data(function(d, call, dir)
          if d.drop then return drop "x" end
          d.dir = dir
          return d
        end)
        on.push(function(push) push.title = "Hi" return push end)
        on.accepted(function(call, who) call:signal({ hi = who.id }, call.caller) end)
        on.ended(function(call, s) log.info("ended " .. s.reason) end)
        on.presence(function(user, now) log.info(user.id .. " " .. now) end)
        timer("later", function(data) log.info("later " .. data) end)
        on.rejected(function(call, who, reason) later("5m", "later", reason) end)

        test("decisions", function(t)
          t.expect(t.invite { from = "ann", to = "bob" }, nil)
          t.user("bob", { calls = 2 })
          t.expect(t.invite { to = "bob" }, reject "busy")
          t.options { n = 5 }
          t.expect(t.invite { to = "bob" }, nil)
          t.expect(t.invite { extended_data = { a = 1 } }, ring {})
          t.equal(kv.get "last", { a = 1, dir = "out" })
          t.expect(t.invite { extended_data = { slow = true } }, forward "carl")
          t.http("https://x.y/", { json = { name = "A" } })
          local answer = accept { wait = "1s", extended_data = { name = "A" } }
          t.expect(t.invite { kind = "video" }, answer)
        end)
        test("other questions", function(t)
          t.clock "2024-05-01 10:00"
          t.expect(t.dial { to = { "a", "b" } }, refuse "many")
          t.expect(t.dial { to = "a" }, allow { timeout = "5s" })
          t.equal(t.token { to = "bob" }, { user = "bob", at = 1714557600 })
          t.equal(t.data({ x = 1 }, "out"), { x = 1, dir = "out" })
          t.equal(t.data { drop = true }, nil)
          t.equal(t.push({ provider = "fcm", kind = "alert" }).title, "Hi")
        end)
        test("reports and timers", function(t)
          t.accept { from = "ann", to = "bob" }
          t.equal(#t.calls(), 1)
          t.equal(t.calls()[1].data, { hi = "bob" })
          t.event("rejected", { who = "bob", reason = "busy" })
          t.advance "4m"
          t.equal(t.logs(), {})
          t.reload()
          t.advance "1m"
          t.event("ended", { reason = "no_answer" })
          t.event("presence", { user = "ann", now = "offline" })
          t.equal(t.logs(), { "later busy", "ended no_answer", "ann offline" })
        end)
        """

    @Test func everyStepOfATest() throws {
        let results = try run(Self.everything)
        #expect(results.map(\.name) == ["decisions", "other questions", "reports and timers"])
        for result in results { #expect(result.problem == nil, "\(result.problem as Any)") }
    }

    @Test(arguments: [
        (
            "on.invite(function() return reject 'busy' end)",
            "t.expect(t.invite {}, nil)", #"p.lua:2: expected nothing, got reject "busy""#
        ),
        (
            "on.invite(function() return reject 'closed' end)",
            "t.expect(t.invite {}, reject 'busy')",
            #"reject "busy", got reject("declined", { extended_data = {"reason":"closed"} })"#
        ),
        (
            "on.invite(function() return accept { wait = '1s' } end)",
            "t.expect(t.invite {}, accept { wait = '2s' })",
            #"p.lua:2: expected accept { wait = "2s" }, got accept { wait = "1s" }"#
        ),
        (
            "", "t.equal({ a = { 1, 2 } }, { a = { 1, 3 } })",
            #"expected {"a":[1,3]}, got {"a":[1,2]}"#
        ),
        ("", "t.invit {}", "p.lua:2: unknown method 't:invit' (did you mean 't:invite'?)"),
        ("", "t.invite { frm = 'x' }", "t.invite: unknown field 'frm' (did you mean 'from'?)"),
        ("", "t.clock 'Mo 10'", "bad time 'Mo 10'"),
        ("", "t.clock '2026-02-31 10:00'", "there is no day '2026-02-31'"),
        ("", "t.clock '1969-12-31 10:00'", "'1969-12-31' is no day of the years 1970 to 9999"),
        ("", "t.timezone 'Mars/Olympus'", "there is no time zone 'Mars/Olympus'"),
        ("", "t.event('acepted', {})", "unknown event 'acepted' (did you mean 'accepted'?)"),
        ("on.invite(function() error 'oops' end)", "t.invite {}", "oops"),
        ("on.invite(function() while true do end end)", "t.invite {}", "processor budget"),
        (
            "on.invite(function() reject 'busy' end)", "t.invite {}",
            "decision made but not returned"
        ),
        ("", "while true do end", "over the processor budget"),
        ("", "t:invite {}", "write t.invite(…) with a dot, not a colon"),
        ("", "t.invite('ann', 'bob')", "t.invite: a call is a table, { from ="),
        ("", "t.push 'x'", "t.push: a push is a table"),
        ("every('1s', 'x', function() error 'tick' end)", "t.advance '1s'", "tick"),
        ("", "t.again()", "t.again: the last decision was no ring { for_ = … }"),
        ("", "t.data('x', 'up')", "t.data: the direction is \"in\" or \"out\""),
        ("", "t.push { titel = 'x' }", "t.push: unknown field 'titel' (did you mean 'title'?)"),
        ("", "t.http('https://x.y/', { jsn = 1 })", "unknown field 'jsn' (did you mean 'json'?)"),
        (
            "", "t.event('rejected', { reason = 'bussy' })",
            "t.event: unknown reason 'bussy' (did you mean 'busy'?)"
        ),
        ("", "t.event('ended', { who = 'x' })", #"t.event "ended": unknown field 'who'"#),
        ("", "t.event('invite')", "unknown event 'invite'"),
        ("", "t.invite { timeout = 'long' }", "t.invite: timeout is a duration"),
        ("on.invite(function() return http.get 'https://a.b/' end)", "t.invite {}", "not granted"),
    ])
    func aFailureSaysWhatAndWhere(_ plugin: String, _ step: String, _ expected: String) throws {
        let found = try verdict("\(plugin) test('x', function(t)\n  \(step)\nend)")
        #expect(found.contains(expected), "\(found)")
    }

    /// No time passes while the clock is set: what comes again begins anew from there.
    @Test func timersBeginAnewWhereTheClockIsSet() throws {
        let text = """
            local function note(what) log.info(what .. time.format " %a %H:%M") end
            every("1h", "sweep", function() note "every" end)
            at("10:00", "open", function() note "at" end)
            test("forward", function(t)
              t.clock "Mon 09:00"
              t.advance "90m"
              t.clock "Wed 09:30"
              t.advance "1h"
              t.equal(t.logs(), {
                "at Mon 10:00", "every Mon 10:00", "at Wed 10:00",
                "every Wed 10:30",
              })
            end)
            test("back", function(t)
              t.clock "Fri 09:30"
              t.clock "Tue 09:30"
              t.advance "1h"
              t.equal(t.logs(), { "at Tue 10:00", "every Tue 10:30" })
            end)
            """
        #expect(try verdict(text) == "passed")
    }

    @Test func oneTestDoesNotSeeAnother() throws {
        let text = """
            local n = 0
            on.invite(function()
              n = n + 1
              state.n = (state.n or 0) + 1
              log.info(n .. " " .. state.n)
            end)
            test("a", function(t) t.invite {} t.equal(t.logs(), { "1 1" }) end)
            test("b", function(t) t.invite {} t.equal(t.logs(), { "1 1" }) end)
            """
        #expect(try verdict(text) == "passed")
    }

    @Test func stepsGoOnWithTheLastCall() throws {
        let found = try verdict(
            """
            on.invite(function(call)
              if call.vars.rung then return forward "carl" end
              call.vars.rung = true
              return ring { for_ = "10s", again = true }
            end)
            on.accepted(function(call, who)
              log.info(who.id .. " " .. call.callee.id .. " " .. tostring(call.vars.rung))
            end)
            on.ended(function(call, s)
              log.info(s.reason .. " " .. tostring(call.vars.rung))
            end)
            test("one call", function(t)
              local before = time.now()
              t.expect(t.invite { from = "ann", to = "desk", mode = "advanced" },
                ring { for_ = "10s", again = true })
              t.expect(t.again(), forward "carl")
              t.equal(time.now() - before, 10)
              t.accept()
              t.event("ended", { reason = "no_answer" })
              t.accept { to = "bob" }
              t.equal(t.logs(), { "carl desk true", "no_answer true", "bob bob nil" })
            end)
            """)
        #expect(found == "passed", "\(found)")
    }

    @Test func everyReportHookCanBeTold() throws {
        let reports = Hook.allCases.filter { $0.kind == .report }
        let handlers = reports.map { hook in
            "on.\(hook.rawValue)(function(...) log.info \"\(hook.rawValue)\" end)"
        }
        let events = reports.map { "t.event \"\($0.rawValue)\"" }
        let expected = ["\"start\""] + reports.map { "\"\($0.rawValue)\"" }
        let text = handlers + ["test('all', function(t)"] + events
        let found = try verdict(
            (text + ["t.equal(t.logs(), { \(expected.joined(separator: ", ")) })", "end)"])
                .joined(separator: "\n"))
        #expect(found == "passed")
    }

    @Test func whatReportsBringAlong() throws {
        let found = try verdict(
            """
            on.push_failed(function(push, call, reason)
              log.info(push.provider .. " " .. call.caller.id .. " " .. reason)
            end)
            on.plugin_error(function(e)
              log.info(e.plugin .. " " .. tostring(e.quarantined))
            end)
            on.start(function(ctx) log.info(ctx.reason) end)
            on.signal(function(call, from, data) log.info(from.id .. " " .. data.x) end)
            on.timeout(function(call, users) log.info("timeout " .. #users) end)
            on.participant(function(call, who, from, to)
              log.info(who.id .. " " .. tostring(from) .. " " .. to)
            end)
            test("them", function(t)
              t.event("push_failed", { push = { provider = "fcm" }, reason = "unregistered" })
              t.event("plugin_error", { plugin = "busy", quarantined = true })
              t.event("start", { reason = "reload" })
              t.accept { from = "ann", to = "bob" }
              t.event("signal", { from = "carl", data = { x = 7 } })
              t.event("timeout", { to = { "bob", "carl" }, users = { "bob", "carl" } })
              t.event("participant", { who = "carl", was = "ringing", now = "left" })
              t.equal(t.logs(), { "boot", "fcm ann unregistered", "busy true", "reload",
                "carl 7", "timeout 2", "carl ringing left" })
            end)
            """)
        #expect(found == "passed", "\(found)")
    }

    @Test func theTestSharesStateAndStoreWithThePlugin() throws {
        let found = try verdict(
            """
            on.invite(function(call)
              state.count = (state.count or 0) + 1
              state.mark = nil
              kv.set("last", call.caller.id, { ttl = "10m" })
              kv.incr("sum", 1, { ttl = "5m" })
            end)
            test("both ways", function(t)
              state.count, state.mark = 5, true
              t.invite { from = "ann" }
              t.equal({ state.count, state.mark, kv.get "last" }, { 6, nil, "ann" })
              t.reload()
              t.advance "4m"
              t.invite {}
              t.equal({ state.count, kv.get "sum" }, { 7, 2 })
              t.advance "1m"
              t.equal({ kv.get "sum", kv.get "last" }, { nil, "ann" })
              t.advance "9m"
              t.equal(kv.keys(), {})
            end)
            test("nothing of it is left", function(t)
              t.equal(state, {})
              t.invite {}
              t.equal(state, { count = 1 })
            end)
            """)
        #expect(found == "passed", "\(found)")
    }

    @Test func whatIsAskedOfTheWebIsSeen() throws {
        let found = try verdict(
            """
            plugin { needs = { "http:x.y" } }
            on.accepted(function(call)
              local res = assert(http.post("https://x.y/a", { json = { id = call.caller.id } }))
              log.info(res.status .. " " .. res.headers["x-a"] .. " " .. res.body)
              local _, err = http.get "https://x.y/b"
              log.info(err)
            end)
            test("it", function(t)
              local headers = { ["X-A"] = "1" }
              t.http("https://x.y/a", { status = 201, headers = headers, body = "ok" })
              t.http("https://x.y/b", "no route")
              t.accept { from = "ann" }
              t.equal(t.logs(), { "201 1 ok", "no route" })
              local post = { op = "http", method = "POST", url = "https://x.y/a",
                json = { id = "ann" } }
              t.equal(t.calls()[1], post)
              t.equal(t.calls()[2].method, "GET")
            end)
            """)
        #expect(found == "passed", "\(found)")
    }

    @Test func whatTheOperatorDecidedIsNoneOfATestsBusiness() throws {
        let text = """
            local cfg = config {
              n = option.int(1), key = option.secret(nil, { required = true, min = 32 }),
            }
            on.invite(function() if #cfg.key >= 32 and cfg.n == 1 then return reject "busy" end end)
            test("defaults", function(t) t.expect(t.invite {}, reject "busy") end)
            """
        var setting = PluginSetting()
        setting.options = ["n": 2]
        setting.users = Accounts(["desk"])
        setting.onError = .accept
        let file = SourceFile(name: "p.lua", text: Array(text.utf8))
        let report = try PluginTest.run(
            PluginSource(name: "p", main: file), setting: setting)
        #expect(report.isPassed, "\(report.results)")
    }

    @Test func testsRunInUTCWhateverTheOperatorsTimeZoneIs() throws {
        let text = """
            on.invite(function() return reject(time.format "%H:%M") end)
            test("zones", function(t)
              t.clock "2030-07-01 10:00"
              t.expect(t.invite {}, reject "10:00")
              t.timezone "Europe/Berlin"
              t.expect(t.invite {}, reject "12:00")
              t.clock "2030-07-01 10:00"
              t.expect(t.invite {}, reject "10:00")
            end)
            test("UTC again", function(t)
              t.clock "2030-07-01 10:00"
              t.expect(t.invite {}, reject "10:00")
            end)
            """
        var setting = PluginSetting()
        setting.zone = try #require(TimeZoneRules(named: "Asia/Tokyo"))
        let file = SourceFile(name: "p.lua", text: Array(text.utf8))
        let report = try PluginTest.run(
            PluginSource(name: "p", main: file), setting: setting)
        #expect(report.isPassed, "\(report.results)")
    }

    @Test func callsHaveTheOperatorsOwnModes() throws {
        let text = """
            on.invite(function(call) if call.mode == "clinic" then return reject "busy" end end)
            on.join(function(call, user) return user.id == "dan" and admit or refuse "no" end)
            test("own", function(t)
              t.expect(t.invite { mode = "clinic" }, reject "busy")
              t.expect(t.invite { mode = "advanced" }, nil)
              t.reload()
              t.expect(t.invite { mode = "clinic", from = "zoe", to = "carl" }, reject "busy")
            end)
            test("near", function(t) t.invite { mode = "clinik" } end)
            test("unknown", function(t) t.invite { mode = "xyz" } end)
            """
        var clinic = Mode.managed
        (clinic.name, clinic.model) = ("clinic", "managed")
        let file = SourceFile(name: "p.lua", text: Array(text.utf8))
        let source = PluginSource(name: "p", main: file)
        let modes = ModeRow.all + [ModeRow(clinic)]
        let report = try PluginTest.run(source, setting: PluginSetting(), modes: modes)
        let said = report.results.map { $0.problem?.description ?? "passed" }
        #expect(said[0] == "passed", "\(said)")
        #expect(said[1].hasSuffix("t.invite: unknown mode 'clinik' (did you mean 'clinic'?)"))
        #expect(said[2].hasPrefix("p.lua:10: t.invite: unknown mode 'xyz' (your own modes are"))
        let without = try PluginTest.run(source, setting: PluginSetting(), filter: "own")
        #expect(without.results[0].problem?.description.contains("mode 'clinic' (your") == true)
    }

    @Test func linesThatNoTestRunsAreMissed() throws {
        let text = """
            on.invite(function(call)
              if call.callee.calls > 0 then
                return reject "busy"
              end
              return
                ring {}
            end)

            test("x", function(t)
              t.expect(t.invite {}, ring {})
            end)
            """
        let file = SourceFile(name: "p.lua", text: Array(text.utf8))
        let report = try PluginTest.run(
            PluginSource(name: "p", main: file), setting: PluginSetting())
        #expect(report.coverage.map(\.missed) == [[3]])
        #expect(report.coverage[0].lines.contains(10))
    }
}
