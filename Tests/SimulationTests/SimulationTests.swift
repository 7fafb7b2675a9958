// Simulated worlds: fixed seeds, and one that is new in every run.

import AgentCore
import CallSimulator
import Foundation
import Testing

@Suite struct SimulationTests {
    static let seeds: [UInt64] = {
        let more = ProcessInfo.processInfo.environment["CALLAGENT_SEEDS"].flatMap(UInt64.init)
        return Array(1...(more ?? 12)) + [UInt64.random(in: 1_000_000...UInt64(Int.max))]
    }()

    /// One seed for each bug, four at the whole length.
    static let plantedSeeds: ClosedRange<UInt64> =
        ProcessInfo.processInfo.environment["CALLAGENT_FULL"]?.isEmpty == false ? 1...4 : 1...1

    @Test(arguments: seeds) func nothingIsWrongInAWorldWithFaults(_ seed: UInt64) {
        var simulation = Simulation(seed: seed)
        simulation.steps = 4_000
        let report = simulation.run()
        if let violation = report.violation {
            let trace = report.trace.joined(separator: "\n")
            Issue.record("\(simulation.heading)\n\(violation)\n\(trace)\n\(simulation.replay)")
        }
        // Of 300 worlds the one with fewest made nine: a disk that fails leaves little else.
        #expect(report.calls > 2)
        // Coming to rest takes a bounded number of steps: timers do not breed.
        #expect(report.steps < 8_000)
    }

    @Test(arguments: PlantedFault.allCases, plantedSeeds)
    func aPlantedBugIsFound(_ fault: PlantedFault, _ seed: UInt64) {
        var simulation = Simulation(seed: seed)
        simulation.planted = fault
        simulation.steps = 10_000
        let report = simulation.run()
        #expect(report.violation != nil, "\(simulation.replay)")
    }

    @Test func aSeedDecidesEverything() {
        var simulation = Simulation(seed: 7)
        simulation.steps = 2_000
        let first = simulation.run()
        let second = simulation.run()
        #expect(first.trace == second.trace)
        #expect(first.time == second.time)
        #expect(first.calls == second.calls)
    }
}
