// The members of requests' data. One name means one thing in every operation.

import JSON

/// A member of the `data` of some operation.
enum Field: UInt8, CaseIterable, Sendable {
    case callID, user, to, invitees, users
    case mode, kind, timeout, extendedData, deliveryCheck, items, push
    case audio, video, holdActive, reason, media, on, force
    case put, delete, clear, data
    case limit, cursor, state, role, endReasons, peer, since, until
    case provider, token, subscription, environment
    case device, resume, missed

    /// The name on the wire.
    var name: String {
        switch self {
        case .callID: "call_id"
        case .timeout: "timeout_ms"
        case .extendedData: "extended_data"
        case .deliveryCheck: "delivery_check"
        case .holdActive: "hold_active"
        case .endReasons: "end_reasons"
        case .since: "since_at"
        case .until: "until_at"
        case .user, .to, .invitees, .users, .mode, .kind, .items, .push, .audio, .video, .reason,
            .media, .on, .force, .put, .delete, .clear, .data, .limit, .cursor, .state, .role,
            .peer, .provider, .token, .subscription, .environment, .device, .resume, .missed:
            "\(self)"
        }
    }

    /// The field that a member name means; nil for one that nobody knows.
    init?(_ name: JSONText) {
        switch name {
        case "call_id": self = .callID
        case "extended_data": self = .extendedData
        case "invitees": self = .invitees
        case "mode": self = .mode
        case "kind": self = .kind
        case "timeout_ms": self = .timeout
        case "reason": self = .reason
        case "data": self = .data
        case "to": self = .to
        case "audio": self = .audio
        case "video": self = .video
        case "user": self = .user
        case "users": self = .users
        case "push": self = .push
        case "delivery_check": self = .deliveryCheck
        case "items": self = .items
        case "hold_active": self = .holdActive
        case "media": self = .media
        case "on": self = .on
        case "force": self = .force
        case "put": self = .put
        case "delete": self = .delete
        case "clear": self = .clear
        case "limit": self = .limit
        case "cursor": self = .cursor
        case "state": self = .state
        case "role": self = .role
        case "peer": self = .peer
        case "end_reasons": self = .endReasons
        case "since_at": self = .since
        case "until_at": self = .until
        case "provider": self = .provider
        case "token": self = .token
        case "subscription": self = .subscription
        case "environment": self = .environment
        case "device": self = .device
        case "resume": self = .resume
        case "missed": self = .missed
        default: return nil
        }
    }
}

/// A set of fields.
struct FieldSet: ExpressibleByArrayLiteral, Sendable, Equatable {
    private var bits: UInt64 = 0

    /// The set of `fields`.
    init(arrayLiteral fields: Field...) { for field in fields { insert(field) } }

    /// Whether `field` is in the set.
    func contains(_ field: Field) -> Bool { bits & (1 << UInt64(field.rawValue)) != 0 }

    /// Adds `field`.
    mutating func insert(_ field: Field) { bits |= 1 << UInt64(field.rawValue) }

    /// Takes `field` out.
    mutating func remove(_ field: Field) { bits &= ~(1 << UInt64(field.rawValue)) }

    /// The first field of the set that `other` lacks, in the order of declaration.
    func firstMissing(in other: FieldSet) -> Field? {
        let missing = bits & ~other.bits
        return missing == 0 ? nil : Field(rawValue: UInt8(missing.trailingZeroBitCount))
    }

    /// The fields in the order of declaration.
    var fields: [Field] { Field.allCases.filter(contains) }
}
