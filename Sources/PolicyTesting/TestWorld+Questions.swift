// The questions of a test: what the plugin says to an invitation, a push and the others.

import CLua
import CallModel
import JSON
import Lua
import PolicyHost

extension Refusal {
    /// For a person.
    var inWords: String {
        var text = code.rawValue
        if case .code(let own) = detail { text += " \(own)" }
        return message.isEmpty ? text : "\(text) (\(message))"
    }
}

extension TestWorld {
    // MARK: Calls

    static let callFields = [
        "from", "to", "at", "kind", "mode", "timeout", "extended_data", "group",
    ]

    /// The call that a step is about: the last one, unless its table says something of the call.
    /// Of such a call only the plugins are told.
    func call(
        _ table: LuaValue, _ name: String, more: [String] = []
    ) throws(Refused) -> Call {
        let made = try describedCall(table, name, more: more)
        let isSilent = Self.callFields.allSatisfy { field in
            field == "at" || more.contains(field) || table[field].isNull
        }
        if isSilent, let current { return current }
        goOn(with: made)
        return made
    }

    /// The call that the table of a test describes.
    private func describedCall(
        _ table: LuaValue, _ name: String, more: [String] = []
    ) throws(Refused) -> Call {
        guard table.isNull || table.table != nil else {
            throw Refused("\(name): a call is a table, { from = \"ann\", to = \"bob\" }")
        }
        try table.only(Self.callFields + more, name)
        if let time = table["at"].text { setClock(to: try Self.moment(time, now, zone)) }
        let mode = table["mode"].text ?? usualMode.name
        guard let row = ModeRow(named: mode, in: modes) else {
            let hint = Suggestion.text(for: mode, among: modes.map(\.name))
            let own = " (your own modes are read from callagent.lua, or --config FILE)"
            throw Refused("\(name): unknown mode '\(mode)'\(hint.isEmpty ? own : hint)")
        }
        let kind = more.contains("kind") ? "audio" : table["kind"].text ?? "audio"
        var call = Call(
            id: newCall(), mode: row, kind: kind,
            ringTime: try Self.ringTime(table, name) ?? row.mode.ringTime,
            deliveryCheck: nil, createdAt: now)
        call.extendedData = try Self.text(of: table["extended_data"])
        try addPeople(table, &call)
        return call
    }

    private static func ringTime(
        _ table: LuaValue, _ name: String
    ) throws(Refused) -> Milliseconds? {
        if table["timeout"].isNull { return nil }
        guard let span = table["timeout"].text.flatMap(Duration.parse) else {
            throw Refused("\(name): timeout is a duration (\"30s\")")
        }
        return span
    }

    private func addPeople(_ table: LuaValue, _ call: inout Call) throws(Refused) {
        let caller = try Self.user(table["from"].text ?? "ann")
        call.participants = [Participant(user: caller, role: .caller, state: .joined, at: now)]
        let invitees = table["to"].list ?? [table["to"].isNull ? .text("bob") : table["to"]]
        guard !invitees.isEmpty else { throw Refused("to: at least one user") }
        for value in invitees {
            guard let text = value.id else { throw Refused("to: a user id or a list of them") }
            var invitee = Participant(
                user: try Self.user(text), role: .invitee, state: .inviting, at: now)
            invitee.invitedBy = caller
            invitee.deadlineAt = now + call.ringTime
            // Handlers speak for whom the plugins answer for, not for the caller.
            invitee.isAnsweredFor = call.participants.count == 1
            call.participants.append(invitee)
        }
        call.isGroup = table["group"].bool ?? (call.participants.count > 2)
    }

    static func text(of value: LuaValue) throws(Refused) -> String? {
        if value.isNull { return nil }
        if let text = value.text { return text }
        do throws(LuaProblem) {
            return try value.json().description
        } catch {
            throw Refused(error.message)
        }
    }

