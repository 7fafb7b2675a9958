// The values of fields, from JSON and as JSON.

import CallModel
import JSON

extension FieldValues {
    /// Reads the value of `field`.
    mutating func read(
        _ field: Field, from form: inout FormReader, _ rules: FieldRules
    ) throws(Refusal) {
        note(field)
        switch field {
        case .audio, .video, .holdActive, .on, .force, .clear, .missed:
            give(field, try form.flag(field.name))
        case .callID: callID = try form.callID("call_id")
        case .user, .to: user = try form.user(field.name)
        case .invitees: users = try rules.users("invitees", sizes: 1..., from: &form)
        case .users: users = try rules.users("users", sizes: 0..., from: &form)
        case .mode: mode = try rules.mode(from: &form)
        case .kind:
            kind = try form.string("kind", bytes: 1...rules.limits.kindBytes)
            query.kind = kind
        case .peer: query.peer = try form.user("peer")
        case .deliveryCheck: deliveryCheck = try rules.deliveryCheck(from: &form)
        case .timeout: timeout = try rules.timeout(from: &form)
        case .extendedData: extendedData = try rules.extendedData(from: &form)
        case .items, .put: texts = try rules.texts(field.name, from: &form)
        case .delete: delete = try rules.itemKeys("delete", from: &form)
        case .push: push = try rules.pushText(from: &form)
        case .reason: reason = try form.word("reason", RejectReason.self)
        case .media: media = try form.word("media", MediaReport.self)
        case .data: data = try rules.signalData(from: &form)
        case .limit: query.limit = try rules.pageLimit(from: &form)
        case .cursor: query.before = try rules.cursor(from: &form)
        case .state: query.state = try form.word("state", Call.State.self)
        case .role: query.role = try form.word("role", Participant.Role.self)
        case .endReasons: query.endReasons = try rules.endReasons(from: &form)
        case .since: query.since = try rules.moment("since_at", from: &form)
        case .until: query.until = try rules.moment("until_at", from: &form)
        case .provider: provider = try form.word("provider", PushProvider.self).rawValue
        case .token: token = try rules.token(from: &form)
        case .subscription: subscription = try rules.subscription(from: &form)
        case .environment: environment = try form.word("environment", PushEnvironment.self).rawValue
        case .device: device = try form.device("device")
        case .resume: resume = try rules.resume(from: &form)
        case .name: personName = try rules.personName(from: &form)
        }
    }
}

extension FieldValues {
    /// A registration has one of `token` and `subscription`: browsers have subscriptions, Apple
    /// and Google tokens; what the operator's own service wants is for that to know.
    func checkRegistration() throws(Refusal) {
        guard let provider = PushProvider(rawValue: provider) else { return }
        switch (given.contains(.token), given.contains(.subscription)) {
        case (true, true): throw .badField("subscription", "must not come with a token")
        case (false, false):
            if provider == .web { throw .badField("subscription", "is required for 'web'") }
            throw .badField("token", "or subscription is required")
        case (true, false):
            switch provider {
            case .web:
                throw .badField("subscription", "is required for 'web', rather than a token")
            case .apns, .apnsVoIP: try PushToken.checkApple(token)
            case .fcm: try PushToken.checkGoogle(token)
            case .webhook: break
            }
        case (false, true):
            switch provider {
            case .apns, .apnsVoIP, .fcm:
                throw .badField(
                    "token", "is required for '\(provider.rawValue)', rather than a subscription")
            case .web: try WebSubscription.check(subscription)
            case .webhook: break
            }
        }
    }
}

extension FieldValues {
    /// Writes the fields that are given as members, in the order of declaration.
    func write(to writer: inout JSONWriter) {
        for field in given.fields { write(field, to: &writer) }
    }

    private func write(_ field: Field, to writer: inout JSONWriter) {
        let key = field.text
        switch field {
        case .audio, .video, .holdActive, .on, .force, .clear, .missed:
            writer.field(key, isOn(field))
        case .callID: writer.field(key, callID)
        case .user, .to: writer.field(key, user.text)
        case .invitees, .users: writer.field(key, users.map(\.text))
        case .mode: if let mode { writer.field(key, mode.name) }
        case .kind: writer.field(key, query.kind ?? kind)
        case .timeout: if let timeout { writer.field(key, timeout) }
        case .deliveryCheck: write(key, check: deliveryCheck, to: &writer)
        case .extendedData: writer.given(key, extendedData)
        case .items, .put: writer.field(key, texts)
        case .delete: writer.field(key, delete)
        case .push: writer.given(key, push)
        case .reason: writer.field(key, reason.rawValue)
        case .media: writer.field(key, media.rawValue)
        case .data: writer.field(key, raw: data)
        case .limit: writer.field(key, query.limit)
        case .cursor: writer.given(key, query.before?.description)
        case .state: writer.given(key, query.state?.rawValue)
        case .role: writer.given(key, query.role?.rawValue)
        case .peer: writer.given(key, query.peer?.text)
        case .endReasons: writer.field(key, query.endReasons.map(\.rawValue))
        case .since: if let since = query.since { writer.field(key, since) }
        case .until: if let until = query.until { writer.field(key, until) }
        case .provider: writer.field(key, provider)
        case .token: writer.field(key, token)
        case .subscription: write(subscription: subscription, to: &writer)
        case .environment: writer.given(key, environment)
        case .device: writer.field(key, device.text)
        case .resume: write(key, resume, to: &writer)
        case .name: writer.field(key, personName?.text ?? "")
        }
    }

    private func write(_ key: StaticString, check: Milliseconds?, to writer: inout JSONWriter) {
        switch check {
        case Invitation.usualDeliveryCheck: writer.field(key, true)
        case 0: writer.field(key, false)
        case let time?: writer.field(key, time)
        case nil: break
        }
    }

    /// A text that only begins like an object is a token.
    private func write(subscription: String, to writer: inout JSONWriter) {
        var text = subscription
        let kind = text.withUTF8 { try? JSONReader.check(UnsafeRawBufferPointer($0)) }
        if kind == .object {
            writer.field("subscription", raw: Array(text.utf8))
        } else {
            writer.field("token", text)
        }
    }

    private func write(_ key: StaticString, _ resume: ResumePoint?, to writer: inout JSONWriter) {
        guard let resume else { return }
        writer.object(key) {
            $0.field("session", resume.session)
            $0.field("seq", Int64(clamping: resume.seq))
        }
    }
}
