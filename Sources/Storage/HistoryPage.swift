// Pages of all ended calls.

import CallModel
import StoreContract

/// A page of ended calls while it grows. It ends when it is full, or when so many calls were looked
/// at that others wait.
package struct HistoryPageBuilder {
    private let query: HistoryQuery
    private let scanMax: Int
    private var scanned = 0
    private var lastLooked: CallID?
    package private(set) var page = CallPage()

    package init(_ query: HistoryQuery, scanMax: Int) {
        self.query = query
        self.scanMax = max(1, scanMax)
    }

    /// Looks at the call that ended next before, which `read` gives if it can be read; false: the
    /// page ends before it.
    package mutating func look<Failure: Error>(
        at id: CallID, _ read: () throws(Failure) -> Call?
    ) throws(Failure) -> Bool {
        guard scanned < scanMax, page.calls.count < query.limit else {
            page.cursor = lastLooked
            return false
        }
        scanned += 1
        if let call = try read(), query.admits(call) { page.calls.append(call) }
        lastLooked = id
        return true
    }
}

extension StoreReader {
    package func history(_ query: HistoryQuery) throws(StoreError) -> CallPage {
        var builder = HistoryPageBuilder(query, scanMax: limits.pageScanMax)
        var damage: [StoreError] = []
        let calls = try connection.prepare(
            """
            SELECT id, reason, record FROM ended_call
            WHERE place < ifnull((SELECT place FROM ended_call WHERE id = ?1), ?2)
            ORDER BY place DESC
            """, for: "listing ended calls")
        // A call that is kept no more was the last one of its page's end.
        let end: Int64 = query.before == nil ? .max : 0
        try calls.rows(query.before.map { .id($0) } ?? .null, .integer(end)) {
            (row) throws(StoreError) in
            guard let id = row.id(0) else { return true }
            return try builder.look(at: id) { () throws(StoreError) in
                guard query.reason == nil || query.reason?.rawValue == row.text(1) else {
                    return nil
                }
                return try damage.noting { () throws(StoreError) in
                    try connection.call(of: row, id: 0, record: 2)
                }
            }
        }
        return builder.page.with(damage)
    }
}

extension [StoreError] {
    /// What `read` gives; a damaged record is noted here and left out.
    package mutating func noting(
        _ read: () throws(StoreError) -> Call?
    ) throws(StoreError) -> Call? {
        do throws(StoreError) {
            return try read()
        } catch {
            guard error.kind == .damagedRecord else { throw error }
            append(error)
            return nil
        }
    }
}

extension CallPage {
    /// The page, with the calls that were left out because their records are damaged.
    package func with(_ damage: [StoreError]) -> CallPage {
        var page = self
        page.damage = damage
        return page
    }
}
