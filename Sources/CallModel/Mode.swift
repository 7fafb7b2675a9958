// The seven modes of a call as one table of parameters.

/// What a mode of calls allows and how long it waits. All behaviour that differs
/// between modes is a value in here; nothing else asks for a mode's name.
public struct Mode: Sendable, Equatable {
    /// When a call ends because no invitee is pending any more.
    public enum EndWhenAnswered: Sendable, Equatable {
        /// At once, whatever the answers were.
        case always
        /// When nobody joined besides the caller.
        case ifNobodyJoined
        /// When one participant at most is left in it.
        case ifAlone
        /// Never by itself.
        case never
    }

    /// What happens when the caller is lost while nobody has answered.
    public enum CallerLost: Sendable, Equatable {
        /// The call is cancelled.
        case cancels
        /// The deadlines run on.
        case runsOn
        /// The deadlines run on, but an accept fails.
        case failsAccept
    }

    /// What becomes of a joined user who is lost (K107).
    public enum Lost: Sendable, Equatable {
        /// Nothing: whoever is there decides.
        case stays
        /// The user leaves when this time has passed since.
        case leaves(after: Milliseconds)
        /// The user's media is lost, and a `bye` ends the call.
        case media
    }

    /// Operations that only some modes have.
    public struct Features: OptionSet, Sendable {
        public let rawValue: UInt32
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
        /// `call.end` of an unanswered call means cancel (caller) or reject (invitee).
        public static let endMeansCancelOrReject = Features(rawValue: 1 << 6)
        /// The host rejects busy invitees by itself.
        public static let rejectsBusy = Features(rawValue: 1 << 7)
        /// A caller in a live call of a mode with this feature may not place another.
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
        /// Whoever is busy may neither invite nor accept.
        public static let refusesBusy = Features(rawValue: 1 << 15)
        /// The whole call is cancelled when the caller leaves and nobody is joined.
        public static let leaveCancels = Features(rawValue: 1 << 16)
        /// `call.transfer`.
        public static let transfer = Features(rawValue: 1 << 17)
        /// `call.remove`, for the caller.
        public static let remove = Features(rawValue: 1 << 18)
    }

    /// `invitees` of a mode that says nothing else; the operator's limit replaces it.
    public static let standardInvitees = 9
    /// `participants` of a mode that says nothing else; the operator's limit replaces it.
    public static let standardParticipants = 10

    /// The name on the wire.
    public let name: String
    /// Invitees of one operation.
    public var invitees = standardInvitees
    /// Pending and joined participants of one call, the caller included.
    public var participants = standardParticipants
    /// Ring time when the invitation names none.
    public var ringTime: Milliseconds = 90_000
    /// Nil: the ring time counts from the invitation. Otherwise it counts from `call.ringing`,
    /// and this long without one fails the invitation.
    public var acknowledgeWithin: Milliseconds?
    /// Nil: an accept joins at once. Otherwise the caller must acknowledge it within this time.
    public var acceptHandshake: Milliseconds?
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
    /// See `Features`.
    public var features: Features = []

    /// Whether a call of this mode has two participants at most (A19).
    public var isTwoParty: Bool { participants <= 2 }
    /// Whether the mode has all of `features`.
    @inlinable
    public func has(_ features: Features) -> Bool { self.features.isSuperset(of: features) }
}

extension Mode {
    /// ZIM's common mode: ends when every invitee has answered.
    static let common = Mode(
        name: "common", endWhenAnswered: .always, callerLost: .cancels,
        features: [.deliveryCheck, .answersBusy])

    /// ZIM's advanced mode: add, join, leave, end; lives until ended or the last one leaves.
    static let advanced = Mode(
        name: "advanced", endWhenAnswered: .never, endWhenJoinedAtMost: 0, callerLost: .cancels,
        features: [
            .add, .join, .leave, .end, .cancelListed, .endUnanswered, .deliveryCheck, .answersBusy,
            .transfer, .remove,
        ])

