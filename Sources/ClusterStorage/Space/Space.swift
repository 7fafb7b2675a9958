// The row that says who may write: the only judge.

import CallModel
import ClusterCore
import StoreContract

/// The calls of one operator that never meet those of another. This version serves one.
public struct Space: Sendable, Equatable {
    /// Its number in all tables.
    let id: Int64
    /// Its name.
    public let name: String

    /// The name of the one that is served.
    public static let usual = "default"

    /// The space `name`.
    ///
    /// - Throws: `noSchema` when there is none.
    init(_ name: String, by connection: PostgresConnection) throws(StoreError) {
        do throws(PostgresFailure) {
            connection.query("SELECT id FROM space WHERE name = $1", .text(name))
            guard let row = try connection.finish().first?.first else {
                throw PostgresFailure(
                    code: PostgresFailure.noSuchTable, text: "there is no space \(name)")
            }
            (id, self.name) = (row.integer(0), name)
        } catch {
            throw error.error(of: connection.address.name, "looking for the space")
        }
    }

    /// Makes the space `name` if there is none.
    static func make(_ name: String, by connection: PostgresConnection) throws(StoreError) {
        do throws(PostgresFailure) {
            connection.query(
                """
                INSERT INTO space (id, name, epoch, owner, token, clean, released, successor)
                SELECT nextval('space_id'), $1, 0, '', '', true, true, ''
                WHERE NOT EXISTS (SELECT 1 FROM space WHERE name = $1)
                ON CONFLICT DO NOTHING
                """, .text(name))
            connection.query(
                """
                INSERT INTO history SELECT id, 0 FROM space WHERE name = $1
                ON CONFLICT DO NOTHING
                """, .text(name))
            connection.query(
                """
                INSERT INTO beat SELECT id, 0, NULL FROM space WHERE name = $1
                ON CONFLICT DO NOTHING
                """, .text(name))
            connection.query(
                """
                INSERT INTO term (space, epoch, owner) SELECT id, 0, '' FROM space WHERE name = $1
                ON CONFLICT DO NOTHING
                """, .text(name))
            try connection.finish()
        } catch {
            throw error.error(of: connection.address.name, "making the space")
        }
    }
}

extension LeaseRow {
    static let read = PostgresStatement(
        "space",
        """
        SELECT s.epoch, s.owner, s.token, b.beat, s.released::int::bigint, s.successor,
        (s.importing IS NOT NULL)::int::bigint, (b.wish IS NOT NULL)::int::bigint
        FROM space AS s JOIN beat AS b ON b.space = s.id WHERE s.id = $1
        """)

    init(_ row: PostgresRow) {
        self.init(
            term: Term(owner: row.text(1), epoch: UInt32(clamping: row.integer(0))),
            token: row.bytes(2), beat: row.integer(3), isReleased: row.integer(4) == 1,
            successor: row.text(5), isImporting: row.integer(6) == 1)
        isWished = row.integer(7) == 1
    }
}
