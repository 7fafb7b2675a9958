// Reads live calls after a takeover, and the pages of `call.list`.

import CallModel
import Storage
import StoreContract

extension ClusterReader {
    private static let readLive = PostgresStatement(
        "live",
        """
        SELECT id, record FROM live_call WHERE space = $1 AND id > $2 AND id <= $3
        ORDER BY id LIMIT $4
        """)
    // History older than every live call is left out. Each user is looked up alone, and no further
    // than the page goes: a database without statistics, as after a flood of calls, would read
    // whole tables to find the calls of one.
    private static let readLiveOfSome = PostgresStatement(
        "live_of_some",
        """
        SELECT l.id, l.record FROM (SELECT unnest($4::bytea[]) AS id
        UNION SELECT p.call FROM unnest($5::bytea[]) AS u(usr) CROSS JOIN LATERAL
        (SELECT call FROM participation WHERE space = $1 AND usr = u.usr
        AND call > $2 AND call <= $3
        AND call >= coalesce((SELECT id FROM live_call WHERE space = $1 ORDER BY id LIMIT 1), '')
        AND EXISTS (SELECT FROM live_call AS x WHERE x.space = $1 AND x.id = call OFFSET 0)
        ORDER BY call LIMIT $6) AS p) AS wanted
        CROSS JOIN LATERAL (SELECT id, record FROM live_call WHERE space = $1
        AND id = wanted.id AND id > $2 AND id <= $3 OFFSET 0) AS l
        ORDER BY l.id LIMIT $6
        """)

    func liveCalls(
        _ query: LiveCallQuery
    ) throws(StoreError) -> (found: LiveCalls, damage: [StoreError]) {
        let after = PostgresValue.bytes(query.after?.stored ?? [])
        let last = PostgresValue.id(query.last)
        let limit = PostgresValue.integer(Int64(query.limit))
        let rows: [PostgresRow]
        if query.users.isEmpty, query.calls.isEmpty {
            rows = try ask("reading live calls", Self.readLive, id, after, last, limit)
        } else {
            rows = try ask(
                "reading live calls", Self.readLiveOfSome, id, after, last,
                .lists(query.calls.map { $0.stored }),
                .lists(query.users.map { Array($0.text.utf8) }), limit)
        }
        var found = LiveCalls()
        var damage: [StoreError] = []
        for row in rows {
            do throws(StoreError) {
                found.calls.append(try call(of: row, id: 0, record: 1))
            } catch {
                // A damaged one must not keep all others from being loaded.
                damage.append(error)
            }
        }
        if rows.count == query.limit { found.lookedUpTo = rows.last?.id(0) }
        return (found, damage)
    }

    private static let readPage = PostgresStatement(
        "page",
        """
        SELECT p.call, l.record, e.reason, e.record FROM participation AS p
        LEFT JOIN live_call AS l ON l.space = $1 AND l.id = p.call
        LEFT JOIN ended_call AS e ON e.space = $1 AND e.id = p.call
        AND e.place > (SELECT horizon FROM history WHERE space = $1)
        WHERE p.space = $1 AND p.usr = $2 AND p.call >= $3 AND p.call < $4
        AND (l.record IS NOT NULL OR e.record IS NOT NULL) ORDER BY p.call DESC LIMIT $5
        """)

    func page(
        of user: UserID, matching query: ListQuery, bytes: Int
    ) throws(StoreError) -> CallPage {
        let filter = CallFilter(user: user, query: query)
        let range = filter.range
        var builder = PageBuilder(filter, bytes: bytes, scanMax: limits.pageScanMax)
        var damage: [StoreError] = []
        var below = range.below
        var step = max(2, min(query.limit + 1, Self.stepFirst))
        while true {
            let rows = try ask(
                "listing calls", Self.readPage, id, .text(user.text), .id(range.from),
                .id(below), .integer(Int64(step)))
            for row in rows {
                guard let call = row.id(0) else { continue }
                let goesOn = try builder.look(at: call) { () throws(StoreError) in
                    try listed(row, filter, &damage)
                }
                guard goesOn else { return builder.page.with(damage) }
                below = call
            }
            guard rows.count == step else { return builder.page.with(damage) }
            step = min(step * 2, Self.stepMax)
        }
    }

    /// Rows that are read at once: first few, because a record may be large, then more.
    static let stepFirst = 16
    static let stepMax = 500

    /// The call in a row of id, live record, end reason and ended record, if it may belong in the
    /// answer; a damaged one is noted and left out.
    private func listed(
        _ row: PostgresRow, _ filter: CallFilter, _ damage: inout [StoreError]
    ) throws(StoreError) -> Call? {
        try damage.noting { () throws(StoreError) in
            if !row.isNull(1) { return try call(of: row, id: 0, record: 1) }
            guard !row.isNull(3), filter.mayAdmit(ended: row.text(2)) else { return nil }
            return try call(of: row, id: 0, record: 3)
        }
    }
}
