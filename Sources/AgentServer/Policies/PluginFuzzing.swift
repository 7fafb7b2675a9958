// Looks for faults in plugins, for `callagent fuzz`.

import CallModel
import Configuration
import EventLoop
import Lua
import PolicyHost
import PolicyTesting

/// Faults of plugins, looked for without a server.
public enum PluginFuzzing {
    /// How to look.
    public struct Order {
        /// Paths of plugin files or names of plugins; none: every listed plugin.
        public var names: [String] = []
        /// The operator's file.
        public var file: String?
        /// The name of a kept generation, or how it begins, whose decisions are to be the same.
        public var against: String?
        /// Of the tests that are invented: the same number, the same tests.
        public var seed: UInt64 = 1
        /// For each plugin.
        public var time: Milliseconds = 10_000
        /// Decisions that were really made.
        public var records: [DecisionRecord] = []

        /// The usual way.
        public init() {}
    }

    /// Looks at one plugin after the other; tells what came of each.
    ///
    /// - Throws: `configuration` when a plugin cannot be loaded, `refused` when no such generation
    ///   is kept.
    public static func run(
        _ order: Order, tell: (String, PluginFuzz.Report) -> Void
    ) throws(AgentError) {
        let others = try order.against.map { name throws(AgentError) in
            try DecisionReplay.sources(of: name, file: order.file)
        }
        do throws(ScriptProblems) {
            let modes = try PluginTests.modes(of: order.file)
            for (source, setting) in try PluginTests.plugins(order.names, order.file) {
                var one = PluginFuzz.Order(source)
                one.setting = setting
                one.seed = order.seed
                one.cryptography = .system
                one.modes = modes
                one.recorded = order.records.compactMap(\.extendedData)
                one.other = others?.first { $0.name == source.name }
                let end = Clock.bootMilliseconds() + order.time
                let report = try PluginFuzz(one).run { Clock.bootMilliseconds() >= end }
                tell(source.name, report)
            }
        } catch {
            throw .configuration(error.description)
        }
    }
}

extension DecisionRecord {
    /// The extended data of the call that was asked about.
    fileprivate var extendedData: String? {
        switch input?.subject {
        case .question(let question): question.call.extendedData
        case .push(_, let call): call.extendedData
        case nil: nil
        }
    }
}
