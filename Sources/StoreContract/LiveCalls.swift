// How live calls come back from the store after a start: in pages, or those of some users at once.

import CallModel

/// A query for live calls that the store had at the start, in order of their ids.
public struct LiveCallQuery: Sendable, Equatable {
    /// Those behind this one; nil: from the first on.
    public var after: CallID?
    /// The last one that the store had at the start.
    public let last: CallID
    /// Those in which these users are or were, and these calls; both empty: all.
    public var users: [UserID] = []
    /// These calls; see `users`.
    public var calls: [CallID] = []
    /// At most so many.
    public let limit: Int

    /// The first `limit` of all up to `last`.
    public init(upTo last: CallID, limit: Int) {
        self.last = last
        self.limit = limit
    }

    /// Whether `id` is behind `after` and not behind `last`.
    public func covers(_ id: CallID) -> Bool { id <= last && after.map { id > $0 } ?? true }
}

/// Some live calls.
public struct LiveCalls: Sendable, Equatable {
    /// By their ids.
    public var calls: [Call] = []
    /// How far the store has looked; nil: there are no others.
    public var lookedUpTo: CallID?

    /// None, and no others.
    public init() {}
}
