// Writes the calls of a turn, who was in them, and who missed them.

import CallModel
import StoreContract

extension Turn {
    private static let putLive = PostgresStatement(
        "put_live",
        """
        INSERT INTO live_call (space, id, record, epoch)
        SELECT $1, id, record, $4 FROM unnest($2::bytea[], $3::bytea[]) AS t (id, record)
        ON CONFLICT (space, id) DO UPDATE SET record = excluded.record, epoch = excluded.epoch
        """)
    private static let removeLive = PostgresStatement(
        "remove_live", "DELETE FROM live_call WHERE space = $1 AND id = ANY ($2::bytea[])")

    // A call that was forgotten and changes once more is there again, behind all others.
    private static let putEnded = PostgresStatement(
        "put_ended",
        """
        INSERT INTO ended_call AS old (space, id, place, ended_at, reason, record, epoch)
        SELECT $1, id, nextval('place'), ended_at, reason, record, $6
        FROM unnest($2::bytea[], $3::bigint[], $4::bytea[], $5::bytea[])
        AS t (id, ended_at, reason, record)
        ON CONFLICT (space, id) DO UPDATE SET record = excluded.record, epoch = excluded.epoch,
        ended_at = CASE WHEN old.place <= $7 THEN excluded.ended_at ELSE old.ended_at END,
        reason = CASE WHEN old.place <= $7 THEN excluded.reason ELSE old.reason END,
        place = CASE WHEN old.place <= $7 THEN excluded.place ELSE old.place END
        """)
    private static let putParticipations = PostgresStatement(
        "put_participations",
        """
        INSERT INTO participation (space, usr, call)
        SELECT $1, usr, call FROM unnest($2::bytea[], $3::bytea[]) AS t (usr, call)
        ON CONFLICT DO NOTHING
        """)
    private static let putMissed = PostgresStatement(
        "put_missed",
        """
        INSERT INTO missed_call (space, usr, call, at)
        SELECT $1, usr, call, at FROM unnest($2::bytea[], $3::bytea[], $4::bigint[])
        AS t (usr, call, at)
        ON CONFLICT (space, usr, call) DO UPDATE SET at = excluded.at
        """)
    private static let removeSeen = PostgresStatement(
        "remove_seen",
        """
        DELETE FROM missed_call AS m USING unnest($2::bytea[], $3::bigint[]) AS t (usr, upto)
        WHERE m.space = $1 AND m.usr = t.usr AND m.at <= t.upto
        """)

    /// - Parameter horizon: the place up to which ended calls are forgotten.
    func sendCalls(in space: Space, _ epoch: UInt32, horizon: Int64, on link: PostgresConnection) {
        let (id, epoch) = (PostgresValue.integer(space.id), PostgresValue.integer(Int64(epoch)))
        if !live.ids.isEmpty {
            link.run(Self.putLive, id, .lists(live.ids), .lists(live.records), epoch)
        }
        if !ended.ids.isEmpty {
            link.run(Self.removeLive, id, .lists(ended.ids))
            link.run(
                Self.putEnded, id, .lists(ended.ids), .integers(ended.endedAt),
                .lists(ended.reasons), .lists(ended.records), epoch, .integer(horizon))
        }
        if !participations.isEmpty {
            link.run(
                Self.putParticipations, id, .lists(participations.map { Array($0.user.text.utf8) }),
                .lists(participations.map { $0.call.stored }))
        }
        if !seen.isEmpty {
            let all = seen.sorted { $0.key.text < $1.key.text }
            link.run(
                Self.removeSeen, id, .lists(all.map { Array($0.key.text.utf8) }),
                .integers(all.map { $0.value.milliseconds }))
        }
        if !missed.isEmpty {
            let all = missed.sorted {
                ($0.key.call, $0.key.user.text) < ($1.key.call, $1.key.user.text)
            }
            link.run(
                Self.putMissed, id, .lists(all.map { Array($0.key.user.text.utf8) }),
                .lists(all.map { $0.key.call.stored }),
                .integers(all.map { $0.value.milliseconds }))
        }
    }
}
