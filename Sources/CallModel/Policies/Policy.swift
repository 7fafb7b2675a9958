// What the switchboard asks the policies and tells them.

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
    /// How many questions the shell had heard answered, or that a handler waits, when it was told
    /// of this one; nil: all that were. Who was let in since then is not in `facts`.
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
    /// Who brought it about (G71).
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
    /// Live calls that it is in or being called for, the call at hand not counted.
    public let calls: Int
    /// Devices with a live connection.
    public let devices: Int
    /// What the user is called; nil: it has no name. Whoever keeps the names adds it.
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

/// The answer to a question.
public enum Answer: Sendable, Equatable {
    /// To `invite`: what to do, whose decision it is and the place after that plugin.
    case invite(Decision, by: String, next: Int)
    /// To `dial`: go on, changed where a value is given. To `join`: come in.
    case allow(Allowance)
    /// To `dial` and `join`: no, with the plugin's code.
    case refuse(code: String, by: String)
    /// To `incomingData`: the text to go on with.
    case data(String?)
    /// To `incomingData`: what this plugin made of it is too long or too deep.
    case tooLarge(by: String)
    /// To `outgoingData`: the texts that differ from the originals.
    case views([Call.View])
    /// To `token`: one JSON object; nil: no plugin answered.
    case token([UInt8]?)
    /// To any: no opinion, so the declared default.
    case none
}

/// What `on.invite` decided.
public enum Decision: Sendable, Equatable {
    /// Accept, after `wait` unless somebody answers first.
    case accept(wait: Milliseconds, extendedData: String?)
    /// Reject; nil data: the default of the reason.
    case reject(busy: Bool, extendedData: String?)
    /// Let the devices ring; with a time, ask the later plugins at its end.
    case ring(for: Milliseconds?)
    /// Invite these users instead: all at once, or one after the other, each at most so long.
    case forward([UserID], each: Milliseconds? = nil)
}

extension Decision {
    /// Whether it calls others in the place of the account.
    public var isForward: Bool { if case .forward = self { true } else { false } }
    /// Whether it names several, or one after the other.
    public var isFork: Bool {
        guard case .forward(let users, let each) = self else { return false }
        return users.count > 1 || each != nil
    }
    /// Whether it leaves the invitation to its devices: nothing has changed, nobody is told.
    public var isRing: Bool { if case .ring = self { true } else { false } }
    /// Whether it lets the account in at once.
    public var isAccept: Bool {
        if case .accept(let wait, _) = self { wait <= 0 } else { false }
    }

    /// The decision as an operation of the account, and what that says; nil: the devices ring, and
    /// what comes later is kept.
    package func action(in call: Call) -> (action: CallAction, text: String?)? {
        switch self {
        case .accept(let wait, let data): wait > 0 ? nil : (.accept(), data)
        case .reject(let busy, let data):
            (.reject(busy: busy), data ?? (busy ? call.busyText : nil))
        case .forward(let targets, let each): (.forward(to: targets, each: each), nil)
        case .ring: nil
        }
    }
}

/// What `on.dial` changed.
public struct Allowance: Sendable, Equatable {
    /// Another ring time.
    public var timeout: Milliseconds?
    /// Only these of the invitees; the others get `refused`.
    public var invitees: [UserID]?
    /// Other extended data.
    public var extendedData: String??

    /// An allowance that changes nothing.
    public init() {}
}

/// Something that the policies are told (report hooks). Nobody waits for them.
public struct Report: Sendable, Equatable {
    /// The call after the commit; nil for presence.
    public let call: Call?
    /// When it happened.
    public let at: Moment
    /// Who did it; nil for presence.
    public let actor: Actor?
    /// What invitees are told who are cancelled by it.
    public let cancelText: String?
    /// See `Kind`.
    public let kind: Kind
    /// What is known of the users of the call at the time of the report.
    public var facts: [UserFacts]
    /// Who brought it about (G71).
    public let cause: Cause

    /// Tells of `kind` in `call`.
    public init(
        call: Call?, at: Moment, actor: Actor? = nil, kind: Kind, facts: [UserFacts] = [],
        cancelText: String? = nil, cause: Cause = .nobody
    ) {
        self.call = call
        self.at = at
        self.actor = actor
        self.cancelText = cancelText
        self.kind = kind
        self.facts = facts
        self.cause = cause
    }

    /// Whether there is a hook for it.
    public var isForHooks: Bool {
        if case .notice = kind { false } else { true }
    }

    /// What happened.
    public enum Kind: Sendable, Equatable {
        /// `on.accepted`.
        case accepted(UserID)
        /// `on.rejected`.
        case rejected(UserID, Participant.Reason)
        /// `on.cancelled`; nil: by a timer or a policy.
        case cancelled(by: UserID?)
        /// `on.timeout`.
        case timeout([UserID])
        /// `on.undelivered`.
        case undelivered([UserID])
        /// `on.participant`; nil: was not in the call.
        case participant(UserID, from: Participant.State?, to: Participant.State)
        /// `on.ended`.
        case ended
        /// `on.signal`; `data` is one JSON value.
        case signal(from: UserID, to: UserID?, data: [UInt8])
        /// `on.presence`.
        case presence(UserID, online: Bool)
        /// What devices are told beside the changes of participants: for other systems, no hook
        /// hears of it.
        case notice(CallEvent.Kind)
    }
}

/// Hooks that some plugin has: what nobody listens to is neither asked nor told.
public struct Hooks: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// `on.dial`.
    public static let dial = Hooks(rawValue: 1 << 0)
    /// `on.extended_data`, asked with `"in"`.
    public static let incomingData = Hooks(rawValue: 1 << 1)
    /// `on.extended_data`, asked with `"out"`.
    public static let outgoingData = Hooks(rawValue: 1 << 2)
    /// `on.token`.
    public static let token = Hooks(rawValue: 1 << 3)
    /// Any report hook but `on.presence` and `on.signal`.
    public static let reports = Hooks(rawValue: 1 << 4)
    /// `on.presence`.
    public static let presence = Hooks(rawValue: 1 << 5)
    /// `on.signal`.
    public static let signal = Hooks(rawValue: 1 << 6)
    /// `on.join`.
    public static let join = Hooks(rawValue: 1 << 7)
}
