// How a scenario writes what is seen.

import CallModel

/// Writes sights in the words of a scenario.
struct ScenarioWriter {
    let names: CallNames
    /// Who did the step: an event caused by it needs no `by`.
    var doer: Address?
    /// Whether calls are written with all their fields.
    var inFull = false

    /// What `observation` shows.
    func text(_ observation: Observation) -> String {
        if case .event(let event, let now) = observation.sight,
            case .device(let device) = observation.observer
        {
            return text(event, now, to: device.user)
        }
        return text(observation.sight)
    }

    func text(_ observer: Observer) -> String {
        switch observer {
        case .device(let address): written(address)
        case .policy: "policy"
        case .push: "push"
        }
    }

    private func text(_ sight: Sight) -> String {
        switch sight {
        case .reply(let reply): text(reply)
        case .welcome(let calls, let viewer, let more, let resumed):
            (resumed ? "resumed: " : "hello: ") + list(calls, viewer, more)
        case .page(let calls, let viewer, let more): "ok " + list(calls, viewer, more)
        case .event(let event, let now): text(event, now, to: UserID(""))
        case .closed(let why): "closed: \(why)"
        case .question(let question, let now): "asked " + text(question, now)
        case .withdrawn: "no longer asked"
        case .report(let report): "told " + text(report)
        case .job(let job, let now): text(job, now)
        }
    }

    // MARK: Replies

    private func text(_ reply: Reply) -> String {
        switch reply {
        case .done: "ok"
        case .call(let call, let viewer): "ok " + text(call, viewer)
        case .invited(let call, let viewer, let errors),
            .callWithErrors(let call, let viewer, let errors):
            "ok " + text(call, viewer) + text(errors)
        case .items(let items, let keys):
            "ok items \(text(items)); keys \(keys.joined(separator: ", "))"
        case .token(let bytes): "ok token \(String(decoding: bytes, as: UTF8.self))"
        case .names(let users, let errors):
            "ok names \(users.map { "\($0.user) \($0.name?.text ?? "-")" })" + text(errors)
        case .kept(let bytes): "ok kept \(String(decoding: bytes, as: UTF8.self))"
        case .refused(let refusal): text(refusal)
        }
    }

    private func text(_ refusal: Refusal) -> String {
        let detail =
            switch refusal.detail {
            case .field(let path): " in \(path)"
            case .code(let code): " (\(code))"
            case .call(let id): " with \(names.name(id))"
            case .errors(let errors): text(errors)
            case nil: ""
            }
        return "refused \(refusal.code.rawValue)\(detail)"
    }

    private func text(_ errors: [InviteeError]) -> String {
        guard !errors.isEmpty else { return "" }
        return "; but "
            + errors.map { "\($0.user) \($0.code.rawValue)" }.joined(separator: ", ")
    }

    // MARK: Calls

    private func list(_ calls: [Call], _ viewer: UserID, _ more: Bool) -> String {
        let texts = calls.map { text($0, viewer) } + (more ? ["more"] : [])
        return texts.isEmpty ? "no calls" : texts.joined(separator: "; ")
    }

    private func text(_ call: Call, _ viewer: UserID) -> String {
        var text = names.name(call.id) + " \(call.state.rawValue)"
        if call.media != .none { text += "/\(call.media.rawValue)" }
        if inFull { text += ", " + details(call, viewer) }
        if let end = call.end {
            text += " " + self.text(end, saying: call.extendedData(of: .end, for: viewer))
        }
        return text + ": " + participants(of: call, viewer)
    }

    private func participants(of call: Call, _ viewer: UserID) -> String {
        call.participants.map { text($0, in: call, viewer) }.joined(separator: ", ")
    }

    func text(_ end: Call.End, saying: String?) -> String {
        var text = end.reason.rawValue
        if let detail = end.detail { text += "/\(detail.rawValue)" }
        if let by = end.by { text += " by \(by)" }
        return text + said(saying)
    }

    private func text(_ participant: Participant, in call: Call, _ viewer: UserID) -> String {
        var text = "\(participant.user) \(participant.state.rawValue)"
        if let reason = participant.reason { text += "(\(reason.rawValue))" }
        if participant.state == .joined, let device = participant.device,
            device.text != "phone"
        {
            text += " on \(device)"
        }
        if participant.held { text += " holding" }
        text += said(call.extendedData(of: .participant(participant.user), for: viewer))
        return inFull ? text + " (" + details(participant, call) + ")" : text
    }

    private func said(_ text: String?) -> String { text.map { " " + quoted($0) } ?? "" }

    /// `text` in quotes, with the names of calls in the place of their ids.
    func quoted(_ text: String) -> String {
        let text = names.naming(text)
        return text.contains("\"") ? "'\(text)'" : "\"\(text)\""
    }

    private func details(_ call: Call, _ viewer: UserID) -> String {
        var parts = ["mode \(call.mode.name)", "kind \(call.kind)"]
        parts.append("timeout \(written(call.ringTime))")
        if let text = call.extendedData(of: .call, for: viewer) {
            parts.append("saying " + quoted(text))
        }
        if !call.items.isEmpty { parts.append("items \(text(call.items))") }
        func time(_ name: String, _ moment: Moment?) {
            if let moment { parts.append("\(name) after \(written(moment - call.createdAt))") }
        }
        time("answered", call.answeredAt)
        time("connected", call.connectedAt)
        time("ended", call.endedAt)
        parts.append("revision \(call.revision)")
        return parts.joined(separator: ", ")
    }

