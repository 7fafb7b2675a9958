// Runs the plugins' own tests for `callagent test`.

import CallModel
import Configuration
import JSON
import Lua
import PolicyHost
import PolicyTesting

/// The result of one test of a plugin.
public struct PluginTestLine: Sendable {
    /// `FILE:LINE: plugin: name`, and why it failed.
    public let text: String
    /// Whether it passed.
    public let hasPassed: Bool
}

/// Which lines of a plugin's file its tests have run.
public struct PluginCoverageLine: Sendable {
    /// `FILE: 90 % of 20 lines; not run: 4, 17-18`.
    public let text: String
    /// The share of its lines that have run, rounded down.
    public let percent: Int
}

/// The tests of plugins, run without a server.
public enum PluginTests {
    /// The results of the tests of one or more plugins.
    public struct Outcome: Sendable {
        /// One for each test, in order.
        public internal(set) var tests: [PluginTestLine] = []
        /// One for each file, in order.
        public internal(set) var coverage: [PluginCoverageLine] = []
        /// Plugins in the folder that were passed over, because the operator's file does not list
        /// them; empty where plugins were named.
        public internal(set) var unlisted: [String] = []
    }

    /// Runs the tests of the plugins that the operator's file lists, or of the named files.
    ///
    /// - Parameters:
    ///   - names: paths of plugin files or names of plugins; none: every listed plugin.
    ///   - file: the operator's file.
    ///   - filter: only tests whose name contains it.
    /// - Throws: `configuration`, `FILE:LINE: text`, when a plugin cannot be loaded or the
    ///   operator's file is wrong.
    public static func run(
        _ names: [String], file: String?, filter: String? = nil
    ) throws(AgentError) -> Outcome {
        do throws(ScriptProblems) {
            var outcome = Outcome()
            let configuration = try Deployment.configuration(at: file, isForTests: true)
            let modes = configuration.testedModes
            if names.isEmpty {
                outcome.unlisted = Deployment.library(for: file).unlisted(in: configuration)
            }
            for (source, setting) in try plugins(names, file) {
                let report = try PluginTest.run(
                    source, setting: setting, modes: modes, filter: filter,
                    cryptography: .system)
                outcome.tests += report.results.map(PluginTestLine.init)
                outcome.coverage += report.coverage.map(PluginCoverageLine.init)
            }
            return outcome
        } catch {
            throw .configuration(error.description)
        }
    }

    /// Runs the test `name` of a plugin as an editor shows it, with no network and no secret.
    ///
    /// - Parameter file: the operator's file, which may name modes of its own; nil: there is none.
    public static func press(
        _ name: String, of source: PluginSource, file: String?
    ) -> PluginTestLine {
        do throws(ScriptProblems) {
            let report = try PluginTest.run(
                source, setting: PluginSetting(), modes: try modes(of: file), filter: name,
                cryptography: .system)
            // The filter takes any test that has the name within its own.
            let lines = report.results.filter { $0.name == name }.map(PluginTestLine.init)
            let failed = lines.filter { !$0.hasPassed }
            let word = failed.isEmpty ? "ok" : "FAILED"
            let shown = failed.isEmpty ? lines : failed
            let text = shown.map { "\(word) \($0.text)" }.joined(separator: "\n")
            return PluginTestLine(text: text, hasPassed: failed.isEmpty && !lines.isEmpty)
        } catch {
            return PluginTestLine(text: error.description, hasPassed: false)
        }
    }

    /// Runs the tests of a deployment's plugins, for a reload; returns how many there are.
    ///
    /// - Throws: `configuration`, one line for each test that failed.
    static func pass(_ deployment: Deployment) throws(AgentError) -> Int {
        var lines: [PluginTestLine] = []
        let modes = deployment.configuration.testedModes
        do throws(ScriptProblems) {
            for (source, setting) in deployment.plan.plugins {
                let report = try PluginTest.run(
                    source, setting: setting, modes: modes, cryptography: .system)
                lines += report.results.map(PluginTestLine.init)
            }
        } catch {
            throw .configuration(error.description)
        }
        let failed = lines.filter { !$0.hasPassed }.map(\.text)
        guard failed.isEmpty else { throw .configuration(failed.joined(separator: "\n")) }
        return lines.count
    }

    /// Looks for mistakes in the named plugins, each by itself; nothing of them runs but the top
    /// level.
    ///
    /// - Returns: what is told of plugins that are good, a line `FILE:LINE: text` each.
    /// - Throws: `configuration`, one line `FILE:LINE: text` for each fault.
    public static func check(_ names: [String], file: String?) throws(AgentError) -> [String] {
        do throws(ScriptProblems) {
            var plan = GenerationPlan()
            plan.plugins = try plugins(names, file).map { ($0.0, $0.1) }
            plan.isWhole = false
            let generation = try Generation(plan, seed: 0, cryptography: .system)
            guard generation.mistakes.isEmpty else { throw ScriptProblems(generation.mistakes) }
            return generation.changedLocals.map(\.description)
        } catch {
            throw .configuration(error.description)
        }
    }

