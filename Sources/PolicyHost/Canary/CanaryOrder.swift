// What the operator says of a canary.

import CallModel

/// For whom a canary decides, and after how much it goes back.
public struct CanaryOrder: Sendable, Equatable {
    /// An extent, and from when on it counts for whoever comes into a call.
    public struct Span: Sendable, Equatable {
        /// Which accounts.
        public let extent: CanaryExtent
        /// From when on.
        public internal(set) var since: Moment

        /// `extent` from `since` on.
        public init(_ extent: CanaryExtent, since: Moment) {
            (self.extent, self.since) = (extent, since)
        }
    }

    /// So many extents are known: calls from before the oldest of them go by that one's.
    public static let spansMax = 100

    /// The extents, the oldest first.
    public private(set) var spans: [Span]
    /// The one that counts for whoever comes into a call now.
    public private(set) var newest: Span
    /// Failures of its plugins after which it goes back, for any accounts; nil: it goes back only
    /// as in probation.
    public var abortOnFailure: Int?

    /// A canary that decides for `extent`.
    ///
    /// - Parameter since: when it begins; `PolicyHost.cut` may say it anew.
    public init(_ extent: CanaryExtent, abortOnFailure: Int? = nil, since: Moment = Moment(0)) {
        newest = Span(extent, since: since)
        spans = [newest]
        self.abortOnFailure = abortOnFailure
    }

    /// What was kept of an order; nil: there is no extent.
    public init?(_ spans: [Span], abortOnFailure: Int?) {
        guard let newest = spans.last else { return nil }
        (self.spans, self.newest) = (spans, newest)
        self.abortOnFailure = abortOnFailure
    }

    /// The same, which begins at `moment`.
    public func beginning(at moment: Moment) -> CanaryOrder {
        var order = self
        order.newest.since = moment
        order.spans[order.spans.count - 1].since = moment
        return order
    }

    /// Another extent counts from `since` on for whoever comes into a call then.
    public mutating func extend(to extent: CanaryExtent, since: Moment) {
        newest = Span(extent, since: since)
        spans.append(newest)
        if spans.count > Self.spansMax {
            // The first one begins where the one before it began.
            let oldest = spans.removeFirst()
            spans[0].since = min(oldest.since, spans[0].since)
        }
    }

    /// Whether it decides for `user`, who came into a call at `moment`.
    func decides(for user: UserID, comingAt moment: Moment) -> Bool {
        let span = spans.last { $0.since <= moment }
        return span?.extent.contains(user) ?? false
    }
}