    private func details(_ participant: Participant, _ call: Call) -> String {
        var parts = [participant.role.rawValue]
        if let inviter = participant.invitedBy { parts.append("of \(inviter)") }
        func time(_ name: String, _ moment: Moment?) {
            if let moment { parts.append("\(name) \(written(moment - call.createdAt))") }
        }
        time("since", participant.invitedAt)
        time("until", participant.deadlineAt)
        time("answered", participant.answeredAt)
        if let device = participant.device, participant.state != .joined {
            parts.append("on \(device)")
        }
        if participant.audio { parts.append("audio") }
        if participant.video { parts.append("video") }
        return parts.joined(separator: " ")
    }

    func text(_ items: [Call.Item]) -> String {
        items.isEmpty ? "none" : items.map { "\($0.key)=\($0.value)" }.joined(separator: ", ")
    }

    // MARK: Events

    /// What happened, to which call, by whom, and what is new.
    private func text(_ event: CallEvent, _ now: Moment, to viewer: UserID) -> String {
        let name = names.name(event.callID)
        let ago = event.at == now ? "" : ", \(written(now - event.at)) ago"
        if case .incoming(let call, let inviter, let left, let transfer) = event.kind {
            return "incoming \(name) from \(inviter)" + byPolicy(event.actor)
                + said(call.extendedData(of: .call, for: viewer))
                + (transfer.map { ", in place of \($0.by)" + said($0.extendedData) } ?? "")
                + (left.map { ", \(written($0)) left" } ?? "") + ago
                + ": " + participants(of: call, viewer)
        }
        let word = event.kind.name.rawValue.dropFirst("call.".count)
        let news = news(event.kind, viewer)
        let by = text(event.actor).map { " by \($0)" } ?? ""
        return "\(word) \(name)\(by)\(ago)" + (news.isEmpty ? "" : ": \(news)")
    }

    /// An invitation says of whom it is; what is to be added is that a policy sent it there.
    private func byPolicy(_ actor: Actor) -> String {
        guard case .policy(let plugin) = actor else { return "" }
        return " by policy \(plugin)"
    }

    /// Nil when the device that does the step is the actor.
    private func text(_ actor: Actor) -> String? {
        switch actor {
        case .user(let user, let device):
            Address(user, device) == doer ? nil : written(Address(user, device))
        case .policy(let plugin): "policy \(plugin)"
        case .timer(let timer): "timer \(timer.rawValue)"
        }
    }

    /// What is new, in the words of the event's row.
    private func news(_ kind: CallEvent.Kind, _ viewer: UserID) -> String {
        var words = EventWords(writer: self)
        kind.visit(&words) { name, call, words in
            words.values["\(name)"] = participants(of: call, viewer)
        }
        return words.text(EventDescriptor.of(kind.name).words)
    }

    func text(_ changes: [CallEvent.Change]) -> String {
        changes.map { change in
            "\(change.user) \(change.state.rawValue)"
                + (change.reason.map { "(\($0.rawValue))" } ?? "") + said(change.extendedData)
        }.joined(separator: ", ")
    }

    // MARK: Policies and push

    private func text(_ question: Question, _ now: Moment) -> String {
        let time = ", in \(written(question.decideBy - now))"
        let name = names.name(question.call.id)
        switch question.subject {
        case .invite(_, let callee, let from):
            let facts = question.facts.first { $0.user == callee }
            let calls = facts?.calls ?? 0
            let place = from == 0 ? "" : " from place \(from)"
            let busy = calls == 0 ? "" : " in \(calls) other calls"
            return "to decide \(name) for \(callee)\(busy)\(place)\(time)"
        case .dial(_, let user, let invitees):
            let list = invitees.map(\.text).joined(separator: ", ")
            return "whether \(user) may dial \(list)\(time)"
        case .incomingData(_, let user, let data):
            return "what \(user) says with \(quoted(data))\(time)"
        case .outgoingData(_, let texts):
            let list = texts.map { "\($0.receiver) \(quoted($0.data)) of \(text($0.owner))" }
            return "what to show \(list.joined(separator: ", "))\(time)"
        case .join(_, let user): return "whether \(user) may join \(name)\(time)"
        case .token(_, let user): return "for a token of \(user) in \(name)\(time)"
        }
    }

    private func text(_ owner: TextOwner) -> String {
        switch owner {
        case .call: "call"
        case .participant(let user): user.text
        case .end: "end"
        case .transfer: "transfer"
        }
    }

    private func text(_ report: Report) -> String {
        let name = report.call.map { names.name($0.id) } ?? ""
        switch report.kind {
        case .accepted(let user): return "accepted \(name) \(user)"
        case .rejected(let user, let reason): return "rejected \(name) \(user) \(reason.rawValue)"
        case .cancelled(let by): return "cancelled \(name)" + (by.map { " by \($0)" } ?? "")
        case .timeout(let users):
            return "timeout \(name) " + users.map(\.text).joined(separator: ", ")
        case .undelivered(let users):
            return "undelivered \(name) " + users.map(\.text).joined(separator: ", ")
        case .participant(let user, let from, let to):
            return "participant \(name) \(user) \(from?.rawValue ?? "new") to \(to.rawValue)"
        case .ended: return "ended \(name)"
        case .signal(let from, let to, let data):
            let whom = to.map { " to \($0)" } ?? ""
            let text = String(decoding: data, as: UTF8.self)
            return "signal \(name) from \(from)\(whom): \(text)"
        case .presence(let user, let online):
            return "presence \(user) \(online ? "online" : "lost")"
        case .notice: return "notice \(name)"
        }
    }

    private func text(_ job: PushJob, _ now: Moment) -> String {
        var text = "\(job.kind.rawValue) \(names.name(job.callID)) to \(job.user)"
        if let title = job.text?.title { text += " " + quoted(title) }
        if !job.connected.isEmpty {
            text += ", not \(job.connected.map(\.text).joined(separator: ", "))"
        }
        if let expiresAt = job.expiresAt { text += ", for \(written(expiresAt - now))" }
        return text
    }
}