    static func plugins(
        _ names: [String], _ file: String?
    ) throws(ScriptProblems) -> [(PluginSource, PluginSetting)] {
        guard !names.isEmpty else {
            let configuration = try Deployment.configuration(at: file, isForTests: true)
            return try Deployment.library(for: file).plan(for: configuration).plugins
                .map { ($0.source, $0.setting) }
        }
        var found: [(PluginSource, PluginSetting)] = []
        for name in names {
            let source = try find(name, file: file)
            var setting = PluginSetting()
            setting.standsIn = true
            setting.grants = source.needs
            found.append((source, setting))
        }
        return found
    }

    /// The modes that calls of a test may have: the built-in ones, and the operator's own.
    static func modes(of file: String?) throws(ScriptProblems) -> [ModeRow] {
        try Deployment.configuration(at: file, isForTests: true).testedModes
    }

    /// The files of a plugin.
    ///
    /// - Parameters:
    ///   - name: the path of its file or folder, or its name in the library.
    ///   - file: the operator's file.
    public static func find(
        _ name: String, file: String?
    ) throws(ScriptProblems) -> PluginSource {
        var path = name.hasSuffix(".lua") ? String(name.dropLast(4)) : name
        if path.hasSuffix("/init") { path = String(path.dropLast(5)) }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.count > 1 ? parts.dropLast().joined(separator: "/") : nil
        var library = Deployment.library(for: file)
        if let folder {
            library = PluginLibrary(folders: [folder.isEmpty ? "/" : folder])
        } else if name.hasSuffix(".lua") {
            library = PluginLibrary(folders: ["."])
        }
        let last = parts.last.map(String.init) ?? ""
        if let source = library.find(last) { return source }
        let hint = library.hint(for: last)
        throw ScriptProblems([ScriptProblem("no plugin '\(name)'\(hint)")])
    }

    /// What came of one question to a plugin, under the options that the operator gave it. Every
    /// secret reads as `secret:NAME`.
    public static func attempt(
        _ name: String, file: String?, options: JSONObject?, _ trial: PluginTrial
    ) throws(ScriptProblems) -> PluginTrial.Outcome {
        let source = try find(name, file: file)
        let configuration = try Deployment.configuration(at: file, isForTests: true)
        let entry = configuration.plugins.first { $0.name == source.name }
        var setting = configuration.setting(of: entry ?? Configuration.Plugin(name: source.name))
        if let options { setting.options = options }
        setting.standsIn = true
        setting.grants = source.needs
        var trial = trial
        trial.modes = configuration.testedModes
        return try trial.run(source, setting, cryptography: .system)
    }

    /// The result of one question to all plugins that the operator lists. They are asked as the
    /// server would ask them, but every secret reads as `secret:NAME`.
    public static func attempt(
        file: String?, _ trial: PluginTrial
    ) throws(ScriptProblems) -> PluginTrial.Outcome {
        let configuration = try Deployment.configuration(at: file, isForTests: true)
        let plan = try Deployment.library(for: file).plan(for: configuration)
        return try trial.run(plan, configuration.settings(hooks: []), cryptography: .system)
    }
}

extension Configuration {
    /// See `PluginTests.modes`. The built-in ones are as they come, as plugins are in their tests.
    var testedModes: [ModeRow] { ModeRow.all + ownModes.map { ModeRow($0) } }
}

extension PluginCoverageLine {
    init(_ coverage: FileCoverage) {
        let (all, missed) = (coverage.lines.count, coverage.missed)
        percent = all == 0 ? 100 : (all - missed.count) * 100 / all
        let rest = missed.isEmpty ? "" : "; not run: \(Self.ranges(missed))"
        text = "\(coverage.file): \(percent) % of \(all) lines\(rest)"
    }

    /// `4, 17-18` for 4, 17, 18.
    private static func ranges(_ lines: [Int]) -> String {
        var ranges: [ClosedRange<Int>] = []
        for line in lines {
            if let last = ranges.last, last.upperBound == line - 1 {
                ranges[ranges.count - 1] = last.lowerBound...line
            } else {
                ranges.append(line...line)
            }
        }
        return ranges.map {
            $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)"
        }
        .joined(separator: ", ")
    }
}

extension PluginTestLine {
    init(_ result: PluginTestResult) {
        hasPassed = result.problem == nil
        let place = "\(result.file):\(result.line): "
        text = result.problem.map(\.description) ?? "\(place)\(result.name)"
    }
}
