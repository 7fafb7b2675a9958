// Looks for faults of a plugin before callers find them.

import CallModel
import Configuration
import JSON
import Lua
import PolicyHost

/// Invents tests for one plugin as long as there is time, and keeps those that show a fault.
public final class PluginFuzz {
    /// What is looked at, and for how long.
    public struct Order {
        /// The plugin.
        public var source: PluginSource
        /// Its options and limits, as the operator's file has them.
        public var setting = PluginSetting()
        /// The plugin as another generation has it, whose decisions are to be the same.
        public var other: PluginSource?
        /// The same number, the same tests.
        public var seed: UInt64 = 1
        /// Extended data that was really seen.
        public var recorded: [String] = []
        /// Findings after which it ends.
        public var enough = 10
        /// Tokens and digests as the process makes them; without it none are made.
        public var cryptography = Cryptography.none
        /// The modes that invented calls have.
        public var modes = ModeRow.all

        /// An order to look at `source`.
        public init(_ source: PluginSource) { self.source = source }
    }

    /// What came of it.
    public struct Report: Sendable, Equatable {
        /// What was found, in the order in which it was.
        public var findings: [FuzzFinding] = []
        /// Tests that were run.
        public var runs = 0
    }

    private let order: Order
    private let setting: PluginSetting
    /// As the test that shows a finding runs: noting lines takes time of the plugin.
    private let plain: PluginSetting
    private var inventor: FuzzInventor
    /// Tests that ran lines which none before them had run.
    private var kept: [[FuzzStep]] = []
    private var lines: Set<String> = []
    private var seen: Set<String> = []
    private let recordedTexts: Set<String>
    private static let keptMost = 300
    /// Runs that making a finding smaller may take.
    private static let shrinkingMost = 400
    /// Runs of a question that is slow, of which the fastest counts: others use the machine too.
    private static let repeats = 3

    /// Looks at what `order` names.
    public init(_ order: Order) {
        self.order = order
        plain = PluginTest.setting(for: order.source, order.setting)
        var setting = plain
        setting.notesLines = true
        self.setting = setting
        let recorded = order.recorded.map { text -> LuaValue in
            (try? JSONValue(parsing: text)).map { LuaValue($0) } ?? .text(text)
        }
        recordedTexts = Set(recorded.flatMap(\.texts))
        inventor = FuzzInventor(
            order.source, recorded: recorded, modes: order.modes.map(\.name), seed: order.seed)
    }

    /// Looks for faults until `isOver`.
    ///
    /// - Throws: what is wrong with the plugin so that nothing of it can be run.
    public func run(until isOver: () -> Bool) throws(ScriptProblems) -> Report {
        var report = Report()
        _ = try world(order.source)
        while !isOver(), report.findings.count < order.enough {
            let isFresh = kept.isEmpty || inventor.chance(4)
            let invented =
                isFresh ? inventor.fresh() : inventor.changed(inventor.pick(kept) ?? [])
            report.runs += 1
            let (steps, outcome) = playWithoutVain(invented)
            if !steps.isEmpty, kept.count < Self.keptMost, !outcome.lines.isSubset(of: lines) {
                lines.formUnion(outcome.lines)
                kept.append(steps)
            }
            guard let fault = fault(of: steps, outcome), seen.insert(fault.mark).inserted else {
                continue
            }
            report.findings.append(finding(fault, in: steps))
        }
        return report
    }

    // MARK: Playing

    private func world(
        _ source: PluginSource, _ other: PluginSetting? = nil
    ) throws(ScriptProblems) -> TestWorld {
        var plan = GenerationPlan()
        plan.plugins = [(source, other ?? setting)]
        plan.isWhole = false
        plan.name = "fuzz"
        let world = try TestWorld(
            plan, .modes(order.modes), nil, order.cryptography, order.seed)
        world.isForgiving = true
        return world
    }

    /// What came of a test.
    private struct Outcome {
        /// What the plugin failed with first.
        var failure: String?
        /// What each question came to, in words.
        var answers: [String] = []
        /// The same as a script would have written it.
        var sources: [String] = []
        var lines: Set<String> = []
        /// The steps that cannot be done.
        var vain: Set<Int> = []
        /// Nanoseconds of the slowest question.
        var processor: UInt64 = 0
    }

