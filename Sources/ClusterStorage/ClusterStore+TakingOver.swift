// Takes the space over from whoever has it.

import CallModel
import ClusterCore
import StoreContract

extension ClusterStore {
    // The row decides every race: the later takeover waits for the earlier one and then finds
    // another epoch.
    private static let take = PostgresStatement(
        "take",
        """
        WITH taken AS (UPDATE space SET epoch = $2, owner = $3, token = $4,
        released = false, successor = '',
        writer_pid = pg_backend_pid(), writer_start =
        (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())
        WHERE id = $1 AND (epoch < $2 OR epoch = $2 AND owner = $3) RETURNING epoch, owner)
        INSERT INTO term (space, epoch, owner) SELECT $1, epoch, owner FROM taken
        ON CONFLICT DO NOTHING
        """)
    private static let serve = PostgresStatement(
        "serve",
        """
        UPDATE space SET writer_pid = pg_backend_pid(), writer_start =
        (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())
        WHERE id = $1 AND epoch = $2 AND owner = $3 AND token = $4
        """)
    // A transaction that was sent by half holds the row until its connection ends, and no time-out
    // of the server ends it.
    private static let endWriter = PostgresStatement(
        "end_writer",
        """
        SELECT pg_terminate_backend(a.pid) FROM space AS s JOIN pg_stat_activity AS a
        ON a.pid = s.writer_pid AND a.backend_start = s.writer_start
        WHERE s.id = $1 AND a.pid <> pg_backend_pid()
        """)

    /// Takes over in `term`, or begins to write where another connection has taken over.
    ///
    /// - Throws: `notOwner` when the space belongs to somebody else.
    func takeOver(in term: Term) throws(StoreError) -> Fence {
        let fence = options.grant.map { Fence($0.term, token: $0.token) } ?? Fence(term)
        let statement = options.grant == nil ? Self.take : Self.serve
        let held: LeaseRow?
        do throws(PostgresFailure) {
            try Self.ending(writerOf: space, on: link) { () throws(PostgresFailure) in
                link.run(
                    statement, .integer(space.id), .integer(Int64(fence.term.epoch)),
                    .text(fence.term.owner), .bytes(fence.token))
                try link.finish()
            }
            held = try row()
        } catch {
            throw error.error(of: link.address.name, "taking over")
        }
        guard let held, held.term == fence.term, held.token == fence.token else {
            throw fence.term.refusal(by: held?.term ?? .alone, at: link.address.name, "opening")
        }
        return fence
    }

    /// Runs `body`; where the row is locked, ends the connection that wrote last, and tries again.
    static func ending(
        writerOf space: Space, on link: PostgresConnection,
        _ body: () throws(PostgresFailure) -> Void
    ) throws(PostgresFailure) {
        for _ in 0..<takeoverAttempts {
            do throws(PostgresFailure) {
                return try body()
            } catch {
                guard error.code == PostgresFailure.lockNotAvailable else { throw error }
                link.run(endWriter, .integer(space.id))
                try link.finish()
            }
        }
        try body()
    }

    /// How often a locked row is tried again.
    private static let takeoverAttempts = 3
}
