// What a mode of calls is, and the seven that are built in, as one table of parameters.

/// What a mode of calls allows and how long it waits. All behaviour that differs
/// between modes is a value in here; nothing else asks for a mode's name.
public struct Mode: Sendable, Equatable {
    /// When a call ends because no invitee is pending any more.
    public enum EndWhenAnswered: String, Sendable, CaseIterable {
        /// Never by itself.
        case never
        /// At once, whatever the answers were.
        case always
        /// When nobody joined besides the caller.
        case ifNobodyJoined = "nobody_joined"
        /// When one participant at most is left in it.
        case ifAlone = "alone"
    }

    /// What happens when the caller is lost while nobody has answered.
    public enum CallerLost: String, Sendable, CaseIterable {
        /// The call is cancelled.
        case cancels = "cancel"
        /// The deadlines run on.
        case runsOn = "run_on"
        /// The deadlines run on, but an accept fails.
        case failsAccept = "fail_accept"
    }

    /// What becomes of a joined user who is lost (K107).
    public enum Lost: String, Sendable, CaseIterable {
        /// Nothing: whoever is there decides.
        case stays
        /// The user leaves when `lostAfter` has passed since.
        case leaves
        /// The user's media is lost, and a `bye` ends the call.
        case media
    }

    /// Operations that only some modes have.
    public struct Features: OptionSet, Sendable {
        /// One bit for each feature.
        public let rawValue: UInt32
        /// The features of these bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// `call.add`.
        public static let add = Features(rawValue: 1 << 0)
        /// `call.join`.
        public static let join = Features(rawValue: 1 << 1)
        /// `call.leave`.
        public static let leave = Features(rawValue: 1 << 2)
        /// `call.end`.
        public static let end = Features(rawValue: 1 << 3)
        /// `call.cancel` may name single invitees.
        public static let cancelListed = Features(rawValue: 1 << 4)
        /// The caller may end a call that nobody has answered.
        public static let endUnanswered = Features(rawValue: 1 << 5)
        /// The first accept cancels the other invitees.
        public static let firstAcceptWins = Features(rawValue: 1 << 6)
        /// The host rejects busy invitees by itself.
        public static let rejectsBusy = Features(rawValue: 1 << 7)
        /// A caller in a live call may not place another; see `countsEveryCall`.
        public static let refusesBusyCaller = Features(rawValue: 1 << 8)
        /// Devices may answer `busy`.
        public static let answersBusy = Features(rawValue: 1 << 9)
        /// Media phases, `call.report`.
        public static let media = Features(rawValue: 1 << 10)
        /// `call.hold`, and accepting ends the user's other calls unless held.
        public static let hold = Features(rawValue: 1 << 11)
        /// `call.items`.
        public static let items = Features(rawValue: 1 << 12)
        /// `delivery_check`.
        public static let deliveryCheck = Features(rawValue: 1 << 13)
        /// `call.accept_ack`.
        public static let acceptAck = Features(rawValue: 1 << 14)
        /// The call ends when its caller leaves.
        public static let callerLeavesEnds = Features(rawValue: 1 << 15)
        /// The ring time counts from `call.ringing` and not from the invitation.
        public static let ringsFromRinging = Features(rawValue: 1 << 16)
        /// `call.transfer`.
        public static let transfer = Features(rawValue: 1 << 17)
        /// `call.remove`.
        public static let remove = Features(rawValue: 1 << 18)
    }

    /// `invitees` of a mode that says nothing else; the operator's limit replaces it.
    public static let standardInvitees = 9
    /// `participants` of a mode that says nothing else; the operator's limit replaces it.
    public static let standardParticipants = 10

    /// The name on the wire.
    public var name: String
    /// The built-in mode that it was made like: its own name, if it is built in.
    public var model: String?
    /// Invitees of one operation.
    public var invitees = standardInvitees
    /// Pending and joined participants of one call, the caller included.
    public var participants = standardParticipants
    /// Ring time when the invitation names none.
    public var ringTime: Milliseconds = 90_000
    /// How long an invitation without `call.ringing` lives; nil: it need not be confirmed.
    public var acknowledgeWithin: Milliseconds?
    /// Nil: an accept joins at once. Otherwise the caller must acknowledge it within this time.
    public var acceptHandshake: Milliseconds? {
        didSet { features.set(.acceptAck, acceptHandshake != nil) }
    }
    /// Time from accept to connected media.
    public var connectWithin: Milliseconds?
    /// Time for lost media to recover.
    public var reconnectWithin: Milliseconds?
    /// Time that one participant may be alone.
    public var idleLimit: Milliseconds?
    /// See `EndWhenAnswered`.
    public var endWhenAnswered = EndWhenAnswered.never
    /// The call ends when a leave brings the joined participants down to this number.
    public var endWhenJoinedAtMost: Int?
    /// See `CallerLost`.
    public var callerLost = CallerLost.runsOn
    /// See `Lost`.
    public var lost = Lost.stays
    /// From the loss of a joined user to what `lost` says.
    public var lostAfter: Milliseconds = 60_000
    /// See `Features`.
    public var features: Features = []
    /// Those of `features` that only the caller has.
    public var callerOnly: Features = []

