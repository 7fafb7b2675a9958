// What the switchboard asks the policies, and what it knows of the users it asks about.

/// A question to the policies. Every question is answered by `Input.answered` once, or by the
/// switchboard's own deadline with the declared default.
public struct Question: Sendable, Equatable {
    /// What it is from the beginning: whoever hands a question on copies one reference.
    private final class Body: Sendable, Equatable {
        let id: QuestionID
        let decideBy: Moment
        let subject: Subject
        let facts: [UserFacts]
        let cause: Cause
        let hold: Hold?
        let trace: TraceParent?

        init(
            _ id: QuestionID, _ decideBy: Moment, _ subject: Subject, _ facts: [UserFacts],
            _ cause: Cause, _ hold: Hold?, _ trace: TraceParent?
        ) {
            (self.id, self.decideBy, self.subject) = (id, decideBy, subject)
            (self.facts, self.cause, self.hold) = (facts, cause, hold)
            self.trace = trace
        }

        static func == (one: Body, other: Body) -> Bool {
            one === other
                || (one.id, one.decideBy) == (other.id, other.decideBy)
                    && one.subject == other.subject && one.facts == other.facts
                    && one.cause == other.cause && one.hold == other.hold
                    && one.trace == other.trace
        }
    }

    private var body: Body
    /// For how many questions the shell had heard the answer, or that a handler waits, when it was
    /// told of this one; nil: for all. Who was let in since then is not in `facts`.
    public var heard: UInt64?
    /// Whether a short ring time leaves less time to answer than usual.
    public var isCutShort = false

    /// Named by the core; the answer carries it back.
    public var id: QuestionID { body.id }
    /// When the answer must be there.
    public var decideBy: Moment { body.decideBy }
    /// What is asked.
    public var subject: Subject { body.subject }
    /// What is known of the users of the call at the time of the question.
    public var facts: [UserFacts] {
        get { body.facts }
        set { body = Body(id, decideBy, subject, newValue, cause, hold, trace) }
    }
    /// Who caused it (G71).
    public var cause: Cause { body.cause }
    /// How the invitation is held that it is about; nil: it is not held.
    public var hold: Hold? { body.hold }
    /// The trace of the request that led to it; nil: it named none.
    public var trace: TraceParent? {
        get { body.trace }
        set { body = Body(id, decideBy, subject, facts, cause, hold, newValue) }
    }

    /// How an invitation is held until its questions are answered (H89).
    public struct Hold: Sendable, Equatable {
        /// Since when.
        public let since: Moment
        /// Until when, if nobody answers.
        public let until: Moment
        /// Whether no opinion lets the devices ring.
        public let ringsByDefault: Bool

        /// Held `since` a moment `until` another one.
        public init(since: Moment, until: Moment, ringsByDefault: Bool) {
            self.since = since
            self.until = until
            self.ringsByDefault = ringsByDefault
        }
    }

    /// The question `id`, to be answered by `decideBy`.
    public init(
        id: QuestionID, decideBy: Moment, subject: Subject, facts: [UserFacts] = [],
        cause: Cause = .nobody, hold: Hold? = nil, trace: TraceParent? = nil
    ) {
        body = Body(id, decideBy, subject, facts, cause, hold, trace)
    }

    /// What is asked.
    public enum Subject: Sendable, Equatable {
        /// `on.invite`: may `callee`'s account take the call? Asked of the plugins from place
        /// `from` of the chain on.
        case invite(Call, callee: UserID, from: Int)
        /// `on.dial`: may `user` make the call or add these people?
        case dial(Call, user: UserID, invitees: [UserID])
        /// `on.extended_data(…, "in")`: what `user` sends with an operation.
        case incomingData(Call, user: UserID, data: String)
        /// `on.extended_data(…, "out")`: what each receiver of these texts sees.
        case outgoingData(Call, [OutgoingText])
        /// `on.join`: may `user`, who was not invited, come in?
        case join(Call, user: UserID)
        /// `on.token`: credentials for the media side of `user`.
        case token(Call, user: UserID)

        /// The call that is asked about.
        public var call: Call {
            switch self {
            case .invite(let call, _, _), .dial(let call, _, _), .incomingData(let call, _, _),
                .outgoingData(let call, _), .join(let call, _), .token(let call, _):
                call
            }
        }

        /// Who asks for something; nil: the call is asked about.
        public var asker: UserID? {
            switch self {
            case .dial(_, let user, _), .incomingData(_, let user, _), .join(_, let user),
                .token(_, let user):
                user
            case .invite, .outgoingData: nil
            }
        }
    }

    /// One text on its way to one user.
    public struct OutgoingText: Sendable, Equatable {
        /// Which text.
        public let owner: TextOwner
        /// Who will see it.
        public let receiver: UserID
        /// The original.
        public let data: String

        /// The text `data` of `owner` on its way to `receiver`.
        public init(owner: TextOwner, receiver: UserID, data: String) {
            self.owner = owner
            self.receiver = receiver
            self.data = data
        }
    }
}

/// What the switchboard knows of a user.
public struct UserFacts: Sendable, Equatable {
    /// The user.
    public let user: UserID
    /// Live calls that they are in or being called for, the present call not counted.
    public let calls: Int
    /// Devices with a live connection.
    public let devices: Int
    /// What the user is called; nil: they have no name. Whoever keeps the names adds it.
    public var name: String?

    /// Whether the user has a live connection.
    public var isOnline: Bool { devices > 0 }

    /// `user` is in `calls` other calls and connected with `devices` devices.
    public init(_ user: UserID, calls: Int, devices: Int, name: String? = nil) {
        self.user = user
        self.calls = calls
        self.devices = devices
        self.name = name
    }
}
