// Runs the `test(…)` blocks of a plugin: a real policy host at virtual time, without a server.

import CLua
import CallModel
import JSON

/// What came of one test.
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
    public let problem: PolicyProblem?
    /// What the plugin logged.
    public let log: [String]
}

/// The tests of one plugin.
public enum PluginTest {
    /// The moment at which every test begins: Monday, 2024-01-01 00:00:00 UTC.
    public static let begin = Moment(1_704_067_200_000)

    /// Runs the tests of `source` whose name contains `filter`, each in a world of its own.
    public static func run(
        _ source: PluginSource, setting: PluginSetting, filter: String? = nil,
        cryptography: Cryptography = .none, seed: UInt64 = 1
    ) throws(PolicyProblems) -> [PluginTestResult] {
        var setting = setting
        setting.keepsTests = true
        setting.grants += needs(of: source, setting)
        let services = Services(seed: seed)
        services.now = begin
        services.cryptography = cryptography
        let bench: PluginState
        do throws(PolicyProblem) {
            bench = try PluginState(source: source, setting: setting, services: services)
        } catch {
            throw PolicyProblems([error])
        }
        guard bench.namingProblems.isEmpty else { throw PolicyProblems(bench.namingProblems) }
        var results: [PluginTestResult] = []
        for test in bench.tests where filter.map({ test.name.contains($0) }) ?? true {
            let world = try TestWorld(source, setting, bench, cryptography, seed)
            let problem = world.run(test)
            results.append(
                PluginTestResult(
                    plugin: source.name, name: test.name, file: test.file, line: test.line,
                    problem: problem, log: world.log))
        }
        return results
    }

    /// A test grants what the plugin needs: what is asked of the web is answered by the test.
    private static func needs(of source: PluginSource, _ setting: PluginSetting) -> [String] {
        let state = try? PluginState(
            source: source, setting: setting, services: Services(seed: 0))
        return state?.manifest.needs ?? []
    }
}
