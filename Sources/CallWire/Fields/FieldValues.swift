// What the members of a request's data say, before an operation is made of them.

import CallModel
import JSON

/// The values of the fields of one request. What was not given has the protocol's default.
struct FieldValues {
    /// The fields that were given.
    private(set) var given: FieldSet = []
    /// The fields of type true or false that were given as true.
    private var trueFlags: FieldSet = []
    private(set) var callID = CallID(high: 0, low: 0)
    /// `user`, `to`.
    private(set) var user = UserID("")
    /// `invitees`, `users`.
    private(set) var users: [UserID] = []
    private(set) var mode: ModeIndex?
    private(set) var kind = "audio"
    private(set) var timeout: Milliseconds?
    private(set) var deliveryCheck: Milliseconds?
    private(set) var extendedData: String?
    /// `items`, `put`.
    private(set) var texts: [Call.Item] = []
    private(set) var delete: [String] = []
    private(set) var push: PushText?
    private(set) var reason = RejectReason.declined
    private(set) var media = MediaReport.connected
    private(set) var data: [UInt8] = []
    /// What `limit`, `cursor`, `state`, `role`, `end_reasons`, `since_at` and `until_at` say.
    private(set) var query = ListQuery()
    private(set) var provider = PushProvider.apns
    private(set) var token = ""
    private(set) var subscription = ""
    private(set) var environment: PushEnvironment?
    private(set) var device = DeviceID("")
    private(set) var resume: Hello.Resume?

    /// The flag `field`; nil when it was not given.
    func flag(_ field: Field) -> Bool? { given.contains(field) ? trueFlags.contains(field) : nil }

    /// Whether the flag `field` was given as true.
    func isOn(_ field: Field) -> Bool { flag(field) ?? false }

    /// Reads the value of `field`.
    mutating func read(
        _ field: Field, from form: inout FormReader, _ rules: FieldRules
    ) throws(Refusal) {
        given.insert(field)
        switch field {
        case .audio, .video, .holdActive, .on, .force, .clear, .missed:
            if try form.flag(field.name) {
                trueFlags.insert(field)
            } else {
                trueFlags.remove(field)
            }
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
        case .provider: provider = try form.word("provider", PushProvider.self)
        case .token: token = try rules.token(from: &form)
        case .subscription: subscription = try rules.subscription(from: &form)
        case .environment: environment = try form.word("environment", PushEnvironment.self)
        case .device: device = try form.device("device")
        case .resume: resume = try rules.resume(from: &form)
        }
    }
}

/// The words of `reason` in `call.reject`.
enum RejectReason: String, CaseIterable, Sendable {
    case declined, busy
}

/// The words of `provider` in `device.push_register`.
public enum PushProvider: String, CaseIterable, Sendable {
    case apns
    case apnsVoIP = "apns_voip"
    case fcm, web, webhook
}

/// The words of `environment` in `device.push_register`.
public enum PushEnvironment: String, CaseIterable, Sendable {
    case production, sandbox
}
