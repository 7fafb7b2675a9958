// `test(…)` blocks: the bundled plugins pass theirs, and every step does what it says.

import CallModel
import JSON
import Testing

@testable import PolicyHost

@Suite struct PluginTestTests {
    static let library: PluginLibrary = {
        let root = HostileTests.folder.dropLast("/Tests/PolicyHostTests/Hostile".count)
        return PluginLibrary(folders: ["\(root)/plugins"])
    }()

    @Test(arguments: library.names)
    func aBundledPluginPassesItsOwnTests(_ name: String) throws {
        let source = try #require(Self.library.find(name))
        let report = try PluginTest.run(source, setting: PluginSetting())
        #expect(!report.results.isEmpty)
        for result in report.results {
            let problem = result.problem?.description ?? ""
            #expect(result.problem == nil, "\(result.name): \(problem)")
        }
    }

    private func run(_ text: String) throws -> [PluginTestResult] {
        let file = SourceFile(name: "p.lua", text: Array(text.utf8))
        return try PluginTest.run(PluginSource(name: "p", main: file), setting: PluginSetting())
            .results
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
          t.equal(kv.get "last", { a = 1 })
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
          t.event("presence", { user = "ann", online = false })
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
            "t.expect(t.invite {}, nil)", "p.lua:2: expected nothing, got reject \"busy\""
        ),
        (
            "on.invite(function() return reject 'closed' end)",
            "t.expect(t.invite {}, reject 'busy')",
            #"p.lua:2: expected reject "busy", got reject "declined""#
        ),
        (
            "on.invite(function() return accept { wait = '1s' } end)",
            "t.expect(t.invite {}, accept { wait = '2s' })",
            "p.lua:2: expected accept { wait = 2s }, got accept { wait = 1s }"
        ),
        (
            "", "t.equal({ a = { 1, 2 } }, { a = { 1, 3 } })",
            #"expected {"a":[1,3]}, got {"a":[1,2]}"#
        ),
        ("", "t.invit {}", "p.lua:2: unknown method 't:invit' (did you mean 't:invite'?)"),
        ("", "t.invite { frm = 'x' }", "t.invite: unknown field 'frm' (did you mean 'from'?)"),
        ("", "t.clock 'Mo 10'", "bad time 'Mo 10'"),
        ("", "t.event('acepted', {})", "unknown event 'acepted' (did you mean 'accepted'?)"),
        ("on.invite(function() error 'oops' end)", "t.invite {}", "oops"),
        ("on.invite(function() while true do end end)", "t.invite {}", "processor budget"),
        (
            "on.invite(function() reject 'busy' end)", "t.invite {}",
            "decision made but not returned"
        ),
        ("", "while true do end", "over the processor budget"),
        ("on.invite(function() return http.get 'https://a.b/' end)", "t.invite {}", "not granted"),
    ])
    func aFailureSaysWhatAndWhere(_ plugin: String, _ step: String, _ expected: String) throws {
        let found = try verdict("\(plugin) test('x', function(t)\n  \(step)\nend)")
        #expect(found.contains(expected), "\(found)")
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

    @Test func testsAreNotKeptInProduction() throws {
        let rig = try Rig("test('x', function(t) end)")
        #expect(rig.host.generation.plugins[0].tests.isEmpty)
    }
}
