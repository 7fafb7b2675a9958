// Runs the `test(…)` blocks of a plugin: a real policy host and a real switchboard at virtual time,
// without a server.

import CallModel
import Configuration
import JSON
import Lua
import PolicyHost

/// The result of one test.
public struct PluginTestResult: Sendable, Equatable {
    /// The plugin.
    public let plugin: String
    /// As the plugin calls it.
    public let name: String
    /// Where it stands.
    public let file: String
    /// Where it begins.
    public let line: Int
    /// Why it failed; nil: it passed.
    public let problem: ScriptProblem?
    /// What the plugin logged.
    public let log: [String]
}

/// Which lines of one file the tests have run.
public struct FileCoverage: Sendable, Equatable {
    /// As messages name it.
    public let file: String
    /// Lines with code, in order.
    public let lines: [Int]
    /// Those of them that no test has run, in order.
    public let missed: [Int]
}

/// The results of the tests of one plugin.
public struct PluginTestReport: Sendable, Equatable {
    /// In the order of the file.
    public let results: [PluginTestResult]
    /// For every file of the plugin.
    public let coverage: [FileCoverage]

    /// Whether every test passed.
    public var isPassed: Bool { results.allSatisfy { $0.problem == nil } }
}

/// The tests of one plugin.
public enum PluginTest {
    /// The moment at which every test begins: Monday, 2024-01-01 00:00:00 UTC.
    public static let begin = Moment(1_704_067_200_000)
    /// Every test has the same dice.
    private static let seed: UInt64 = 1

    /// Runs the tests of `source` whose name contains `filter`, each in a world of its own.
    ///
    /// - Parameters:
    ///   - modes: those that its calls may have.
    public static func run(
        _ source: PluginSource, setting: PluginSetting, modes: [ModeRow] = ModeRow.all,
        filter: String? = nil, cryptography: Cryptography = .none
    ) throws(ScriptProblems) -> PluginTestReport {
        try run(source, setting: setting, modes: modes, cryptography: cryptography) { name in
            filter.map(name.contains) ?? true ? .run : .leaveOut
        }
    }

    /// What becomes of a test.
    public enum Choice: Sendable {
        /// It is run.
        case run
        /// It is left out.
        case leaveOut
        /// It is left out, and so are all after it.
        case end
    }

    /// Runs the tests of `source` that are chosen by name, each in a world of its own.
    ///
    /// - Parameters:
    ///   - modes: those that its calls may have.
    ///   - choose: asked before each test.
    public static func run(
        _ source: PluginSource, setting: PluginSetting, modes: [ModeRow],
        cryptography: Cryptography, choosing choose: (String) -> Choice
    ) throws(ScriptProblems) -> PluginTestReport {
        var setting = self.setting(for: source, setting)
        setting.notesLines = true
        let plan = plan(source, setting)
        setting.keepsTests = true
        let first = try bench(source, setting, cryptography)
        var results: [PluginTestResult] = []
        var ran: [String: Set<Int>] = [:]
        tests: for index in first.tests.indices {
            switch choose(first.tests[index].name) {
            case .run: break
            case .leaveOut: continue
            case .end: break tests
            }
            // A Lua state for each test: locals of one test must not be seen by the next.
            let bench = try bench(source, setting, cryptography)
            let test = bench.tests[index]
            let world = try TestWorld(plan, .modes(modes), bench, cryptography, seed)
            let problem = world.run(test)
            for file in source.files {
                ran[file.name, default: []]
                    .formUnion(world.linesRun(of: file).union(bench.linesRun(of: file)))
            }
            results.append(
                PluginTestResult(
                    plugin: source.name, name: test.name, file: test.file, line: test.line,
                    problem: problem, log: world.log.map(\.inWords)))
        }
        return PluginTestReport(
            results: results, coverage: coverage(of: source, first, ran))
    }

    /// A generation of the plugin alone.
    private static func plan(_ source: PluginSource, _ setting: PluginSetting) -> GenerationPlan {
        var plan = GenerationPlan()
        plan.plugins = [(source, setting)]
        plan.isWhole = false
        plan.name = "test"
        return plan
    }

    /// The names of the tests of `source`, in order.
    public static func names(
        _ source: PluginSource, setting: PluginSetting, cryptography: Cryptography = .none
    ) throws(ScriptProblems) -> [String] {
        var setting = self.setting(for: source, setting)
        setting.keepsTests = true
        return try bench(source, setting, cryptography).tests.map(\.name)
    }

    /// Runs the test at `place` while `observer` looks on.
    public static func run(
        testAt place: Int, of source: PluginSource, modes: [ModeRow] = ModeRow.all,
        cryptography: Cryptography = .none, observer: ScriptObserver
    ) throws(ScriptProblems) -> PluginTestResult {
        var setting = self.setting(for: source, PluginSetting())
        setting.observer = observer
        let plan = plan(source, setting)
        setting.keepsTests = true
        let bench = try bench(source, setting, cryptography)
        let test = bench.tests[place]
        let world = try TestWorld(plan, .modes(modes), bench, cryptography, seed)
        let problem = world.run(test)
        return PluginTestResult(
            plugin: source.name, name: test.name, file: test.file, line: test.line,
            problem: problem, log: world.log.map(\.inWords))
    }

    /// A plugin as its tests see it: with its defaults, in UTC, without the operator's decisions
    /// about it, and granted what it needs, because the test answers its requests to the web.
    static func setting(for source: PluginSource, _ given: PluginSetting) -> PluginSetting {
        var setting = PluginSetting()
        setting.limits = given.limits
        setting.extendedDataMax = given.extendedDataMax
        setting.standsIn = true
        setting.grants = source.needs
        return setting
    }

    /// A Lua state for the code of tests.
    private static func bench(
        _ source: PluginSource, _ setting: PluginSetting, _ cryptography: Cryptography
    ) throws(ScriptProblems) -> PluginState {
        let services = Services(seed: seed)
        services.now = begin
        services.cryptography = cryptography
        let bench: PluginState
        do throws(ScriptProblem) {
            bench = try PluginState(source: source, setting: setting, services: services)
        } catch {
            throw ScriptProblems([error])
        }
        guard bench.namingProblems.isEmpty else { throw ScriptProblems(bench.namingProblems) }
        return bench
    }

    private static func coverage(
        of source: PluginSource, _ bench: PluginState, _ ran: [String: Set<Int>]
    ) -> [FileCoverage] {
        source.files.map { file in
            let lines = ((try? bench.compile(file))?.codeLines ?? []).sorted()
            let all = bench.linesRun(of: file).union(ran[file.name] ?? [])
            return FileCoverage(
                file: file.name, lines: lines, missed: lines.filter { !all.contains($0) })
        }
    }
}