    /// The same test without the steps that a test cannot do, such as `t.again` after no `ring`.
    private func playWithoutVain(_ steps: [FuzzStep]) -> ([FuzzStep], Outcome) {
        let outcome = play(steps, order.source)
        guard !outcome.vain.isEmpty else { return (steps, outcome) }
        let rest = steps.indices.filter { !outcome.vain.contains($0) }.map { steps[$0] }
        return (rest, play(rest, order.source))
    }

    private func play(
        _ steps: [FuzzStep], _ source: PluginSource, _ other: PluginSetting? = nil
    ) -> Outcome {
        var outcome = Outcome()
        guard let world = try? world(source, other) else { return outcome }
        for (place, step) in steps.enumerated() {
            let said: [LuaValue]
            do throws(Refused) {
                said = try world.perform(
                    step.name, Arguments(values: step.arguments, name: "t.\(step.name)"))
            } catch {
                // What the test itself asks in vain is no fault of the plugin.
                said = []
                if world.allFailures.isEmpty { outcome.vain.insert(place) }
            }
            if let failure = world.allFailures.first {
                outcome.failure = failure
                break
            }
            guard step.isQuestion else { continue }
            let decision = said.first ?? .null
            outcome.answers.append((try? world.normal(decision)) ?? "nothing")
            outcome.sources.append(LuaText.decision(decision))
        }
        outcome.processor = world.records.flatMap(\.asked).map(\.processor).max() ?? 0
        for file in source.files {
            for line in world.linesRun(of: file) { outcome.lines.insert("\(file.name):\(line)") }
        }
        return outcome
    }

    // MARK: Faults

    private struct Fault {
        let kind: FuzzFinding.Kind
        let text: String
        /// What two findings have in common that are one.
        let mark: String
        /// The decision that is expected, and the question that it is about.
        var expected: (place: Int, source: String)?
        var zone: String?
        /// The steps that show it, where they are fewer than were looked at.
        var steps: [FuzzStep]?
    }

    private func fault(of steps: [FuzzStep], _ outcome: Outcome) -> Fault? {
        guard outcome.vain.isEmpty else { return nil }
        if let failure = outcome.failure {
            let fault = Self.fault(failure)
            return isSteady(fault, in: steps) ? fault : slowness(of: steps, outcome.processor)
        }
        if let slow = slowness(of: steps, outcome.processor) { return slow }
        if let other = order.other {
            let before = play(steps, other)
            if before.failure == nil, let place = difference(before.answers, outcome.answers) {
                let words = before.answers[place]
                return Fault(
                    kind: .different, text: "\(words) became \(outcome.answers[place])",
                    mark: "different \(Self.head(words)) \(Self.head(outcome.answers[place]))",
                    expected: (place, before.sources[place]))
            }
        }
        return zoneFault(of: steps)
    }

    /// Whether a test of these steps will show it too: what takes just over the budget here may
    /// take less there.
    private func isSteady(_ fault: Fault, in steps: [FuzzStep]) -> Bool {
        let words = "over the processor budget"
        guard fault.text.contains(words) else { return true }
        var roomy = plain
        roomy.limits.runTime *= 2
        return play(steps, order.source, roomy).failure?.contains(words) == true
    }

    private static func fault(_ failure: String) -> Fault {
        let line = failure.split(separator: "\n").first.map(String.init) ?? failure
        return Fault(kind: .failure, text: line, mark: mark(of: line))
    }

    /// Where a failure is: a line of the plugin, else what it says without its numbers.
    private static func mark(of failure: String) -> String {
        let problem = ScriptProblem(message: failure)
        if let file = problem.file, let line = problem.line { return "\(file):\(line)" }
        return String(failure.filter { !$0.isNumber }.prefix(60))
    }

    private func slowness(of steps: [FuzzStep], _ processor: UInt64) -> Fault? {
        let half = setting.limits.runTime.nanoseconds / 2
        guard processor > half else { return nil }
        for _ in 1..<Self.repeats
        where play(steps, order.source, plain).processor <= half { return nil }
        return Fault(
            kind: .slow, text: "a decision takes over half of the budget of one run", mark: "slow")
    }

    private func difference(_ before: [String], _ after: [String]) -> Int? {
        zip(before, after).enumerated().first { $1.0 != $1.1 }?.offset
    }

    /// `reject "closed"` of `reject("closed", { … })`: data may well depend on the time zone.
    private static func head(_ words: String) -> String {
        String(words.prefix { $0 != "{" && $0 != "," }).filter { $0 != "(" && $0 != " " }
    }

