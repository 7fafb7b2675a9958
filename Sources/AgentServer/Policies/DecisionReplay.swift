// Asks the plugins on disk the recorded questions, for `callagent replay`.

import Configuration
import Decisions
import Lua
import PolicyHost
import Storage
import StoreContract

/// Replays recorded decisions without a server.
public enum DecisionReplay {
    /// Where the operator's files on disk decide differently from what was decided, or from a kept
    /// generation. Every secret reads as `secret:NAME`: their files need not be there.
    ///
    /// - Parameters:
    ///   - records: the decisions, oldest first.
    ///   - file: the operator's file; nil: the defaults.
    ///   - kept: the name of a kept generation, or how it begins; nil: what was committed counts.
    /// - Throws: `configuration` when the files are not good, `refused` when no such generation is
    ///   kept.
    public static func run(
        _ records: [DecisionRecord], file: String?, against kept: String?
    ) throws(AgentError) -> ReplayReport {
        let deployment = try Deployment(file: file, seed: 1, isForTests: true)
        guard let kept else {
            return ReplayReport(records, by: deployment.generation, cryptography: .system)
        }
        let place = AgentOptions.place(deployment.configuration)
        let other = try Deployment(
            try generation(kept, in: place), under: deployment.configuration, isForTests: true,
            seed: 1)
        return ReplayReport(
            records, by: deployment.generation, against: other.generation, cryptography: .system)
    }

    /// The plugins of a kept generation.
    static func sources(of kept: String, file: String?) throws(AgentError) -> [PluginSource] {
        let configuration: Configuration
        do throws(ScriptProblems) {
            configuration = try Deployment.configuration(at: file, isForTests: true)
        } catch {
            throw .configuration(error.description)
        }
        let found = try generation(kept, in: AgentOptions.place(configuration))
        return Deployment.sources(in: found)
    }

    static func generation(
        _ name: String, in directory: String
    ) throws(AgentError) -> StoredGeneration {
        guard directory != ":memory:" else {
            throw .refused("no generation is kept where state_dir is \":memory:\"")
        }
        let names: [String]
        do throws(StoreError) {
            names = try KeptGenerations.marks(in: directory).map(\.name)
            let found = names.filter { $0.hasPrefix(name) }
            if found.count == 1, let kept = try KeptGenerations.read(found[0], in: directory) {
                return kept
            }
        } catch {
            throw .store(error)
        }
        throw .refused(
            "no kept generation '\(name)'; kept are: \(names.joined(separator: " "))")
    }
}
