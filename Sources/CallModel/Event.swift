// What devices are told of a call.

/// Who caused an event.
public enum Actor: Sendable, Equatable {
    /// A user, with one of its devices.
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
        /// `call.transferred`, to the transferor: the last event of the call for him.
        case transferred(to: UserID)
        /// `call.removed`, to a removed user: the last event of the call for him.
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

        /// `by` gives his place up, saying `extendedData`.
        public init(by: UserID, extendedData: String? = nil) {
            self.by = by
            self.extendedData = extendedData
        }
    }

    /// One participant's new state.
    public struct Change: Sendable, Equatable {
        /// The participant.
        public let user: UserID
        /// Its state now.
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

    /// The name of what happened.
    public init(_ kind: CallEvent.Kind) { self = kind.name }
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

/// The rows of the events.
extension EventDescriptor {
    static let ofInvitations: [EventDescriptor] = [
        EventDescriptor(
            .created, "To the caller's other devices: the call exists.", [.call], words: "{call}",
            make: { $0.call("call").map { .created($0) } }),
        EventDescriptor(
            .incoming, "To an invitee: somebody calls.",
            [
                .call, DataMember("inviter", .name),
                DataMember("expires_in_ms", .orNull(.time), "null: no ring time runs yet"),
                DataMember(
                    "transfer", .named("Transfer"), "whose place to take", optional: true),
                .nameOfInviter,
            ], words: "{call}[ in place of {transfer}]",
            make: {
                guard let call = $0.call("call"), let inviter = $0.user("inviter") else {
                    return nil
                }
                return .incoming(
                    call, inviter: inviter, expiresIn: $0.integer("expires_in_ms"),
                    transfer: $0.transfer("transfer"))
            }),
        EventDescriptor(
            .changed, "Participants have new states.",
            [DataMember("changes", .list(.named("Change")))], words: "{changes}",
            make: { $0.changes("changes").map { .changed($0) } }),
        EventDescriptor(
            .timedOut, "To an invitee: the ring time is over.", words: "",
            make: { _ in .timedOut }),
        EventDescriptor(
            .cancelled, "To an invitee: the invitation was withdrawn.",
            [
                DataMember("inviter", .orNull(.name)),
                DataMember("extended_data", .orNull(.text)), .reason,
            ], words: "{reason} of {inviter}[ {extended_data}]",
            make: { members in
                members.word("reason").map {
                    .cancelled(
                        inviter: members.user("inviter"),
                        extendedData: members.text("extended_data"), reason: $0)
                }
            }),
        EventDescriptor(
            .ended, "The call is over; its last event.",
            [
                DataMember("end", .named("End")), DataMember("ended_at", .time),
                DataMember("duration_ms", .time, "0: never answered"),
            ], words: "{end}[ after {duration_ms}]",
            make: {
                guard let end = $0.end("end"), let at = $0.integer("ended_at") else { return nil }
                return .ended(end, at: Moment(at), duration: $0.integer("duration_ms") ?? 0)
            }),
        EventDescriptor(
            .elsewhere, "Another device of the same user answered, rejected, took over or left.",
            [
                DataMember("what", .word(CallEvent.Elsewhere.self)),
                DataMember("device", .orNull(.name)),
            ], words: "{what}[ on {device}]",
            make: { members in
                members.word("what").map { .elsewhere($0, members.device("device")) }
            }),
        EventDescriptor(
            .transferred, "To who gave his place up: he has left the call.",
            [DataMember("to", .name, "who has taken it")], words: "to {to}",
            make: { $0.user("to").map { .transferred(to: $0) } }),
        EventDescriptor(
            .removed, "To who was sent out of the call.", [DataMember("by", .name)],
            words: "by {by}",
            make: { $0.user("by").map { .removed(by: $0) } }),
        EventDescriptor(
            .failed, "To a device: its part of the call failed.", [.reason], words: "{reason}",
            make: { $0.word("reason").map { .failed($0) } }),
    ]

    static let ofCalls: [EventDescriptor] = [
        EventDescriptor(
            .mediaPhase, "How far the media is.", [DataMember("media", .named("Media"))],
            words: "{media}",
            make: { $0.word("media").map { .mediaPhase($0) } }),
        EventDescriptor(
            .mediaFlags, "Somebody switched audio or video.",
            [.user, DataMember("audio", .flag), DataMember("video", .flag)],
            words: "{user} audio {audio}, video {video}",
            make: {
                guard let user = $0.user("user"), let audio = $0.flag("audio"),
                    let video = $0.flag("video")
                else { return nil }
                return .mediaFlags(user, audio: audio, video: video)
            }),
        EventDescriptor(
            .hold, "Somebody holds the call or goes on with it.",
            [.user, DataMember("on", .flag)], words: "{user} {on}",
            make: {
                guard let user = $0.user("user"), let on = $0.flag("on") else { return nil }
                return .hold(user, on: on)
            }),
        EventDescriptor(
            .items, "The named texts changed.",
            [
                DataMember("keys", .list(.text)), DataMember("deleted", .list(.text)),
                DataMember("items", .map(.text)),
            ], words: "{items}; keys {keys}[; deleted {deleted}]",
            make: {
                .items(
                    keys: $0.texts("keys") ?? [], deleted: $0.texts("deleted") ?? [],
                    items: $0.items("items") ?? [])
            }),
        EventDescriptor(
            .signal, "Data from another participant.",
            [DataMember("from", .name), DataMember("data", .json)], words: "{data} from {from}",
            make: {
                guard let from = $0.user("from"), let data = $0.json("data") else { return nil }
                return .signal(from: from, data: data)
            }),
        EventDescriptor(
            .missed, "To a device that connects: the user was called in vain.",
            [.call, DataMember("missed", .integer(1), "missed calls not acknowledged yet")],
            words: "{missed} in all",
            make: { members in
                members.call("call").map {
                    .missed($0, count: Int(members.integer("missed") ?? 1))
                }
            }),
    ]
}

extension DataMember {
    fileprivate static let user = DataMember("user", .name)
    fileprivate static let reason = DataMember("reason", .named("ParticipantReason"))
}
