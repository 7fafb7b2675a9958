// What `callagent plugins` and metrics show of a host.

import CallModel

/// How one plugin is doing.
public struct PluginStatus: Sendable, Equatable {
    /// As the operator lists it.
    public let name: String
    /// As the plugin says.
    public let version: String?
    /// Its file below the folder of plugins.
    public let file: String
    /// Its hooks, in the order of the manual.
    public let hooks: [Hook]
    /// When it is tried again; nil: it is not quarantined.
    public let quarantinedUntil: Moment?
    /// Handlers started.
    public let asked: Int
    /// Answers given.
    public let decided: Int
    /// Failures of each kind.
    public let failures: [Failure: Int]
    /// Decisions made but not returned.
    public let unreturned: Int
    /// Timers dropped because a new generation did not declare them.
    public let droppedTimers: Int
    /// Changes of `state` dropped because the generation that made them was replaced.
    public let droppedWrites: Int
    /// Processor time of all its runs.
    public let nanoseconds: UInt64
    /// Bytes of its Lua state.
    public let memory: Int
    /// Handlers that wait.
    public let waiting: Int
    /// Timers pending.
    public let timers: Int
    /// Each hook that it has, with its counts once it was asked.
    public let byHook: [Hook: HookTally]
}

extension PolicyHost {
    /// Every plugin of the active generation, in order.
    public var status: [PluginStatus] {
        generation.plugins.map { plugin in
            let tally = plugin.tally
            return PluginStatus(
                name: plugin.name, version: plugin.manifest.version, file: plugin.file,
                hooks: Hook.allCases.filter { plugin.hooks[$0.index] >= 0 },
                quarantinedUntil: plugin.breaker.openUntil, asked: tally.asked,
                decided: tally.decided, failures: tally.failures, unreturned: tally.unreturned,
                droppedTimers: tally.droppedTimers, droppedWrites: tally.droppedWrites,
                nanoseconds: tally.nanoseconds, memory: plugin.bytesInUse,
                waiting: running.values.count { $0.plugin === plugin },
                timers: timers.values.count { $0.plugin == plugin.name },
                byHook: Dictionary(
                    uniqueKeysWithValues: Hook.allCases.compactMap { hook in
                        let hooked = tally.hooks[hook.index]
                        return hooked.asked > 0 ? (hook, hooked) : nil
                    }))
        }
    }

    /// Handlers that still run in generations that were replaced.
    public var drainingHandlers: Int {
        running.values.count { $0.plugin.generationNumber != generationNumber }
    }
}

extension Breaker {
    /// When a quarantine ends; nil when there is none.
    fileprivate var openUntil: Moment? {
        if case .open(let until, _) = state { until } else { nil }
    }
}
