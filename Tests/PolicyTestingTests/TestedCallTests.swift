// What `t.invite` begins is a call of a real switchboard: it rings, is answered, runs out and ends.

import CallModel
import Configuration
import Lua
import Testing

@testable import PolicyHost
@testable import PolicyTesting

@Suite struct TestedCallTests {
    /// Logs whatever it is told; decides what `answer` says.
    private static func plugin(_ answer: String) -> String {
        """
        on.invite(function(call) \(answer) end)
        on.accepted(function(call, who) log.info(who.id .. " accepted") end)
        on.rejected(function(call, who, reason) log.info(who.id .. " rejected: " .. reason) end)
        on.cancelled(function(call, by) log.info("cancelled by " .. tostring(by)) end)
        on.timeout(function(call, users) log.info(users[1] .. " timed out") end)
        on.ended(function(call, summary) log.info("ended: " .. summary.reason) end)

        """
    }

    /// Runs the steps as the test of a plugin; the problem, or `passed`.
    private func verdict(_ plugin: String, _ steps: String) throws -> String {
        let text = "\(plugin)test('x', function(t)\n\(steps)\nend)"
        let file = SourceFile(name: "p.lua", text: Array(text.utf8))
        let results = try PluginTest.run(
            PluginSource(name: "p", main: file), setting: PluginSetting()
        ).results
        return results[0].problem?.description ?? "passed"
    }

    private static let waits = plugin("return accept { wait = '3s' }")

    @Test(arguments: [
        (
            "the plugin accepts at the end of its wait", waits,
            """
            t.invite { from = "ann", to = "desk", mode = "common" }
            t.advance "2s"
            t.equal(t.logs(), {})
            t.advance "1s"
            t.equal(t.logs(), { "desk accepted", "ended: settled" })
            """
        ),
        (
            "a person who is faster takes the call", waits,
            """
            t.invite { from = "ann", to = "desk", mode = "advanced" }
            t.advance "1s"
            t.accept()
            t.advance "5s"
            t.equal(t.logs(), { "desk accepted" })
            """
        ),
        (
            "a caller who gives up in the wait is not answered", waits,
            """
            t.invite { from = "ann", to = "desk" }
            t.event "cancelled"
            t.advance "5s"
            t.equal(t.logs(), { "cancelled by ann", "ended: cancelled" })
            """
        ),
        (
            "nobody answers, and the time runs out", plugin(""),
            """
            t.invite { from = "ann", to = "desk", mode = "common", timeout = "30s" }
            t.advance "29s"
            t.equal(t.logs(), {})
            t.advance "1s"
            t.equal(t.logs(), { "desk timed out", "ended: no_answer" })
            """
        ),
        (
            "a person says no", plugin(""),
            """
            t.invite { from = "ann", to = "desk", mode = "common" }
            t.event("rejected", { reason = "busy" })
            t.equal(t.logs(), { "desk rejected: busy", "ended: busy" })
            """
        ),
        (
            "a decision is carried out at once", plugin("return reject 'closed'"),
            """
            t.invite { from = "ann", to = "desk", mode = "common" }
            t.equal(t.logs(), { "desk rejected: declined", "ended: rejected" })
            """
        ),
        (
            "who is being called counts as in a call",
            plugin("if call.callee.calls > 0 then return reject 'busy' end"),
            """
            t.expect(t.invite { from = "ann", to = "desk" }, nil)
            t.expect(t.invite { from = "carl", to = "desk" }, reject "busy")
            t.event("rejected", { who = "desk" })
            t.advance "90s"
            t.expect(t.invite { from = "carl", to = "desk" }, nil)
            """
        ),
        (
            "what the server would not do is not done",
            """
            on.invite(function(call)
              local done, code = call:set_items { a = "b" }
              log.info(tostring(done) .. " " .. code)
            end)

            """,
            """
            t.invite {}
            t.equal(t.logs(), { "nil wrong_mode" })
            t.equal(t.calls()[1], { op = "set_items", items = { a = "b" }, refused = "wrong_mode" })
            """
        ),
        (
            "who joined may speak and hang up, and its report runs on",
            """
            on.invite(function() return accept {} end)
            on.accepted(function(call)
              log.info(tostring(call:signal { hi = 1 }))
              log.info("finished " .. tostring(call:finish()))
              sleep "1s"
              log.info "went on"
            end)
            on.ended(function(call, summary) log.info(summary.by) end)

            """,
            """
            t.expect(t.invite { to = "desk", mode = "advanced" }, accept {})
            t.advance "2s"
            t.equal(t.logs(), { "true", "finished true", "went on", "desk" })
            """
        ),
        (
            "the call is refused where on.dial refuses it",
            "on.dial(function() return refuse 'closed' end)"
                + " on.invite(function() log.info 'asked' end) ",
            """
            t.expect(t.invite {}, refuse "closed")
            t.equal(t.logs(), {})
            """
        ),
        (
            "what comes in is shaped before on.invite sees it",
            "on.extended_data(function(d, _, dir) d[dir] = true return d end)"
                + " on.invite(function(call) log.info(json.encode(call.extended_data)) end) ",
            """
            t.invite { extended_data = { type = "x" } }
            t.equal(json.decode(t.logs()[1]), { type = "x", ["in"] = true, out = true })
            """
        ),
        (
            "another day begins without the calls of the day before", plugin(""),
            """
            t.invite { at = "Mon 10:00" }
            t.clock "Tue 10:00"
            t.advance "10m"
            t.equal(t.logs(), {})
            """
        ),
        (
            "devices come and go as the test says",
            "on.invite(function(call) log.info(call.callee.devices .. '') end) ",
            """
            t.user("bob", { devices = 3 })
            t.invite {}
            t.user("bob", { online = false })
            t.invite { from = "carl" }
            t.equal(t.logs(), { "3", "0" })
            """
        ),
        (
            "a plugin is tested without those that it comes after",
            "plugin { after = 'blocklist' } on.invite(function() return ring {} end) ",
            "t.expect(t.invite {}, ring {})"
        ),
    ])
    func aTestedCall(_ name: String, _ plugin: String, _ steps: String) throws {
        let found = try verdict(plugin, steps)
        #expect(found == "passed", "\(name)")
    }

    @Test(arguments: [
        ("t.accept()", "p.lua:9: expected nothing"),
        ("t.invite {} t.event 'cancelled' t.advance '1s' t.accept()", "expected nothing"),
        ("t.invite { group = true }", "t.invite: a group is made by naming several in to"),
        ("t.invite { to = 'ann', from = 'ann' }", "t.invite: the server refuses: self_call"),
        ("t.invite { mode = 'direct', to = { 'a', 'b' } }", "refuses: too_many"),
        ("t.user('bob', { calls = -1 })", "t.user: calls must be an integer from 0 to 1000000"),
        ("t.user('bob', { devices = 1000001 })", "t.user: devices must be an integer from 0"),
        ("t.user('bob', { calls = 'x' })", "t.user: calls must be an integer from 0"),
    ])
    func whatTheServerRefusesFailsTheTest(_ steps: String, _ expected: String) throws {
        let text =
            Self.plugin("") + "test('x', function(t)\n\(steps)\nt.expect(reject 'x', nil)\nend)"
        let file = SourceFile(name: "p.lua", text: Array(text.utf8))
        let results = try PluginTest.run(
            PluginSource(name: "p", main: file), setting: PluginSetting()
        ).results
        let problem = results[0].problem?.description ?? "passed"
        #expect(problem.contains(expected), "\(problem)")
    }
}
