// A user's part in a call.

/// A user's part in one call.
public struct Participant: Sendable, Equatable {
    /// How a user came into the call.
    public enum Role: String, Sendable, CaseIterable, BitwiseCopyable {
        case caller, invitee, joiner
    }

    /// The state of a participant. The four pending states and `joined` are live; the others last
    /// until the user is invited again or joins, where the mode has that.
    public enum State: String, Sendable, CaseIterable, BitwiseCopyable {
        /// Invited; no device has confirmed.
        case inviting
        /// The delivery check passed without a confirmation.
        case undelivered
        /// A device confirmed.
        case ringing
        /// Accepted; the caller has yet to acknowledge it.
        case accepting
        /// In the call.
        case joined
        /// Said no.
        case rejected
        /// Withdrawn.
        case cancelled
        /// Did not answer in time.
        case timedOut = "timed_out"
        /// Was in the call.
        case left
        /// Could not be reached, or the accept failed.
        case failed

        /// Whether an answer is still awaited.
        @inlinable
        public var isPending: Bool { mayAnswer || self == .accepting }
        /// Whether the user may still answer.
        @inlinable
        public var mayAnswer: Bool {
            self == .inviting || self == .undelivered || self == .ringing
        }
        /// Pending or joined.
        @inlinable
        public var isLive: Bool { isPending || self == .joined }
    }

    /// Why a participant is in their state (C34).
    public enum Reason: String, Sendable, CaseIterable, BitwiseCopyable {
        case declined, busy
        case byInviter = "by_inviter"
        case whole
        case callerLost = "caller_lost"
        case forwarded, taken
        case itself = "self"
        case lost, kicked, idle, transferred
        case offline
        case noAck = "no_ack"
        case expired
        case callerOffline = "caller_offline"
        case acceptUnacked = "accept_unacked"
        case dialFailed = "dial_failed"
        case acceptFailed = "accept_failed"
    }

    /// What the policies still have to say about an invitation.
    public enum Asking: String, Sendable, CaseIterable {
        /// Nothing.
        case nothing
        /// A first question is open: the invitee sees nothing of the call (F57).
        case deciding
        /// A later question is open while the invitation rings.
        case decidingAgain = "deciding_again"
        /// `accept { wait }`: accepted at the alarm unless somebody answers first.
        case waiting
        /// `ring { for_ }`: asked again at the alarm.
        case ringingFor = "ringing_for"

        /// Whether the invitee's devices may know of the invitation.
        @inlinable
        public var isVisible: Bool { self != .deciding }
        /// Whether a question about the invitation is open.
        @inlinable
        public var isInQuestion: Bool { self == .deciding || self == .decidingAgain }
    }

    /// The user.
    public internal(set) var user: UserID
    /// See `Role`.
    public var role: Role
    /// See `State`.
    public var state: State
    /// See `Reason`.
    public var reason: Reason?
    /// See `Asking`.
    public var asking = Asking.nothing
    /// Whether the user sends audio.
    public var audio = true
    /// Whether the user sends video.
    public var video = false
    /// Whether the user holds the call.
    public var held = false
    /// Whether the user has reported their media.
    public var mediaConnected = false
    /// Whether the user was connected at some moment of the call (A20).
    public var wasConnected = false
    /// Whether the policies answer for the user, who joined by their decision (A22).
    public var isAnsweredFor = false
    /// Times this invitation was forwarded on its way here.
    public var hops: UInt8 = 0
    /// Position in the chain of plugins at which the next question begins.
    public var askFrom: UInt8 = 0
    /// Place in the call of the user who caused the invitation, while it is pending: the caller, or
    /// who added the user. Forwarding an invitation does not change it (G71).
    public var begunBy: UInt16 = 0
    /// Who invited the user; nil for the caller and for joiners.
    public var invitedBy: UserID?
    /// What the user said with their answer or leave.
    public var extendedData: String?
    /// The device that the user is in the call with.
    public var device: DeviceID?
    /// When the user was invited, created the call or joined.
    public var invitedAt: Moment
    /// End of the ring time; nil when none runs.
    @Packed public var deadlineAt: Moment? = nil
    /// When the user accepted, rejected, created or joined.
    @Packed public var answeredAt: Moment? = nil
    /// Delivery check, acknowledgement limit or accept handshake limit; of a joined user who is
    /// lost, when they leave for it.
    @Packed public var deliveryAlarm: Moment? = nil
    /// Decision, wait or ring-for limit, by `asking`.
    @Packed public var policyAlarm: Moment? = nil
    /// See `PolicyNote`; nil: nothing is kept.
    public var policyNote: PolicyNote?

    /// Whether the invitee's devices may know of the invitation.
    @inlinable
    public var isVisible: Bool { asking.isVisible }
    /// Whether a question about the invitation is open.
    @inlinable
    public var isInQuestion: Bool { asking.isInQuestion }

    /// Whether the call is one with this invitee; who forwarded or transferred it gave the place
    /// away.
    @inlinable
    public var countsAsInvitee: Bool {
        role == .invitee && reason != .forwarded && reason != .transferred
    }

    /// Whether the user is in the call by a policy's decision alone, without a device.
    public var isUnattended: Bool { isAnsweredFor && state == .joined && device == nil }

    /// Whether the user is in the call with `device`.
    package func isJoined(with device: DeviceID) -> Bool {
        state == .joined && self.device == device
    }

    /// Keeps what a push shows, in the place of any note; nil: the default, for which nothing is
    /// kept.
    public mutating func keep(push: PushText?) {
        policyNote = push.map { PolicyNote(plugin: nil, push: $0) }
    }

    /// `user` comes into the call at `now`.
    public init(user: UserID, role: Role, state: State, at now: Moment) {
        self.user = user
        self.role = role
        self.state = state
        invitedAt = now
    }
}

/// What is kept of a participant because of the policies: of a pending one a decision that waits
/// and what a push shows of them, of others which plugin invited in their name. Boxed, because few
/// participants have one.
public final class PolicyNote: Sendable, Equatable {
    /// The plugin that decided to accept, or invited.
    public let plugin: String?
    /// What the accept says.
    public let extendedData: String?
    /// What a push shows, while the policies may still say who is called.
    public let push: PushText?

    /// A note of these parts.
    public init(plugin: String?, extendedData: String? = nil, push: PushText? = nil) {
        self.plugin = plugin
        self.extendedData = extendedData
        self.push = push
    }

    /// Whether both say the same.
    public static func == (left: PolicyNote, right: PolicyNote) -> Bool {
        left.plugin == right.plugin && left.extendedData == right.extendedData
            && left.push == right.push
    }
}
