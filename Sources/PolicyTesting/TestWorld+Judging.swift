// Whether a decision or a value is the one that a test expects.

import CLua
import CallModel
import JSON
import Lua
import PolicyHost

extension TestWorld {
    func expect(_ arguments: Arguments) throws(Refused) {
        let (found, expected) = (try normal(arguments[0]), try normal(arguments[1]))
        guard found == expected else {
            throw Refused("expected \(expected), got \(found)")
        }
    }

    /// A decision in words; the same words mean the same decision.
    func normal(_ value: LuaValue) throws(Refused) -> String {
        if value.isNull { return "nothing" }
        guard case .decision(let payload) = value else {
            throw Refused("t.expect compares decisions, not \(value.typePhrase)")
        }
        return payload.withUnsafeBytes { bytes in
            var reader = PlainReader(bytes)
            let kind = Int(reader.byte())
            return Self.words(kind, reader.values())
        }
    }

    private static func words(_ kind: Int, _ arguments: [LuaValue]) -> String {
        let first = arguments.first ?? .null
        let name = Returned.name(of: kind)
        var options = arguments.count > 1 || first.table != nil ? arguments.last ?? .null : .null
        var said = first.text.map { LuaValue.text($0).literal }
        if kind == PLAIN_FORWARD {
            let people = Self.people(first)
            said = people.literal
            // To one alone it makes no difference.
            if people.list == nil { options = options.without("first") }
        }
        if kind == PLAIN_REJECT, let reason = first.text, reason != "busy", reason != "declined" {
            said = LuaValue.text("declined").literal
            options = options.addingReason(reason)
        }
        let parts = (options.table ?? []).map { pair in
            let isData = pair.key == .text("extended_data")
            let shown = isData ? pair.value.dataText : pair.value.withShortSpan(pair.key).literal
            return "\(pair.key.shown) = \(shown)"
        }
        let table = "{ \(parts.joined(separator: ", ")) }"
        guard let said else { return parts.isEmpty ? "\(name) {}" : "\(name) \(table)" }
        return parts.isEmpty ? "\(name) \(said)" : "\(name)(\(said), \(table))"
    }

    /// To whom a call is forwarded: ids for user objects, and one alone without a list.
    private static func people(_ given: LuaValue) -> LuaValue {
        let ids = (given.list ?? [given]).map { LuaValue.text($0.id ?? $0.shown) }
        return ids.count == 1 ? ids[0] : .list(ids)
    }

    func equal(_ arguments: Arguments) throws(Refused) {
        guard arguments[0].isSame(as: arguments[1]) else {
            throw Refused("expected \(arguments[1].shown), got \(arguments[0].shown)")
        }
    }
}

extension LuaValue {
    /// Equal all the way down; an empty table is an empty list, 1 is 1.0.
    fileprivate func isSame(as other: LuaValue) -> Bool {
        if let a = number, let b = other.number { return a == b }
        switch (self, other) {
        case (.user(let a), .text(let b)), (.text(let b), .user(let a)): return a.user.text == b
        case (.user(let a), .table), (.table, .user(let a)):
            var members: JSONObject = [
                "calls": .integer(Int64(a.calls)), "devices": .integer(Int64(a.devices)),
                "id": .string(a.user.text), "online": .bool(a.isOnline),
            ]
            if let name = a.name { members["name"] = .string(name) }
            let table = LuaValue(.object(members))
            if case .user = self { return table.isSame(as: other) }
            return isSame(as: table)
        case (.list(let a), .list(let b)):
            return a.count == b.count && zip(a, b).allSatisfy { $0.isSame(as: $1) }
        case (.table(let a), .table(let b)):
            return a.count == b.count
                && zip(a, b).allSatisfy { $0.key == $1.key && $0.value.isSame(as: $1.value) }
        case (.list(let values), .table(let pairs)), (.table(let pairs), .list(let values)):
            return values.isEmpty && pairs.isEmpty
        default: return self == other
        }
    }

    /// Extended data as the text that is sent.
    fileprivate var dataText: String {
        if let text, let json = try? JSONValue(parsing: text), case .object = json {
            return LuaValue(json).dataText
        }
        guard case .table = self, let json = try? json(), let object = json.object else {
            return shown
        }
        return JSONValue.object(JSONObject(object.sortedMembers)).description
    }

    /// A duration as the host writes it: `"60s"` is `"1m"`.
    fileprivate func withShortSpan(_ key: LuaValue) -> LuaValue {
        guard ["wait", "for_", "each", "timeout"].contains(key.text ?? ""),
            let span = text.flatMap(Duration.parse)
        else { return self }
        return .text(Duration.text(span))
    }

    /// The table without one of its fields.
    fileprivate func without(_ field: String) -> LuaValue {
        table.map { .table($0.filter { $0.key != .text(field) }) } ?? self
    }

    /// Options of a reject with an own text, as they come out of it.
    fileprivate func addingReason(_ reason: String) -> LuaValue {
        var data = self["extended_data"]
        if data.isNull { data = .table([]) }
        if case .table(var pairs) = data, data["reason"].isNull {
            pairs.append(Pair(key: .text("reason"), value: .text(reason)))
            data = .table(pairs)
        }
        return .table([Pair(key: .text("extended_data"), value: data)])
    }

    /// A decision as its constructor would have written it.
    static func decision(_ kind: Int, _ arguments: [LuaValue]) -> LuaValue {
        let writer = PlainWriter()
        writer.tag(kind)
        writer.list(arguments.count)
        for argument in arguments { writer.value(argument) }
        return .decision(writer.copy)
    }
}

extension Decision {
    /// As a script would have made it. `isAgain`: whether it asks for itself again.
    func value(isAgain: Bool) -> LuaValue {
        func options(_ pairs: (String, LuaValue?)...) -> [LuaValue] {
            let given = pairs.compactMap { key, value in
                value.map { LuaValue.Pair(key: .text(key), value: $0) }
            }
            return given.isEmpty ? [] : [.table(given)]
        }
        switch self {
        case .accept(let wait, let data):
            return .decision(
                PLAIN_ACCEPT,
                options(
                    ("extended_data", data.map { .text($0) }),
                    ("wait", wait > 0 ? .text(Duration.text(wait)) : nil)))
        case .reject(let busy, let data):
            return .decision(
                PLAIN_REJECT,
                [.text(busy ? "busy" : "declined")]
                    + options(("extended_data", data.map { .text($0) })))
        case .ring(let span):
            return .decision(
                PLAIN_RING,
                options(
                    ("again", isAgain ? .bool(true) : nil),
                    ("for_", span.map { .text(Duration.text($0)) })))
        case .forward(let users, let each):
            let named = LuaValue.list(users.map { .text($0.text) })
            let more = users.count > 1 && each == nil ? LuaValue.bool(true) : nil
            return .decision(
                PLAIN_FORWARD,
                [users.count == 1 ? .text(users[0].text) : named]
                    + options(("each", each.map { .text(Duration.text($0)) }), ("first", more)))
        }
    }
}

extension Allowance {
    /// As a script would have made it.
    var value: LuaValue {
        var pairs: [LuaValue.Pair] = []
        if case .some(let data) = extendedData {
            pairs.append(.init(key: .text("extended_data"), value: data.map { .text($0) } ?? .null))
        }
        if let invitees {
            pairs.append(
                .init(key: .text("invitees"), value: .list(invitees.map { .text($0.text) })))
        }
        if let timeout {
            pairs.append(.init(key: .text("timeout"), value: .text(Duration.text(timeout))))
        }
        return .decision(PLAIN_ALLOW, pairs.isEmpty ? [] : [.table(pairs)])
    }
}
