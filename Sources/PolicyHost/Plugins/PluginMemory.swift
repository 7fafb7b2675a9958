// What the host keeps for a plugin, whatever generation runs it.

import CallModel
import Configuration

/// Belongs to the name of a plugin: outlives its Lua states and its generations.
final class PluginMemory {
    /// `call.vars`, as plain data.
    fileprivate(set) var vars: [CallID: [UInt8]] = [:]
    /// Bytes of it, and whose each is: of whoever caused the first of them.
    fileprivate var varsUsed = Quota()
    fileprivate var varsOwners: [CallID: Cause] = [:]
    /// What the generations in force hand over to each other; that of a canary is its own.
    let lineage = PluginLineage()
    var windows = SlidingWindows()
    /// Requests of `http` that handlers wait for.
    var fetches = Quota()
    /// Timers that `later` started and that have not fired.
    var timers = Quota()
    /// Functions that `detach` was given and that have not ended, and all other handlers that wait.
    var detached = Quota()
    var handlers = Quota()
    /// Bytes of reports that stand behind waiting handlers.
    var held = Quota()
    /// What was kept in `kv`.
    var kept = KeptKeys()
    /// Lines about failures, and all others.
    var lines = FailureLines()
    var logLines = LogLines()
}

/// What a plugin has as long as one generation in force follows the other. A canary stands beside
/// them, and has one of its own.
final class PluginLineage {
    /// `state` as it was last read, for when a Lua state has to be given up.
    var state: [UInt8]?
    /// The `state_version` that `state` was written under.
    var stateVersion: Int64 = 1
    /// The last `state` of every other version, for the way back to it.
    var otherStates: [Int64: SavedState] = [:]
    var tally = PluginTally()
}

extension PluginMemory {
    /// Keeps `bytes` as the vars of a call; returns whether there is room for them.
    func keepVars(
        _ bytes: [UInt8], of call: CallID, _ cause: Cause, _ limits: PluginLimits
    ) -> Bool {
        let owner = varsOwners[call] ?? cause
        let more = bytes.count - (vars[call]?.count ?? 0)
        guard
            more <= 0
                || varsUsed.hasRoom(
                    for: more, owner, most: limits.vars, part: limits.varsOfCause)
        else { return false }
        varsUsed.add(more, owner)
        varsOwners[call] = owner
        vars[call] = bytes
        return true
    }

    func forgetVars(of call: CallID) {
        guard let bytes = vars.removeValue(forKey: call) else { return }
        varsUsed.add(-bytes.count, varsOwners.removeValue(forKey: call) ?? .nobody)
    }
}

/// Counts for `callagent plugins` and metrics.
struct PluginTally: Equatable {
    var asked = 0
    var decided = 0
    var nanoseconds: UInt64 = 0
    var failures: [Failure: Int] = [:]
    var unreturned = 0
    /// Changes of `call.vars`, and reports, for which there was no room.
    var droppedVars = 0
    var leftReports = 0
    /// Lines of the log that were one too many.
    var leftLines = 0
    /// Changes of `state` by a generation that was already replaced.
    var droppedWrites = 0
    /// Pending timers whose name the new generation lacked.
    var droppedTimers = 0
    /// By the place of the hook.
    var hooks = [HookTally](repeating: HookTally(), count: Hook.allCases.count)

    /// Adds what another generation of the plugin has counted.
    mutating func add(_ other: PluginTally) {
        asked += other.asked
        decided += other.decided
        nanoseconds += other.nanoseconds
        failures.merge(other.failures, uniquingKeysWith: +)
        unreturned += other.unreturned
        droppedVars += other.droppedVars
        leftReports += other.leftReports
        leftLines += other.leftLines
        droppedWrites += other.droppedWrites
        droppedTimers += other.droppedTimers
        for place in hooks.indices { hooks[place].add(other.hooks[place]) }
    }

    mutating func note(
        _ hook: Hook, _ verdict: DecisionRecord.Verdict, processor: UInt64, wall: Milliseconds
    ) {
        hooks[hook.index].note(verdict, processor: processor, wall: wall)
    }
}
