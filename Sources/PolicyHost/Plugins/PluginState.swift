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
    private var recorded: StateCopy?
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
    private var bindings: [Binding] {
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

    // MARK: state

    /// Whether a script has changed `state` since it was copied last.
    var hasChangedState: Bool { callua_state_changed(vm) }

    /// Keeps a copy of `state` if it was changed; it is what a new Lua state begins with.
    package func saveState() {
        guard callua_state_changed(vm) else { return }
        if isRetired {
            tally.droppedWrites += 1
            return
        }
        readState()
    }

    /// Returns whether `state` could be read.
    @discardableResult
    private func readState() -> Bool {
        recorded = nil
        var bytes = callua_bytes()
        guard callua_read_state(vm, &bytes) else { return false }
        lineage.state = Array(UnsafeBufferPointer(start: bytes.start, count: bytes.count))
        lineage.stateVersion = manifest.stateVersion
        return true
    }

    /// The copy of `state` that records name, the same one until it changes; nil: there is no room
    /// for one more at this moment, or what changes here counts no more.
    func stateCopy(_ copies: inout StateCopies, at now: Moment) -> StateCopy? {
        let hasChanged = hasChangedState
        if !hasChanged, let recorded { return recorded }
        guard !isRetired, copies.hasRoom(for: name, at: now), readState(),
            let bytes = lineage.state
        else { return nil }
        let isEmpty = bytes.count == StateCopy.empty.bytes.count
        recorded =
            isEmpty
            ? StateCopy.empty
            : StateCopy(
                id: copies.add(bytes.count, for: name, at: now), version: manifest.stateVersion,
                bytes: bytes)
        return recorded
    }

    /// Lays `state`, plain data, over what the top level has set.
    func restoreState(_ state: [UInt8]) throws(ScriptProblem) {
        recorded = nil
        var problem = callua_bytes()
        let isDone = state.withUnsafeBufferPointer {
            callua_write_state(
                vm, callua_bytes(start: $0.baseAddress, count: $0.count), &problem)
        }
        if !isDone { throw ScriptProblem(problem.string, file: file) }
    }

    /// Makes `state` the same as that of another Lua state, which kept it in its memory.
    package func takeState(of other: PluginState) {
        guard let state = other.lineage.state, state != lineage.state else { return }
        lineage.state = state
        try? replaceState(with: state)
    }

    /// Puts `state`, plain data, in the place of all of it.
    func replaceState(with state: [UInt8]) throws(ScriptProblem) {
        recorded = nil
        let isDone = state.withUnsafeBufferPointer {
            callua_replace_state(vm, callua_bytes(start: $0.baseAddress, count: $0.count))
        }
        if !isDone { throw ScriptProblem("there is no room for its 'state'", file: file) }
    }

    private func vars(_ values: [LuaValue]) {
        guard case .call(let id)? = values.first, let kept = memory.vars[id] else {
            return reply.list(0)
        }
        reply.list(1)
        for byte in kept { reply.tag(byte) }
    }

    /// Keeps the vars of a call as the bytes that came.
    private func keepVars(_ bytes: callua_bytes) {
        // An array of two integers of 9 bytes each, and the table.
        var reader = PlainReader(bytes)
        _ = reader.block(6)
        let high = reader.word()
        _ = reader.byte()
        let id = CallID(high: high, low: reader.word())
        let rest = UnsafeBufferPointer(start: bytes.start, count: bytes.count).dropFirst(23)
        reply.list(0)
        let isNew = memory.vars[id] == nil
        if memory.keepVars(Array(rest), of: id, origin.cause, setting.limits) {
            // An invitation that is asked about has an end that is told.
            if isNew, event != nil || origin.pauseKey != .report(.invite) { newVars.append(id) }
            return
        }
        leaveVars("limit", nil)
    }

    /// A change of `call.vars` is left out: whoever is in the call may have brought it about, so
    /// that it is no failure (G75).
    private func leaveVars(_ why: String, _ problem: String?) {
        tally.droppedVars += 1
        let text = "call.vars: no room for a change (\(why))"
        guard memory.lines.admit(text, at: services.now) != nil else { return }
        var line = PolicyLog(.warn, text, plugin: name, call: call)
        line.fields["problem"] = problem.map { .string($0) }
        services.emit(.log(line))
    }

    // MARK: Host functions

    /// Runs a host function that a script called; the result is in `reply`.
    fileprivate func serve(_ function: Int, _ bytes: callua_bytes) -> Int {
        var reader = PlainReader(bytes)
        let values = reader.values()
        reply.cut()
        do throws(Refused) {
            switch function {
            case CALLUA_PARSE: parse(values)
            case CALLUA_ALIVE: try callIsAlive(values)
            case CALLUA_MODULE: return try module(values)
            case CALLUA_VARS: vars(values)
            case CALLUA_KEEP_VARS:
                keepVars(bytes)
                return CALLUA_RETURN
            case CALLUA_LEAVE_VARS:
                leaveVars("too_large", values.first?.text)
                reply.list(0)
            default: return try serve(bindings[function - CALLUA_OWN], values)
            }
            return CALLUA_RETURN
        } catch {
            reply.cut()
            reply.raw(error.message)
            return CALLUA_RAISE
        }
    }

    private func serve(_ binding: Binding, _ values: [LuaValue]) throws(Refused) -> Int {
        switch try respond(binding, Arguments(values: values, name: binding.name)) {
        case .values(let values):
            reply.list(values.count)
            for value in values { reply.value(value) }
            return CALLUA_RETURN
        case .json(let value):
            reply.list(1)
            reply.json(value)
            return CALLUA_RETURN
        case .wait(let wait):
            pending = wait
            return CALLUA_WAIT
        }
    }

    /// What reaches outside raises for wrong types only: all else may come with somebody's data,
    /// and is for the script to handle (G86).
    private func respond(
        _ binding: Binding, _ arguments: Arguments
    ) throws(Refused) -> Response {
        do throws(Refused) {
            return try binding.body(self, arguments)
        } catch {
            guard binding.flags & CALLUA_GIVES_TROUBLE != 0, !error.isWrongType else { throw error }
            return .trouble(error.message)
        }
    }

    /// Extended data that is a JSON object becomes a table, anything else nil (F66).
    private func parse(_ values: [LuaValue]) {
        reply.list(1)
        guard let text = values.first?.text, let json = try? JSONValue(parsing: text),
            case .object = json
        else { return reply.null() }
        reply.json(json)
    }

    private func callIsAlive(_ values: [LuaValue]) throws(Refused) {
        guard case .call(let id)? = values.first else { throw Refused("a call expected") }
        reply.list(1)
        reply.bool(services.isAlive(id))
    }

    private func module(_ values: [LuaValue]) throws(Refused) -> Int {
        let name = values.first?.text ?? ""
        guard let file = source.modules[name] else {
            throw Refused(
                "module '\(name)' is not a file of the plugin '\(self.name)'"
                    + Suggestion.text(for: name, among: source.modules.keys.sorted()))
        }
        reply.list(2)
        reply.text("@" + file.name)
        file.text.withUnsafeBufferPointer { reply.bytes($0) }
        return CALLUA_RUN
    }
}

