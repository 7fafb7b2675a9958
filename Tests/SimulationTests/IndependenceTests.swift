// Nobody is felt by others: the same residents with and without attackers.

import CallSimulator
import Testing

@Suite struct IndependenceTests {
    @Test(arguments: SimulationTests.seeds) func nobodyFeelsStrangers(
        _ seed: UInt64
    ) throws {
        let report = try Independence(seed: seed).run()
        #expect(report.violation == nil, "seed \(seed): \(report.violation ?? "")")
        #expect(report.sights > 80)
        #expect(report.attackersSights > report.sights)
        #expect(report.failures > 20)
    }

    @Test(arguments: SimulationTests.seeds) func theRulesOfCallsLetNobodyFeelStrangers(
        _ seed: UInt64
    ) throws {
        var day = Independence(seed: seed)
        day.plugins = [("plain", TownScripts.plain)]
        let report = try day.run()
        #expect(report.violation == nil, "seed \(seed): \(report.violation ?? "")")
        #expect(report.sights > 80)
    }

    /// One attacker brings a generation on probation to fail, and then the server starts anew in
    /// the middle of everybody's calls.
    @Test(arguments: SimulationTests.seeds.prefix(5)) func nobodyFeelsOneOverAReloadAndAStart(
        _ seed: UInt64
    ) throws {
        var day = Independence(seed: seed)
        day.reloadsTo = [("desk", TownScripts.newerDesk)]
        day.restarts = true
        day.attackers = 1
        let report = try day.run()
        #expect(report.violation == nil, "seed \(seed): \(report.violation ?? "")")
        #expect(report.rollbacks == 0)
        #expect(report.sights > 80)
        #expect(report.failures > 10)
    }

    /// The next version has the bugs of the one before: strangers trip them in both, and the
    /// reload stays.
    @Test(arguments: SimulationTests.seeds.prefix(3)) func strangersUndoNoReload(
        _ seed: UInt64
    ) throws {
        var day = Independence(seed: seed)
        day.reloadsTo = [("desk", TownScripts.newerDesk)]
        let report = try day.run()
        #expect(report.violation == nil, "seed \(seed): \(report.violation ?? "")")
        #expect(report.rollbacks == 0)
        #expect(report.failures > 20)
    }

    @Test func aScriptThatCountsEverybodyIsFound() throws {
        var day = Independence(seed: 1)
        day.plugins = [("nosy", TownScripts.nosy)]
        let report = try day.run()
        #expect(report.violation?.contains("feels strangers") == true)
    }

    @Test func withoutAttackersTheDaysAreTheSame() throws {
        var day = Independence(seed: 2)
        day.plugins = [("nosy", TownScripts.nosy)]
        day.attackers = 0
        #expect(try day.run().violation == nil)
    }
}
