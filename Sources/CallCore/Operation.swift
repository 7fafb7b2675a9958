// What a user or a policy may ask for (protocol.md, section 5).

/// One request of a user. Its form was checked before it came here (D49): sizes, ranges and
/// types are right; whether it fits the state is the switchboard's business.
public enum Operation: Sendable, Equatable {
    /// `call.invite`.
    case invite(Invitation)
    /// `call.add`.
    case add(CallID, invitees: [UserID], push: PushText?)
    /// `call.ringing`.
    case ringing(CallID)
    /// `call.accept`.
    case accept(CallID, Acceptance)
    /// `call.accept_ack`.
    case acceptAck(CallID, UserID)
    /// `call.reject`.
    case reject(CallID, busy: Bool, extendedData: String?)
    /// `call.cancel`; no users: all.
    case cancel(CallID, users: [UserID], extendedData: String?, push: PushText?)
    /// `call.join`.
    case join(CallID, extendedData: String?)
    /// `call.leave`.
    case leave(CallID, extendedData: String?)
    /// `call.end`.
    case end(CallID, extendedData: String?)
    /// `call.report`.
    case report(CallID, MediaReport)
    /// `call.media`.
    case media(CallID, audio: Bool?, video: Bool?)
    /// `call.hold`.
    case hold(CallID, on: Bool, force: Bool)
    /// `call.items`.
    case items(CallID, ItemsChange)
    /// `call.signal`; nil: to all other joined participants. `data` is one JSON value.
    case signal(CallID, to: UserID?, data: [UInt8])
    /// `call.get`.
    case get(CallID)
    /// `call.list`.
    case list(ListQuery)
    /// `call.token`.
    case token(CallID)
    /// `device.push_register`; the registration is opaque to the core.
    case pushRegister(PushRegistration)
    /// `device.push_unregister`.
    case pushUnregister(provider: String)

    /// The call it is about; nil for `invite`, `list` and the device operations.
    public var callID: CallID? {
        switch self {
        case .add(let id, _, _), .ringing(let id), .accept(let id, _), .acceptAck(let id, _),
            .reject(let id, _, _), .cancel(let id, _, _, _), .join(let id, _), .leave(let id, _),
            .end(let id, _), .report(let id, _), .media(let id, _, _), .hold(let id, _, _),
            .items(let id, _), .signal(let id, _, _), .get(let id), .token(let id):
            id
        case .invite, .list, .pushRegister, .pushUnregister: nil
        }
    }

    /// Whether an idempotency key has no meaning for it (B25).
    public var isReading: Bool {
        switch self {
        case .get, .list, .token: true
        case .invite, .add, .ringing, .accept, .acceptAck, .reject, .cancel, .join, .leave, .end,
            .report, .media, .hold, .items, .signal, .pushRegister, .pushUnregister:
            false
        }
    }

    /// The extended data that comes with it.
    public var extendedData: String? {
        switch self {
        case .invite(let invitation): invitation.extendedData
        case .accept(_, let acceptance): acceptance.extendedData
        case .reject(_, _, let data), .cancel(_, _, let data, _), .join(_, let data),
            .leave(_, let data), .end(_, let data):
            data
        case .add, .ringing, .acceptAck, .report, .media, .hold, .items, .signal, .get, .list,
            .token, .pushRegister, .pushUnregister:
            nil
        }
    }

    /// The same operation with other extended data (E65).
    public func replacingExtendedData(_ data: String?) -> Operation {
        switch self {
        case .invite(var invitation):
            invitation.extendedData = data
            return .invite(invitation)
        case .accept(let id, var acceptance):
            acceptance.extendedData = data
            return .accept(id, acceptance)
        case .reject(let id, let busy, _): return .reject(id, busy: busy, extendedData: data)
        case .cancel(let id, let users, _, let push):
            return .cancel(id, users: users, extendedData: data, push: push)
        case .join(let id, _): return .join(id, extendedData: data)
        case .leave(let id, _): return .leave(id, extendedData: data)
        case .end(let id, _): return .end(id, extendedData: data)
        case .add, .ringing, .acceptAck, .report, .media, .hold, .items, .signal, .get, .list,
            .token, .pushRegister, .pushUnregister:
            return self
        }
    }
}

/// The data of `call.invite`.
public struct Invitation: Sendable, Equatable {
    /// At least one; may hold repetitions and the caller, which `errors[]` then names.
    public var invitees: [UserID]
    /// The row of the mode table.
    public var mode = ModeIndex(0)
    /// `audio`, `video` or the app's own word of at most 32 bytes.
    public var kind = "audio"
    /// Ring time; nil: the mode's default.
    public var timeout: Milliseconds?
    /// Opaque to the core.
    public var extendedData: String?
    /// Whether undelivered invitations are reported.
    public var deliveryCheck = false
    /// Named texts to begin with, where the mode has them.
    public var items: [Call.Item] = []
    /// What a push shows.
    public var push: PushText?

    /// An invitation of `invitees` with the defaults of the protocol.
    public init(invitees: [UserID]) { self.invitees = invitees }
}

/// The data of `call.accept`.
public struct Acceptance: Sendable, Equatable {
    /// Opaque to the core.
    public var extendedData: String?
    /// Nil: true.
    public var audio: Bool?
    /// Nil: whether the call's kind is `video`.
    public var video: Bool?
    /// Hold the user's other calls instead of ending them, where the mode has hold.
    public var holdActive = false

    /// An acceptance with the defaults of the protocol.
    public init(extendedData: String? = nil) { self.extendedData = extendedData }
}

/// What a device says of its media (C37).
public enum MediaReport: String, Sendable, CaseIterable {
    case connected, lost, recovered, failed
}

/// The data of `call.items`, applied in the order clear, delete, put (D43).
public struct ItemsChange: Sendable, Equatable {
    /// Remove all first.
    public var clear = false
    /// Keys to remove.
    public var delete: [String] = []
    /// Texts to set.
    public var put: [Call.Item] = []

    /// A change of nothing.
    public init() {}
}

/// What a push notification shows.
public struct PushText: Sendable, Equatable {
    /// First line; nil: the template's.
    public var title: String?
    /// Second line; nil: the template's.
    public var body: String?
    /// The app's own data.
    public var payload: String?

    /// A push text of these parts.
    public init(title: String? = nil, body: String? = nil, payload: String? = nil) {
        self.title = title
        self.body = body
        self.payload = payload
    }
}

/// The data of `device.push_register`.
public struct PushRegistration: Sendable, Equatable {
    /// `apns`, `apns_voip`, `fcm`, `web` or `webhook`.
    public var provider: String
    /// The provider's token, or the subscription as JSON.
    public var token: String
    /// `production` or `sandbox`, where the provider tells them apart.
    public var environment: String?

    /// The registration of `token` with `provider`.
    public init(provider: String, token: String, environment: String? = nil) {
        self.provider = provider
        self.token = token
        self.environment = environment
    }
}

/// The data of `call.list`.
public struct ListQuery: Sendable, Equatable {
    /// 1-100.
    public var limit = 20
    /// Only calls that sort before this one.
    public var before: CallID?
    /// Only calls in this state.
    public var state: Call.State?
    /// Only calls in which the user has this role.
    public var role: Participant.Role?
    /// Only calls that ended for one of these; empty: all.
    public var endReasons: [EndReason] = []
    /// Only calls created at this moment or later.
    public var since: Moment?
    /// Only calls created before this moment.
    public var until: Moment?

    /// The newest calls.
    public init() {}
}
