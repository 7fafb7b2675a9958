// Deletes ended calls that are too old.

import CallModel
import StoreContract

/// Deletes what `CallTables` wrote.
final class HistoryTable {
    private let connection: DatabaseConnection
    private let participation: ParticipationTable
    private let oldest: Statement
    private let remove: Statement
    private let removeMissed: Statement
    private let removeOutcomes: Statement

    init(_ connection: DatabaseConnection, _ participation: ParticipationTable) throws(StoreError) {
        self.connection = connection
        self.participation = participation
        oldest = try connection.prepare(
            "SELECT place, id, ended_at, record FROM ended_call ORDER BY place LIMIT ?",
            for: "reading the oldest calls")
        remove = try connection.prepare(
            "DELETE FROM ended_call WHERE place = ?", for: "removing an old call")
        removeMissed = try connection.prepare(
            "DELETE FROM missed_call WHERE user = ? AND call = ?", for: "removing an old call")
        removeOutcomes = try connection.prepare(
            "DELETE FROM push_outcome WHERE call = ?", for: "removing old push outcomes")
    }

    /// Removes calls that ended at `moment` or before, looking at the `step` oldest.
    ///
    /// - Returns: whether there may be more.
    func sweep(upTo moment: Moment, step: Int) throws(StoreError) -> Bool {
        var old: [(place: Int64, id: CallID?, users: [UserID])] = []
        try oldest.rows(.integer(Int64(step))) { row in
            guard row.moment(2) <= moment else { return false }
            // A damaged record must not stop the sweep: its index entries stay.
            let call = try? connection.call(of: row, id: 1, record: 3)
            old.append((row.integer(0), row.id(1), call?.participants.map(\.user) ?? []))
            return true
        }
        for (place, id, users) in old {
            try remove.run(.integer(place))
            guard let id else { continue }
            try removeOutcomes.run(.id(id))
            for user in users {
                try participation.forget(user, id)
                try removeMissed.run(.text(user.text), .id(id))
            }
        }
        return old.count == step
    }
}
