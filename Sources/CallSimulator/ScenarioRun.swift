// Plays a scenario on a rig and compares what was seen with what is written.

import CallModel

extension Scenario {
    /// How a run went.
    public struct Outcome: Sendable {
        /// What was wrong, for a person; empty: all was seen as it is written.
        public var problems: [String] = []
        /// The scenario with what was seen in the place of what was written.
        public var recorded: Scenario
        /// What the scenario needs and the rig cannot do; nil: it was played.
        public var lacking: Abilities?
    }

    /// Plays the scenario on `rig`.
    public func run(on rig: inout some Rig) -> Outcome {
        var outcome = Outcome(recorded: self)
        var parser = StepParser()
        do throws(ScenarioError) {
            for (index, part) in parts.enumerated() {
                guard case .step(let step) = part else { continue }
                let meaning = try parser.read(step)
                if let lacking = meaning.lacking(rig.abilities) {
                    outcome.lacking = lacking
                    return outcome
                }
                let seen = try play(meaning, step, on: &rig, &parser.names)
                outcome.recorded.parts[index] = .step(step.showing(seen))
                if let problem = step.difference(from: seen) { outcome.problems.append(problem) }
            }
        } catch {
            outcome.problems.append(error.description)
        }
        return outcome
    }

    private func play(
        _ meaning: Meaning, _ step: Step, on rig: inout some Rig, _ names: inout CallNames
    ) throws(ScenarioError) -> [Expectation] {
        switch meaning {
        case .with(let devices):
            for device in devices { try connect(device, step, on: &rig) }
            return []
        case .action(let action, let doer):
            let observations = try perform(action, step, on: &rig)
            for id in observations.flatMap(\.sight.callIDs) { names.meet(id) }
            if observations.isRefusal { names.forgetAnnounced() }
            return ScenarioWriter(names: names, doer: doer).expectations(observations)
        case .look(let action, let doer):
            let observations = try perform(action, step, on: &rig)
            return ScenarioWriter(names: names, doer: doer, inFull: true).expectations(observations)
        }
    }

    private func connect(
        _ device: Address, _ step: Step, on rig: inout some Rig
    ) throws(ScenarioError) {
        let seen = try perform(.connect(device, resuming: false), step, on: &rig)
        let welcome = Sight.welcome([], viewer: device.user, more: false, resumed: false)
        guard seen.filter({ $0.observer != .policy }) == [Observation(.device(device), welcome)]
        else { throw ScenarioError(line: step.line, "\(written(device)) is not new to the server") }
    }

    private func perform(
        _ action: Action, _ step: Step, on rig: inout some Rig
    ) throws(ScenarioError) -> [Observation] {
        do throws(RigFailure) {
            return try rig.perform(action)
        } catch {
            throw ScenarioError(line: step.line, "\(step.text): \(error)")
        }
    }
}

extension Meaning {
    fileprivate func lacking(_ abilities: Abilities) -> Abilities? {
        switch self {
        case .with: nil
        case .action(let action, _), .look(let action, _):
            abilities.isSuperset(of: action.needs) ? nil : action.needs
        }
    }
}

extension [Observation] {
    /// Whether nothing but a refusal was seen: announced names stay without calls.
    fileprivate var isRefusal: Bool {
        contains { if case .reply(.refused) = $0.sight { true } else { false } }
    }
}

extension ScenarioWriter {
    /// What was seen, by observer in the order of their first sights.
    fileprivate func expectations(_ observations: [Observation]) -> [Scenario.Expectation] {
        var order: [Observer] = []
        for observation in observations where !order.contains(observation.observer) {
            order.append(observation.observer)
        }
        return order.flatMap { observer in
            observations.filter { $0.observer == observer }.map {
                Scenario.Expectation(observer: text(observer), text: text($0))
            }
        }
    }
}

extension Scenario.Step {
    fileprivate func showing(_ seen: [Scenario.Expectation]) -> Scenario.Step {
        var step = self
        step.expected = seen
        return step
    }

    /// What was seen otherwise than it is written; nil: nothing. Only the order of one
    /// observer's sights counts.
    fileprivate func difference(from seen: [Scenario.Expectation]) -> String? {
        let observers = Self.observers(expected + seen)
        var lines: [String] = []
        var isDifferent = false
        for observer in observers {
            let wanted = expected.filter { $0.observer == observer }.map(\.text)
            let got = seen.filter { $0.observer == observer }.map(\.text)
            for change in lineDifference(wanted, got) {
                isDifferent = isDifferent || change.mark != " "
                lines.append("  \(change.mark) \(observer) ← \(change.text)")
            }
        }
        guard isDifferent else { return nil }
        let head = "line \(line): \(text)   (- as written, + as seen)"
        return ([head] + lines).joined(separator: "\n")
    }

    private static func observers(_ expectations: [Scenario.Expectation]) -> [String] {
        var observers: [String] = []
        for expectation in expectations where !observers.contains(expectation.observer) {
            observers.append(expectation.observer)
        }
        return observers
    }
}

/// The lines of both texts in order, marked `-` when only in `old` and `+` when only in `new`.
private func lineDifference(_ old: [String], _ new: [String]) -> [(mark: String, text: String)] {
    let difference = new.difference(from: old)
    let removed = Set(difference.removals.map(\.offset))
    let inserted = Set(difference.insertions.map(\.offset))
    var lines: [(String, String)] = []
    var place = 0
    for (offset, text) in old.enumerated() {
        if removed.contains(offset) {
            lines.append(("-", text))
            continue
        }
        while inserted.contains(place) {
            lines.append(("+", new[place]))
            place += 1
        }
        lines.append((" ", text))
        place += 1
    }
    return lines + new[place...].map { ("+", $0) }
}

extension CollectionDifference.Change {
    fileprivate var offset: Int {
        switch self {
        case .insert(let offset, _, _), .remove(let offset, _, _): offset
        }
    }
}
