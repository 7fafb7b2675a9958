// Keeps the same trouble from filling the log.

import CallModel

/// Lets a line through once in a while and counts the others.
public struct RepeatedLine {
    /// How long the same trouble is silent after a line, in milliseconds.
    public static let silence: Milliseconds = 10_000
    /// Troubles that are told apart.
    private static let most = 1_000

    private var seen: [String: (until: Moment, left: Int)] = [:]

    /// Nothing was told.
    public init() {}

    /// How many lines about `trouble` were left out since the last one; nil: leave this out too.
    public mutating func admit(_ trouble: String, at now: Moment) -> Int? {
        if let last = seen[trouble], last.until > now {
            seen[trouble]?.left += 1
            return nil
        }
        let left = seen[trouble]?.left ?? 0
        if seen.count >= Self.most { seen = [:] }
        seen[trouble] = (now + Self.silence, 0)
        return left
    }
}
