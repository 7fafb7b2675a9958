// Whether anybody feels a stranger: the same town with and without attackers in it.

import CallModel
import Lua

/// Lets some residents of a town live one day twice, with attackers in it and without, and
/// compares what each of them saw. No account's answer may depend on an account with whom it
/// shares no call: apart from the ids of calls everything has to be the same, moments included.
///
/// Residents and attackers share the server, its plugins and the accounts that the plugins answer
/// for. They share no call: nobody knows anybody on the other side.
public struct Independence: Sendable {
    /// Decides everything that anybody does.
    public var seed: UInt64
    /// Virtual time that each of the two days takes.
    public var time: Milliseconds = 180_000
    /// A plugin's name and text.
    public typealias Plugin = (name: String, text: String)
    /// The plugins, in their order.
    public var plugins: [Plugin] = [("desk", TownScripts.desk)]
    /// After a third of the day the operator reloads, and these plugins answer; nil: no reload.
    public var reloadsTo: [Plugin]?
    /// Whether the server ends and is started again after two thirds of the day.
    public var restarts = false
    /// Attackers; residents are always three.
    public var attackers = 3

    /// The two days that `seed` decides.
    public init(seed: UInt64) { self.seed = seed }

    /// What was found.
    public struct Report: Sendable {
        /// Who saw something else, and what; nil: nobody did.
        public let violation: String?
        /// Things that the residents saw.
        public let sights: Int
        /// Things that the attackers saw.
        public let attackersSights: Int
        /// Failures of plugins that the attackers caused.
        public let failures: Int
        /// How often probation took a generation back because of the attackers.
        public let rollbacks: Int
    }

    /// Runs both days.
    public func run() throws(ScriptProblems) -> Report {
        var quiet = try Town(self, attackers: 0)
        var attacked = try Town(self, attackers: attackers)
        do throws(RigFailure) {
            try quiet.live(time)
            try attacked.live(time)
        } catch {
            return report(error.description, quiet, attacked)
        }
        return report(difference(quiet, attacked), quiet, attacked)
    }

    private func report(_ violation: String?, _ quiet: Town, _ attacked: Town) -> Report {
        Report(
            violation: violation, sights: quiet.diaries.values.reduce(0) { $0 + $1.pages.count },
            attackersSights: attacked.attackersSights,
            failures: attacked.failures - quiet.failures,
            rollbacks: attacked.rollbacks - quiet.rollbacks)
    }

    /// The first thing that somebody saw otherwise because of the attackers.
    private func difference(_ quiet: Town, _ attacked: Town) -> String? {
        for device in quiet.diaries.keys.sorted(by: { $0.user.text < $1.user.text }) {
            let alone = quiet.diaries[device]?.pages ?? []
            let beside = attacked.diaries[device]?.pages ?? []
            guard alone != beside else { continue }
            let same = zip(alone, beside).prefix { $0 == $1 }.count
            func page(_ pages: [String]) -> String { same < pages.count ? pages[same] : "nothing" }
            return """
                \(device.user) feels strangers, after \(same) things that were the same:
                  without them: \(page(alone))
                  with them:    \(page(beside))
                """
        }
        return nil
    }
}

/// What one device saw, in words that do not depend on anybody else.
struct Diary {
    private(set) var pages: [String] = []
    private var names = CallNames()
    private var met: Set<CallID> = []

    /// Writes `observation` down, calls named in the order in which the device met them.
    mutating func note(_ observation: Observation, at moment: Moment) {
        for id in observation.sight.callIDs where met.insert(id).inserted {
            names.announce("c\(met.count)")
            names.meet(id)
        }
        var writer = ScenarioWriter(names: names)
        writer.inFull = true
        pages.append("\(moment.milliseconds) \(names.naming(writer.text(observation)))")
    }
}
