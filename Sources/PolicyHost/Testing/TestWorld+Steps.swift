// The steps of a test: what `t.invite` and the others do.

import CLua
import CallModel
import JSON

extension TestWorld {
    /// Does one step; returns what it returns to the test.
    func perform(_ name: String, _ arguments: Arguments) throws(Refused) -> [LuaValue] {
        switch name {
        case "invite": return [try invite(arguments)]
        case "dial": return [try dial(arguments)]
        case "token": return [try token(arguments)]
        case "data": return [try data(arguments)]
        case "push": return [try push(arguments)]
        case "accept": try accept(arguments)
        case "event": try event(arguments)
        case "user": try user(arguments)
        case "options": try options(arguments)
        case "clock": setClock(to: try Self.moment(arguments.text(0), now, setting.zone))
        case "advance": advance(try arguments.duration(0))
        case "http": pages[try arguments.text(0)] = arguments[1]
        case "reload": try load(keepingState: true)
        case "expect": try expect(arguments)
        case "equal": try equal(arguments)
        case "calls": return [.list(operations)]
        case "logs": return [.list(log.map { .text($0) })]
        default: throw Refused("unknown step '\(name)'")
        }
        return []
    }

    // MARK: Calls

    private static let callFields = [
        "from", "to", "at", "kind", "mode", "timeout", "extended_data", "who", "reason", "by",
        "users", "was", "now", "data", "user", "online",
    ]

    /// The call that a table of a test describes.
    private func call(_ table: LuaValue, _ name: String) throws(Refused) -> Call {
        for pair in table.table ?? [] where !Self.callFields.contains(pair.key.shown) {
            throw Refused(
                "\(name): unknown field '\(pair.key.shown)'"
                    + Suggestion.text(for: pair.key.shown, among: Self.callFields))
        }
        if let time = table["at"].text {
            setClock(to: try Self.moment(time, now, setting.zone))
        }
        let mode = table["mode"].text ?? "common"
        guard let row = Mode.all.firstIndex(where: { $0.name == mode }) else {
            throw Refused(
                "\(name): unknown mode '\(mode)'"
                    + Suggestion.text(for: mode, among: Mode.all.map(\.name)))
        }
        let ring = table["timeout"].text.flatMap(Duration.parse) ?? Mode.all[row].ringTime
        var call = Call(
            id: newCall(), mode: ModeIndex(UInt8(row)), kind: table["kind"].text ?? "audio",
            ringTime: ring, deliveryCheck: false, createdAt: now)
        call.extendedData = try Self.text(of: table["extended_data"])
        let caller = try Self.user(table["from"].text ?? "ann")
        call.participants = [Participant(user: caller, role: .caller, state: .joined, at: now)]
        for text in table["to"].list?.compactMap(\.text) ?? [table["to"].text ?? "bob"] {
            var invitee = Participant(
                user: try Self.user(text), role: .invitee, state: .inviting, at: now)
            invitee.invitedBy = caller
            invitee.deadlineAt = now + ring
            call.participants.append(invitee)
        }
        call.isGroup = call.participants.count > 2
        remember(call)
        return call
    }

    private static func text(of value: LuaValue) throws(Refused) -> String? {
        if value.isNull { return nil }
        if let text = value.text { return text }
        do throws(LuaProblem) {
            return try value.json().description
        } catch {
            throw Refused(error.message)
        }
    }

    private static func user(_ text: String) throws(Refused) -> UserID {
        guard let user = UserID(checking: text) else { throw Refused("bad user id '\(text)'") }
        return user
    }

    // MARK: Questions

    private func invite(_ arguments: Arguments) throws(Refused) -> LuaValue {
        let call = try call(arguments[0], arguments.name)
        let callee = call.participants[1].user
        let answer = try ask(.invite(call, callee: callee, from: 0), facts(of: call))
        guard case .invite(let decision, _, _) = answer else { return .null }
        return decision.value
    }

    private func dial(_ arguments: Arguments) throws(Refused) -> LuaValue {
        var call = try call(arguments[0], arguments.name)
        let invitees = call.participants.dropFirst().map(\.user)
        call.participants = [call.participants[0]]
        let answer = try ask(
            .dial(call, user: call.caller, invitees: Array(invitees)),
            ([call.caller] + invitees).map { facts(of: $0) })
        switch answer {
        case .refuse(let code, _): return .decision(PLAIN_REFUSE, [.text(code)])
        case .allow(let allowance): return allowance.value
        case .invite, .data, .views, .token, .none: return .null
        }
    }

