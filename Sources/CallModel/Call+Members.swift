// The members of a call, one by one.

extension Call {
    /// Unique for ever.
    @inlinable public var id: CallID { body.fields.id }
    /// The mode that it began with.
    @inlinable public var row: ModeRow { body.fields.row }
    /// Whether that mode has all of `features`.
    @inlinable public func allows(_ features: Mode.Features) -> Bool {
        body.fields.row.allows(features)
    }
    /// What that mode says.
    public var mode: Mode { _read { yield body.fields.row.mode } }
    /// `audio`, `video` or the app's own word.
    @inlinable public var kind: String { body.fields.kind }
    /// Ring time of each invitation.
    @inlinable public var ringTime: Milliseconds { Milliseconds(body.fields.ringTime) }
    /// How long an invitee's devices may be silent before the invitation is reported as
    /// undelivered; nil: that is not checked.
    @inlinable public var deliveryCheck: Milliseconds? {
        body.fields.deliveryCheck == 0 ? nil : Milliseconds(body.fields.deliveryCheck)
    }
    /// When the invitation was committed.
    @inlinable public var createdAt: Moment { body.fields.createdAt }

    /// See `State`.
    @inlinable public var state: State {
        get { body.fields.state }
        set {
            separate()
            body.fields.state = newValue
        }
    }
    /// See `Media`.
    @inlinable public var media: Media {
        get { body.fields.media }
        set {
            separate()
            body.fields.media = newValue
        }
    }
    /// Whether there was ever more than one invitee.
    @inlinable public var isGroup: Bool {
        get { body.fields.isGroup }
        set {
            separate()
            body.fields.isGroup = newValue
        }
    }
    /// Grows by one with every commit that changes the call.
    @inlinable public var revision: UInt32 {
        get { body.fields.revision }
        set {
            separate()
            body.fields.revision = newValue
        }
    }
    /// Opaque to the core.
    @inlinable public var extendedData: String? {
        get { body.fields.extendedData }
        set {
            separate()
            body.fields.extendedData = newValue
        }
    }
    /// Named texts of the mode with `items`, in order of their keys' first appearance.
    @inlinable public var items: [Item] {
        _read { yield body.fields.items }
        _modify {
            separate()
            yield &body.fields.items
        }
    }
    /// Caller first, then in order of invitation.
    @inlinable public var participants: [Participant] {
        _read { yield body.fields.participants }
        _modify {
            separate()
            yield &body.fields.participants
        }
    }
    /// What single users see instead of the original extended data (F65).
    @inlinable public var views: [View] {
        _read { yield body.fields.views }
        _modify {
            separate()
            yield &body.fields.views
        }
    }
    /// The first accept or join.
    @inlinable public var answeredAt: Moment? {
        get { body.fields.answeredAt }
        set {
            separate()
            body.fields.answeredAt = newValue
        }
    }
    /// The first moment at which all media was connected.
    @inlinable public var connectedAt: Moment? {
        get { body.fields.connectedAt }
        set {
            separate()
            body.fields.connectedAt = newValue
        }
    }
    /// When it ended.
    @inlinable public var endedAt: Moment? {
        get { body.fields.endedAt }
        set {
            separate()
            body.fields.endedAt = newValue
        }
    }
    /// Connect or reconnect limit.
    @inlinable public var mediaAlarm: Moment? {
        get { body.fields.mediaAlarm }
        set {
            separate()
            body.fields.mediaAlarm = newValue
        }
    }
    /// The end of the idle time.
    @inlinable public var idleAlarm: Moment? {
        get { body.fields.idleAlarm }
        set {
            separate()
            body.fields.idleAlarm = newValue
        }
    }
    /// Nil while the call lives.
    public var end: End? {
        get { body.fields.rare?.value.end }
        set {
            // Most calls have nothing that is rare until they end: there is nothing to go through.
            guard let newValue, body.fields.rare == nil else { return change { $0.end = newValue } }
            separate()
            body.fields.rare = RareBox(Rare(end: newValue))
        }
    }
    /// Of `end`, whose texts need not be copied for it.
    public var endReason: EndReason? { body.fields.rare?.value.end?.reason }
    /// Every transfer that was asked for, in this order; empty when the call has ended.
    public var transfers: [Transfer] {
        get { body.fields.rare?.value.transfers ?? [] }
        set { change { $0.transfers = newValue } }
    }
    /// Who was removed and has not been invited again; nobody when the call has ended.
    public var removed: [UserID] {
        get { body.fields.rare?.value.removed ?? [] }
        set { change { $0.removed = newValue } }
    }

    /// Forwards to several that are not over; empty when the call has ended.
    public var forks: [Fork] {
        get { body.fields.rare?.value.forks ?? [] }
        set { change { $0.forks = newValue } }
    }
    /// The group that was called, such as `group:sales`; nil: none was.
    public var receiver: UserID? {
        get { body.fields.rare?.value.receiver }
        set { change { $0.receiver = newValue } }
    }

    /// Everybody who left and came back, also when the call has ended.
    public var returns: [Return] {
        get { body.fields.rare?.value.returns ?? [] }
        set { change { $0.returns = newValue } }
    }

    private mutating func change(_ change: (inout Rare) -> Void) {
        var rare = body.fields.rare?.value ?? Rare()
        change(&rare)
        separate()
        body.fields.rare = rare.isEmpty ? nil : RareBox(rare)
    }
}
