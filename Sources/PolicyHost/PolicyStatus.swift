// What `callagent plugins` and metrics show of a host.

import CallModel
import Lua

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
    /// When it is run again; nil: it is not quarantined.
    public let quarantinedUntil: Moment?
    /// For whom it is passed over, and which of its timers and reports rest.
    public let paused: [PluginPause]
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
    /// Changes of `call.vars` left out because there was no room for them.
    public let droppedVars: Int
    /// Reports left out because too many waited.
    public let leftReports: Int
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
    /// The accounts that made the calls it was asked about lately, most processor time first.
    public let byAccount: [AccountUse]
}

extension PluginStatus {
    /// The same plugin with what its generation in a canary has counted, for figures that only
    /// rise.
    public func adding(_ other: PluginStatus) -> PluginStatus {
        PluginStatus(
            name: name, version: version, file: file,
            hooks: Hook.allCases.filter { hooks.contains($0) || other.hooks.contains($0) },
            quarantinedUntil: quarantinedUntil ?? other.quarantinedUntil,
            paused: paused + other.paused, asked: asked + other.asked,
            decided: decided + other.decided,
            failures: failures.merging(other.failures, uniquingKeysWith: +),
            unreturned: unreturned + other.unreturned,
            droppedTimers: droppedTimers + other.droppedTimers,
            droppedWrites: droppedWrites + other.droppedWrites,
            droppedVars: droppedVars + other.droppedVars,
            leftReports: leftReports + other.leftReports,
            nanoseconds: nanoseconds + other.nanoseconds, memory: memory + other.memory,
            waiting: waiting + other.waiting, timers: timers,
            byHook: byHook.merging(other.byHook) { own, added in
                var sum = own
                sum.add(added)
                return sum
            }, byAccount: byAccount)
    }
}

/// What one account has had of a plugin.
public struct AccountUse: Sendable, Equatable {
    /// So many are listed at most.
    static let most = 100

    /// The account that made the calls.
    public let account: UserID
    /// Times that the plugin was asked or told because of it.
    public fileprivate(set) var asked = 0
    /// Failures that it met.
    public fileprivate(set) var failed = 0
    /// Processor time.
    public fileprivate(set) var nanoseconds: UInt64 = 0
}

/// What a plugin is passed over for.
public struct PluginPause: Sendable, Equatable {
    /// An account, `ann in calls of bob`, `the timer 'sweep'` or `on.presence`.
    public let text: String
    /// When one event of it is tried again.
    public let until: Moment
}

extension PolicyHost {
    /// Every plugin of the active generation, in order.
    public var status: [PluginStatus] { status(of: generation) }

    func status(of generation: Generation) -> [PluginStatus] {
        generation.plugins.map { plugin in
            let (tally, quarantine) = (plugin.tally, plugin.health.failing.quarantine)
            return PluginStatus(
                name: plugin.name, version: plugin.manifest.version, file: plugin.file,
                hooks: Hook.allCases.filter { plugin.hooks[$0.index] >= 0 },
                quarantinedUntil: quarantine.isOn(at: services.now) ? quarantine.until : nil,
                paused: plugin.health.failing.paused, asked: tally.asked,
                decided: tally.decided, failures: tally.failures, unreturned: tally.unreturned,
                droppedTimers: tally.droppedTimers, droppedWrites: tally.droppedWrites,
                droppedVars: tally.droppedVars, leftReports: tally.leftReports,
                nanoseconds: tally.nanoseconds, memory: plugin.bytesInUse,
                waiting: running.values.count { $0.plugin === plugin },
                timers: timers.values.count { $0.plugin == plugin.name },
                byHook: Dictionary(
                    uniqueKeysWithValues: Hook.allCases.compactMap { hook in
                        let hooked = tally.hooks[hook.index]
                        return hooked.asked > 0 ? (hook, hooked) : nil
                    }), byAccount: plugin.health.pairs.byAccount)
        }
    }

    /// Handlers that still run in generations that were replaced.
    public var drainingHandlers: Int {
        running.values.count {
            let number = $0.plugin.generationNumber
            return number != generationNumber && number != canary?.number
        }
    }
}

extension RecentPairs {
    /// What each account has had, most processor time first.
    fileprivate var byAccount: [AccountUse] {
        var uses: [UserID: AccountUse] = [:]
        for pair in all {
            guard let account = pair.cause.caller ?? pair.cause.user else { continue }
            var use = uses[account] ?? AccountUse(account: account)
            use.asked += pair.asked
            use.failed += pair.failed
            use.nanoseconds += pair.nanoseconds
            uses[account] = use
        }
        let sorted = uses.values.sorted {
            ($0.nanoseconds, $1.account) > ($1.nanoseconds, $0.account)
        }
        return Array(sorted.prefix(AccountUse.most))
    }
}
