// A call, what it is made of, and how it ended.

/// A call: what every side agrees on. A value; the switchboard holds the only true copy.
public struct Call: Sendable, Equatable {
    /// Where a call is in its life.
    public enum State: String, Sendable, CaseIterable {
        /// No invitee has accepted and nobody has joined. Then: `active`, `ended`.
        case ringing
        /// Somebody besides the caller joined. Then: `ended`.
        case active
        /// Nothing changes any more but `items`.
        case ended
    }

    /// How far the media is, where the mode tracks it.
    public enum Media: String, Sendable, CaseIterable, BitwiseCopyable {
        /// Not tracked, or nobody accepted yet.
        case none
        /// Accepted; a side has not reported its media yet.
        case establishing
        /// All joined participants have reported their media.
        case connected
        /// A side lost its media.
        case reconnecting
    }

    /// The members, shared by copies until one of them changes: with every commit a call goes to
    /// the store, to the receivers of events and to the policies, and each of these copies costs
    /// only a pointer.
    @usableFromInline var body: Body

    /// One named text.
    public struct Item: Sendable, Equatable {
        /// At most 128 bytes, no comma.
        public let key: String
        /// At most 128 bytes.
        public let value: String

        /// The text `value` named `key`.
        public init(key: String, value: String) {
            self.key = key
            self.value = value
        }
    }

    /// What one user sees instead of an original text.
    public struct View: Sendable, Equatable {
        /// Who sees it.
        public let receiver: UserID
        /// Which text it stands for.
        public let owner: TextOwner
        /// What the receiver sees; nil: nothing.
        public let text: String?

        /// `receiver` sees `text` instead of the text of `owner`.
        public init(receiver: UserID, owner: TextOwner, text: String?) {
            self.receiver = receiver
            self.owner = owner
            self.text = text
        }
    }

    /// How a call ended.
    public struct End: Sendable, Equatable {
        /// See `EndReason`.
        public let reason: EndReason
        /// More of the reason, where it has more than one cause.
        public let detail: EndDetail?
        /// The user who ended it.
        public let by: UserID?
        /// The text of that user.
        public let extendedData: String?

        /// An end for `reason`, caused by `by`, who said `extendedData`.
        public init(
            _ reason: EndReason, detail: EndDetail? = nil, by: UserID? = nil,
            extendedData: String? = nil
        ) {
            self.reason = reason
            self.detail = detail
            self.by = by
            self.extendedData = extendedData
        }

        /// The same end with another text.
        public func saying(_ text: String?) -> End {
            End(reason, detail: detail, by: by, extendedData: text)
        }
    }

    /// A participant's wish that somebody else takes their place (K103).
    public struct Transfer: Sendable, Equatable {
        /// Who takes the place.
        public internal(set) var to: UserID
        /// Who gives it up.
        public let by: UserID
        /// The transferor's text.
        public let extendedData: String?
        /// Whether `to` has not answered yet.
        public internal(set) var isPending = true

        /// `by` wishes that `to` takes the place of `by`, saying `extendedData`.
        public init(to: UserID, by: UserID, extendedData: String?, isPending: Bool = true) {
            self.to = to
            self.by = by
            self.extendedData = extendedData
            self.isPending = isPending
        }
    }

    /// A user who left a call and came back.
    public struct Return: Sendable, Equatable {
        /// The user.
        public internal(set) var user: UserID
        /// When the user came into the call first.
        public let firstAt: Moment

        /// `user`, who came first at `moment`.
        public init(_ user: UserID, firstAt moment: Moment) {
            (self.user, firstAt) = (user, moment)
        }
    }

    /// A new call without participants.
    public init(
        id: CallID, mode: ModeRow, kind: String, ringTime: Milliseconds,
        deliveryCheck: Milliseconds?, createdAt: Moment
    ) {
        body = Body(
            Fields(
                id: id, mode: mode, kind: kind, ringTime: ringTime,
                deliveryCheck: deliveryCheck, createdAt: createdAt))
    }

    /// Whether all fields are equal; at once where both share them.
    public static func == (left: Call, right: Call) -> Bool {
        left.body === right.body || left.body.fields == right.body.fields
    }

