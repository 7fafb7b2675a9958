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
        /// `call.incoming`, to an invitee; its time runs out `expiresIn` after the event was made.
        case incoming(Call, inviter: UserID, expiresIn: Milliseconds?)
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
        /// `call.missed`, to a device that connects: its user was called in vain, and has so many
        /// missed calls in all.
        indirect case missed(Call, count: Int)
        /// `call.signal`; `data` is one JSON value, forwarded byte for byte.
        case signal(from: UserID, data: [UInt8])

        /// `call.ended` of `call`, which ended as `end` tells.
        public static func ended(_ end: Call.End, of call: borrowing Call) -> Kind {
            .ended(end, at: call.endedAt ?? call.createdAt, duration: call.duration)
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

        /// Where `participant` stands now.
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
