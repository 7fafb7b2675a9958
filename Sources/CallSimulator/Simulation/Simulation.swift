// Runs a simulated world and says what was found.

import AgentCore
import CallModel

/// A run of a simulated world, wholly decided by its seed.
public struct Simulation: Sendable {
    /// Decides everything.
    public var seed: UInt64
    /// How many things happen before the world comes to rest.
    public var steps = 10_000
    /// What goes wrong; nil: what the seed chooses.
    public var faults: Faults?
    /// A bug in the server, to be found.
    public var planted: PlantedFault?

    /// The simulation of `seed`.
    public init(seed: UInt64) { self.seed = seed }

    /// How a run went.
    public struct Report: Sendable {
        /// What the checks found; nil: nothing.
        public let violation: String?
        /// Things that happened.
        public let steps: Int
        /// Calls that were made.
        public let calls: Int
        /// Virtual time that passed.
        public let time: Milliseconds
        /// The last things that happened, the latest last.
        public let trace: [String]
    }

    /// What a person has to know before the run.
    public var heading: String {
        "seed \(seed), \(steps) steps, faults: \((faults ?? Faults(seed: seed)).text)"
            + (planted.map { ", planted: \($0.rawValue)" } ?? "")
    }

    /// The command that runs it again.
    public var replay: String {
        "callagent simulate --seed \(seed) --steps \(steps)"
            + (planted.map { " --plant \($0.rawValue)" } ?? "")
    }

    /// Runs it.
    public func run() -> Report {
        var world = World(seed: seed, faults: faults ?? Faults(seed: seed), planted: planted)
        let start = world.now
        var violation: String?
        do throws(RigFailure) {
            for _ in 0..<steps { try world.step() }
            try world.comeToRest()
        } catch {
            violation = error.description
        }
        return Report(
            violation: violation, steps: world.steps, calls: world.calls.count,
            time: world.now - start, trace: world.trace)
    }
}
