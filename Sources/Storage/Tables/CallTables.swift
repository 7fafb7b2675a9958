// Writes calls: live ones as they change, ended ones into history.

import CallModel
import JSON
import StoreContract

/// The tables `live_call`, `ended_call` and `missed_call`, and who is in the calls.
final class CallTables {
    private let connection: DatabaseConnection
    private let putLive: Statement
    private let removeLive: Statement
    private let putEnded: Statement
    private let participation: ParticipationTable
    private let putMissed: Statement
    private let removeMissedUpTo: Statement
    private let rewriteEnded: Statement
    private let removeMissed: Statement
    private let renameOutcomes: Statement
    private var writer = JSONWriter(capacity: 4_096)
    /// How many participants of each stored live call are indexed. Participants are only
    /// ever added at the end, so the rest of a call's list is what is new.
    private var indexed: [CallID: UInt16] = [:]
    /// The last live call at the start. Of calls up to it nothing is known in memory until they
    /// change.
    private var lastOfBefore: CallID?

    init(_ connection: DatabaseConnection, _ participation: ParticipationTable) throws(StoreError) {
        self.connection = connection
        self.participation = participation
        putLive = try connection.prepare(
            """
            INSERT INTO live_call (id, record, epoch) VALUES (?, ?, ?)
            ON CONFLICT DO UPDATE SET record = excluded.record, epoch = excluded.epoch
            """, for: "storing a call")
        removeLive = try connection.prepare(
            "DELETE FROM live_call WHERE id = ?", for: "removing a live call")
        putEnded = try connection.prepare(
            """
            INSERT INTO ended_call (id, ended_at, reason, record, epoch) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET record = excluded.record, epoch = excluded.epoch
            """, for: "storing an ended call")
        putMissed = try connection.prepare(
            "INSERT OR REPLACE INTO missed_call VALUES (?, ?, ?)", for: "storing a missed call")
        removeMissedUpTo = try connection.prepare(
            "DELETE FROM missed_call WHERE user = ? AND at <= ?", for: "removing missed calls")
        rewriteEnded = try connection.prepare(
            "UPDATE ended_call SET record = ? WHERE id = ?", for: "forgetting somebody in a call")
        removeMissed = try connection.prepare(
            "DELETE FROM missed_call WHERE user = ? AND call = ?",
            for: "forgetting somebody in a call")
        // Each device gets another name, because a row is found by it.
        renameOutcomes = try connection.prepare(
            """
            UPDATE push_outcome SET user = ?, device = ? || lower(hex(randomblob(8)))
            WHERE call = ? AND user = ?
            """, for: "forgetting somebody in a call")
    }

    /// Stores `call` as it is now, in the term of `epoch`.
    func put(_ call: Call, in epoch: UInt32) throws(StoreError) {
        writer.removeAll()
        CallRecord.write(call, to: &writer)
        let known = indexed[call.id]
        if let end = call.end {
            if known != nil || lastOfBefore.map({ call.id <= $0 }) ?? false {
                try removeLive.run(.id(call.id))
            }
            indexed[call.id] = nil
            try putEnded.run(
                .id(call.id), .moment(call.endedAt ?? call.createdAt), .text(end.reason.rawValue),
                .written(writer.written), .integer(Int64(epoch)))
        } else {
            try putLive.run(.id(call.id), .written(writer.written), .integer(Int64(epoch)))
            indexed[call.id] = UInt16(clamping: call.participants.count)
        }
        for participant in call.participants.dropFirst(Int(known ?? 0)) {
            participation.add(participant.user, call.id)
        }
    }

    /// `user` missed the call.
    func miss(_ user: UserID, _ call: CallID, at moment: Moment) throws(StoreError) {
        try putMissed.run(.text(user.text), .id(call), .moment(moment))
    }

    /// `user` saw what was missed up to `moment`.
    func see(_ user: UserID, upTo moment: Moment) throws(StoreError) {
        try removeMissedUpTo.run(.text(user.text), .moment(moment))
    }

    /// Keeps `call`, which has ended, without somebody who was in it.
    func forget(_ gone: Forgotten, in call: Call) throws(StoreError) {
        writer.removeAll()
        CallRecord.write(call, to: &writer)
        guard try rewriteEnded.count(.written(writer.written), .id(call.id)) > 0 else { return }
        let (user, substitute) = (SQLValue.text(gone.user.text), gone.substitute)
        try participation.forget(gone.user, call.id)
        participation.add(substitute, call.id)
        try removeMissed.run(user, .id(call.id))
        try renameOutcomes.run(
            .text(substitute.text), .text(Forgotten.prefix), .id(call.id), user)
    }

    /// The last live call; nil: there is none. Forgets what was known of live calls.
    func lastLive() throws(StoreError) -> CallID? {
        let last = try connection.prepare(
            "SELECT max(id) FROM live_call", for: "reading live calls")
        indexed = [:]
        lastOfBefore = try last.first { row in row.id(0) } ?? nil
        return lastOfBefore
    }
}

extension DatabaseConnection {
    /// The call whose id and record stand in these columns.
    func call(of row: Row, id: Int32, record: Int32) throws(StoreError) -> Call {
        guard let id = row.id(id) else {
            throw StoreError(
                .damagedRecord, path: path, operation: "reading a call",
                detail: "a call id has not 16 bytes")
        }
        do {
            return try CallRecord.read(row.raw(record), id: id)
        } catch {
            let field = error.field.isEmpty ? "" : ", field \(error.field)"
            throw StoreError(
                .damagedRecord, path: path, operation: "reading a call",
                detail: "call \(id)\(field): \(error.problem)")
        }
    }
}
