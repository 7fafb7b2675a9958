// One plugin of one generation: its Lua state and what its file declared.

import CLua
import CallModel
import Configuration
import JSON
import Lua

/// One plugin, loaded.
package final class PluginState {
    package let name: String
    /// The file that is run, for messages.
    let file: String
    /// Everything that its files may see of the operator.
    package var setting: PluginSetting
    /// The world; another one after a generation was handed over.
    package var services: Services
    private(set) var vm: OpaquePointer?
    /// How often it has begun anew.
    private(set) var lives = 0
    package let reply = PlainWriter()

    // What the file declared.
    var manifest = Manifest()
    var hooks = [Int32](repeating: -1, count: Hook.allCases.count)
    var timers: [String: TimerDeclaration] = [:]
    package var tests: [TestDeclaration] = []
    var migration: Int32?
    var schema: [OptionField]?
    /// What is wrong with the operator's values for it.
    var optionProblem: ScriptProblem?
    var objects: [HostObject] = []
    /// Its files; `require` finds those in `modules`.
    let source: PluginSource
    /// What was found before the file was run.
    package private(set) var namingProblems: [ScriptProblem] = []
    /// See `Generation.warnings`.
    private(set) var warnings: [ScriptProblem] = []

    /// Time zones that its scripts named, by name: their files are read once.
    var zones: [String: TimeZoneRules] = [:]
    static let zonesMax = 32

    // What it does now.
    /// What the run at hand waits for, once it says so.
    package var pending: Wait?
    /// The call of the run at hand.
    var call: CallID?
    /// The account that the run at hand speaks for.
    var account: UserID?
    /// What the run at hand counts for.
    var origin = Origin()
    /// The event of the run at hand, once something other than this run belongs to it.
    var event: PluginEvent?
    /// Functions that the run at hand wants to be run apart from it.
    var detached: [(function: Int32, use: QuotaUse)] = []
    /// Of the run at hand, if it was detached.
    var use: QuotaUse?
    /// How many of those have not been run yet.
    var queued = 0
    var startedTimers: [StartedTimer] = []
    /// Calls whose first vars the run at hand has kept, unless it is asked about their invitation.
    var newVars: [CallID] = []
    /// What outlives this state, and what of it each line of generations has for itself.
    var memory: PluginMemory
    var lineage: PluginLineage
    /// How it does as long as its generation is in force.
    var health = PluginHealth()
    /// Whether the host will copy `state` soon.
    var isSavePending = false
    /// The copy of `state` that records name; nil: none was made of what it is now.
    var recorded: StateCopy?
    /// Whether it may be asked in the fast lane.
    var lane = LanePass()
    /// Which of the host's generations it belongs to.
    var generationNumber = 0
    /// Whether another generation has taken over.
    var isRetired = false
    var tally: PluginTally {
        _read { yield lineage.tally }
        _modify { yield &lineage.tally }
    }

    package init(
        source: PluginSource, setting: PluginSetting, services: Services
    ) throws(ScriptProblem) {
        name = source.name
        file = source.main.name
        self.setting = setting
        self.services = services
        self.source = source
        memory = PluginMemory()
        lineage = memory.lineage
        try open()
        namingProblems = checkNames()
        guard namingProblems.isEmpty else { return }
        try load()
        if hooks.allSatisfy({ $0 < 0 }), timers.isEmpty {
            warnings.append(
                ScriptProblem(
                    "does nothing: it declares no event such as on.invite and no timer", file: file)
            )
        }
    }

    deinit { close() }

    /// Whether fewer than `most` coroutines and handlers are alive, or will be.
    func hasRoom(for most: Int) -> Bool {
        callua_has_room(vm, UInt32(most - min(most, detached.count + queued)))
    }

    /// What its scripts can call, by number.
    var bindings: [Binding] {
        setting.keepsTests ? Bindings.all + Bindings.tests : Bindings.all
    }

    /// The server's limits are other ones from now on. Memory can grow to twice what it was made
    /// for: there is no room for more before the plugin is loaded again.
    func keep(to limits: PluginLimits) {
        setting.keep(to: limits)
        callua_limit(vm, luaLimits)
    }

    private var luaLimits: callua_limits {
        callua_limits(
            memory: setting.limits.memory, coroutines: UInt32(setting.limits.coroutines),
            coroutines_of_origin: UInt32(setting.limits.coroutinesOfCause),
            origins_of_account: UInt32(Quota.partsMax),
            value: setting.limits.value, state: setting.limits.state,
            source: setting.limits.source,
            stride: Int32(setting.limits.stride))
    }

    private func open() throws(ScriptProblem) {
        let host = callua_host(
            context: Unmanaged.passUnretained(self).toOpaque(), call: serveCall)
        vm = callua_new(luaLimits, host, services.dice.next())
        let tooLow = ScriptProblem("the memory limit of the plugin '\(name)' is too low")
        guard vm != nil else { throw tooLow }
        if setting.notesLines { _ = callua_cover(vm) }
        if let vm, let observer = setting.observer {
            observer.begin(vm, of: name) { [unowned self] in title(of: $0) }
        }
        var isDone = Bindings.Kind.allCases.allSatisfy { callua_kind(vm, $0.rawValue, $0.name) }
        for (index, binding) in bindings.enumerated() where isDone {
            isDone = callua_bind(
                vm, binding.name, UInt32(CALLUA_OWN + index), UInt32(binding.flags))
        }
        guard isDone, callua_seal(vm) else {
            throw tooLow
        }
    }

    private func close() {
        if let vm { setting.observer?.end(vm) }
        callua_free(vm)
        vm = nil
    }

    /// What a function was declared as: `on.invite`, `timer NAME`, `test NAME`.
    private func title(of reference: Int32) -> String? {
        if let place = hooks.firstIndex(of: reference) {
            return "on.\(Hook.allCases[place].rawValue)"
        }
        if let timer = timers.first(where: { $0.value.function == reference }) {
            return "timer \(timer.key)"
        }
        if let test = tests.first(where: { $0.function == reference }) {
            return "test \(test.name)"
        }
        return migration == reference ? "migrate" : nil
    }

    // MARK: Runs

    /// Runs the plugin's file.
    private func load() throws(ScriptProblem) {
        let file = source.main
        manifest = Manifest()
        manifest.name = source.name
        let outcome = file.load(into: vm, budget: setting.limits.loadTime.nanoseconds)
        if let optionProblem { throw optionProblem }
        guard Int(outcome.status) == CALLUA_FINISHED else {
            throw ScriptProblem(message: outcome.message, in: file.name)
        }
        // What compiling has left behind is not kept for as long as the plugin lives.
        _ = callua_collect(vm)
    }

    /// Begins anew from the same files, when the Lua state is of no use any more.
    func rebuild() throws(ScriptProblem) {
        close()
        recorded = nil
        lives += 1
        lane.begin()
        hooks = [Int32](repeating: -1, count: Hook.allCases.count)
        (timers, tests, objects, schema, migration) = ([:], [], [], nil, nil)
        try open()
        try load()
    }

    /// Whether the Lua state cannot go on, or is so full of what is not garbage that it will
    /// not go on for long.
    var isWornOut: Bool {
        callua_is_broken(vm) || callua_collect(vm) > setting.limits.memory / 4 * 3
    }

    /// Starts a handler.
    @inline(__always)
    package func start(
        _ reference: Int32, _ arguments: PlainWriter, budget: UInt64
    ) -> callua_outcome {
        var outcome = callua_outcome()
        callua_count_for(vm, origin.part)
        callua_start(vm, reference, arguments.written, budget, &outcome)
        return outcome
    }

    /// Goes on with a handler; what it waited for is in `reply`.
    package func resume(_ thread: Int32, status: Int, budget: UInt64) -> callua_outcome {
        var outcome = callua_outcome()
        callua_count_for(vm, origin.part)
        callua_resume(
            vm, thread, callua_answer(status: Int32(status), bytes: reply.written), budget,
            &outcome)
        return outcome
    }

    /// Ends a waiting handler; returns the processor time that its `<close>` variables took.
    @discardableResult
    func cancel(_ thread: Int32, budget: UInt64? = nil) -> UInt64 {
        if callua_is_broken(vm) { return 0 }
        return callua_cancel(vm, thread, budget ?? setting.limits.runTime.nanoseconds)
    }

    /// The traceback of a waiting handler.
    func waitsAt(_ thread: Int32) -> String { callua_waits_at(vm, thread).string }

    /// Where the handler for `hook` begins.
    func handlerBegins(_ hook: Hook) -> String { callua_defined_at(vm, hooks[hook.index]).string }

    /// The lines of one of its files that have run.
    package func linesRun(of file: SourceFile) -> Set<Int> {
        let bits = callua_covered(vm, file.name)
        var lines: Set<Int> = []
        for place in 0..<bits.count where bits.start[place] != 0 {
            for bit in 0..<8 where bits.start[place] >> UInt8(bit) & 1 == 1 {
                lines.insert(place * 8 + bit)
            }
        }
        return lines
    }

    /// Bytes that its scripts use now.
    var bytesInUse: Int { callua_memory(vm) }
}
