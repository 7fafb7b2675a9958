// How many users everybody may invite in a minute (H95).

import CallModel
import CallWire
import EventLoop

/// Counts invitees. The loop's thread counts those of requests, the policy thread those to whom a
/// plugin forwards, at the moment when it decides: several that are decided at once cannot all have
/// the last place.
final class InvitationRates: Sendable {
    private struct State {
        var perMinute: Int
        var rates: [UserID: RequestRate] = [:]
        /// See `forget`.
        var mark = 1_024

        mutating func admit(_ count: Int, of user: UserID, at now: Moment) -> Milliseconds? {
            rates[user, default: RequestRate()].admit(count, of: perMinute, in: 60_000, at: now)
        }
    }

    private let state: Locked<State>

    /// Everybody may invite so many in a minute; 0: any number.
    init(perMinute: Int) { state = Locked(State(perMinute: perMinute)) }

    /// From now on so many.
    func configure(perMinute: Int) { state.withLock { $0.perMinute = perMinute } }

    /// A user invites so many at once.
    ///
    /// - Returns: nil, or how long it has to wait; then none of them counts.
    func admit(_ count: Int, of user: UserID, at now: Moment) -> Milliseconds? {
        state.withLock { $0.perMinute > 0 ? $0.admit(count, of: user, at: now) : nil }
    }

    /// A plugin forwards an invitation of a user to one more; whether it may. Nobody counts for
    /// whom nothing was counted: a development token.
    func admitForward(of user: UserID, at now: Moment) -> Bool {
        state.withLock {
            $0.perMinute == 0 || $0.rates[user] == nil || $0.admit(1, of: user, at: now) == nil
        }
    }

    /// Forgets those who have invited nobody for a while.
    func forget(at now: Moment) {
        state.withLock { $0.rates.forget(over: &$0.mark, at: now) }
    }
}

extension [UserID: RequestRate] {
    /// Looks at all of them only when there are twice as many as were worth remembering: else many
    /// users would make every look long.
    mutating func forget(over mark: inout Int, at now: Moment) {
        guard count > mark else { return }
        self = filter { !$0.value.isFull(at: now) }
        mark = Swift.max(1_024, 2 * count)
    }
}
