// Removes what is too old.

import CallModel
import Storage
import StoreContract

extension ClusterStore {
    private static let oldest = PostgresStatement(
        "oldest_calls",
        """
        SELECT place, id, ended_at, CASE WHEN ended_at <= $4 THEN record END FROM ended_call
        WHERE space = $1 AND place > $2 ORDER BY place LIMIT $3
        """)
    private static let openWebhooks = PostgresStatement(
        "open_webhooks",
        """
        SELECT id, at FROM webhook WHERE space = $1 AND state = '\\x6f70656e' AND id > $2
        ORDER BY id LIMIT $3
        """)
    private static let moveHorizon = PostgresStatement(
        "move_horizon", "UPDATE history SET horizon = $2 WHERE space = $1")
    private static let removeMissed = PostgresStatement(
        "remove_missed",
        """
        DELETE FROM missed_call AS m USING unnest($2::bytea[], $3::bytea[]) AS t (usr, call)
        WHERE m.space = $1 AND m.usr = t.usr AND m.call = t.call
        """)
    private static let removeOutcomes = PostgresStatement(
        "remove_outcomes", "DELETE FROM push_outcome WHERE space = $1 AND call = ANY ($2::bytea[])")
    // Of days without a partition; elsewhere the whole partition is dropped.
    private static let removeOtherCalls = PostgresStatement(
        "remove_other_calls",
        "DELETE FROM ended_call_other WHERE space = $1 AND id = ANY ($2::bytea[])")
    private static let removeOtherParticipations = PostgresStatement(
        "remove_other_participations",
        """
        DELETE FROM participation_other AS p USING unnest($2::bytea[], $3::bytea[])
        AS t (usr, call) WHERE p.space = $1 AND p.usr = t.usr AND p.call = t.call
        """)
    private static let expireValues = PostgresStatement(
        "expire_values",
        """
        DELETE FROM plugin_value WHERE space = $1 AND (plugin, key) IN
        (SELECT plugin, key FROM plugin_value WHERE space = $1 AND expires_at <= $2 LIMIT $3)
        """)
    private static let removeWebhooks = PostgresStatement(
        "remove_webhooks",
        """
        DELETE FROM webhook WHERE space = $1 AND at <= $3 AND id IN
        (SELECT id FROM webhook WHERE space = $1 AND state = $2 ORDER BY id LIMIT $4)
        """)
    private static let giveUp = PostgresStatement(
        "give_up",
        """
        UPDATE webhook SET state = '\\x6661696c6564', last_error = coalesce(last_error, $5)
        WHERE space = $1 AND state = '\\x6f70656e' AND id > $2 AND id <= $3 AND due_at <= $4
        """)

    /// Calls that are to be forgotten, in the order of their ends.
    private struct Forgotten {
        var horizon: Int64
        var calls: [[UInt8]?] = []
        var users: [[UInt8]?] = []
        var callOfUser: [[UInt8]?] = []
        var looked = 0
    }

    /// The open webhooks behind the last one that was looked at.
    private struct LateWebhooks {
        var last: Int64
        var count = 0
        var isOld = false
    }

    /// Removes some of what is too old, in one transaction behind the fence.
    public func sweep(at now: Moment) throws(StoreError) -> Bool {
        try transaction("removing what is old") { () throws(PostgresFailure) in
            guard let fence else { return false }
            return try removeOld(at: now, fence)
        }
    }

    private func removeOld(at now: Moment, _ fence: Fence) throws(PostgresFailure) -> Bool {
        let (id, step) = (PostgresValue.integer(space.id), limits.sweepStep)
        let size = PostgresValue.integer(Int64(step))
        let patience = now + -limits.webhookPatience
        let (forgotten, late) = try look(upTo: now + -limits.retention, patience)
        fence.begin(options.fence, in: space, on: link)
        ReplyKeys.sendExpiry(upTo: now + -limits.keyLifetime, step: step, in: space, on: link)
        link.run(Self.expireValues, id, .moment(now), size)
        for state in [WebhookProgress.State.delivered, .failed] {
            link.run(
                Self.removeWebhooks, id, .text(state.rawValue),
                .moment(now + -limits.webhookRetention), size)
        }
        if late.count > 0 {
            link.run(
                Self.giveUp, id, .integer(lookedAt), .integer(late.last), .moment(patience),
                .text(WebhookProgress.neverTried))
        }
        send(forgotten)
        let rows = try link.finish()
        horizon = forgotten.horizon
        // A webhook is never due before its event: behind a young one there are only younger ones.
        let hasLate = late.count == step && late.isOld
        lookedAt = hasLate ? late.last : 0
        let hasKeys = keys.absorbExpiry(rows[1], step: step)
        let hasRows = [rows[2], rows[3], rows[4]].contains { $0.changed == step }
        return hasKeys || hasLate || hasRows || forgotten.calls.count == step
    }

    private func look(
        upTo moment: Moment, _ patience: Moment
    ) throws(PostgresFailure) -> (Forgotten, LateWebhooks) {
        let (id, size) = (PostgresValue.integer(space.id), Int64(limits.sweepStep))
        link.run(Self.oldest, id, .integer(horizon), .integer(size), .moment(moment))
        link.run(Self.openWebhooks, id, .integer(lookedAt), .integer(size))
        let rows = try link.finish()
        var forgotten = Forgotten(horizon: horizon)
        for row in rows[0].all {
            guard row.moment(2) <= moment else { break }
            forgotten.horizon = row.integer(0)
            forgotten.calls.append(row.bytes(1))
            // A damaged record must not stop the sweep.
            guard let call = row.id(1), let kept = try? CallRecord.read(row.raw(3), id: call)
            else { continue }
            for participant in kept.participants {
                forgotten.users.append(Array(participant.user.text.utf8))
                forgotten.callOfUser.append(call.stored)
            }
        }
        var late = LateWebhooks(last: lookedAt, count: rows[1].count)
        for row in rows[1].all {
            (late.last, late.isOld) = (row.integer(0), row.moment(1) <= patience)
        }
        return (forgotten, late)
    }

    private func send(_ forgotten: Forgotten) {
        guard !forgotten.calls.isEmpty else { return }
        let id = PostgresValue.integer(space.id)
        link.run(Self.moveHorizon, id, .integer(forgotten.horizon))
        link.run(Self.removeOutcomes, id, .lists(forgotten.calls))
        link.run(Self.removeOtherCalls, id, .lists(forgotten.calls))
        let users = PostgresValue.lists(forgotten.users)
        let callOfUser = PostgresValue.lists(forgotten.callOfUser)
        link.run(Self.removeMissed, id, users, callOfUser)
        link.run(Self.removeOtherParticipations, id, users, callOfUser)
    }

    /// Makes the partitions of today and the next days, if that is quick: else `DayKeeper` does,
    /// and until then calls of those days are in the partition for all calls without a day of their
    /// own.
    func makePartitions(at now: Moment, _ fence: Fence) throws(PostgresFailure) {
        guard try Partitions.isQuick(upTo: DayKeeper.quickSize, on: link) else { return }
        let partitions = try Partitions(on: link)
        for day in partitions.missing(at: now) {
            do throws(PostgresFailure) {
                fence.begin(options.fence, in: space, on: link)
                for table in Partitions.tables where !partitions.has(day, in: table) {
                    table.sendMaking(day, on: link)
                }
                try link.finish()
            } catch {
                guard !error.isLost, error.place != 0 else { throw error }
            }
        }
    }
}
