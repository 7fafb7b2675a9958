// What handlers do to calls, and the timers they start.

import CLua
import CallModel
import Configuration
import JSON
import Lua

extension Bindings {
    static let calls: [Binding] = [
        Binding(
            "call:signal", outside,
            type: "fun(self: Call, data: any, to?: string|User): true?, string?",
            help: "Sends a signal to the others in the call, or to one."
        ) { state, arguments throws(Refused) in
            try state.operating(arguments) { () throws(Refused) in try arguments.signal() }
        },
        Binding(
            "call:set_items", outside,
            type: "fun(self: Call, items: table<string, string|false>): true?, string?",
            help: "Sets named texts of the call; false removes one."
        ) { state, arguments throws(Refused) in
            try state.operating(arguments) { () throws(Refused) in
                .items(try arguments.itemsChange())
            }
        },
        Binding(
            "call:invite", outside,
            type: "fun(self: Call, users: string|User|table<integer, string|User>): true?, string?",
            help: "Invites more people."
        ) { state, arguments throws(Refused) in
            try state.operating(arguments) { () throws(Refused) in .add(try arguments.users()) }
        },
        Binding(
            "call:transfer", outside,
            type: "fun(self: Call, user: string|User, options?: { extended_data?: any }): "
                + "true?, string?",
            help: "Has another user take the account's place in the call."
        ) { state, arguments throws(Refused) in
            try state.operating(arguments, saying: arguments[2]["extended_data"]) {
                () throws(Refused) in .transfer(to: try arguments.user(1))
            }
        },
        Binding(
            "call:remove", outside,
            type: "fun(self: Call, users: string|User|table<integer, string|User>): true?, string?",
            help: "Sends people out of the call."
        ) { state, arguments throws(Refused) in
            try state.operating(arguments) { () throws(Refused) in
                .remove(try arguments.users())
            }
        },
        Binding(
            "call:leave", outside, type: "fun(self: Call): true?, string?",
            help: "Leaves the call."
        ) { state, arguments throws(Refused) in
            try state.operating(arguments) { .leave() }
        },
        Binding(
            "call:finish", outside, type: "fun(self: Call, code?: string): true?, string?",
            help: "Ends the call for everybody: as the account, or with a code in any state."
        ) { state, arguments throws(Refused) in
            try state.operating(arguments) { () throws(Refused) in try arguments.finish() }
        },
        Binding(
            "call:later", CALLUA_HANDLER_ONLY | CALLUA_GIVES_TROUBLE,
            type: "fun(self: Call, delay: Duration, name: string, data?: any): true?, string?",
            help: "Starts a declared timer that dies with the call."
        ) { state, arguments throws(Refused) in
            let call = try arguments.call()
            guard state.services.isAlive(call) else { return .trouble("call_ended") }
            let rest = Arguments(values: Array(arguments.values.dropFirst()), name: arguments.name)
            return try state.startTimer(rest, call: call)
        },
        Binding(
            "later", CALLUA_HANDLER_ONLY | CALLUA_GIVES_TROUBLE,
            type: "fun(delay: Duration, name: string, data?: any): true?, string?",
            help: "Starts a declared timer."
        ) { state, arguments throws(Refused) in
            try state.startTimer(arguments, call: nil)
        },
    ]
}

extension Arguments {
    /// The call before the colon.
    fileprivate func call() throws(Refused) -> CallID {
        guard case .call(let id) = self[0] else { throw wrong(0, "call") }
        return id
    }

    /// The arguments of `call:signal`.
    fileprivate func signal() throws(Refused) -> CallAction {
        let to = try self[2].isNull ? nil : user(2)
        let data = try json(1).bytes
        guard data.count <= 16_384 else { throw Refused("call:signal: over 16 KiB of data") }
        return .signal(to: to, data: data)
    }

    /// The end that `call:finish` asks for.
    fileprivate func finish() throws(Refused) -> CallAction {
        if self[1].isNull { return .end() }
        guard let code = EndDetail(code: try text(1)) else {
            throw Refused("call:finish: a code is 1-64 bytes of printable ASCII without space")
        }
        return .finish(code: code)
    }

    /// The items of `call:set_items`.
    fileprivate func itemsChange() throws(Refused) -> ItemsChange {
        var change = ItemsChange()
        guard let pairs = try table(1).table else {
            throw Refused("call:set_items: items have names")
        }
        for pair in pairs {
            guard let key = pair.key.text else {
                throw Refused("call:set_items: items have names")
            }
            if pair.value == .bool(false) {
                change.delete.append(key)
            } else if let value = pair.value.text {
                change.put.append(Call.Item(key: key, value: value))
            } else {
                throw Refused("call:set_items: '\(key)' is a string or false")
            }
        }
        return change
    }

    /// The people of `call:invite`, one or a list.
    fileprivate func users() throws(Refused) -> [UserID] {
        let given = self[1].list ?? [self[1]]
        var users: [UserID] = []
        for place in given.indices {
            users.append(try Arguments(values: given, name: name).user(place))
        }
        return users
    }
}

extension PluginState {
    /// What a method of a call does. Its values may come from a user, so bad ones are `nil, err`
    /// rather than a failure of the plugin.
    fileprivate func operating(
        _ arguments: Arguments, saying data: LuaValue = .null,
        _ action: () throws(Refused) -> CallAction
    ) throws(Refused) -> Response {
        let call = try arguments.call()
        guard let account else {
            return .trouble("no account that the plugins answer for is in the call")
        }
        let text: String?
        do throws(BadReturn) {
            text = try Returned.data(data, max: setting.extendedDataMax)
        } catch {
            return .trouble(error.isTooLarge ? "too_large" : error.message)
        }
        do throws(Refused) {
            return .wait(.operation(account, .call(call, try action(), saying: text)))
        } catch {
            return .trouble(error.message)
        }
    }

    /// Starts `timer(name, …)` after a delay.
    fileprivate func startTimer(
        _ arguments: Arguments, call: CallID?
    ) throws(Refused) -> Response {
        let delay = try arguments.duration(0)
        let name = try arguments.text(1)
        let started = timers.filter { $0.value.schedule == .started }.keys.sorted()
        guard started.contains(name) else {
            return complaining(
                "unknown timer '\(name)'" + Suggestion.text(for: name, among: started)
                    + " (declare it with timer(\"\(name)\", function … end))")
        }
        let data = try arguments.json(2)
        guard data.bytes.count <= setting.limits.state else { return .tooLarge }
        let hasRoom = memory.timers.hasRoom(
            origin.cause, most: setting.limits.timers, part: setting.limits.timersOfCause)
        guard hasRoom else { return .limit }
        memory.timers.add(1, origin.cause)
        startedTimers.append(
            StartedTimer(name: name, delay: delay, data: data, call: call, account: account))
        return .value(.bool(true))
    }
}

/// A timer that a run has started; the host takes it after the run.
struct StartedTimer {
    let name: String
    let delay: Milliseconds
    let data: JSONValue
    let call: CallID?
    let account: UserID?
}
