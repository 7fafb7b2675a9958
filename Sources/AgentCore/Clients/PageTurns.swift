// Whose pages of calls are read and written next, over HTTP.

import Collections
import CallModel

/// A user may ask for pages over as many connections as they have. So many pages are under way as
/// one WebSocket may have; the others wait in order. Else one turn of the loop would write them
/// all.
public struct PageTurns<Page> {
    private struct Turn {
        var underWay = 0
        var waiting = Queue<Page>()
    }

    private var turns: [UserID: Turn] = [:]
    /// For whom those are that are under way.
    private var users: [RequestID: UserID] = [:]

    /// Nobody has asked.
    public init() {}

    /// Users who have asked for pages that they have not got.
    public var count: Int { turns.count }

    /// Whether a page for `user` is read now, because fewer than `most` of theirs are under way;
    /// else `next` gives the page back when it is its turn.
    public mutating func begins(
        _ page: Page, _ request: RequestID, for user: UserID, most: Int
    ) -> Bool {
        var turn = turns.removeValue(forKey: user) ?? Turn()
        defer { turns[user] = turn }
        guard turn.underWay < most else {
            turn.waiting.append(page)
            return false
        }
        turn.underWay += 1
        users[request] = user
        return true
    }

    /// A request was answered, if it was for a page.
    ///
    /// - Returns: whose pages may go on; nil: nobody's.
    public mutating func ends(_ request: RequestID) -> UserID? {
        guard !users.isEmpty, let user = users.removeValue(forKey: request) else { return nil }
        turns[user]?.underWay -= 1
        return user
    }

    /// Takes the page whose turn it is, which `begins` again; nil: there is none.
    public mutating func next(of user: UserID) -> Page? {
        if let page = turns[user]?.waiting.removeFirst() { return page }
        if turns[user]?.underWay == 0 { turns[user] = nil }
        return nil
    }
}
