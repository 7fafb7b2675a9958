// How many bytes each user sends: to read them costs time, whatever follows from it.

import CallModel

/// Counts the bytes that users send within a short period. What is beyond the share of a period
/// counts for those that follow: over a longer time nobody is read faster than their share.
public struct ReceivedBytes: Sendable {
    private var counts: [UserID: Int] = [:]

    /// Nobody has sent anything.
    public init() {}

    /// Whether nothing counts any more.
    public var isEmpty: Bool { counts.isEmpty }

    /// A user sent `count` bytes.
    ///
    /// - Returns: whether they are over their `share` now.
    public mutating func note(_ count: Int, of user: UserID, share: Int) -> Bool {
        counts[user, default: 0] += count
        return isOver(user, share: share)
    }

    /// Whether a user sent more than their `share`.
    public func isOver(_ user: UserID, share: Int) -> Bool { counts[user, default: 0] > share }

    /// The period is over: each user has another `share`.
    public mutating func endPeriod(share: Int) {
        counts = counts.compactMapValues { $0 > share ? $0 - share : nil }
    }
}
