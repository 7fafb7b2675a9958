// How many users everybody may invite in a minute (H95).

import CallModel
import CallWire

/// Counts invitees: of requests, and those to whom a plugin forwards, when it decides.
public struct InvitationRates: Sendable {
    private var perMinute: Int
    private var rates: [UserID: RequestRate] = [:]
    /// See `forget`.
    private var mark = 1_024

    /// Everybody may invite so many in a minute; 0: any number.
    public init(perMinute: Int) { self.perMinute = perMinute }

    /// From now on so many.
    public mutating func configure(perMinute: Int) { self.perMinute = perMinute }

    /// A user invites so many at once.
    ///
    /// - Returns: nil, or how long they have to wait; then none of the invitees counts.
    public mutating func admit(_ count: Int, of user: UserID, at now: Moment) -> Milliseconds? {
        guard perMinute > 0 else { return nil }
        return rates[user, default: RequestRate()].admit(count, of: perMinute, in: 60_000, at: now)
    }

    /// How long a user would have to wait to invite one more; nil: not at all. Counts nothing.
    public func wait(of user: UserID, at now: Moment) -> Milliseconds? {
        guard perMinute > 0, var rate = rates[user] else { return nil }
        return rate.admit(1, of: perMinute, in: 60_000, at: now)
    }

    /// A plugin forwards an invitation of a user to one more; whether it may. Nothing is counted
    /// for a user for whom nothing was counted before: they have a development token.
    public mutating func admitForward(of user: UserID, at now: Moment) -> Bool {
        perMinute == 0 || rates[user] == nil || admit(1, of: user, at: now) == nil
    }

    /// Forgets those who have invited nobody for a while.
    public mutating func forget(at now: Moment) { rates.forget(over: &mark, at: now) }
}

extension [UserID: RequestRate] {
    /// Looks at all of them only when there are twice as many as were worth remembering: else many
    /// users would make every look long.
    public mutating func forget(over mark: inout Int, at now: Moment) {
        guard count > mark else { return }
        self = filter { !$0.value.isFull(at: now) }
        mark = Swift.max(1_024, 2 * count)
    }
}
