// Reads live calls after a start: page by page, or those of some users at once.

import CallModel
import StoreContract

/// What is asked of the tables for it.
final class LiveCallStatements {
    let page: Statement
    let ofUser: Statement

    init(_ connection: DatabaseConnection) throws(StoreError) {
        page = try connection.prepare(
            "SELECT id, record FROM live_call WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
            for: "reading live calls")
        // History older than every live call is left out.
        ofUser = try connection.prepare(
            """
            SELECT p.call FROM participation AS p JOIN live_call AS l ON l.id = p.call
            WHERE p.user = ?1 AND p.call > ?2 AND p.call <= ?3
            AND p.call >= (SELECT min(id) FROM live_call) ORDER BY p.call LIMIT ?4
            """, for: "reading live calls")
    }
}

extension StoreReader {
    package func liveCalls(
        _ query: LiveCallQuery
    ) throws(StoreError) -> (found: LiveCalls, damage: [StoreError]) {
        // One transaction: all of it as of one moment.
        try begin.run()
        defer { try? end.run() }
        let isOfAll = query.users.isEmpty && query.calls.isEmpty
        return isOfAll ? try page(query) : try some(query)
    }

    private func page(
        _ query: LiveCallQuery
    ) throws(StoreError) -> (found: LiveCalls, damage: [StoreError]) {
        var found = LiveCalls()
        var damage: [StoreError] = []
        var count = 0
        var last: CallID?
        try live.page.rows(
            .id(query.after ?? .first), .id(query.last), .integer(Int64(query.limit))
        ) { (row) throws(StoreError) in
            (count, last) = (count + 1, row.id(0) ?? last)
            try take(row, &found, &damage)
            return true
        }
        if count == query.limit { found.lookedUpTo = last }
        return (found, damage)
    }

    private func some(
        _ query: LiveCallQuery
    ) throws(StoreError) -> (found: LiveCalls, damage: [StoreError]) {
        var ids = Set(query.calls.filter { query.covers($0) })
        for user in query.users {
            try live.ofUser.rows(
                .text(user.text), .id(query.after ?? .first), .id(query.last),
                .integer(Int64(query.limit))
            ) { row in
                if let id = row.id(0) { ids.insert(id) }
                return true
            }
        }
        let names = Set(query.users.map(\.text))
        try recentParticipations.rows { (row) throws(StoreError) in
            try connection.participations(in: row) { one in
                guard names.contains(String(decoding: one.user, as: UTF8.self)) else { return }
                let id = one.call
                if query.covers(id) { ids.insert(id) }
            }
            return true
        }
        var found = LiveCalls()
        var damage: [StoreError] = []
        let chosen = ids.sorted().prefix(query.limit)
        for id in chosen {
            _ = try liveCall.first(.id(id)) { (row) throws(StoreError) in
                try take(row, &found, &damage)
            }
        }
        if chosen.count == query.limit { found.lookedUpTo = chosen.last }
        return (found, damage)
    }

    /// Adds the call in a row of id and record; a damaged one is noted and left out, because it
    /// must not keep all others from being loaded.
    private func take(
        _ row: Row, _ found: inout LiveCalls, _ damage: inout [StoreError]
    ) throws(StoreError) {
        let call = try damage.noting { () throws(StoreError) in
            try connection.call(of: row, id: 0, record: 1)
        }
        if let call { found.calls.append(call) }
    }
}

extension CallID {
    /// The id before all others.
    fileprivate static let first = CallID(high: 0, low: 0)
}