    /// ZEGOCLOUD's call demo: busy users reject by themselves, a caller left alone leaves.
    static let managed = Mode(
        name: "managed", ringTime: 60_000, endWhenAnswered: .ifAlone, endWhenJoinedAtMost: 1,
        callerLost: .cancels, lost: .leaves(after: 60_000),
        features: [
            .add, .join, .leave, .end, .cancelListed, .endUnanswered, .rejectsBusy, .refusesBusy,
            .leaveCancels, .answersBusy, .transfer, .remove,
        ])

    /// Sendbird's direct call: one to one, media phases, hold, items.
    static let direct = Mode(
        name: "direct", invitees: 1, participants: 2, ringTime: 60_000, connectWithin: 60_000,
        reconnectWithin: 30_000, endWhenAnswered: .ifNobodyJoined, endWhenJoinedAtMost: 1,
        lost: .media,
        features: [
            .end, .endMeansCancelOrReject, .media, .hold, .items, .answersBusy, .transfer,
        ])

    /// CometChat's ringing: one to one, ring then session, busy as an answer.
    static let ringing = Mode(
        name: "ringing", invitees: 1, participants: 2, ringTime: 45_000, idleLimit: 180_000,
        endWhenAnswered: .ifNobodyJoined, endWhenJoinedAtMost: 1, lost: .leaves(after: 60_000),
        features: [.end, .refusesBusyCaller, .answersBusy])

    /// CometChat's ringing of groups: one call rings a group.
    static let group = Mode(
        name: "group", invitees: 49, participants: 50, ringTime: 45_000, idleLimit: 180_000,
        endWhenAnswered: .ifNobodyJoined, endWhenJoinedAtMost: 0, lost: .leaves(after: 60_000),
        features: [.join, .leave, .end, .refusesBusyCaller, .remove])

    /// Agora's call invitation: one to one, with delivery and accept acknowledgements.
    static let handshake = Mode(
        name: "handshake", invitees: 1, participants: 2, ringTime: 60_000,
        acknowledgeWithin: 30_000, acceptHandshake: 30_000, endWhenAnswered: .always,
        callerLost: .failsAccept, features: [.acceptAck, .answersBusy])

    /// Every mode. Stores keep a mode by its place in here: the order stays, new ones come last.
    public static let all: [Mode] = [
        common, advanced, managed, direct, ringing, group, handshake,
    ]
}

/// A mode by its place in `Settings.modes`: what a call stores.
public struct ModeIndex: Hashable, Sendable, BitwiseCopyable {
    /// Place in the table.
    public let value: UInt8

    /// The mode at `value` in the table.
    public init(_ value: UInt8) { self.value = value }

    /// The mode of the table `modes` that is called `name` on the wire; nil: there is none.
    public init?(named name: String, in modes: [Mode] = Mode.all) {
        guard let place = modes.firstIndex(where: { $0.name == name }) else { return nil }
        value = UInt8(place)
    }
}

/// Every mode by its name, for whoever places calls.
extension ModeIndex {
    /// ZIM's common mode: ends when every invitee has answered.
    public static let common = of(.common)
    /// ZIM's advanced mode: add, join, leave; lives until ended or the last one leaves.
    public static let advanced = of(.advanced)
    /// ZEGOCLOUD's call demo: busy users reject by themselves.
    public static let managed = of(.managed)
    /// Sendbird's direct call: one to one, media phases, hold, items.
    public static let direct = of(.direct)
    /// CometChat's ringing, one to one.
    public static let ringing = of(.ringing)
    /// CometChat's ringing of a group.
    public static let group = of(.group)
    /// Agora's call invitation: delivery and accept are acknowledged.
    public static let handshake = of(.handshake)

    private static func of(_ mode: Mode) -> ModeIndex {
        guard let index = ModeIndex(named: mode.name) else {
            preconditionFailure("\(mode.name) is not in the table of modes")
        }
        return index
    }
}
