// What devices are told of a call.

/// Who caused an event.
public enum Actor: Sendable, Equatable {
    /// A user, with one of their devices.
    case user(UserID, DeviceID)
    /// A plugin by name, or the host: `default`, `busy`.
    case policy(String)
    /// A deadline.
    case timer(TimerName)
}

/// Every deadline of a call (C35).
public enum TimerName: String, Sendable, CaseIterable {
    case ring, check
    case noAck = "no_ack"
    case expire, connect, reconnect, idle, presence
    case acceptAck = "accept_ack"
    case maxAge = "max_age"
    case decide, wait
    case ringFor = "for"
}

/// One event of one call.
public struct CallEvent: Sendable, Equatable {
    /// The call.
    public let callID: CallID
    /// The call's revision after the commit.
    public let revision: UInt32
    /// When it happened.
    public let at: Moment
    /// Who caused it.
    public let actor: Actor
    /// What happened.
    public let kind: Kind

    /// An event of the call `callID`.
    public init(callID: CallID, revision: UInt32, at: Moment, actor: Actor, kind: Kind) {
        self.callID = callID
        self.revision = revision
        self.at = at
        self.actor = actor
        self.kind = kind
    }

    /// What happened, with what the event adds.
    public enum Kind: Sendable, Equatable {
        /// `call.created`, to the caller.
        case created(Call)
        /// `call.incoming`, to an invitee; the ring time ends `expiresIn` after the event was made.
        case incoming(
            Call, inviter: UserID, expiresIn: Milliseconds?, transfer: TransferOffer? = nil)
        /// `call.changed`.
        case changed([Change])
        /// `call.timed_out`.
        case timedOut
        /// `call.cancelled`.
        case cancelled(inviter: UserID?, extendedData: String?, reason: Participant.Reason)
        /// `call.ended`.
        indirect case ended(Call.End, at: Moment, duration: Milliseconds)
        /// `call.elsewhere`.
        case elsewhere(Elsewhere, DeviceID?)
        /// `call.transferred`, to the transferor: the last event of the call for them.
        case transferred(to: UserID)
        /// `call.removed`, to a removed user: the last event of the call for them.
        case removed(by: UserID)
        /// `call.failed`.
        case failed(Participant.Reason)
        /// `call.media_phase`.
        case mediaPhase(Call.Media)
        /// `call.media_flags`.
        case mediaFlags(UserID, audio: Bool, video: Bool)
        /// `call.hold`.
        case hold(UserID, on: Bool)
        /// `call.items`.
        case items(keys: [String], deleted: [String], items: [Call.Item])
        /// `call.missed`, to a device that connects: its user did not answer this call; `count` is
        /// the number of all missed calls.
        indirect case missed(Call, count: Int)
        /// `call.signal`; `data` is one JSON value, forwarded byte for byte.
        case signal(from: UserID, data: [UInt8])

        /// `call.ended` of `call`, which ended as `end` tells.
        public static func ended(_ end: Call.End, of call: borrowing Call) -> Kind {
            .ended(end, at: call.endedAt ?? call.createdAt, duration: call.duration)
        }
    }

    /// The transfer that an invitee is asked to accept.
    public struct TransferOffer: Sendable, Equatable {
        /// The transferor.
        public let by: UserID
        /// The transferor's text.
        public let extendedData: String?

        /// `by` gives their place up, saying `extendedData`.
        public init(by: UserID, extendedData: String? = nil) {
            self.by = by
            self.extendedData = extendedData
        }
    }

    /// One participant's new state.
    public struct Change: Sendable, Equatable {
        /// The participant.
        public let user: UserID
        /// Their state now.
        public let state: Participant.State
        /// Why.
        public let reason: Participant.Reason?
        /// What the participant said.
        public let extendedData: String?

        /// `user` is now in `state`.
        public init(
            _ user: UserID, _ state: Participant.State, reason: Participant.Reason? = nil,
            extendedData: String? = nil
        ) {
            self.user = user
            self.state = state
            self.reason = reason
            self.extendedData = extendedData
        }

        /// The present state of `participant`.
        public init(_ participant: borrowing Participant) {
            self.init(
                participant.user, participant.state, reason: participant.reason,
                extendedData: participant.extendedData)
        }
    }

