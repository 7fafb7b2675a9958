// What `t.calls()` shows of what a plugin did.

import CallModel
import JSON
import PolicyHost

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
    /// What a plugin wanted to do, and why it did not come to that.
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
    /// What a test sees of it.
    var described: LuaValue {
        guard case .call(_, let action, _) = self else {
            return .described(("op", .text("other")))
        }
        switch action {
        case .signal(let to, let data):
            let value = (try? JSONValue(parsing: data)).map { LuaValue($0) } ?? .null
            return .described(
                ("op", .text("signal")), ("data", value),
                ("to", to.map { .text($0.text) } ?? .null))
        case .items(let change):
            var items = change.put.map {
                LuaValue.Pair(key: .text($0.key), value: .text($0.value))
            }
            items += change.delete.map { LuaValue.Pair(key: .text($0), value: .bool(false)) }
            items.sort { ($0.key.text ?? "") < ($1.key.text ?? "") }
            return .described(("op", .text("set_items")), ("items", .table(items)))
        case .add(let users, _):
            return .described(
                ("op", .text("invite")),
                ("users", .list(users.map { .text($0.text) })))
        case .leave: return .described(("op", .text("leave")))
        case .end: return .described(("op", .text("finish")))
        case .finish(let code):
            return .described(
                ("op", .text("finish")), ("code", code.map { .text($0.rawValue) } ?? .null))
        case .ringing, .accept, .acceptAck, .reject, .cancel, .join, .report, .media, .hold, .get,
            .token, .forward:
            return .described(("op", .text("other")))
        }
    }
}
