// One generation takes over from another between two inputs.

import CLua
import CallModel
import Configuration
import JSON
import Lua

/// Why a generation begins or ends, as `on.start` and `on.stop` are told.
public enum ChangeReason: String, Sendable, CaseIterable {
    case boot, reload, rollback, shutdown
}

/// A plugin's `state` at some moment.
public struct SavedState: Sendable, Equatable {
    let bytes: [UInt8]
    let version: Int64
}

/// A generation that was tried out and is about to take over.
struct Handover {
    let next: Generation
    let reason: ChangeReason
    /// What its plugins were given when they were tried out.
    var states: [String: SavedState] = [:]
    /// The probation that it ends, because `next` was in force before.
    var returning: Probation?
    /// For whom it decides beside the one in force; nil: it takes that one's place.
    var canary: CanaryOrder?
    /// See `Probation`.
    var returnRefused: String?
    var control: (any Control)?
}

extension PolicyHost {
    /// Tells the plugins that their generation begins. To be called once, at the start.
    public func start(at now: Moment) -> [PolicyEffect] {
        services.now = now
        arrangeTimers()
        tellChange(.start, .boot)
        if let canary { tellChange(.start, .boot, of: canary.generation) }
        runDetached()
        return services.takeEffects()
    }

    /// Tells the plugins that the process ends.
    public func stop(at now: Moment) -> [PolicyEffect] {
        services.now = now
        tellChange(.stop, .shutdown)
        if let canary { tellChange(.stop, .shutdown, of: canary.generation) }
        runDetached()
        return services.takeEffects()
    }

    /// Copies of every plugin's `state`.
    func savedStates() -> [String: SavedState] {
        var states: [String: SavedState] = [:]
        for plugin in generation.plugins {
            plugin.saveState()
            guard let bytes = plugin.lineage.state else { continue }
            states[plugin.name] = SavedState(bytes: bytes, version: plugin.lineage.stateVersion)
        }
        return states
    }

    /// `next` answers from now on. Handlers that wait go on in the generation in which they were
    /// started, for at most 30 s. If a plugin cannot take over the `state` of its predecessor,
    /// nothing changes.
    public func activate(
        _ next: Generation, reason: ChangeReason = .reload, at now: Moment
    ) throws(ScriptProblems) -> [PolicyEffect] {
        try prepare(next, reason: reason, at: now)
        return cut(at: now)
    }

    /// Tries out whether `next` can take over the present `state`. Nothing changes before `cut`:
    /// whatever comes until then belongs to the active generation.
    ///
    /// - Parameters:
    ///   - returnRefused: why probation may not go back from `next`; nil: it may.
    ///   - control: a second copy of the active generation: probation asks it whether it fails
    ///     where `next` does.
    /// - Throws: what keeps it from taking over.
    public func prepare(
        _ next: Generation, reason: ChangeReason = .reload, returnRefused: String? = nil,
        control: (any Control)? = nil, at now: Moment
    ) throws(ScriptProblems) {
        services.now = now
        var handover = Handover(next: next, reason: reason)
        handover.returnRefused = returnRefused
        try tryOut(handover, control)
    }

    /// Does what `prepare` says for a handover.
    func tryOut(_ handover: Handover, _ control: (any Control)?) throws(ScriptProblems) {
        guard self.handover == nil else {
            throw ScriptProblems([
                ScriptProblem("another generation is taking over at this moment: try again")
            ])
        }
        var handover = handover
        handover.control = control?.generation.name == generation.name ? control : nil
        handover.states = states(for: handover)
        try handover.next.take(handover.states)
        self.handover = handover
    }

    /// The generation that was tried out answers from now on.
    ///
    /// - Parameter since: from when on a canary decides for whoever comes into a call; nil: as its
    ///   order says.
    public func cut(at now: Moment, since: Moment? = nil) -> [PolicyEffect] {
        services.now = now
        takeOver(since: since)
        runDetached()
        return services.takeEffects()
    }

    /// The cut itself.
    func takeOver(since: Moment? = nil) {
        guard let handover else { return }
        self.handover = nil
        if let order = handover.canary { return beginCanary(handover, order, since: since) }
        if handover.returning == nil { endCanary(handover.reason) }
        let (given, previous) = (savedStates(), generation)
        let states = hand(over: handover)
        guard handover.returning == nil else { return }
        keep(given, besides: handover.next)
        tellForgotten(given, states, of: handover.next)
        probation = nil
        if handover.reason == .reload {
            probation = Probation(
                previous: previous, states: given, until: services.now + Probation.time,
                returnRefused: handover.returnRefused, comparison: comparison(of: handover, given))
        }
        deadlines.add(.endProbation(generationNumber), at: services.now + Probation.time)
    }