    static func user(_ text: String) throws(Refused) -> UserID {
        guard let user = UserID(checking: text) else { throw Refused("bad user id '\(text)'") }
        return user
    }

    // MARK: Decisions

    /// The caller's device invites; what the plugins say about the first invitee.
    func invite(_ arguments: Arguments) throws(Refused) -> LuaValue {
        let table = arguments[0]
        guard table["group"].isNull else {
            throw Refused("\(arguments.name): a group is made by naming several in to")
        }
        let made = try describedCall(table, arguments.name)
        let invitees = made.participants.dropFirst().map(\.user)
        for user in invitees { connect(user) }
        answer(for: invitees)
        var invitation = Invitation(invitees: invitees)
        (invitation.mode, invitation.kind) = (made.row, made.kind)
        invitation.timeout = table["timeout"].isNull ? nil : made.ringTime
        invitation.extendedData = made.extendedData
        ringing = nil
        switch try request(.invite(invitation), by: made.caller) {
        case .invited(let call, _, _):
            goOn(with: call)
            return decision(about: call.id)
        case .refused(let refusal):
            if refusal.code == .refused, case .code(let code) = refusal.detail {
                return .decision(PLAIN_REFUSE, [.text(code)])
            }
            throw Refused("\(arguments.name): the server refuses: \(refusal.inWords)")
        case .done, .call, .callWithErrors, .items, .token, .names, .kept, nil: return .null
        }
    }

    /// The time of `ring { for_ = … }` is over: the plugins after that one are asked, or it itself.
    func inviteAgain() throws(Refused) -> LuaValue {
        guard let current, let (span, _) = ringing else {
            throw Refused("t.again: the last decision was no ring { for_ = … }")
        }
        ringing = nil
        try advanceToQuestion(span)
        return decision(about: current.id)
    }

    /// What the plugins decided in this step about the first whom they were asked about.
    private func decision(about id: CallID) -> LuaValue {
        for question in asked {
            guard case .invite(let call, _, _) = question.subject, call.id == id,
                case .invite(let decision, let plugin, let next) = answers[question.id]
            else { continue }
            if case .ring(let span?) = decision { ringing = (span, next) }
            // The one that decided is asked again itself, whoever was asked before it.
            let place = plan.plugins.firstIndex { $0.source.name == plugin }
            return decision.value(isAgain: next == place)
        }
        return .null
    }

    func dial(_ arguments: Arguments) throws(Refused) -> LuaValue {
        // The draft that servers ask about has those in it who would be called.
        let drafted = try describedCall(arguments[0], arguments.name, more: ["by"])
        let invitees = Array(drafted.participants.dropFirst().map(\.user))
        var (call, asker) = (drafted, drafted.caller)
        if let text = arguments[0]["by"].text {
            // A call under way has them only when they are in it.
            (call, asker) = (try callUnderWay(arguments), try Self.user(text))
            guard call.participant(asker)?.state == .joined else {
                throw Refused("\(arguments.name): by: '\(text)' has not joined the last call")
            }
        } else {
            goOn(with: drafted)
        }
        let others = call.participants.map(\.user).filter { !invitees.contains($0) }
        let answer = try ask(
            .dial(call, user: asker, invitees: invitees),
            (others + invitees).map { facts(of: $0) })
        switch answer {
        case .refuse(let code, _): return .decision(PLAIN_REFUSE, [.text(code)])
        case .allow(let allowance): return allowance.value
        case .invite, .data, .tooLarge, .views, .token, .none: return .null
        }
    }

    /// The call to which `t.dial` adds people: the last one, of which it says nothing itself.
    private func callUnderWay(_ arguments: Arguments) throws(Refused) -> Call {
        let isSilent = Self.callFields.allSatisfy { $0 == "to" || arguments[0][$0].isNull }
        guard isSilent, let current else {
            throw Refused("\(arguments.name): with by, there is to alone, and a call before it")
        }
        return current
    }

