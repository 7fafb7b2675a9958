// What the operator decides about one plugin, and the limits it runs under.

import CallModel
import JSON
import Lua

/// The limits of one plugin.
public struct PluginLimits: Sendable, Equatable {
    /// Bytes of its Lua state.
    public var memory = 16 << 20
    /// Processor time of its top level.
    public var loadTime: Milliseconds = 200
    /// Processor time of one uninterrupted run.
    public var runTime: Milliseconds = 10
    /// Processor time of one run in the fast lane, in microseconds; beyond it the run goes on with
    /// the policy thread.
    public var laneTime = 200
    /// Processor time of one event, waits apart.
    public var eventTime: Milliseconds = 250
    /// From the beginning of a shaping hook to its result.
    public var shapingTime: Milliseconds = 200
    /// From the beginning to the end of a report or a timer.
    public var reportTime: Milliseconds = 60_000
    /// Coroutines and handlers alive; of one pair of accounts.
    public var coroutines = 1_000
    /// Of those, the share of one pair.
    public var coroutinesOfCause = 64
    /// Named timers pending; of one pair of accounts.
    public var timers = 10_000
    /// Of those, the share of one pair.
    public var timersOfCause = 64
    /// Keys that `limit` counts; of one pair of accounts.
    public var limitKeys = 10_000
    /// Of those, the share of one pair.
    public var limitKeysOfCause = 1_000
    /// Requests of `http` under way at once; of one pair of accounts.
    public var fetches = 64
    /// Of those, the share of one pair.
    public var fetchesOfCause = 8
    /// Bytes of `call.vars` of all calls; of those of one pair of accounts.
    public var vars = 16 << 20
    /// Of those, the share of one pair.
    public var varsOfCause = 1 << 20
    /// Bytes that one pair of accounts brings into `kv`, as the plugin keeps it.
    public var keptOfCause = 1 << 20
    /// Bytes of reports that stand behind waiting handlers; of one pair of accounts.
    public var heldReports = 16 << 20
    /// Of those, the share of one pair.
    public var heldReportsOfCause = 1 << 20
    /// Lines of the log until it waits or ends.
    public var logLines = 100
    /// Lines of the log in a minute; of one pair of accounts.
    public var logLinesPerMinute = 60_000
    /// Of those, the share of one pair.
    public var logLinesOfCause = 600
    /// Bytes of one value that leaves Lua.
    public var value = 256 << 10
    /// Bytes of `state`, and of one call's `vars`.
    public var state = 64 << 10
    /// Bytes of source that `load` takes.
    public var source = 16 << 10
    /// Instructions between two looks at the clock.
    public var stride = 1_000

    /// The defaults.
    public init() {}
}

/// What the operator decides about one plugin.
public struct PluginSetting: Sendable, Equatable {
    /// Whom it is asked about; nil: everybody.
    public var users: Accounts?
    /// `options["NAME"]`.
    public var options = JSONObject()
    /// Where those options stand, or would stand, for messages.
    public var optionsSite: ScriptProblem?
    /// Instead of the plugin's own.
    public var onError: OnError?
    /// Capabilities granted.
    public var grants: [String] = []
    /// See `PluginLimits`.
    public var limits = PluginLimits()
    /// What the operator says of this plugin's limits alone; the others are the server's (G82).
    var ownLimits = Configuration.Override()
    /// The operator's time zone.
    public var zone = TimeZoneRules.utc
    /// The user directory; nil: everybody is in it.
    public var directory: Accounts?
    /// The operator's groups.
    public var groups: [String: [UserID]] = [:]
    /// Bytes of extended data.
    public var extendedDataMax = 2_048
    /// Whether something stands in for options that must be set and are not.
    public var standsIn = false
    /// Whether `test(…)` blocks are kept.
    public var keepsTests = false
    /// Whether it is noted which lines run.
    public var notesLines = false
    /// Who is told what its scripts do; nil: nobody.
    public var observer: ScriptObserver?

    /// Nothing special.
    public init() {}

    /// Keeps to the limits of all plugins, as far as there are none of its own.
    package mutating func keep(to limits: PluginLimits) {
        self.limits = limits
        self.limits.memory = ownLimits.memory ?? limits.memory
        self.limits.runTime = ownLimits.runTime ?? limits.runTime
        self.limits.eventTime = ownLimits.eventTime ?? limits.eventTime
        self.limits.logLines = ownLimits.logLines ?? limits.logLines
    }
}

extension Configuration {
    /// What the operator decides about one plugin.
    public func setting(of plugin: Plugin) -> PluginSetting {
        var setting = PluginSetting()
        setting.users = plugin.users.map { Accounts($0) }
        setting.options = generation.options[plugin.name] ?? JSONObject()
        let hasOptions = lines["options.\(plugin.name)"] != nil
        setting.optionsSite = problem("", at: hasOptions ? "options.\(plugin.name)" : "plugins")
        setting.zone = TimeZoneRules(named: generation.timezone) ?? .utc
        setting.directory = directory
        setting.groups = generation.groups
        setting.extendedDataMax = server.limits.extendedData
        if let override = generation.overrides[plugin.name] {
            setting.onError = override.onError
            setting.grants = override.grants
            setting.ownLimits = override
        }
        setting.keep(to: pluginLimits)
        return setting
    }

    /// The limits of every plugin that has none of its own.
    package var pluginLimits: PluginLimits {
        var limits = server.limits.plugin
        limits.memory = server.limits.pluginMemory
        limits.logLines = server.limits.logLines
        return limits
    }
}
