// How much each user says: reading it costs time, whatever follows from it.

import CallModel

/// Counts what users say within a short while, as bytes. What is beyond the share of a while counts
/// for those that follow: over a longer time nobody is heard more than its share.
public struct HeardBytes: Sendable {
    private var heard: [UserID: Int] = [:]

    /// Nobody has said anything.
    public init() {}

    /// Whether nothing counts any more.
    public var isEmpty: Bool { heard.isEmpty }

    /// A user said so many bytes. Returns whether that is more than its `share`.
    public mutating func note(_ count: Int, of user: UserID, share: Int) -> Bool {
        heard[user, default: 0] += count
        return heard[user, default: 0] > share
    }

    /// Whether a user said more than its `share`.
    public func isOver(_ user: UserID, share: Int) -> Bool {
        guard let count = heard[user] else { return false }
        return count > share
    }

    /// The while is over: each has another `share`.
    public mutating func endWhile(share: Int) {
        heard = heard.compactMapValues { $0 > share ? $0 - share : nil }
    }
}