    /// What another device of the same user did.
    public enum Elsewhere: String, Sendable, CaseIterable {
        case answered, rejected, replaced, left
    }
}

/// Every event, by its name on the wire.
public enum EventName: String, CaseIterable, Sendable {
    case created = "call.created"
    case incoming = "call.incoming"
    case changed = "call.changed"
    case timedOut = "call.timed_out"
    case cancelled = "call.cancelled"
    case ended = "call.ended"
    case elsewhere = "call.elsewhere"
    case transferred = "call.transferred"
    case removed = "call.removed"
    case failed = "call.failed"
    case mediaPhase = "call.media_phase"
    case mediaFlags = "call.media_flags"
    case hold = "call.hold"
    case items = "call.items"
    case signal = "call.signal"
    case missed = "call.missed"
}

extension CallEvent.Kind {
    /// The name of what happened; copies nothing of it.
    public var name: EventName {
        switch self {
        case .created: .created
        case .incoming: .incoming
        case .changed: .changed
        case .timedOut: .timedOut
        case .cancelled: .cancelled
        case .ended: .ended
        case .elsewhere: .elsewhere
        case .transferred: .transferred
        case .removed: .removed
        case .failed: .failed
        case .mediaPhase: .mediaPhase
        case .mediaFlags: .mediaFlags
        case .hold: .hold
        case .items: .items
        case .signal: .signal
        case .missed: .missed
        }
    }

    /// The call that it shows.
    @inlinable
    public var call: Call? {
        if case .created(let call) = self { return call }
        if case .incoming(let call, _, _, _) = self { return call }
        if case .missed(let call, _) = self { return call }
        return nil
    }

    /// Gives its members to `visitor`, in the order of its row. A call is given to `show`: the
    /// viewer decides how much of it is seen.
    @inlinable
    public func visit<Visitor: EventVisitor & ~Copyable>(
        _ visitor: inout Visitor, show: (StaticString, Call, inout Visitor) -> Void
    ) {
        switch self {
        case .created(let call): show("call", call, &visitor)
        case .incoming(let call, let inviter, let expiresIn, let transfer):
            show("call", call, &visitor)
            visitor.member("inviter", inviter)
            visitor.member("expires_in_ms", time: expiresIn)
            if let transfer { visitor.member("transfer", transfer) }
        case .changed(let changes): visitor.member("changes", changes)
        case .timedOut: break
        case .cancelled(let inviter, let text, let reason):
            visitor.member("inviter", inviter)
            visitor.member("extended_data", text: text)
            visitor.member("reason", word: reason.rawValue)
        case .ended(let end, let at, let duration):
            visitor.member("end", end)
            visitor.member("ended_at", at)
            visitor.member("duration_ms", time: duration)
        case .elsewhere(let what, let device):
            visitor.member("what", word: what.rawValue)
            visitor.member("device", device)
        case .transferred(let to): visitor.member("to", to)
        case .removed(let by): visitor.member("by", by)
        case .failed(let reason): visitor.member("reason", word: reason.rawValue)
        case .missed(let call, let count):
            show("call", call, &visitor)
            visitor.member("missed", count: count)
        case .mediaPhase, .mediaFlags, .hold, .items, .signal: visitInCall(&visitor)
        }
    }

    @inlinable
    func visitInCall(_ visitor: inout some EventVisitor & ~Copyable) {
        switch self {
        case .mediaPhase(let media): visitor.member("media", word: media.rawValue)
        case .mediaFlags(let user, let audio, let video):
            visitor.member("user", user)
            visitor.member("audio", audio)
            visitor.member("video", video)
        case .hold(let user, let on):
            visitor.member("user", user)
            visitor.member("on", on)
        case .items(let keys, let deleted, let items):
            visitor.member("keys", keys)
            visitor.member("deleted", deleted)
            visitor.member("items", items)
        case .signal(let from, let data):
            visitor.member("from", from)
            visitor.member("data", json: data)
        case .created, .incoming, .changed, .timedOut, .cancelled, .ended, .elsewhere,
            .transferred, .removed, .failed, .missed:
            break
        }
    }
}
