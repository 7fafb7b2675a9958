// The members of requests' data. One name means one thing in every operation.

/// A member of the `data` of some operation.
public enum Field: UInt8, CaseIterable, Sendable {
    case callID, user, to, invitees, users
    case mode, kind, timeout, extendedData, deliveryCheck, items, push
    case audio, video, holdActive, reason, media, on, force
    case put, delete, clear, data
    case limit, cursor, state, role, endReasons, peer, since, until
    case provider, token, subscription, environment
    case device, resume, missed, name

    /// The name on the wire, in the form that is compared in place.
    public var text: StaticString {
        switch self {
        case .callID: "call_id"
        case .user: "user"
        case .to: "to"
        case .invitees: "invitees"
        case .users: "users"
        case .mode: "mode"
        case .kind: "kind"
        case .timeout: "timeout_ms"
        case .extendedData: "extended_data"
        case .deliveryCheck: "delivery_check"
        case .items: "items"
        case .push: "push"
        case .audio: "audio"
        case .video: "video"
        case .holdActive: "hold_active"
        case .reason: "reason"
        case .media: "media"
        case .on: "on"
        case .force: "force"
        case .put: "put"
        case .delete: "delete"
        case .clear: "clear"
        case .data: "data"
        case .limit: "limit"
        case .cursor: "cursor"
        case .state: "state"
        case .role: "role"
        case .endReasons: "end_reasons"
        case .peer: "peer"
        case .since: "since_at"
        case .until: "until_at"
        case .provider: "provider"
        case .token: "token"
        case .subscription: "subscription"
        case .environment: "environment"
        case .device: "device"
        case .resume: "resume"
        case .missed: "missed"
        case .name: "name"
        }
    }

    /// The name on the wire.
    public var name: String { "\(text)" }

    /// What it is for; an operation may say it in words of its own.
    public var about: String {
        switch self {
        case .callID, .on: ""
        case .user: "call.accept_ack: whose accept is acknowledged; user.set: who is meant"
        case .to: "one user; call.signal without it: all other joined ones"
        case .invitees: "whom to call"
        case .users: "whom it is about; call.cancel without or with none: all who are invited"
        case .mode: "how the call behaves; absent: advanced, unless the operator says otherwise"
        case .kind: "audio, video, or the app's own word; call.list: only those"
        case .peer: "only calls with this user"
        case .timeout: "ring time; 0: the mode's own"
        case .extendedData: "opaque to the server; counted in UTF-8 bytes"
        case .deliveryCheck: "report invitees whose devices stay silent so long; true: 5 s"
        case .items: "named texts to begin with"
        case .push: "what a push notification shows: three texts"
        case .audio, .video: "whether this device sends it"
        case .holdActive: "hold the other calls instead of ending them"
        case .reason: "declined unless said otherwise"
        case .media: "what became of this device's media"
        case .force: "end the calls that are in the way"
        case .put: "texts to set, after delete"
        case .delete: "keys to remove, after clear"
        case .clear: "remove all first"
        case .data: "any JSON, forwarded byte for byte, at most 16 KiB"
        case .limit: "calls of a page; more than 100 count as 100; absent: 20"
        case .cursor: "from the page before"
        case .state: "only calls in this state"
        case .role: "only calls in which the user has this role"
        case .endReasons: "only calls that ended for one of these"
        case .since: "only calls created then or later"
        case .until: "only calls created before then"
        case .provider: "the push service"
        case .token: "hello: who the user is; else the push service's token"
        case .subscription: "instead of a token: a Web Push subscription"
        case .environment: "of the push service"
        case .device: "which device of the user this is"
        case .resume: "the session to go on with"
        case .missed: "whether to hear of missed calls"
        case .name: "what the user is called; hello: with development tokens only"
        }
    }
}

/// A set of fields.
public struct FieldSet: ExpressibleByArrayLiteral, Sendable, Equatable {
    private var bits: UInt64 = 0

    /// The set of `fields`.
    public init(arrayLiteral fields: Field...) { for field in fields { insert(field) } }

    /// Whether `field` is in the set.
    public func contains(_ field: Field) -> Bool { bits & (1 << UInt64(field.rawValue)) != 0 }

    /// Adds `field`.
    public mutating func insert(_ field: Field) { bits |= 1 << UInt64(field.rawValue) }

    /// Takes `field` out.
    public mutating func remove(_ field: Field) { bits &= ~(1 << UInt64(field.rawValue)) }

    /// The first field of the set that `other` lacks, in the order of declaration.
    public func firstMissing(in other: FieldSet) -> Field? {
        let missing = bits & ~other.bits
        return missing == 0 ? nil : Field(rawValue: UInt8(missing.trailingZeroBitCount))
    }

    /// The fields in the order of declaration.
    public var fields: [Field] { Field.allCases.filter(contains) }
}