    /// The user who made the call.
    @inlinable
    public var caller: UserID { participants[0].user }
    /// Whether the call is not ended.
    @inlinable
    public var isLive: Bool { state != .ended }
    /// From the first accept or join to the end; 0 when never answered or not ended.
    public var duration: Milliseconds {
        guard let answeredAt, let endedAt else { return 0 }
        return max(0, endedAt - answeredAt)
    }
    /// Pending participants.
    public var pendingCount: Int { count(\.isPending) }
    /// Joined participants.
    public var joinedCount: Int { count { $0 == .joined } }

    /// Participants whose state `matches`.
    public func count(_ matches: (Participant.State) -> Bool) -> Int {
        var count = 0
        for index in participants.indices where matches(participants[index].state) { count += 1 }
        return count
    }

    /// The place of `user` among the participants.
    @inlinable
    public func index(of user: UserID) -> Int? {
        for index in participants.indices where participants[index].user == user { return index }
        return nil
    }

    /// The participant `user`.
    public func participant(_ user: UserID) -> Participant? {
        index(of: user).map { participants[$0] }
    }

    /// Replaces older views of the same texts by `views`.
    public mutating func show(_ views: [View]) {
        guard !views.isEmpty else { return }
        self.views.removeAll { old in
            views.contains { $0.receiver == old.receiver && $0.owner == old.owner }
        }
        self.views += views
    }

    /// The extended data of `owner` as `receiver` sees it.
    public func extendedData(of owner: TextOwner, for receiver: UserID) -> String? {
        if !views.isEmpty,
            let view = views.first(where: { $0.receiver == receiver && $0.owner == owner })
        {
            return view.text
        }
        switch owner {
        case .call: return extendedData
        case .participant(let user): return participant(user)?.extendedData
        case .end: return end?.extendedData
        case .transfer: return transfer(to: receiver)?.extendedData
        }
    }
}

/// One of the extended data of a call.
public enum TextOwner: Sendable, Hashable {
    /// What came with the invitation.
    case call
    /// The text of a participant's accept, reject, join or leave.
    case participant(UserID)
    /// The text of the cancel or the end.
    case end
    /// The text of the transfer, for its target.
    case transfer
}

/// Why a call ended.
public enum EndReason: String, Sendable, CaseIterable, BitwiseCopyable {
    case completed
    case notConnected = "not_connected"
    case cancelled
    case rejected
    case busy
    case noAnswer = "no_answer"
    case settled
    case peerOffline = "peer_offline"
    case peerNoAck = "peer_no_ack"
    case expired
    case connectTimeout = "connect_timeout"
    case connectionLost = "connection_lost"
    case dialFailed = "dial_failed"
    case acceptFailed = "accept_failed"
    case lastLeft = "last_left"
    case idle
    case policy
}

/// More of an end's reason: one of these words (C34), or with `policy` the code that a policy or
/// the operator gave.
public struct EndDetail: RawRepresentable, Sendable, Hashable, CaseIterable {
    /// The word on the wire.
    public let rawValue: String
    /// The detail of this word, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// With `cancelled`: by the caller's request.
    public static let byCaller = EndDetail(rawValue: "by_caller")
    /// With `cancelled`: the caller was lost while it rang.
    public static let callerLost = EndDetail(rawValue: "caller_lost")
    /// With `cancelled`: by `call.end` before anybody had answered.
    public static let endedWhileRinging = EndDetail(rawValue: "ended_while_ringing")
    /// With `settled`: somebody had answered, and nobody is called or in it any more.
    public static let answered = EndDetail(rawValue: "answered")
    /// With `settled`: nobody answered, each for another reason.
    public static let mixed = EndDetail(rawValue: "mixed")
    /// With `accept_failed`: the caller was lost when it was accepted.
    public static let callerOffline = EndDetail(rawValue: "caller_offline")
    /// With `accept_failed`: the caller did not acknowledge the accept in time.
    public static let noAck = EndDetail(rawValue: "no_ack")
    /// With `idle`: the call reached the greatest age.
    public static let maxAge = EndDetail(rawValue: "max_age")
    /// Those that this version knows.
    public static let allCases = [
        byCaller, callerLost, endedWhileRinging, answered, mixed, callerOffline, noAck, maxAge,
    ]

    /// The code in `text`, or nil when it is not 1-64 bytes of printable ASCII without space.
    public init?(code text: String) {
        guard isIdentifier(text) else { return nil }
        rawValue = text
    }
}
