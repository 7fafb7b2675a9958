// What a user or a policy may ask for.

/// One request of a user. Its form was checked before it came here (D49): sizes, ranges and
/// types are right; whether it fits the state is the switchboard's business.
public enum Operation: Sendable, Equatable {
    /// `call.invite`.
    indirect case invite(Invitation)
    /// An operation on a call that there is; `saying`: the extended data that comes with it.
    indirect case call(CallID, CallAction, saying: String? = nil)
    /// `call.list`.
    indirect case list(ListQuery)
    /// `device.push_register`; the registration is opaque to the core.
    indirect case pushRegister(PushRegistration)
    /// `device.push_unregister`.
    case pushUnregister(provider: String)
    /// `user.get`: what these people are called.
    case userGet([UserID])
    /// `user.set`: what a user is called; nil: the name that was set is taken back.
    indirect case userSet(UserID, PersonName?)

    /// The call it is about.
    public var callID: CallID? {
        if case .call(let id, _, _) = self { id } else { nil }
    }

    /// The extended data that comes with it.
    public var extendedData: String? {
        get {
            switch self {
            case .invite(let invitation): invitation.extendedData
            case .call(_, _, let text): text
            case .list, .pushRegister, .pushUnregister, .userGet, .userSet: nil
            }
        }
        set {
            switch self {
            case .invite(var invitation):
                invitation.extendedData = newValue
                self = .invite(invitation)
            case .call(let id, let action, _): self = .call(id, action, saying: newValue)
            case .list, .pushRegister, .pushUnregister, .userGet, .userSet: break
            }
        }
    }

    /// What a push shows of the call that it makes; nil: the usual, or it makes none.
    package var pushOfInvitation: PushText? {
        if case .invite(let invitation) = self { invitation.push } else { nil }
    }

    /// Whether it is `call.join`.
    package var isJoin: Bool { if case .call(_, .join, _) = self { true } else { false } }

    /// How many users it invites.
    public var inviteeCount: Int { invitees?.count ?? 0 }

    /// Whom it invites; nil when it invites nobody.
    public var invitees: [UserID]? {
        switch self {
        case .invite(let invitation): invitation.invitees
        case .call(_, .add(let invitees, _), _): invitees
        case .call(_, .transfer(let to, _), _): [to]
        case .call, .list, .pushRegister, .pushUnregister, .userGet, .userSet: nil
        }
    }

    /// The same with `invitees` instead, noting which group was named.
    package func inviting(_ invitees: [UserID]) -> Operation {
        switch self {
        case .invite(var invitation):
            let groups = invitation.invitees.filter { $0.group != nil }
            invitation.receiver = invitation.receiver ?? groups.first
            invitation.invitees = invitees
            return .invite(invitation)
        case .call(let id, .add(_, let push), let text):
            return .call(id, .add(invitees, push: push), saying: text)
        case .call, .list, .pushRegister, .pushUnregister, .userGet, .userSet: return self
        }
    }
}

extension Operation {
    /// The name on the wire.
    public var name: OperationName {
        switch self {
        case .invite: .invite
        case .call(_, let action, _): action.name
        case .list: .list
        case .pushRegister: .pushRegister
        case .pushUnregister: .pushUnregister
        case .userGet: .userGet
        case .userSet: .userSet
        }
    }
}

/// The data of `call.invite`.
public struct Invitation: Sendable, Equatable {
    /// At least one; may hold repetitions and the caller, which `errors[]` then names.
    public var invitees: [UserID]
    /// The first group that was named, when its members stand in `invitees`.
    package var receiver: UserID?
    /// The row of the mode table; nil: the operator's default.
    public var mode: ModeRow?
    /// `audio`, `video` or the app's own word of at most 32 bytes.
    public var kind = "audio"
    /// Ring time; nil: the mode's default.
    public var timeout: Milliseconds?
    /// Opaque to the core.
    public var extendedData: String?
    /// How long devices may be silent before an invitation is reported as undelivered; 0: no
    /// check, nil: what the operator says.
    public var deliveryCheck: Milliseconds?
    /// Whether the caller sends audio; nil: true.
    public var audio: Bool?
    /// Whether the caller sends video; nil: whether the call's kind is `video`.
    public var video: Bool?
    /// Named texts to begin with, where the mode has them.
    public var items: [Call.Item] = []
    /// What a push shows.
    public var push: PushText?

    /// The delivery check where a request only says that there is one.
    public static let usualDeliveryCheck: Milliseconds = 5_000

    /// An invitation of `invitees` with the defaults of the protocol.
    public init(invitees: [UserID]) { self.invitees = invitees }
}

/// The data of `call.accept`.
public struct Acceptance: Sendable, Equatable {
    /// Nil: true.
    public var audio: Bool?
    /// Nil: whether the call's kind is `video`.
    public var video: Bool?
    /// Hold the user's other calls instead of ending them, where the mode has hold.
    public var holdActive = false

    /// An acceptance with the defaults of the protocol.
    public init() {}

    /// An acceptance by a user who sends `audio` and `video`.
    public init(audio: Bool?, video: Bool?) { (self.audio, self.video) = (audio, video) }
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
    /// Only calls of this kind.
    public var kind: String?
    /// Only calls that this user was in, or called for, as well.
    public var peer: UserID?
    /// Only calls created at this moment or later.
    public var since: Moment?
    /// Only calls created before this moment.
    public var until: Moment?

    /// The newest calls.
    public init() {}
}