    /// Whether a call of this mode has two participants at most (A19).
    public var isTwoParty: Bool { participants <= 2 }
    /// Whether the mode has all of `features`.
    @inlinable
    public func has(_ features: Features) -> Bool { self.features.isSuperset(of: features) }
    /// Whether the ring time counts from `call.ringing` and not from the invitation.
    public var ringsFromRinging: Bool { has(.ringsFromRinging) }
    /// Whether `call.end` before an answer means cancel (caller) or reject (invitee): where nobody
    /// can leave, it is the one way out.
    public var endMeansCancelOrReject: Bool { has([.end, .endUnanswered]) && !has(.leave) }
    /// Whether users in a call of any mode may not invite or accept (A12). Otherwise only the
    /// caller of a call of a mode like this one may not invite (A10).
    public var countsEveryCall: Bool { has([.refusesBusyCaller, .rejectsBusy]) }
    /// Whether the whole call is cancelled when its caller leaves before anybody joined (H90).
    public var leaveCancels: Bool { endWhenAnswered == .ifAlone }
}

extension Mode.Features {
    /// Puts `features` in, or takes them out.
    mutating func set(_ features: Mode.Features, _ isOn: Bool) {
        if isOn { formUnion(features) } else { subtract(features) }
    }
}

extension Mode {
    /// ZIM's common mode: ends when every invitee has answered.
    public static let common = Mode(
        name: "common", endWhenAnswered: .always, callerLost: .cancels,
        features: [.deliveryCheck, .answersBusy])

    /// ZIM's advanced mode: add, join, leave, end; lives until ended or the last one leaves.
    public static let advanced = Mode(
        name: "advanced", endWhenAnswered: .never, endWhenJoinedAtMost: 0, callerLost: .cancels,
        features: [
            .add, .join, .leave, .end, .cancelListed, .endUnanswered, .deliveryCheck, .answersBusy,
            .transfer, .remove,
        ], callerOnly: .remove)

    /// ZEGOCLOUD's call demo: busy users reject by themselves, a caller left alone leaves.
    public static let managed = Mode(
        name: "managed", ringTime: 60_000, endWhenAnswered: .ifAlone, endWhenJoinedAtMost: 1,
        callerLost: .cancels, lost: .leaves,
        features: [
            .add, .join, .leave, .end, .cancelListed, .endUnanswered, .rejectsBusy,
            .refusesBusyCaller, .answersBusy, .transfer, .remove,
        ], callerOnly: .remove)

    /// Sendbird's direct call: one to one, media phases, hold, items.
    public static let direct = Mode(
        name: "direct", invitees: 1, participants: 2, ringTime: 60_000, connectWithin: 60_000,
        reconnectWithin: 30_000, endWhenAnswered: .ifNobodyJoined, endWhenJoinedAtMost: 1,
        lost: .media, lostAfter: 30_000,
        features: [.end, .endUnanswered, .media, .hold, .items, .answersBusy, .transfer])

    /// CometChat's ringing: one to one, ring then session, busy as an answer.
    public static let ringing = Mode(
        name: "ringing", invitees: 1, participants: 2, ringTime: 45_000, idleLimit: 180_000,
        endWhenAnswered: .ifNobodyJoined, endWhenJoinedAtMost: 1, lost: .leaves,
        features: [.end, .refusesBusyCaller, .answersBusy])

    /// CometChat's ringing of groups: one call rings a group.
    public static let group = Mode(
        name: "group", invitees: 49, participants: 50, ringTime: 45_000, idleLimit: 180_000,
        endWhenAnswered: .ifNobodyJoined, endWhenJoinedAtMost: 0, lost: .leaves,
        features: [.join, .leave, .end, .refusesBusyCaller, .remove], callerOnly: .remove)

    /// Agora's call invitation: one to one, with delivery and accept acknowledgements.
    public static let handshake = Mode(
        name: "handshake", invitees: 1, participants: 2, ringTime: 60_000,
        acknowledgeWithin: 30_000, acceptHandshake: 30_000, endWhenAnswered: .always,
        callerLost: .failsAccept, features: [.acceptAck, .answersBusy, .ringsFromRinging])

    /// Every built-in mode. Stores keep one by its place in here: the order stays.
    public static let all: [Mode] = [
        common, advanced, managed, direct, ringing, group, handshake,
    ]

    /// Longest name of an operator's mode, in bytes.
    public static let nameBytesMax = 32
    /// Modes of one operator.
    public static let ownModesMax = 32

    /// Whether a mode may be called `name`.
    public static func isName(_ name: String) -> Bool {
        (1...nameBytesMax).contains(name.utf8.count)
            && name.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F || $0 == 0x2D
            }
    }
}