    /// At the same time on the clock the same is decided, wherever that clock is. Each question is
    /// looked at by itself: what lies between two of them is not the same time everywhere.
    private func zoneFault(of steps: [FuzzStep]) -> Fault? {
        guard inventor.usesTime else { return nil }
        for (place, step) in steps.enumerated() {
            guard step.isQuestion, step.arguments.contains(where: { $0["at"].text != nil }) else {
                continue
            }
            let known = steps[..<place].filter { $0.name == "user" || $0.name == "http" }
            if let fault = zoneFault(of: step, knowing: known) { return fault }
        }
        return nil
    }

    private func zoneFault(of question: FuzzStep, knowing steps: [FuzzStep]) -> Fault? {
        let here = play(steps + [question], order.source)
        guard here.failure == nil, let answer = here.answers.first else { return nil }
        for zone in FuzzInventor.zones {
            let there = play([Self.moved(to: zone)] + steps + [question], order.source)
            if let failure = there.failure {
                var fault = Self.fault(failure)
                (fault.zone, fault.steps) = (zone, steps + [question])
                return fault
            }
            guard let other = there.answers.first,
                Self.head(other) != Self.head(answer)
            else { continue }
            return Fault(
                kind: .zone, text: "\(answer) in UTC, \(other) in \(zone)", mark: "zone",
                expected: (0, here.sources[0]), zone: zone, steps: steps + [question])
        }
        return nil
    }

    private static func moved(to zone: String) -> FuzzStep {
        FuzzStep(name: "timezone", arguments: [.text(zone)])
    }

    // MARK: Findings

    private func finding(_ fault: Fault, in steps: [FuzzStep]) -> FuzzFinding {
        var runs = 0
        var smallest = (fault.steps ?? steps, fault)
        while let next = first(of: FuzzShrinking.smaller(smallest.0), with: fault, &runs) {
            smallest = next
        }
        runs = 0
        smallest = first(of: invented(in: smallest.0), with: fault, &runs) ?? smallest
        let (steps, fault) = smallest
        return FuzzFinding(kind: fault.kind, text: fault.text, test: test(fault, steps))
    }

    /// The first of these tests that shows the fault too, as long as there are runs left.
    private func first(
        of tests: [[FuzzStep]], with fault: Fault, _ runs: inout Int
    ) -> ([FuzzStep], Fault)? {
        for steps in tests {
            runs += 1
            guard runs <= Self.shrinkingMost else { return nil }
            let again = self.fault(of: steps, play(steps, order.source))
            if let again, again.mark == fault.mark { return (again.steps ?? steps, again) }
        }
        return nil
    }

    /// The same without what came from records: other letters of the same form stand there.
    private func invented(in steps: [FuzzStep]) -> [[FuzzStep]] {
        let changed = steps.map { step in
            var step = step
            step.arguments = step.arguments.map { $0.replacing(recordedTexts) }
            return step
        }
        return changed == steps ? [] : [changed]
    }

    /// The block to paste.
    private func test(_ fault: Fault, _ steps: [FuzzStep]) -> String {
        let name = LuaText.quoted("fuzz: \(String(fault.text.prefix(60)))")
        var lines = ["test(\(name), function(t)"]
        if let zone = fault.zone { lines.append("  \(Self.moved(to: zone).source)") }
        var question = 0
        for step in steps {
            defer { question += step.isQuestion ? 1 : 0 }
            if let expected = fault.expected, step.isQuestion, question == expected.place {
                lines.append("  t.expect(\(step.source), \(expected.source))")
                break
            }
            lines.append("  \(step.source)")
        }
        if fault.kind == .slow {
            let half = setting.limits.runTime / 2
            lines.append("  assert(t.cost() <= \(half), \"over half of the budget\")")
        }
        return (lines + ["end)"]).joined(separator: "\n")
    }
}

extension LuaValue {
    /// Every text in it.
    fileprivate var texts: [String] {
        switch self {
        case .text(let text): [text]
        case .list(let values): values.flatMap(\.texts)
        case .table(let pairs): pairs.flatMap { $0.value.texts }
        default: []
        }
    }

    /// The same with other texts of the same form in the place of `known` ones.
    fileprivate func replacing(_ known: Set<String>) -> LuaValue {
        switch self {
        case .text(let text) where known.contains(text):
            return .text(
                String(text.map { $0.isNumber ? "7" : $0.isLetter ? "x" : $0 }))
        case .list(let values): return .list(values.map { $0.replacing(known) })
        case .table(let pairs):
            return .table(pairs.map { Pair(key: $0.key, value: $0.value.replacing(known)) })
        default: return self
        }
    }
}