    private func token(_ arguments: Arguments) throws(Refused) -> LuaValue {
        let call = try call(arguments[0], arguments.name)
        let answer = try ask(
            .token(call, user: call.participants[1].user), facts(of: call))
        guard case .token(let bytes?) = answer, let json = try? JSONValue(parsing: bytes) else {
            return .null
        }
        return LuaValue(json)
    }

    private func data(_ arguments: Arguments) throws(Refused) -> LuaValue {
        let call = try call(arguments[2], arguments.name)
        let text = try Self.text(of: arguments[0]) ?? ""
        let receiver = call.participants[1].user
        var shaped: String? = text
        if arguments[1].text == "out" {
            let outgoing = Question.OutgoingText(owner: .call, receiver: receiver, data: text)
            let answer = try ask(.outgoingData(call, [outgoing]), facts(of: call))
            if case .views(let views) = answer, let view = views.first { shaped = view.text }
        } else {
            let answer = try ask(
                .incomingData(call, user: call.caller, data: text), facts(of: call))
            if case .data(let data) = answer { shaped = data }
        }
        guard let shaped else { return .null }
        if let json = try? JSONValue(parsing: shaped), case .object = json { return LuaValue(json) }
        return .text(shaped)
    }

    private func push(_ arguments: Arguments) throws(Refused) -> LuaValue {
        let call = try call(arguments[1], arguments.name)
        let fields = arguments[0]
        var draft = PushDraft(
            user: call.participants[1].user, provider: fields["provider"].text ?? "apns",
            kind: fields["kind"].text ?? "voip", reason: fields["reason"].text ?? "invite",
            expiresIn: fields["expires_in"].integer ?? call.ringTime / 1_000)
        draft.topic = fields["topic"].text
        draft.title = fields["title"].text
        draft.body = fields["body"].text
        draft.collapseID = fields["collapse_id"].text
        draft.payload = (try? fields["payload"].json())?.object ?? JSONObject()
        guard let shaped = try shape(draft, call) else { return .null }
        return LuaValue(.object(shaped.table))
    }

    // MARK: Reports

    private func accept(_ arguments: Arguments) throws(Refused) {
        var call = try call(arguments[0], arguments.name)
        call.state = .active
        call.answeredAt = now
        call.participants[1].state = .joined
        remember(call)
        try tell(
            Report(
                call: call, at: now, kind: .accepted(call.participants[1].user),
                facts: facts(of: call)))
    }

    private func event(_ arguments: Arguments) throws(Refused) {
        let name = try arguments.text(0)
        let table = arguments[1]
        var call = try call(table, arguments.name)
        let kind = try reportKind(name, table, &call)
        remember(call)
        if case .presence(let user, _) = kind {
            return try tell(Report(call: nil, at: now, kind: kind, facts: [facts(of: user)]))
        }
        try tell(Report(call: call, at: now, kind: kind, facts: facts(of: call)))
    }

    private func reportKind(
        _ name: String, _ table: LuaValue, _ call: inout Call
    ) throws(Refused) -> Report.Kind {
        let who = try Self.user(table["who"].text ?? call.participants[1].user.text)
        let list = table["users"].list?.compactMap(\.text) ?? [who.text]
        var users: [UserID] = []
        for text in list { users.append(try Self.user(text)) }
        switch Hook(rawValue: name) {
        case .accepted: return .accepted(who)
        case .rejected:
            return .rejected(
                who, Participant.Reason(rawValue: table["reason"].text ?? "") ?? .declined)
        case .cancelled: return .cancelled(by: table["by"].text.map { UserID($0) })
        case .timeout: return .timeout(users)
        case .undelivered: return .undelivered(users)
        case .participant:
            return .participant(
                who, from: table["was"].text.flatMap(Participant.State.init(rawValue:)),
                to: Participant.State(rawValue: table["now"].text ?? "") ?? .joined)
        case .ended:
            call.state = .ended
            call.endedAt = now
            call.end = Call.End(
                EndReason(rawValue: table["reason"].text ?? "") ?? .completed,
                by: table["by"].text.map { UserID($0) })
            return .ended
        case .signal:
            let data = (try? table["data"].json().bytes) ?? []
            return .signal(from: call.caller, to: nil, data: data)
        case .presence:
            return .presence(
                try Self.user(table["user"].text ?? who.text), online: table["online"].bool ?? true)
        case .dial, .invite, .token, .push, .extendedData, .pushFailed, .start, .stop,
            .pluginError, nil:
            let names = Hook.allCases.filter { $0.kind == .report }.map(\.rawValue)
            throw Refused("unknown event '\(name)'" + Suggestion.text(for: name, among: names))
        }
    }