    /// The generation before once more, with its `state` as it was handed over.
    func comparison(of handover: Handover, _ states: [String: SavedState]) -> Comparison? {
        // Without its state it may answer otherwise, and then what fails counts.
        try? handover.control?.generation.take(states)
        return handover.control.map { Comparison($0) }
    }

    /// What the plugins of the next generation go on with, as of now.
    private func states(for handover: Handover) -> [String: SavedState] {
        if let probation = handover.returning { return returning(to: probation) }
        let given = savedStates()
        return handover.reason == .rollback ? earlierStates(given, for: handover.next) : given
    }

    /// Gives the plugins what has been written since they were tried out. What they were tried
    /// with is known to work: nothing can stop the cut any more.
    func giveNewest(to handover: Handover) -> [String: SavedState] {
        let newest = states(for: handover)
        if newest == handover.states { return newest }
        do throws(ScriptProblems) {
            try handover.next.take(newest)
            return newest
        } catch {
            services.emit(
                .log(PolicyLog(.error, "goes on with 'state' as it was before: \(error)")))
            try? handover.next.take(handover.states)
            return handover.states
        }
    }

    /// Keeps what was handed over, where the next generation has a version of its own.
    private func keep(_ states: [String: SavedState], besides next: Generation) {
        for plugin in next.plugins {
            guard let state = states[plugin.name] else { continue }
            guard state.version != plugin.manifest.stateVersion else { continue }
            plugin.lineage.otherStates[state.version] = state
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
            let earlier = memories[plugin.name]?.lineage.otherStates[version]
            guard earlier != nil || plugin.migration == nil else { continue }
            states[plugin.name] = earlier
        }
        return states
    }

    private func tellForgotten(
        _ given: [String: SavedState], _ states: [String: SavedState], of next: Generation
    ) {
        for plugin in next.plugins where states[plugin.name] == nil {
            guard let state = given[plugin.name] else { continue }
            let text = "begins without 'state': what there is has version \(state.version)"
            services.emit(.log(PolicyLog(.warn, text, plugin: plugin.name)))
        }
    }

    /// Another generation takes over; what its plugins were given.
    private func hand(over handover: Handover) -> [String: SavedState] {
        let states = giveNewest(to: handover)
        let (next, reason) = (handover.next, handover.reason)
        if handover.returning != nil { next.goOn(under: generation) }
        tellChange(.stop, reason)
        for plugin in generation.plugins { plugin.isRetired = true }
        deadlines.add(.retire(generationNumber), at: services.now + Self.drainTime)
        deadlines.add(.retireReports(generationNumber), at: services.now + Self.reportDrainTime)
        generation = next
        (next.pairs, next.decisions) = (RecentPairs(), 0)
        for plugin in next.plugins {
            memories[plugin.name]?.lineage.state = states[plugin.name]?.bytes
        }
        adopt(next)
        retireOldest()
        arrangeTimers()
        tellChange(.start, reason)
        return states
    }

    private func tellChange(_ hook: Hook, _ reason: ChangeReason) {
        tellChange(hook, reason, of: generation)
    }

    func tellChange(_ hook: Hook, _ reason: ChangeReason, of generation: Generation) {
        let table: JSONObject = [
            "reason": .string(reason.rawValue), "generation": .string(generation.name),
        ]
        for plugin in generation.plugins { tell(.table(hook, table, .nobody), plugin) }
    }

    /// Makes the plugins of a generation use this host's time, effects and memory.
    func adopt(_ generation: Generation) {
        generationNumber = connect(generation)
        for plugin in generation.plugins {
            plugin.lineage = plugin.memory.lineage
            plugin.lineage.stateVersion = plugin.manifest.stateVersion
        }
    }

    /// The same, beside the generation in force; returns its number.
    func connect(_ generation: Generation) -> Int {
        lastGenerationNumber += 1
        for plugin in generation.plugins {
            plugin.services = services
            plugin.isRetired = false
            plugin.generationNumber = lastGenerationNumber
            let kept = memories[plugin.name] ?? plugin.memory
            // What went wrong with other code says nothing about this one.
            plugin.health = PluginHealth()
            plugin.memory = kept
            memories[plugin.name] = kept
        }
        services.effects += generation.services.effects
        generation.services.effects = []
        return lastGenerationNumber
    }

