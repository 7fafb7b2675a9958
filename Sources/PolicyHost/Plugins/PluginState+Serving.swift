// What scripts call in the host.

import CLua
import CallModel
import Configuration
import JSON
import Lua

extension PluginState {
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

    // MARK: call.vars

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

    /// A change of `call.vars` is left out: people in the call may have caused it, so that it is no
    /// failure of the plugin (G75).
    private func leaveVars(_ why: String, _ problem: String?) {
        tally.droppedVars += 1
        let text = "call.vars: no room for a change (\(why))"
        guard memory.lines.admit(text, at: services.now) != nil else { return }
        var line = PolicyLog(.warn, text, plugin: name, call: call)
        line.fields["problem"] = problem.map { .string($0) }
        services.emit(.log(line))
    }
}

/// The one function that C calls for every host function.
let serveCall:
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
