// Reads what people are called, whom they have met, and the ended calls of everybody.

import CallModel
import Storage
import StoreContract

extension ClusterReader {
    private static let readNames = PostgresStatement(
        "names",
        """
        SELECT usr, name, origin FROM person_name WHERE space = $1 AND usr > $2
        ORDER BY usr LIMIT $3
        """)
    private static let readMet = PostgresStatement(
        "met",
        """
        SELECT DISTINCT o.usr FROM
        (SELECT call FROM participation WHERE space = $1 AND usr = $2
        ORDER BY call DESC LIMIT $4) AS own
        JOIN participation AS o ON o.space = $1 AND o.call = own.call
        WHERE o.usr = ANY ($3::bytea[])
        """)
    private static let readHistory = PostgresStatement(
        "history",
        """
        SELECT id, reason, record, place FROM ended_call WHERE space = $1 AND place < $2
        AND place > (SELECT horizon FROM history WHERE space = $1) ORDER BY place DESC LIMIT $3
        """)
    private static let readPlace = PostgresStatement(
        "place",
        """
        SELECT place FROM ended_call WHERE space = $1 AND id = $2
        AND place > (SELECT horizon FROM history WHERE space = $1)
        """)

    func names(after user: UserID?, limit: Int) throws(StoreError) -> [StoredName] {
        let last = PostgresValue.text(user?.text ?? "")
        let rows = try ask("reading names", Self.readNames, id, last, .integer(Int64(limit)))
        return rows.compactMap { StoredName($0) }
    }

    func met(_ user: UserID, among others: [UserID]) throws(StoreError) -> [UserID] {
        guard !others.isEmpty else { return [] }
        let rows = try ask(
            "finding who was in a call", Self.readMet, id, .text(user.text),
            .lists(others.map { Array($0.text.utf8) }), .integer(Int64(limits.pageScanMax)))
        let met = Set(rows.map { UserID($0.text(0)) })
        return others.filter(met.contains)
    }

    func history(_ query: HistoryQuery) throws(StoreError) -> CallPage {
        var builder = HistoryPageBuilder(query, scanMax: limits.pageScanMax)
        var damage: [StoreError] = []
        var below = Int64.max
        if let before = query.before {
            let rows = try ask("listing ended calls", Self.readPlace, id, .id(before))
            // A call that is kept no more was the last one of its page's end.
            below = rows.first?.integer(0) ?? 0
        }
        var step = max(2, min(query.limit + 1, Self.stepFirst))
        while true {
            let rows = try ask(
                "listing ended calls", Self.readHistory, id, .integer(below),
                .integer(Int64(step)))
            for row in rows {
                guard let call = row.id(0) else { continue }
                let goesOn = try builder.look(at: call) { () throws(StoreError) in
                    try ended(row, query, &damage)
                }
                guard goesOn else { return builder.page.with(damage) }
                below = row.integer(3)
            }
            guard rows.count == step else { return builder.page.with(damage) }
            step = min(step * 2, Self.stepMax)
        }
    }

    /// The ended call in a row, if it may belong in the answer; a damaged one is left out.
    private func ended(
        _ row: PostgresRow, _ query: HistoryQuery, _ damage: inout [StoreError]
    ) throws(StoreError) -> Call? {
        guard query.reason == nil || query.reason?.rawValue == row.text(1) else { return nil }
        return try damage.noting { () throws(StoreError) in
            try call(of: row, id: 0, record: 2)
        }
    }
}