    // MARK: Draining

    static let drainTime: Milliseconds = 30_000
    /// Reports have as long as they may run.
    static let reportDrainTime: Milliseconds = 60_000
    /// Each has Lua states of its own. So many that saving a file again and again does not cost a
    /// waiting handler its 30 s.
    static let generationsMax = 32

    /// So many generations exist: the oldest ends rather than a reload being refused.
    private func retireOldest() {
        var alive = Set(running.values.map(\.plugin.generationNumber))
        // A canary ends by itself, or when somebody says so.
        alive.remove(canary?.number ?? generationNumber)
        alive.insert(generationNumber)
        let surplus = alive.count - Self.generationsMax
        for number in alive.sorted().prefix(max(0, surplus)) { retire(number, all: true) }
    }

    /// Ends the handlers that still run in an old generation; reports, and what waits behind them,
    /// only with `all`.
    func retire(_ number: Int, all: Bool = false) {
        if all { dropNotices(of: number) }
        let left = running.filter {
            $0.value.plugin.generationNumber == number && (all || !$0.value.event.origin.isReport)
        }
        for (_, handler) in left.sorted(by: { $0.key < $1.key }) {
            stop(handler.task)
            switch handler.task {
            case .chain(let chain): giveUp(chain, .late, handler)
            case .report(let key): nextReport(key)
            case .timer, .single, .part: break
            }
        }
    }

    /// Nothing begins in a generation that has ended.
    private func dropNotices(of number: Int) {
        for (key, queue) in queues where queue.plugin.generationNumber == number {
            dropNotices(key)
        }
    }
}

extension Generation {
    /// What is the server's stays as it is in force, whatever these plugins were loaded with (G82).
    func goOn(under other: Generation) {
        plan.recordsInputs = other.plan.recordsInputs
        guard let share = other.plan.share else { return }
        plan.share = share
        for plugin in plugins {
            plugin.setting.directory = share.directory
            plugin.setting.extendedDataMax = share.extendedDataMax
            plugin.keep(to: share.limits)
        }
    }

    /// Gives every plugin the `state` of the one before it, migrated where its version changed.
    func take(_ states: [String: SavedState]) throws(ScriptProblems) {
        var problems: [ScriptProblem] = []
        for plugin in plugins {
            guard let state = states[plugin.name] else { continue }
            do throws(ScriptProblem) {
                try plugin.take(state)
            } catch {
                problems.append(error)
            }
        }
        guard problems.isEmpty else { throw ScriptProblems(problems) }
    }
}

extension PluginState {
    fileprivate func take(_ state: SavedState) throws(ScriptProblem) {
        guard state.version != manifest.stateVersion else {
            return try restoreState(state.bytes)
        }
        guard let migration else {
            throw ScriptProblem(
                "state_version changed from \(state.version) to \(manifest.stateVersion) "
                    + "without migrate(function(old, from) … end)", file: file,
                line: manifest.line)
        }
        try restoreState(try migrate(state, migration))
    }

    /// The `state` that a record names takes the place of its own.
    func give(_ copy: StateCopy) throws(ScriptProblem) {
        guard copy.id != StateCopy.empty.id, copy.version != manifest.stateVersion else {
            return try replaceState(with: copy.bytes)
        }
        guard let migration else {
            throw ScriptProblem(
                "'state' was written under the state_version \(copy.version), here it is "
                    + "\(manifest.stateVersion) without migrate", file: file)
        }
        let old = SavedState(bytes: copy.bytes, version: copy.version)
        try replaceState(with: try migrate(old, migration))
    }

    private func migrate(
        _ state: SavedState, _ function: Int32
    ) throws(ScriptProblem) -> [UInt8] {
        let arguments = PlainWriter()
        arguments.list(2)
        for byte in state.bytes { arguments.tag(byte) }
        arguments.integer(state.version)
        let outcome = start(function, arguments, budget: setting.limits.loadTime.nanoseconds)
        switch Int(outcome.status) {
        case CALLUA_FINISHED: break
        case CALLUA_WAITING:
            cancel(outcome.thread)
            throw ScriptProblem("migrate cannot wait", file: file)
        default: throw ScriptProblem(message: "migrate: \(outcome.message)")
        }
        let value = outcome.value
        guard value.count > 5, value.start[5] == UInt8(PLAIN_OBJECT) else {
            throw ScriptProblem("migrate returned no table", file: file)
        }
        return Array(UnsafeBufferPointer(start: value.start, count: value.count).dropFirst(5))
    }
}
