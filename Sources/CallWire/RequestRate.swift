// How many requests a user may make (B28).

import CallModel

/// A bucket of one second's requests that fills up steadily. It is kept as the one moment at which
/// it will be full again, so an idle one costs eight bytes.
public struct RequestRate: Sendable, Equatable {
    /// Microseconds since 1970.
    private var fullAt: Int64 = 0

    /// A full bucket.
    public init() {}

    /// Takes one request out of the bucket.
    ///
    /// - Parameters:
    ///   - perSecond: what the bucket holds, and what flows into it in a second; 0: no limit.
    ///   - now: the moment of the request.
    /// - Returns: nil, or how long to wait when the bucket is empty.
    public mutating func admit(perSecond: Int, at now: Moment) -> Milliseconds? {
        admit(1, of: perSecond, in: 1_000, at: now)
    }

    /// Takes `count` out of a bucket that holds `limit` and gets as many in `span`; 0: no limit.
    ///
    /// - Returns: nil, or how long to wait. A count larger than the bucket is never allowed; then
    ///   the result is `span`.
    public mutating func admit(
        _ count: Int, of limit: Int, in span: Milliseconds, at now: Moment
    ) -> Milliseconds? {
        guard limit > 0 else { return nil }
        let (now, span) = (now.milliseconds * 1_000, span * 1_000)
        guard count <= limit else { return span / 1_000 }
        let after = max(fullAt, now) + span * Int64(count) / Int64(limit)
        let excess = after - now - span
        guard excess <= 0 else { return (excess + 999) / 1_000 }
        fullAt = after
        return nil
    }

    /// Takes `count` more out, even if the bucket is empty: the next request waits longer.
    public mutating func charge(
        _ count: Int, of limit: Int, in span: Milliseconds, at now: Moment
    ) {
        guard limit > 0, count > 0 else { return }
        let since = max(fullAt, now.milliseconds * 1_000)
        fullAt = since + span * 1_000 * Int64(count) / Int64(limit)
    }

    /// Whether the bucket is as full as a new one.
    public func isFull(at now: Moment) -> Bool { fullAt <= now.milliseconds * 1_000 }

    /// The refusal of a request that must wait.
    public static func refusal(retryAfter: Milliseconds) -> Refusal {
        Refusal(.rateLimited, "too many requests", retryAfter: retryAfter)
    }
}
