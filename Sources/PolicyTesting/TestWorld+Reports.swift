// What a test lets happen: the report hooks.

import CallModel
import JSON
import Lua
import PolicyHost

extension TestWorld {
    /// A device of whoever is called accepts.
    func accept(_ arguments: Arguments) throws(Refused) {
        let call = try call(arguments[0], arguments.name)
        guard isReal(call) else {
            return try tell(.accepted(call.participants[1].user), of: call)
        }
        guard let pending = call.participants.first(where: { $0.state.mayAnswer }) else {
            if call.participants.dropFirst().contains(where: { $0.state == .joined }) { return }
            throw Refused("\(arguments.name): nobody is called any more")
        }
        let reply = try request(.call(call.id, .accept()), by: pending.user)
        if case .refused(let refusal) = reply {
            throw Refused("\(arguments.name): the server refuses: \(refusal.inWords)")
        }
    }

    /// Lets a device do what causes the report, if the present call allows it; returns whether it
    /// did.
    private func happens(_ kind: Report.Kind, in call: Call) throws(Refused) -> Bool {
        guard isReal(call) else { return false }
        let (user, action): (UserID, CallAction)
        switch kind {
        case .accepted(let who): (user, action) = (who, .accept())
        case .rejected(let who, .busy): (user, action) = (who, .reject(busy: true))
        case .rejected(let who, .declined): (user, action) = (who, .reject())
        case .cancelled(let by) where by ?? call.caller == call.caller:
            (user, action) = (call.caller, .cancel())
        case .rejected, .cancelled, .timeout, .undelivered, .participant, .ended, .signal,
            .presence, .notice:
            return false
        }
        guard call.participant(user) != nil else { return false }
        guard case .refused? = try request(.call(call.id, action), by: user) else { return true }
        return false
    }

    /// Tells a report hook.
    func event(_ arguments: Arguments) throws(Refused) {
        let name = try arguments.text(0)
        let hooks = Hook.allCases.filter { $0.kind == .report }
        guard let hook = hooks.first(where: { $0.rawValue == name }) else {
            throw Refused(
                "unknown event '\(name)'"
                    + Suggestion.text(for: name, among: hooks.map(\.rawValue)))
        }
        let step = "t.event \"\(name)\""
        switch hook {
        case .start, .stop, .pluginError: try tellTable(hook, arguments[1], step)
        case .presence: try tellPresence(arguments[1], step)
        case .pushFailed: try tellPushFailed(arguments[1], step)
        case .accepted, .rejected, .cancelled, .timeout, .undelivered, .participant, .ended,
            .signal, .dial, .invite, .join, .token, .push, .extendedData:
            var call = try call(
                arguments[1], step, more: Self.fields(of: hook))
            let kind = try Self.report(hook, arguments[1], call)
            if try happens(kind, in: call) { return }
            if hook == .ended { try end(&call, arguments[1]) }
            try tell(kind, of: call)
        }
    }

    private static func fields(of hook: Hook) -> [String] {
        switch hook {
        case .accepted: ["who"]
        case .rejected: ["who", "reason"]
        case .cancelled: ["by"]
        case .timeout, .undelivered: ["users"]
        case .participant: ["who", "was", "now"]
        case .ended: ["reason", "by"]
        case .signal: ["from", "data"]
        case .presence, .pushFailed, .start, .stop, .pluginError, .dial, .invite, .join, .token,
            .push, .extendedData:
            []
        }
    }

    // MARK: Of calls

    private static func report(
        _ hook: Hook, _ table: LuaValue, _ call: Call
    ) throws(Refused) -> Report.Kind {
        let callee = call.participants[1].user
        let who = try table["who"].text.map { text throws(Refused) in try user(text) }
        let by = try table["by"].text.map { text throws(Refused) in try user(text) }
        switch hook {
        case .rejected:
            return .rejected(who ?? callee, try word(table["reason"], or: .declined, "reason"))
        case .cancelled: return .cancelled(by: by)
        case .timeout: return .timeout(try people(table, or: callee))
        case .undelivered: return .undelivered(try people(table, or: callee))
        case .participant:
            let was: Participant.State = try word(table["was"], or: .ringing, "was")
            return .participant(
                who ?? callee, from: table["was"].isNull ? nil : was,
                to: try word(table["now"], or: .joined, "now"))
        case .ended: return .ended
        case .signal:
            let data = (try? table["data"].json().bytes) ?? []
            let from = try table["from"].text.map { text throws(Refused) in try user(text) }
            return .signal(from: from ?? call.caller, to: nil, data: data)
        case .accepted, .presence, .pushFailed, .start, .stop, .pluginError, .dial, .invite,
            .join, .token, .push, .extendedData:
            return .accepted(who ?? callee)
        }
    }

