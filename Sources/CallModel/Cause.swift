// Who began something, so that what it costs and what goes wrong is counted for them alone.

/// The cause of a question, report, timer, job or request (G71): the account whose operation or
/// connection began it, and the account that made the call. Often the two are the same.
///
/// Fair turns, quotas, failure counts and probation all go by it: what one pair brings about is
/// never felt by another one.
public struct Cause: Hashable, Sendable {
    /// Whose operation or connection began it; nil: nobody (a timer, a start, a reload).
    public let user: UserID?
    /// Who made the call; nil: nobody, or there is no call.
    public let caller: UserID?

    /// What begins by itself: timers, a start, a reload.
    public static let nobody = Cause(nil, caller: nil)

    /// What `user` began in a call that `caller` made.
    public init(_ user: UserID?, caller: UserID?) {
        self.user = user
        self.caller = caller
    }

    /// What `user` began alone: its own call, its connection.
    public init(_ user: UserID) { self.init(user, caller: user) }

    /// Whether there is no account behind it.
    public var isNobody: Bool { user == nil && caller == nil }
}
