// The fast lane: questions that are answered on the thread that everybody waits for.

import CLua
import CallModel
import Configuration

/// Whether one plugin may be asked in the fast lane. It begins outside, until it has shown that it
/// is quick; a handler that overruns takes it out for a while, each time for twice as long.
struct LanePass {
    /// So many runs must have shown that a plugin is quick: at most one of a hundred of them took
    /// half of what a run in the lane may take.
    private static let leastRuns = 20
    /// To collect the garbage of a Lua state that uses more bytes takes too long.
    private static let memoryMax = 2 << 20
    /// Garbage that may gather before it is collected in the lane, and before the host's own thread
    /// does: in the lane sooner, because little memory that is used again and again stays near the
    /// processor, and what is asked while the thread collects has to wait for it.
    private static let garbageMin = 128 << 10
    private static let garbageMax = 256 << 10
    /// How long an overrun takes the plugin out, and at most.
    private static let pauseMin: Milliseconds = 60_000
    private static let pauseMax: Milliseconds = 3_600_000

    private var runs = 0
    private var slowRuns = 0
    private var shutUntil = Moment(0)
    private var pause = pauseMin
    /// Whether its last run was in the lane: then its collector stands still.
    fileprivate var isInside = false
    /// Handlers that overran.
    private(set) var overruns = 0

    /// Its Lua state is a new one.
    mutating func begin() { isInside = false }

    @inline(__always)
    mutating func ran(_ nanoseconds: UInt64, of limits: PluginLimits) {
        runs += 1
        if nanoseconds > limits.quickRun { slowRuns += 1 }
    }

    /// A handler took too long, or failed in a way that is costly to make good.
    mutating func shut(at now: Moment) {
        overruns += 1
        shutUntil = now + pause
        pause = min(2 * pause, Self.pauseMax)
    }

    fileprivate func admits(_ vm: OpaquePointer?, at now: Moment) -> Bool {
        guard runs >= Self.leastRuns, slowRuns * 100 <= runs, now >= shutUntil else {
            return false
        }
        return callua_memory(vm) <= Self.memoryMax
    }

    /// Whether it is time for the host's own thread to collect what gathered in the lane, as Lua
    /// does when its memory has doubled. Outside of it Lua collects by itself, in small steps.
    fileprivate func hasMuchGarbage(_ vm: OpaquePointer?) -> Bool {
        isInside && callua_garbage(vm) > max(Self.garbageMax, callua_memory(vm) / 2)
    }

    /// Whether it is time to do so in the lane: the last time was as quick as most runs must be.
    fileprivate func collectsQuickly(_ vm: OpaquePointer?, _ limits: PluginLimits) -> Bool {
        guard isInside, callua_garbage(vm) > max(Self.garbageMin, callua_memory(vm) / 2) else {
            return false
        }
        let time = callua_collect_time(vm)
        return time > 0 && time <= limits.quickRun
    }
}

extension PluginLimits {
    /// Half of what a run in the lane may take, in nanoseconds.
    fileprivate var quickRun: UInt64 { UInt64(laneTime) * 500 }
}

extension PluginState {
    /// The next run is in the lane or not: in it nothing is collected, and a run stands back.
    @inline(__always)
    func run(inLane isInLane: Bool) {
        if lane.isInside != isInLane { change(isInLane) }
    }

    @inline(never)
    private func change(_ isInLane: Bool) {
        lane.isInside = isInLane
        callua_stand_back(vm, isInLane ? UInt64(setting.limits.laneTime) * 1_000 : 0)
    }
}

extension PolicyHost {
    /// Whether the fast lane may take `input`: a question to plugins that have always been quick,
    /// or something that runs no script.
    public func isQuick(_ input: PolicyInput, at now: Moment) -> Bool {
        switch input {
        case .asked(let question):
            isQuick(question.subject.hook, of: generation(for: input), at: now)
        case .withdrawn(let question): chains[.question(question)] == nil
        case .callEnded(let call): handlersOfCalls[call] == nil && timersOfCalls[call] == nil
        case .told, .pushing, .pushFailed, .replied, .deadlineReached, .due: false
        }
    }

    private func isQuick(_ hook: Hook, of generation: Generation, at now: Moment) -> Bool {
        let hook = hook.index
        for plugin in generation.plugins where plugin.hooks[hook] >= 0 {
            guard plugin.lane.admits(plugin.vm, at: now) else { return false }
        }
        return true
    }

    /// Handles an input for which `isQuick` holds, on another thread than the host's own, which
    /// must not use it meanwhile. A handler that takes longer is due on the host's own thread at
    /// once; there `afterLane` does the rest of the lane's work.
    public func handleInLane(_ input: PolicyInput, at now: Moment) -> [PolicyEffect] {
        isInLane = true
        defer { isInLane = false }
        return handle(input, at: now)
    }

    /// Collects in the lane what can be collected quickly, until `spent` has reached `end`.
    public func collectInLane(until end: UInt64) {
        collectInLane(generation, until: end)
        if let canary { collectInLane(canary.generation, until: end) }
    }

    private func collectInLane(_ generation: Generation, until end: UInt64) {
        for plugin in generation.plugins {
            guard plugin.lane.collectsQuickly(plugin.vm, plugin.setting.limits) else { continue }
            guard spent < end else { return }
            _ = callua_collect(plugin.vm)
            spent += callua_collect_time(plugin.vm)
        }
    }

    /// Whether something waits for `afterLane`.
    public var hasLeftInLane: Bool {
        !leftInLane.isEmpty || isReturnDue || hasMuchGarbage(generation)
            || canary.map { hasMuchGarbage($0.generation) } ?? false
    }

    private func hasMuchGarbage(_ generation: Generation) -> Bool {
        generation.plugins.contains { $0.lane.hasMuchGarbage($0.vm) }
    }

    private func collectGarbage(_ generation: Generation) {
        for plugin in generation.plugins where plugin.lane.hasMuchGarbage(plugin.vm) {
            _ = callua_collect(plugin.vm)
        }
    }

    /// Does what the lane left to the host's own thread.
    public func afterLane(at now: Moment) -> [PolicyEffect] {
        services.now = now
        let actions = leftInLane
        leftInLane = []
        for action in actions { action() }
        collectGarbage(generation)
        if let canary { collectGarbage(canary.generation) }
        if isReturnDue { goBackIfDue() }
        return services.takeEffects()
    }

    /// Does `action`, on the host's own thread.
    func outsideLane(_ action: @escaping () -> Void) {
        if isInLane { leftInLane.append(action) } else { action() }
    }

    /// A handler took longer than the lane gives it: the host's own thread goes on with it at once.
    /// Nobody is told that it waits, because it does not.
    func leaveLane(_ chain: Chain, _ plugin: PluginState, _ outcome: callua_outcome) {
        plugin.lane.shut(at: services.now)
        chains[chain.id] = chain
        deadlines.add(.decide(chain.id), at: chain.deadline)
        wait(plugin, outcome, task: .chain(chain.id), call: chain.view.call.id)
        guard let id = tasks[.chain(chain.id)], let handler = running[id] else { return }
        deadlines.add(.wake(id, handler.wait), at: services.now)
    }
}

extension Question.Subject {
    /// The hook that is asked.
    fileprivate var hook: Hook {
        switch self {
        case .invite: .invite
        case .dial: .dial
        case .incomingData, .outgoingData: .extendedData
        case .join: .join
        case .token: .token
        }
    }
}
