// When `call.vars` go: with their call, and with what is still told of it.

import CallModel

extension PolicyHost {
    /// How long `call.vars` stay after the end: what is told of it may come after it.
    private static let varsStay: Milliseconds = 10_000
    /// After so long the host looks whether the call exists for which vars were kept outside of its
    /// invitations: a call that is being dialled may never be made, and reports about a call may
    /// run longer than the call.
    private static let callIsSoughtAfter: Milliseconds = 60_000

    /// Something that is told of a call waits, and may want its vars.
    func needVars(of call: CallID) { varsNeeded[call, default: 0] += 1 }

    func needVarsNoMore(of call: CallID) {
        guard let count = varsNeeded[call] else { return }
        varsNeeded[call] = count > 1 ? count - 1 : nil
    }

    /// A call is over.
    func letVarsGo(of call: CallID) {
        guard memories.values.contains(where: { $0.vars[call] != nil }) else { return }
        deadlines.add(.forget(call), at: services.now + Self.varsStay)
    }

    /// Nothing can come of an ended call any more, unless something that is told of it still waits.
    func forgetVars(of call: CallID) {
        if varsNeeded[call] != nil { return letVarsGo(of: call) }
        for memory in memories.values { memory.forgetVars(of: call) }
    }

    /// Takes note of the calls that a run has kept the first vars of.
    func takeNewVars(_ plugin: PluginState) {
        for call in plugin.newVars {
            deadlines.add(.seek(call), at: services.now + Self.callIsSoughtAfter)
        }
        plugin.newVars = []
    }

    /// Asks whether there is such a call.
    func seek(_ call: CallID) {
        guard memories.values.contains(where: { $0.vars[call] != nil }) else { return }
        let wait = WaitID(newID())
        sought[wait] = call
        services.emit(.perform(wait, plugin: "", .call(call), .nobody))
    }

    /// Whether there is one was said.
    func found(_ call: CallID, _ reply: WaitReply) {
        guard case .call(let found, _) = reply, found?.isLive != true else { return }
        forgetVars(of: call)
    }
}
