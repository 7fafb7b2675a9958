// `callagent simulate`: the whole system at virtual time.

import AgentCore
import CallSimulator
import Lua

extension Command {
    static let simulate = Command(
        "simulate", "try the rules with simulated phones and disks",
        options: [
            Option("--seed", "N", "decides everything (default: a new one, printed first)"),
            Option("--steps", "10000", "things that happen before the world comes to rest"),
            Option("--runs", "1", "worlds to run, with the following seeds"),
            Option("--plant", "BUG", "in a debug build: early-reply, …; a wrong name shows all"),
            Option("--attackers", "0", "also simulate a day with attackers and one without"),
        ]
    ) { (arguments) throws(CommandError) in
        let names = PlantedFault.allCases.map(\.rawValue)
        let planted = try arguments.choice("--plant", among: names)
        guard planted == nil || PlantedFault.areCompiledIn else {
            throw CommandError.usage("--plant needs a debug build: release builds have no bugs")
        }
        let seed = try arguments.number("--seed", in: 0...Int.max)
        var simulation = Simulation(
            seed: seed.map(UInt64.init) ?? UInt64.random(in: 1...1_000_000_000))
        simulation.steps = try arguments.number("--steps", in: 1...100_000_000) ?? 10_000
        simulation.planted = planted.flatMap(PlantedFault.init)
        let attackers = try arguments.number("--attackers", in: 0...100) ?? 0
        for _ in 0..<(try arguments.number("--runs", in: 1...1_000_000) ?? 1) {
            if attackers > 0, !livesUnfelt(attackers, seed: simulation.seed) {
                return ExitCode.failure
            }
            Screen.say(simulation.heading)
            let report = simulation.run()
            if let violation = report.violation {
                for line in report.trace { Screen.say("  \(line)") }
                Screen.say(violation)
                Screen.say("  again: \(simulation.replay)")
                return ExitCode.failure
            }
            Screen.say(
                "  nothing wrong: \(report.steps) steps, \(report.calls) calls, "
                    + "\(report.time / 1_000) s of virtual time")
            Screen.say("  again: \(simulation.replay)")
            simulation.seed += 1
        }
        return ExitCode.success
    }
}

extension Command {
    /// Simulates the days of `Independence`; false: somebody was affected by the attackers.
    fileprivate static func livesUnfelt(_ attackers: Int, seed: UInt64) -> Bool {
        var day = Independence(seed: seed)
        day.attackers = attackers
        do throws(ScriptProblems) {
            let report = try day.run()
            guard let violation = report.violation else {
                Screen.say(
                    "  \(attackers) attackers hurt nobody: residents saw \(report.sights) things, "
                        + "attackers \(report.attackersSights)")
                return true
            }
            Screen.say(violation)
        } catch {
            Screen.say("\(error)")
        }
        Screen.say("  again: callagent simulate --seed \(seed) --attackers \(attackers)")
        return false
    }
}
