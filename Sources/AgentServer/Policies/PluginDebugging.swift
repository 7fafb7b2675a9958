// What `callagent debug` can run: a test of a plugin, or a decision that was made, in the
// generation that made it. No server takes part.

import CallModel
import Configuration
import Debugger
import Decisions
import JSON
import Lua
import PolicyHost
import PolicyTesting

/// Finds what is to be debugged.
public enum PluginDebugging {
    /// A test of a plugin.
    ///
    /// - Parameters:
    ///   - name: the path of its file or folder, or its name in the library.
    ///   - test: the name of the test, or a part of it that no other one has; nil: the only one.
    ///   - file: the operator's file.
    public static func test(
        _ test: String?, of name: String, file: String?
    ) throws(DebugProblem) -> any DebugTarget {
        do throws(ScriptProblems) {
            var setting = PluginSetting()
            setting.standsIn = true
            let source = try PluginTests.find(name, file: file)
            let names = try PluginTest.names(source, setting: setting, cryptography: .system)
            let place = try place(of: test, in: names)
            return TestedPlugin(
                source: source, modes: try PluginTests.modes(of: file), test: place,
                files: Paths(of: name, file: file).files([source]))
        } catch {
            throw DebugProblem(error.description)
        }
    }

    private static func place(
        of test: String?, in names: [String]
    ) throws(ScriptProblems) -> Int {
        let wanted = test ?? ""
        if let place = names.firstIndex(of: wanted) { return place }
        let found = names.indices.filter { wanted.isEmpty || names[$0].contains(wanted) }
        if found.count == 1 { return found[0] }
        let all = names.map { "'\($0)'" }.joined(separator: ", ")
        let what = test.map { "'\($0)'" } ?? "no name"
        let problem =
            names.isEmpty
            ? "the plugin has no test" : "\(what) means none or several tests; there are \(all)"
        throw ScriptProblems([ScriptProblem(problem)])
    }

    /// A decision that was made.
    ///
    /// - Parameters:
    ///   - record: what was kept of it.
    ///   - file: the operator's file.
    ///   - isEdited: whether the plugins on disk are asked, instead of the generation that decided.
    public static func decision(
        _ record: DecisionRecord, file: String?, isEdited: Bool
    ) throws(DebugProblem) -> any DebugTarget {
        guard record.input != nil else {
            throw DebugProblem("the data of this decision was not kept")
        }
        do throws(AgentError) {
            let plan = try Deployment.plan(
                of: isEdited ? nil : record.generation, file: file)
            return MadeDecision(
                record: record, plan: plan,
                files: Paths(of: nil, file: file).files(plan.plugins.map(\.source)),
                isEdited: isEdited)
        } catch {
            throw DebugProblem("\(error)")
        }
    }
}

/// Where the files of plugins stand.
private struct Paths {
    private let folders: [String]

    init(of name: String?, file: String?) {
        var folders = Deployment.library(for: file).folders
        if let name, name.contains("/") || name.hasSuffix(".lua") {
            var parts = name.split(separator: "/", omittingEmptySubsequences: false)
            if parts.last == "init.lua" { parts.removeLast() }
            folders = [parts.count > 1 ? parts.dropLast().joined(separator: "/") : "."]
        }
        self.folders = folders
    }

    func files(_ sources: [PluginSource]) -> [DebugFile] {
        sources.flatMap(\.files).map { file in
            let paths = folders.map { "\($0)/\(file.name)" }
            let path = paths.first { Files.exists($0) }
            let text = path.flatMap { Files.read($0, limit: 1 << 20) }
            return DebugFile(file, path: path, isOnDisk: text == file.text)
        }
    }
}

/// One test, in a world of its own.
private struct TestedPlugin: DebugTarget {
    let source: PluginSource
    let modes: [ModeRow]
    let test: Int
    let files: [DebugFile]
    let notes: [String] = []

    func run(_ observer: ScriptObserver) -> DebugResult {
        do throws(ScriptProblems) {
            let result = try PluginTest.run(
                testAt: test, of: source, modes: modes, cryptography: .system,
                observer: observer)
            let line = PluginTestLine(result)
            return DebugResult(
                lines: [(line.hasPassed ? "ok      " : "FAILED  ") + line.text],
                isGood: line.hasPassed)
        } catch {
            return DebugResult(lines: error.lines, isGood: false)
        }
    }
}

/// A recorded decision, asked once more.
private struct MadeDecision: DebugTarget {
    let record: DecisionRecord
    let plan: GenerationPlan
    let files: [DebugFile]
    let isEdited: Bool

    var notes: [String] {
        let which = isEdited ? "the files on disk" : "generation \(record.generation)"
        return ["on.\(record.hook.rawValue) of call \(record.call), asked of \(which)"]
            + unknownStates.sorted().map {
                "state not recorded: that of '\($0)' begins as the files of the plugin leave it"
            }
    }

    /// The plugins that were asked, and nobody knows with what `state`.
    var unknownStates: Set<String> {
        let known = record.copies
        return Set(record.asked.map(\.plugin).filter { known[$0] == nil })
    }

    func run(_ observer: ScriptObserver) -> DebugResult {
        var plan = plan
        for place in plan.plugins.indices { plan.plugins[place].setting.observer = observer }
        do throws(ScriptProblems) {
            let generation = try Generation(
                plan, seed: 1, cryptography: .system, wallTime: record.at.milliseconds)
            let replay = Replay(generation, cryptography: .system)
            replay.givesStates = true
            guard let answered = replay.ask(record) else {
                return DebugResult(lines: ["nobody answered in time"], isGood: false)
            }
            return result(answered, replay.stateProblems)
        } catch {
            return DebugResult(lines: error.lines, isGood: false)
        }
    }

    private func result(_ answered: Replay.Answered, _ problems: [String]) -> DebugResult {
        let now = record.decided(answered.outcome, by: answered.asked)
        let isSame = answered.outcome == record.outcome
        var lines = problems + ["\(now.inWords) → \(now.decision)"]
        if !isSame { lines.append("it was decided otherwise then: \(record.decision)") }
        for words in answered.missing {
            lines.append("\(words): nobody asked for it when the decision was recorded")
        }
        // Who edits wants another decision; the same generation must decide the same.
        return DebugResult(lines: lines, isGood: isSame || isEdited)
    }
}

extension DecisionRecord {
    /// What was decided, as the log tells it.
    fileprivate var decision: String {
        let json = try? JSONValue(parsing: line, limits: JSONLimits(bytes: max(1, line.count)))
        return json?["decision"].map { "\($0)" } ?? "nothing"
    }
}

extension ScriptProblems {
    fileprivate var lines: [String] { description.split(separator: "\n").map(String.init) }
}
