// What plugins count for themselves, and what is counted of them.

import CallModel
import Configuration
import Lua
import Testing

@testable import AgentServer
@testable import PolicyHost

@Suite struct PluginMetricsTests {
    @Test func countersAndSummariesAreWrittenWithTheirTypes() {
        var metrics = PluginMetrics()
        metrics.count("busy", "asked", 1, ["kind": "vip"])
        metrics.count("busy", "asked", 2.5, ["kind": "vip"])
        metrics.count("busy", "asked", 1, [:])
        metrics.observe("desk", "wait", 3, [:])
        metrics.observe("desk", "wait", 4, [:])
        #expect(
            metrics.text == """
                # HELP callagent_plugin_asked_total Noted by plugins.
                # TYPE callagent_plugin_asked_total counter
                callagent_plugin_asked_total{kind="vip",plugin="busy"} 3.5
                callagent_plugin_asked_total{plugin="busy"} 1.0
                # HELP callagent_plugin_wait Noted by plugins.
                # TYPE callagent_plugin_wait summary
                callagent_plugin_wait_sum{plugin="desk"} 7.0
                callagent_plugin_wait_count{plugin="desk"} 2

                """)
    }

    @Test func namesAndValuesOfLabelsCannotBreakALine() {
        #expect(
            PluginMetrics.text(of: ["a-b": "x\"y\n\\", "1": "z", "": "w"])
                == #"{_="w",_1="z",a_b="x\"y\n\\"}"#)
    }

    @Test func onePluginCannotTakeTheRoomOfTheOthers() {
        var metrics = PluginMetrics()
        for number in 0..<PluginMetrics.seriesMax + 10 {
            metrics.count("wild", "calls\(number / 100)", 1, ["user": "\(number)"])
        }
        #expect(metrics.dropped == 10)
        metrics.count("wild", "calls0", 1, ["user": "5"])
        metrics.count("tame", "calls", 1, [:])
        #expect(metrics.dropped == 10, "what is known goes on, and so do others")
        #expect(metrics.text.contains("{plugin=\"wild\",user=\"5\"} 2.0\n"))
        #expect(metrics.text.contains("{plugin=\"tame\"} 1.0\n"))
    }

    @Test func aCounterHasSoManySetsOfLabelsAndTheRestIsOther() {
        var metrics = PluginMetrics()
        for number in 0..<PluginMetrics.setsMax + 20 {
            metrics.count("wild", "calls", 1, ["user": "\(number)", "kind": "vip"])
        }
        metrics.count("wild", "calls", 1, ["user": "99", "kind": "vip"])
        metrics.count("tame", "calls", 1, ["user": "1", "kind": "vip"])
        let lines = metrics.text.split(separator: "\n").filter { $0.contains("plugin=\"wild\"") }
        #expect(lines.count == PluginMetrics.setsMax + 1)
        #expect(lines.contains { $0.hasSuffix("{kind=\"vip\",plugin=\"wild\",user=\"99\"} 2.0") })
        #expect(
            lines.contains { $0.hasSuffix("{kind=\"other\",plugin=\"wild\",user=\"other\"} 20.0") })
        #expect(metrics.text.contains("{kind=\"vip\",plugin=\"tame\",user=\"1\"} 1.0"))
        #expect(metrics.dropped == 0)
    }

    @Test func everyHookOfAPluginHasItsFigures() throws {
        var plan = GenerationPlan()
        let text = "on.invite(function(call) error 'x' end)\non.ended(function() end)"
        let file = SourceFile(name: "p.lua", text: Array(text.utf8))
        plan.plugins = [(PluginSource(name: "p", main: file), PluginSetting())]
        let host = PolicyHost(try Generation(plan, seed: 1), seed: 1)
        let now = Moment(1_790_000_000_000)
        var call = Call(
            id: CallID(high: 1, low: 1), mode: .advanced, kind: "audio", ringTime: 60_000,
            deliveryCheck: nil, createdAt: now)
        call.participants = ["ann", "bob"].map {
            Participant(user: UserID($0), role: .invitee, state: .inviting, at: now)
        }
        for number in 1...7 {
            let question = Question(
                id: QuestionID(UInt64(number)), decideBy: now + 2_000,
                subject: .invite(call, callee: UserID("bob"), from: 0))
            _ = host.handle(.asked(question), at: now)
        }
        let lines = PolicyMetrics(status: PolicyStatus(host)).text.split(separator: "\n")
        for line in [
            #"callagent_hook_asked_total{hook="invite",plugin="p"} 7"#,
            #"callagent_hook_answered_total{hook="invite",plugin="p"} 0"#,
            #"callagent_hook_failures_total{hook="invite",kind="error",plugin="p"} 5"#,
            #"callagent_hook_failures_total{hook="invite",kind="cpu",plugin="p"} 0"#,
            #"callagent_hook_failures_total{hook="ended",kind="late",plugin="p"} 0"#,
            #"callagent_hook_asked_total{hook="ended",plugin="p"} 0"#,
            #"callagent_hook_cpu_seconds_count{hook="ended",plugin="p"} 0"#,
            #"callagent_hook_quarantined_total{hook="invite",plugin="p"} 2"#,
            #"callagent_hook_cpu_seconds_bucket{hook="invite",le="+Inf",plugin="p"} 5"#,
            #"callagent_hook_wall_seconds_bucket{hook="invite",le="0.001",plugin="p"} 5"#,
            #"callagent_hook_wall_seconds_count{hook="invite",plugin="p"} 5"#,
            #"callagent_policy_quarantined{plugin="p"} 0"#,
            #"callagent_policy_paused{plugin="p"} 1"#,
            "callagent_policy_probation 0",
            "callagent_policy_canary 0",
        ] {
            #expect(lines.contains(Substring(line)), "\(line)")
        }
        #expect(!lines.contains { $0.contains(#"hook="dial""#) }, "it has no such hook")
        for name in ["cpu", "wall"] {
            let buckets = lines.filter { $0.hasPrefix("callagent_hook_\(name)_seconds_bucket") }
            let bounds = ["invite", "ended"].map { hook in
                buckets.filter { $0.contains(hook) }.map { $0.split(separator: "\"")[3] }
            }
            #expect(bounds[0] == bounds[1] && bounds[0].count == 9, "\(name)")
        }
        #expect(PolicyMetrics(status: nil).text.contains("# HELP callagent_hook_asked_total "))
    }
}
