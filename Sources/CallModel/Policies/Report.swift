// What the policies are told without being asked.

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
    /// Who caused it (G71).
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
