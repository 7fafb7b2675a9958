// Who caused something, so that its costs and failures are counted for that account alone.

/// The cause of a question, report, timer, job or request (G71): the account whose operation or
/// connection began it, and the account that made the call. Often the two are the same.
///
/// Fair turns, quotas, failure counts and probation all count by it, so that what one pair causes
/// never disturbs another one.
public struct Cause: Hashable, Sendable {
    /// The account whose operation or connection began it; nil: nobody (a timer, a start, a
    /// reload).
    public let user: UserID?
    /// The account that made the call; nil: nobody, or there is no call.
    public let caller: UserID?

    /// The cause of timers, a start and a reload.
    public static let nobody = Cause(nil, caller: nil)

    /// What `user` began in a call that `caller` made.
    public init(_ user: UserID?, caller: UserID?) {
        self.user = user
        self.caller = caller
    }

    /// The cause of what `user` does alone: their own call, their connection.
    public init(_ user: UserID) { self.init(user, caller: user) }

    /// Whether no account is behind it.
    public var isNobody: Bool { user == nil && caller == nil }
}
