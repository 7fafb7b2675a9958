// One generation takes over from another between two inputs.

import CLua
import CallModel
import JSON

/// Why a generation begins or ends, as `on.start` and `on.stop` are told.
public enum ChangeReason: String, Sendable, CaseIterable {
    case boot, reload, rollback, shutdown
}

/// A plugin's `state` at some moment.
public struct SavedState: Sendable, Equatable {
    let bytes: [UInt8]
    let version: Int64
}

extension PolicyHost {
    /// Tells the plugins that their generation begins. To be called once, at the start.
    public func start(at now: Moment) -> [PolicyEffect] {
        services.now = now
        arrangeTimers()
        tellChange(.start, .boot)
        runDetached()
        return services.takeEffects()
    }

    /// Tells the plugins that the process ends.
    public func stop(at now: Moment) -> [PolicyEffect] {
        services.now = now
        tellChange(.stop, .shutdown)
        runDetached()
        return services.takeEffects()
    }

    /// Copies of every plugin's `state`.
    func savedStates() -> [String: SavedState] {
        var states: [String: SavedState] = [:]
        for plugin in generation.plugins {
            plugin.saveState()
            guard let bytes = plugin.memory.state else { continue }
            states[plugin.name] = SavedState(bytes: bytes, version: plugin.memory.stateVersion)
        }
        return states
    }

    /// `next` answers from now on. Handlers that wait go on in the generation in which they were
    /// started, for at most 30 s. When some plugin cannot take over the `state` of the one before
    /// it, nothing changes.
    public func activate(
        _ next: Generation, reason: ChangeReason = .reload, at now: Moment
    ) throws(PolicyProblems) -> [PolicyEffect] {
        services.now = now
        let given = savedStates()
        let states = reason == .rollback ? earlierStates(given, for: next) : given
        let previous = generation
        try hand(over: next, states: states, reason: reason)
        keep(given, besides: next)
        probation =
            reason == .reload
            ? Probation(previous: previous, states: states, until: now + Probation.time) : nil
        deadlines.add(.endProbation(generationNumber), at: now + Probation.time)
        runDetached()
        return services.takeEffects()
    }

    /// Keeps what was handed over, where the next generation has a version of its own.
    private func keep(_ states: [String: SavedState], besides next: Generation) {
        for plugin in next.plugins {
            guard let state = states[plugin.name] else { continue }
            guard state.version != plugin.manifest.stateVersion else { continue }
            plugin.memory.otherStates[state.version] = state
        }
    }

    /// The way back is open also after a migration: a plugin whose version was another one goes
    /// on with the `state` that it gave away, or begins without.
    private func earlierStates(
        _ given: [String: SavedState], for next: Generation
    ) -> [String: SavedState] {
        var states = given
        for plugin in next.plugins {
            let version = plugin.manifest.stateVersion
            guard let state = states[plugin.name], state.version != version else { continue }
            let earlier = memories[plugin.name]?.otherStates[version]
            guard earlier != nil || plugin.migration == nil else { continue }
            states[plugin.name] = earlier
            guard earlier == nil else { continue }
            let text = "begins without 'state': what there is has version \(state.version)"
            services.emit(.log(PolicyLog(.warn, text, plugin: plugin.name)))
        }
        return states
    }

    /// The swap itself.
    func hand(
        over next: Generation, states: [String: SavedState], reason: ChangeReason
    ) throws(PolicyProblems) {
        try next.take(states)
        tellChange(.stop, reason)
        for plugin in generation.plugins { plugin.isRetired = true }
        deadlines.add(.retire(generationNumber), at: services.now + Self.drainTime)
        generation = next
        next.counts = DecisionCounts()
        for plugin in next.plugins { memories[plugin.name]?.state = states[plugin.name]?.bytes }
        adopt(next)
        retireOldest()
        arrangeTimers()
        tellChange(.start, reason)
    }

    private func tellChange(_ hook: Hook, _ reason: ChangeReason) {
        let table: JSONObject = [
            "reason": .string(reason.rawValue), "generation": .string(generation.name),
        ]
        for plugin in generation.plugins { tell(.table(hook, table), plugin) }
    }

    /// Makes the plugins of a generation use this host's time, effects and memory.
    func adopt(_ generation: Generation) {
        generationNumber += 1
        for plugin in generation.plugins {
            plugin.services = services
            plugin.isRetired = false
            plugin.generationNumber = generationNumber
            let kept = memories[plugin.name] ?? plugin.memory
            kept.stateVersion = plugin.manifest.stateVersion
            // What went wrong with other code says nothing about this one.
            kept.breaker.reset()
            plugin.memory = kept
            memories[plugin.name] = kept
        }
        services.effects += generation.services.effects
        generation.services.effects = []
    }

    // MARK: Draining

    static let drainTime: Milliseconds = 30_000
    /// Each has Lua states of its own. So many that saving a file again and again does not cost a
    /// waiting handler its 30 s.
    static let generationsMax = 32

    /// So many generations exist: the oldest ends rather than a reload being refused.
    private func retireOldest() {
        var alive = Set(running.values.map(\.plugin.generationNumber))
        alive.insert(generationNumber)
        let surplus = alive.count - Self.generationsMax
        for number in alive.sorted().prefix(max(0, surplus)) { retire(number) }
    }

    /// Ends the handlers that still run in an old generation.
    func retire(_ number: Int) {
        let left = running.filter { $0.value.plugin.generationNumber == number }
        for (_, handler) in left.sorted(by: { $0.key < $1.key }) {
            stop(handler.task)
            switch handler.task {
            case .chain(let chain): giveUp(chain, .late, handler)
            case .report(let key): nextReport(key)
            case .timer, .single, .part: break
            }
        }
    }
}

extension Generation {
    /// Gives every plugin the `state` of the one before it, migrated where its version changed.
    func take(_ states: [String: SavedState]) throws(PolicyProblems) {
        var problems: [PolicyProblem] = []
        for plugin in plugins {
            guard let state = states[plugin.name] else { continue }
            do throws(PolicyProblem) {
                try plugin.take(state)
            } catch {
                problems.append(error)
            }
        }
        guard problems.isEmpty else { throw PolicyProblems(problems) }
    }
}

extension PluginState {
    fileprivate func take(_ state: SavedState) throws(PolicyProblem) {
        guard state.version != manifest.stateVersion else {
            return try restoreState(state.bytes)
        }
        guard let migration else {
            throw PolicyProblem(
                "state_version changed from \(state.version) to \(manifest.stateVersion) "
                    + "without migrate(function(old, from) … end)", file: file,
                line: manifest.line)
        }
        try restoreState(try migrate(state, migration))
    }

    private func migrate(
        _ state: SavedState, _ function: Int32
    ) throws(PolicyProblem) -> [UInt8] {
        let arguments = PlainWriter()
        arguments.list(2)
        for byte in state.bytes { arguments.tag(byte) }
        arguments.integer(state.version)
        let outcome = start(function, arguments, budget: setting.limits.loadTime.nanoseconds)
        switch Int(outcome.status) {
        case CALLUA_FINISHED: break
        case CALLUA_WAITING:
            cancel(outcome.thread)
            throw PolicyProblem("migrate cannot wait", file: file)
        default: throw PolicyProblem(message: "migrate: \(outcome.message)")
        }
        let value = outcome.value
        guard value.count > 5, value.start[5] == UInt8(PLAIN_OBJECT) else {
            throw PolicyProblem("migrate returned no table", file: file)
        }
        return Array(UnsafeBufferPointer(start: value.start, count: value.count).dropFirst(5))
    }
}
