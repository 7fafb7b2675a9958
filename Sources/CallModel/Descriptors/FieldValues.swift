// What the members of a request's data say, before an operation is made of them.

/// The values of the fields of one request. What was not given has the protocol's default.
public struct FieldValues: Sendable {
    /// The fields that were given.
    public private(set) var given: FieldSet = []
    /// The fields of type true or false that were given as true.
    private var trueFlags: FieldSet = []
    /// `call_id`.
    public var callID = CallID(high: 0, low: 0)
    /// `user`, `to`.
    public var user = UserID("")
    /// `invitees`, `users`.
    public var users: [UserID] = []
    /// `mode`; nil: the server has one for those who name none.
    public var mode: ModeRow?
    /// `kind`, a word of the app.
    public var kind = "audio"
    /// `timeout`; nil: that of the mode.
    public var timeout: Milliseconds?
    /// `delivery_check`; nil: that of the mode.
    public var deliveryCheck: Milliseconds?
    /// `extended_data`; nil: it was not given.
    public var extendedData: String?
    /// `items`, `put`.
    public var texts: [Call.Item] = []
    /// `delete`: keys of items.
    public var delete: [String] = []
    /// `push`; nil: it was not given.
    public var push: PushText?
    /// `reason` of a rejection.
    public var reason = RejectReason.declined
    /// `media`.
    public var media = MediaReport.connected
    /// One JSON value.
    public var data: [UInt8] = []
    /// What `limit`, `cursor`, `state`, `role`, `end_reasons`, `kind`, `peer`, `since_at` and
    /// `until_at` say.
    public var query = ListQuery()
    /// A word of `PushProvider`.
    public var provider = ""
    /// `token`, of a session or of a push provider.
    public var token = ""
    /// The object as it was written.
    public var subscription = ""
    /// A word of `PushEnvironment`.
    public var environment: String?
    /// `device`.
    public var device = DeviceID("")
    /// `resume`; nil: a new session.
    public var resume: ResumePoint?
    /// `name`; nil: it was empty.
    public var personName: PersonName?

    /// Nothing was given.
    public init() {}

    /// The flag `field`; nil when it was not given.
    public func flag(_ field: Field) -> Bool? {
        given.contains(field) ? trueFlags.contains(field) : nil
    }

    /// Whether the flag `field` was given as true.
    public func isOn(_ field: Field) -> Bool { flag(field) ?? false }

    /// Notes that `field` was given.
    public mutating func note(_ field: Field) { given.insert(field) }

    /// Gives the flag `field`, unless there is no value.
    public mutating func give(_ field: Field, _ flag: Bool?) {
        guard let flag else { return }
        given.insert(field)
        if flag { trueFlags.insert(field) } else { trueFlags.remove(field) }
    }

    /// Gives `field` the value `value`, unless there is none.
    public mutating func give<Value>(
        _ field: Field, _ value: Value?, _ place: WritableKeyPath<FieldValues, Value>
    ) {
        guard let value else { return }
        given.insert(field)
        self[keyPath: place] = value
    }

    /// Gives `field` the value `value`, unless there is none.
    public mutating func give<Value>(
        _ field: Field, _ value: Value?, _ place: WritableKeyPath<FieldValues, Value?>
    ) {
        guard let value else { return }
        given.insert(field)
        self[keyPath: place] = value
    }
}

/// Where a session is gone on with: its id, as it was written, and the last event that arrived.
public struct ResumePoint: Sendable, Equatable {
    /// The id as it was written.
    public let session: String
    /// The number of the last event that arrived; 0: none.
    public let seq: UInt64

    /// The session of this id, behind the event `seq`.
    public init(session: String, seq: UInt64) {
        self.session = session
        self.seq = seq
    }
}

/// The words of `reason` in `call.reject`.
public enum RejectReason: String, CaseIterable, Sendable {
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