    private func end(_ call: inout Call, _ table: LuaValue) throws(Refused) {
        call.end = Call.End(
            try Self.word(table["reason"], or: .completed, "reason"),
            by: try table["by"].text.map { text throws(Refused) in try Self.user(text) })
    }

    private static func people(
        _ table: LuaValue, or callee: UserID
    ) throws(Refused) -> [UserID] {
        var users: [UserID] = []
        for text in table["users"].list?.compactMap(\.text) ?? [callee.text] {
            users.append(try user(text))
        }
        return users
    }

    /// A word of ours that a test writes.
    private static func word<Word: RawRepresentable<String> & CaseIterable>(
        _ value: LuaValue, or standard: Word, _ name: String
    ) throws(Refused) -> Word {
        if value.isNull { return standard }
        if let word = value.text.flatMap(Word.init(rawValue:)) { return word }
        let names = Word.allCases.map(\.rawValue)
        throw Refused(
            "t.event: unknown \(name) '\(value.shown)'"
                + Suggestion.text(for: value.shown, among: names))
    }

    /// Tells of `kind`, of which the call is the consequence.
    private func tell(_ kind: Report.Kind, of before: Call) throws(Refused) {
        var call = before
        switch kind {
        case .accepted(let user):
            call.state = .active
            call.answeredAt = now
            set(.joined, of: [user], in: &call)
        case .rejected(let user, _): set(.rejected, of: [user], in: &call)
        case .timeout(let users): set(.timedOut, of: users, in: &call)
        case .participant(let user, _, let state): set(state, of: [user], in: &call)
        case .ended: call.state = .ended
        case .cancelled, .undelivered, .signal, .presence, .notice: break
        }
        if call.state == .ended { call.endedAt = now }
        if !isReal(call) { goOn(with: call) }
        try tell(.told(Report(call: call, at: now, kind: kind, facts: facts(of: call))))
        if call.state == .ended { end(call) }
    }

    private func set(_ state: Participant.State, of users: [UserID], in call: inout Call) {
        for index in call.participants.indices
        where users.contains(call.participants[index].user) {
            call.participants[index].state = state
        }
    }

    // MARK: Of anything else

    private func tellPresence(_ table: LuaValue, _ step: String) throws(Refused) {
        try table.only(["user", "now"], step)
        let user = try Self.user(table["user"].text ?? "bob")
        let now = table["now"].text ?? "online"
        guard now == "online" || now == "offline" else {
            throw Refused("\(step): now is \"online\" or \"offline\"")
        }
        let isOnline = now == "online"
        let known = facts(of: user)
        let facts = UserFacts(
            user, calls: known.calls, devices: isOnline ? max(1, known.devices) : 0)
        try tell(
            .told(
                Report(
                    call: nil, at: self.now, kind: .presence(user, online: isOnline),
                    facts: [facts])))
    }

    private func tellPushFailed(_ table: LuaValue, _ step: String) throws(Refused) {
        let call = try call(table, step, more: ["push", "reason"])
        let draft = try draft(table["push"], call, step)
        try tell(
            .pushFailed(
                draft, call, facts(of: call), reason: table["reason"].text ?? "unregistered"))
    }

    private static let tables: [Hook: [(String, JSONValue)]] = [
        .start: [("reason", "boot"), ("generation", "test")],
        .stop: [("reason", "shutdown"), ("generation", "test")],
        .pluginError: [
            ("plugin", "other"), ("kind", "error"), ("message", "other.lua:1: it failed"),
            ("quarantined", false),
        ],
    ]

    private func tellTable(_ hook: Hook, _ table: LuaValue, _ step: String) throws(Refused) {
        let fields = Self.tables[hook] ?? []
        try table.only(fields.map(\.0), step)
        var told = JSONObject()
        for (name, standard) in fields {
            told[name] = table[name].isNull ? standard : try? table[name].json()
        }
        try tell(hook, told)
    }
}
