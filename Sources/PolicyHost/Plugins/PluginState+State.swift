// The table `state` of a plugin: what of it outlives a Lua state.

import CLua
import CallModel
import Lua

extension PluginState {
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
}
