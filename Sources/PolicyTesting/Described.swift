// What `t.calls()` shows of what a plugin did.

import CallModel
import JSON
import Lua
import PolicyHost
import WebProtocols

extension LuaValue {
    /// A table of those members that are there.
    fileprivate static func described(_ pairs: (String, LuaValue)...) -> LuaValue {
        .table(
            pairs.filter { !$0.1.isNull }.map {
                Pair(key: .text($0.0), value: $0.1)
            })
    }
}

extension LuaValue {
    /// An operation of a plugin that was refused, and why.
    func refused(_ refusal: Refusal) -> LuaValue {
        guard case .table(var pairs) = self else { return self }
        pairs.append(Pair(key: .text("refused"), value: .text(refusal.code.rawValue)))
        return .table(pairs)
    }
}

extension FetchRequest {
    /// What a test sees of it.
    var described: LuaValue {
        let text = String(decoding: body, as: UTF8.self)
        let json = body.isEmpty ? nil : try? JSONValue(parsing: text)
        return .described(
            ("op", .text("http")), ("method", .text(method)), ("url", .text(url)),
            ("json", json.map { LuaValue($0) } ?? .null),
            ("body", json == nil && !body.isEmpty ? .text(text) : .null))
    }
}

extension Operation {
    /// What a test sees of it: the method's name, and what the script gave it.
    var described: LuaValue {
        guard case .call(_, let action, _) = self else {
            return .described(("op", .text("other")))
        }
        // No request says this one: a policy's end, with its code.
        if case .finish(let code) = action {
            return .described(
                ("op", .text("finish")), ("code", code.map { .text($0.rawValue) } ?? .null))
        }
        let given = values
        return .described(
            ("op", .text(action.method)), ("data", given.has(.data) { $0.json }),
            ("to", given.has(.to) { .text($0.user.text) }), ("items", action.items),
            ("users", given.hasUsers ? .list(given.users.map { .text($0.text) }) : .null),
            ("extended_data", given.has(.extendedData) { .text($0.extendedData ?? "") }))
    }
}

extension CallAction {
    /// The texts that are set, and false for those that are removed.
    fileprivate var items: LuaValue {
        guard case .items(let change) = self else { return .null }
        var items = change.put.map { LuaValue.Pair(key: .text($0.key), value: .text($0.value)) }
        items += change.delete.map { LuaValue.Pair(key: .text($0), value: .bool(false)) }
        items.sort { ($0.key.text ?? "") < ($1.key.text ?? "") }
        return .table(items)
    }
}

extension FieldValues {
    /// What `value` makes of a field that was given.
    fileprivate func has(_ field: Field, _ value: (FieldValues) -> LuaValue) -> LuaValue {
        given.contains(field) ? value(self) : .null
    }

    fileprivate var hasUsers: Bool { given.contains(.users) || given.contains(.invitees) }

    fileprivate var json: LuaValue {
        (try? JSONValue(parsing: data)).map { LuaValue($0) } ?? .null
    }
}