    /// Somebody who was not invited, eve unless the test says who, wants to join.
    func join(_ arguments: Arguments) throws(Refused) -> LuaValue {
        let call = try call(arguments[0], arguments.name, more: ["user"])
        let user = try Self.user(arguments[0]["user"].text ?? "eve")
        connect(user)
        let answer = try ask(.join(call, user: user), facts(of: call) + [facts(of: user)])
        switch answer {
        case .refuse(let code, _): return .decision(PLAIN_REFUSE, [.text(code)])
        case .allow: return .decision(PLAIN_ADMIT, [])
        case .invite, .data, .tooLarge, .views, .token, .none: return .null
        }
    }

    func token(_ arguments: Arguments) throws(Refused) -> LuaValue {
        let call = try call(arguments[0], arguments.name, more: ["user"])
        let user = try arguments[0]["user"].text.map { text throws(Refused) in
            try Self.user(text)
        }
        let answer = try ask(
            .token(call, user: user ?? call.participants[1].user), facts(of: call))
        guard case .token(let bytes?) = answer, let json = try? JSONValue(parsing: bytes) else {
            return .null
        }
        return LuaValue(json)
    }

    // MARK: Shapes

    func data(_ arguments: Arguments) throws(Refused) -> LuaValue {
        let call = try call(arguments[2], arguments.name, more: ["user"])
        let text = try Self.text(of: arguments[0]) ?? ""
        let receiver = call.participants[1].user
        let direction = arguments[1].text ?? "in"
        guard arguments[1].isNull || direction == "in" || direction == "out" else {
            throw Refused("t.data: the direction is \"in\" or \"out\"")
        }
        var shaped: String? = text
        if direction == "out" {
            let outgoing = Question.OutgoingText(owner: .call, receiver: receiver, data: text)
            let answer = try ask(.outgoingData(call, [outgoing]), facts(of: call))
            if case .views(let views) = answer, let view = views.first { shaped = view.text }
        } else {
            let sender = try arguments[2]["user"].text.map { text throws(Refused) in
                try Self.user(text)
            }
            let answer = try ask(
                .incomingData(call, user: sender ?? call.caller, data: text), facts(of: call))
            if case .data(let data) = answer { shaped = data }
        }
        guard let shaped else { return .null }
        if let json = try? JSONValue(parsing: shaped), case .object = json { return LuaValue(json) }
        return .text(shaped)
    }

    func push(_ arguments: Arguments) throws(Refused) -> LuaValue {
        let call = try call(arguments[1], arguments.name)
        let draft = try draft(arguments[0], call, arguments.name)
        guard let shaped = try shape(draft, call) else { return .null }
        return LuaValue(.object(shaped.table))
    }

    private static let pushFields = [
        "user", "provider", "kind", "reason", "topic", "title", "body", "payload", "payload_raw",
        "expires_in", "collapse_id",
    ]

    /// The push that a table of a test describes.
    func draft(_ fields: LuaValue, _ call: Call, _ name: String) throws(Refused) -> PushDraft {
        guard fields.isNull || fields.table != nil else {
            throw Refused("\(name): a push is a table, { provider = \"apns\" }")
        }
        try fields.only(Self.pushFields, name)
        let provider = fields["provider"].text ?? "apns"
        let reason = fields["reason"].text ?? "invite"
        let isVoIP = provider == "apns" && reason == "invite"
        var draft = PushDraft(
            user: try Self.user(fields["user"].text ?? call.participants[1].user.text),
            provider: provider, kind: fields["kind"].text ?? (isVoIP ? "voip" : "alert"),
            reason: reason, expiresIn: fields["expires_in"].integer ?? call.ringTime / 1_000)
        draft.payloadRaw = fields["payload_raw"].text
        draft.topic = fields["topic"].text
        draft.title = fields["title"].text
        draft.body = fields["body"].text
        draft.collapseID = fields["collapse_id"].text
        draft.payload = (try? fields["payload"].json())?.object ?? JSONObject()
        return draft
    }
}
