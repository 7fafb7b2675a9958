// Runs the plugins' own tests for `callagent test`.

import PolicyHost

/// What came of one test of a plugin.
public struct PluginTestLine: Sendable {
    /// `FILE:LINE: plugin: name`, and why it failed.
    public let text: String
    /// Whether it passed.
    public let hasPassed: Bool
}

/// The tests of plugins, run without a server.
public enum PluginTests {
    /// Runs the tests of the plugins that the operator's file lists, or of the named files.
    ///
    /// - Parameters:
    ///   - names: paths of plugin files or names of plugins; none: every listed plugin.
    ///   - file: the operator's file.
    /// - Throws: `configuration`, `FILE:LINE: text`, when a plugin cannot be loaded.
    public static func run(
        _ names: [String], file: String?
    ) throws(AgentError) -> [PluginTestLine] {
        do throws(PolicyProblems) {
            var lines: [PluginTestLine] = []
            for (source, setting) in try plugins(names, file) {
                let report = try PluginTest.run(source, setting: setting, cryptography: .system)
                lines += report.results.map(PluginTestLine.init)
            }
            return lines
        } catch {
            throw .configuration(error.description)
        }
    }

    /// Runs the tests of a plan's plugins, for a reload; returns how many there are.
    ///
    /// - Throws: `configuration`, one line for each test that failed.
    static func pass(_ plan: GenerationPlan) throws(AgentError) -> Int {
        var lines: [PluginTestLine] = []
        do throws(PolicyProblems) {
            for (source, setting) in plan.plugins {
                let report = try PluginTest.run(source, setting: setting, cryptography: .system)
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
    /// - Throws: `configuration`, one line `FILE:LINE: text` for each fault.
    public static func check(_ names: [String], file: String?) throws(AgentError) {
        do throws(PolicyProblems) {
            var plan = GenerationPlan()
            plan.plugins = try plugins(names, file).map { ($0.0, $0.1) }
            _ = try Generation(plan, seed: 0, cryptography: .system)
        } catch {
            throw .configuration(error.description)
        }
    }

    private static func plugins(
        _ names: [String], _ file: String?
    ) throws(PolicyProblems) -> [(PluginSource, PluginSetting)] {
        guard !names.isEmpty else {
            let configuration = try Deployment.configuration(at: file)
            return try Deployment.library(for: file).plan(for: configuration).plugins
                .map { ($0.source, $0.setting) }
        }
        var found: [(PluginSource, PluginSetting)] = []
        for name in names {
            let path = name.hasSuffix(".lua") ? String(name.dropLast(4)) : name
            let parts = path.split(separator: "/", omittingEmptySubsequences: false)
            let folder = parts.count > 1 ? parts.dropLast().joined(separator: "/") : nil
            let library =
                folder.map { PluginLibrary(folders: [$0.isEmpty ? "/" : $0]) }
                ?? Deployment.library(for: file)
            guard let last = parts.last, let source = library.find(String(last)) else {
                throw PolicyProblems([PolicyProblem("no plugin \(name)")])
            }
            found.append((source, PluginSetting()))
        }
        return found
    }
}

extension PluginTestLine {
    init(_ result: PluginTestResult) {
        hasPassed = result.problem == nil
        let place = "\(result.file):\(result.line): "
        text = result.problem.map(\.description) ?? "\(place)\(result.name)"
    }
}