/// The one function that C calls for every host function.
private let serveCall:
    @convention(c) (
        UnsafeMutableRawPointer?, UInt32, callua_bytes, UnsafeMutablePointer<callua_bytes>?
    ) -> Int32 = { context, function, arguments, result in
        guard let context, let result else { return Int32(CALLUA_RAISE) }
        let state = Unmanaged<PluginState>.fromOpaque(context).takeUnretainedValue()
        if function == CALLUA_LONG {
            state.services.runIsLong()
            return Int32(CALLUA_RETURN)
        }
        let status = state.serve(Int(function), arguments)
        result.pointee = state.reply.written
        return Int32(status)
    }

/// What `plugin { … }` says.
struct Manifest: Equatable {
    var name = ""
    var version: String?
    var needs: [String] = []
    var after: [String] = []
    var isGuard = false
    var onError: OnError?
    var stateVersion: Int64 = 1
    var line: Int?
}

/// A timer declared at top level.
struct TimerDeclaration {
    enum Schedule: Equatable {
        /// `timer(name, fn)`: started by `later`.
        case started
        /// `every(period, name, fn)`.
        case every(Milliseconds)
        /// `at("09:00", name, fn)`: minutes of the local day.
        case daily(Int)
    }
    let schedule: Schedule
    let function: Int32
    let line: Int
}

/// A `test(…)` block.
package struct TestDeclaration {
    package let name: String
    package let function: Int32
    package let file: String
    package let line: Int
}

/// An object of the host that scripts hold.
enum HostObject {
    case hours(Hours, zone: TimeZoneRules)
    case accounts(Accounts, list: [String])
}