    // MARK: The world

    private func user(_ arguments: Arguments) throws(Refused) {
        let user = try arguments.user(0)
        let facts = try arguments.table(1)
        for pair in facts.table ?? [] where !["calls", "devices"].contains(pair.key.shown) {
            throw Refused(
                "t.user: unknown field '\(pair.key.shown)'"
                    + Suggestion.text(for: pair.key.shown, among: ["calls", "devices"]))
        }
        users[user] = UserFacts(
            user, calls: Int(facts["calls"].integer ?? 0),
            devices: Int(facts["devices"].integer ?? 1))
    }

    private func options(_ arguments: Arguments) throws(Refused) {
        setting.options = try arguments.json(0).object ?? JSONObject()
        try load(keepingState: false)
    }

    /// `Mon 10:00` in the week of `now`, or `2030-05-01 10:00`.
    private static func moment(
        _ text: String, _ now: Moment, _ zone: TimeZoneRules
    ) throws(Refused) -> Moment {
        let words = text.split(separator: " ")
        let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
        guard words.count == 2, let minute = Hours.minute(words[1]) else {
            throw Refused("bad time '\(text)' (write \"Mon 10:00\" or \"2030-05-01 10:00\")")
        }
        var date: LocalTime
        let numbers = words[0].split(separator: "-").compactMap { Int($0) }
        if let day = days.firstIndex(of: words[0].lowercased()) {
            let today = zone.local(at: now.milliseconds / 1_000)
            let monday = today.days - Int64(today.weekday)
            date = LocalTime(secondsSince1970: (monday + Int64(day)) * 86_400)
        } else if numbers.count == 3 {
            date = LocalTime(year: numbers[0], month: numbers[1], day: numbers[2])
        } else {
            throw Refused(
                "unknown day '\(words[0])'" + Suggestion.text(for: String(words[0]), among: days))
        }
        date = LocalTime(secondsSince1970: date.secondsSince1970 + Int64(minute) * 60)
        return Moment(zone.moment(of: date) * 1_000)
    }

    // MARK: Judging

    private func expect(_ arguments: Arguments) throws(Refused) {
        let (found, expected) = (try normal(arguments[0]), try normal(arguments[1]))
        guard found == expected else {
            throw Refused("expected \(expected), got \(found)")
        }
    }

    /// A decision in words; the same words mean the same decision.
    private func normal(_ value: LuaValue) throws(Refused) -> String {
        if value.isNull { return "nothing" }
        guard case .decision(let payload) = value else {
            throw Refused("t.expect compares decisions, not a \(value.typeName)")
        }
        return payload.withUnsafeBytes { bytes in
            var reader = PlainReader(bytes)
            let kind = Int(reader.byte())
            return Self.words(kind, reader.values())
        }
    }

    private static func words(_ kind: Int, _ arguments: [LuaValue]) -> String {
        var (text, options) = (arguments.first?.text, arguments.last ?? .null)
        if text != nil, arguments.count == 1 { options = .null }
        var parts: [String] = []
        if kind == PLAIN_REJECT, let reason = text, reason != "busy", reason != "declined" {
            text = "declined"
            options = options.addingReason(reason)
        }
        for pair in options.table ?? [] {
            let shown = pair.key == .text("extended_data") ? pair.value.dataText : pair.value.shown
            parts.append("\(pair.key.shown) = \(shown)")
        }
        let name = Returned.name(of: kind)
        let head = text.map { "\(name) \"\($0)\"" } ?? name
        return parts.isEmpty ? head : "\(head) { \(parts.joined(separator: ", ")) }"
    }

    private func equal(_ arguments: Arguments) throws(Refused) {
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
    fileprivate static func decision(_ kind: Int, _ arguments: [LuaValue]) -> LuaValue {
        let writer = PlainWriter()
        writer.tag(kind)
        writer.list(arguments.count)
        for argument in arguments { writer.value(argument) }
        let written = writer.written
        return .decision(Array(UnsafeBufferPointer(start: written.start, count: written.count)))
    }
}

extension Decision {
    fileprivate var value: LuaValue {
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
                PLAIN_RING, options(("for_", span.map { .text(Duration.text($0)) })))
        case .forward(let user): return .decision(PLAIN_FORWARD, [.text(user.text)])
        }
    }
}

extension Allowance {
    fileprivate var value: LuaValue {
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
