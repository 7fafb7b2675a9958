// Converts the words for pushes between the core, the plugins and the push services.

import CallModel
import JSON
import Outbound
import PolicyHost
import StoreContract

extension PushJob {
    /// The kind as push services and plugins know it: a call that is under way has a kind of its
    /// own.
    func kind(in call: Call) -> PushKind {
        guard kind == .invite, let participant = call.participant(user) else { return kind.push }
        return participant.invitedAt > call.createdAt ? .add : .invite
    }
}

extension PushJob.Kind {
    /// Whether the user need not answer any more.
    var isOver: Bool {
        switch self {
        case .invite, .leave: false
        case .cancel, .end, .missed: true
        }
    }

    var push: PushKind {
        switch self {
        case .invite: .invite
        case .cancel: .cancel
        case .leave: .leave
        case .end: .end
        case .missed: .missed
        }
    }
}

extension SendingCause {
    /// The cause; nil: nobody.
    init?(_ cause: Cause) {
        guard !cause.isNobody else { return nil }
        self.init(cause.user?.text, caller: cause.caller?.text)
    }
}

extension PushTarget {
    /// A stored registration; nil for a provider that nobody knows any more.
    ///
    /// - Parameter gap: from the core's clock to the wall clock.
    init?(_ stored: Registration, gap: Milliseconds) {
        let registration = stored.registration
        guard let provider = PushCarrier(rawValue: registration.provider) else {
            return nil
        }
        let at = stored.at.milliseconds
        self.init(
            provider, token: registration.token, environment: registration.environment,
            registeredAt: at == 0 ? 0 : at + gap)
    }
}

extension PushContent {
    /// What the inviter wants to be shown.
    mutating func take(_ text: PushText) {
        if let title = text.title { self.title = title }
        if let body = text.body { self.body = body }
        guard let payload = text.payload else { return }
        if let value = try? JSONValue(parsing: payload), case .object = value {
            self.payload = value
        } else {
            payloadRaw = payload
        }
    }

    /// Applies what plugins changed in `before`.
    mutating func take(_ draft: PushDraft, insteadOf before: PushDraft) {
        (title, body, topic) = (draft.title, draft.body, draft.topic)
        collapseID = draft.collapseID
        payloadRaw = draft.payloadRaw
        if draft.payload != before.payload { payload = .object(draft.payload) }
        if draft.expiresIn != before.expiresIn { expiresIn = draft.expiresIn * 1_000 }
    }
}

extension PushDraft {
    /// What plugins see of a push.
    init(_ notice: PushNotice, for user: UserID, at now: Int64) {
        let isVoIP = notice.target.provider == .apnsVoIP
        self.init(
            user: user, provider: isVoIP ? "apns" : notice.target.provider.rawValue,
            kind: isVoIP ? "voip" : "alert", reason: notice.reason.rawValue,
            expiresIn: max(0, (notice.expiresAt - now + 999) / 1_000),
            payload: notice.content.payload?.object ?? [:])
        payloadRaw = notice.content.payloadRaw
        title = notice.content.title
        body = notice.content.body
        topic = notice.content.topic
        collapseID = notice.content.collapseID
    }
}
