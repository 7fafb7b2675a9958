// Whatever a script gives to a function of the host, the host lives on.

import CallModel
import Configuration
import JSON
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct ArgumentTests {
    /// Values that functions do not expect, as Lua source.
    private static let values = [
        "nil", "true", "0", "-1", "7", "math.maxinteger", "math.mininteger", "1e300", "-0.5",
        "1/0", "0/0", "''", "'x'", "'bob'", "'%'", "'%Q%Y%j%z'", "'3s'", "'36525d'",
        "'36526d'", "'106751991167d'", "'9223372036854775807ms'", "'0.001ms'", "'\\0\\xFF'",
        "('x'):rep(300)", "('k'):rep(70000)", "'https://x.y/'", "'http://x.y:99999/'",
        "'eyJhIjoxfQ=='", "'[[[[{}]]]]'", "{}", "{ 1 }", "{ 'a', 'b' }", "{ x = 1 }",
        "{ [3] = 1, x = { y = {} } }", "{ ttl = '106751991167d' }", "{ ttl = 5 }",
        "{ timeout = '1ms', headers = { ['a:b'] = 'c' } }", "{ json = print }",
        "{ key = 'k', alg = 'none' }", "{ key = 5 }", "call", "call.caller", "call.vars", "state",
        "print", "function() return call end", "{ function() error {} end }", "cfg.h", "cfg.u",
        "accept {}", "coroutine.create(print)",
    ]

    private static let head = """
        plugin { needs = { "http:x.y" } }
        local cfg = config { h = option.hours "mon 09:00-10:00", u = option.users { "ann" } }
        timer("x", function() end)

        """

    /// Calls `name` with values at `places`, as many as there are.
    private static func attempt(_ name: String, _ places: [Int]) -> String {
        let arguments = places.map { values[$0] }.joined(separator: ", ")
        guard let colon = name.firstIndex(of: ":") else { return "\(name)(\(arguments))" }
        let method = name[name.index(after: colon)...]
        let object = ["call": "call", "hours": "cfg.h", "users": "cfg.u"][name[..<colon]] ?? ""
        return "\(object):\(method)(\(arguments)); \(object).\(method)(\(arguments))"
    }

    private static var functions: [String] {
        let declared = ["plugin", "every", "at", "timer", "migrate", "test", "config"]
        return Bindings.all.map(\.name).filter {
            !$0.hasPrefix("on.") && !$0.hasPrefix("option.") && !declared.contains($0)
        } + ["random", "accept", "reject", "ring", "forward", "refuse", "allow", "drop"]
    }

    /// Every value as the first argument, and pairs and triples drawn at random.
    private static func places() -> [[Int]] {
        var dice = SeededGenerator(seed: 7)
        func draw() -> Int { Int.random(in: values.indices, using: &dice) }
        return [[]] + values.indices.map { [$0] } + (0..<60).map { _ in [draw(), draw()] }
            + (0..<60).map { _ in [draw(), draw(), draw()] }
    }

    @Test(arguments: functions)
    func theHostSurvivesAnyArguments(_ name: String) throws {
        let steps = Self.places().map { places in
            "function(call) \(Self.attempt(name, places)) end"
        }
        let rig = try Rig(
            Self.head + """
                local steps = { \(steps.joined(separator: ",\n")) }
                on.invite(function(call)
                  local ok, trouble = pcall(steps[call.extended_data.place], call)
                  log.debug(ok and "done" or "refused")
                end)
                """
        ) {
            $0.plugins[0].setting.grants = ["http:x.y"]
            // Arguments are the matter here, not speed.
            $0.plugins[0].setting.limits.runTime = 10_000
            $0.plugins[0].setting.limits.eventTime = 10_000
        }
        var (ran, late) = (0, 0)
        for place in steps.indices {
            var effects = rig.ask(rig.call(data: "{\"place\":\(place + 1)}", id: UInt64(place)))
            while let wait = effects.wait { effects = rig.reply(wait, .trouble("no")) }
            if effects.said.contains("done") || effects.said.contains("refused") {
                ran += 1
                continue
            }
            // A sleep of years ends with the question, not with the host; and time passes, so
            // that the plugin is not taken out of service for being late.
            late += 1
            #expect(rig.pass(2_000).answer != nil, "\(steps[place])")
            _ = rig.pass(60_000)
        }
        #expect(ran + late == steps.count)
        let mayBeLate = ["sleep", "all"]
        #expect(late == 0 || mayBeLate.contains(name), "\(late)")
    }

    @Test(arguments: OptionField.Kind.allCases.map(\.rawValue))
    func theHostSurvivesAnyOptions(_ kind: String) {
        let values = Self.values.filter { !$0.contains("call") && !$0.contains("cfg") }
        for value in values {
            for extra in ["", ", { min = \(value) }", ", { max = \(value), required = true }"] {
                for standsIn in [false, true] {
                    _ = Rig.problem("config { a = option.\(kind)(\(value)\(extra)) }") {
                        $0.plugins[0].setting.standsIn = standsIn
                    }
                    _ = Rig.problem("config { a = option.\(kind)(nil\(extra)) }") {
                        $0.plugins[0].setting.standsIn = standsIn
                    }
                }
            }
        }
    }

    @Test func aDurationHasAnEnd() throws {
        let rig = try Rig(
            """
            timer("x", function() end)
            every("36525d", "century", function() end)
            on.invite(function()
              later("36525d", "x")
              log.info(tostring(select(2, pcall(sleep, "36526d"))))
              sleep "36525d"
            end)
            """)
        let said = rig.ask(rig.call()).said
        #expect(said.count == 1 && said[0].contains("bad duration '36526d'"))
        #expect(rig.pass(2_000).answer == Answer.none)
    }
}
