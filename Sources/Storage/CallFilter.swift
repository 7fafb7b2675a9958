// Which calls belong on a page of `call.list`.

import CallModel
import StoreContract

/// A query of one user, checked against whole calls.
package struct CallFilter {
    let user: UserID
    let query: ListQuery

    /// The `query` of `user`.
    package init(user: UserID, query: ListQuery) {
        (self.user, self.query) = (user, query)
    }

    /// Whether `call` belongs in the answer. An invitation that the policies still think about is
    /// not the invitee's to see (F57).
    func admits(_ call: Call) -> Bool {
        guard let participant = call.participant(user), participant.isVisible else { return false }
        if let before = query.before, call.id >= before { return false }
        if let state = query.state, call.state != state { return false }
        if let role = query.role, participant.role != role { return false }
        if let kind = query.kind, call.kind != kind { return false }
        if let peer = query.peer, call.participant(peer) == nil { return false }
        if let since = query.since, call.createdAt < since { return false }
        if let until = query.until, call.createdAt >= until { return false }
        guard !query.endReasons.isEmpty else { return true }
        return call.end.map { query.endReasons.contains($0.reason) } ?? false
    }

    /// Whether an ended call with this reason may belong in the answer.
    package func mayAdmit(ended reason: String) -> Bool {
        if let state = query.state, state != .ended { return false }
        return query.endReasons.isEmpty || query.endReasons.contains { $0.rawValue == reason }
    }

    /// Ids begin with the millisecond in which they were made: that of the call's creation, or
    /// shortly before while `on.dial` was asked. Only ids in this range are looked at, so that a
    /// long history is not read as a whole.
    package var range: (from: CallID, below: CallID) {
        let slack: Milliseconds = 60_000
        let from = query.since.map { Self.first(at: $0, plus: -slack) }
        let below = query.until.map { Self.first(at: $0, plus: slack) }
        let last = CallID(high: .max, low: .max)
        return (from ?? CallID(high: 0, low: 0), min(below ?? last, query.before ?? last))
    }

    /// The client may name any moment: the sum must not overflow before it is cut to the range of
    /// ids.
    private static func first(at moment: Moment, plus slack: Milliseconds) -> CallID {
        let latest: Int64 = 1 << 48 - 1
        let cut = max(0, min(moment.milliseconds, latest)) + slack
        return CallID(high: UInt64(max(0, min(cut, latest))) << 16, low: 0)
    }
}

/// A page while it grows.
package struct PageBuilder {
    private let filter: CallFilter
    private let bytesMax: Int
    private let scanMax: Int
    private var scanned = 0
    private var bytes = 0
    private var lastLooked: CallID?
    /// What it is so far.
    package private(set) var page = CallPage()

    /// An empty page of at most so many `bytes`, for which `scanMax` calls are looked at.
    package init(_ filter: CallFilter, bytes: Int, scanMax: Int) {
        self.filter = filter
        bytesMax = bytes
        self.scanMax = max(1, scanMax)
    }

    /// Looks at the next older call, which `read` gives if it may match; false: the page ends
    /// before it.
    package mutating func look<Failure: Error>(
        at id: CallID, _ read: () throws(Failure) -> Call?
    ) throws(Failure) -> Bool {
        guard scanned < scanMax else { return close() }
        scanned += 1
        if let call = try read(), filter.admits(call) {
            // Only a further call that matches shows that this page is not the last.
            guard page.calls.count < filter.query.limit else { return close() }
            let size = CallSize.estimate(call)
            if !page.calls.isEmpty, bytes + size > bytesMax { return close() }
            bytes += size
            page.calls.append(call)
        }
        lastLooked = id
        return true
    }

    private mutating func close() -> Bool {
        page.cursor = lastLooked
        return false
    }
}
