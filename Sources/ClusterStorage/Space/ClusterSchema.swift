// The tables, version by version.

import StoreContract

/// How the database gets from one version to the next: `callagent cluster init` runs the steps
/// that are missing. A step only adds, so that a node of the version before still works.
struct ClusterSchema: Sendable {
    /// The statements of each step.
    let steps: [[String]]

    /// What this program reads and writes.
    static let current = ClusterSchema(steps: [version1, version2, version3, version4, version5])

    var version: Int { steps.count }

    /// How long another one who makes them is waited for, in milliseconds.
    private static let lockPatience = 10_000

    /// Makes the tables, or adds what is missing: all of it, or nothing. A second one at the same
    /// time waits, and finds what the first one made.
    func migrate(_ connection: PostgresConnection) throws(StoreError) {
        do throws(PostgresFailure) {
            connection.query("BEGIN")
            connection.query("SET LOCAL lock_timeout = \(Self.lockPatience)")
            connection.query("SELECT pg_advisory_xact_lock(7305803)")
            connection.query("CREATE SCHEMA IF NOT EXISTS callagent")
            connection.query(
                """
                CREATE TABLE IF NOT EXISTS callagent.migration (
                version bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())
                """)
            try connection.finish()
            let found = try installed(connection)
            guard found <= version else { throw PostgresFailure.newer(found, version) }
            for step in found..<version {
                for statement in steps[step] { connection.query(statement) }
                connection.query("INSERT INTO migration VALUES (\(step + 1))")
            }
            connection.query("COMMIT")
            try connection.finish()
        } catch {
            connection.query("ROLLBACK")
            _ = try? connection.finish()
            throw self.error(error, connection, "making the tables")
        }
    }

    /// Whether this program can work with the tables that are there.
    ///
    /// - Throws: `noSchema`, `newer`, or `other` when `callagent cluster init` must be run.
    func require(_ connection: PostgresConnection) throws(StoreError) {
        do throws(PostgresFailure) {
            let found = try installed(connection)
            guard found <= version else { throw PostgresFailure.newer(found, version) }
            guard found == version else {
                throw PostgresFailure(
                    code: "-",
                    text: "the tables are of version \(found), and version \(version) is needed: "
                        + "run callagent cluster init")
            }
        } catch {
            throw self.error(error, connection, "looking at the tables")
        }
    }

    private func installed(_ connection: PostgresConnection) throws(PostgresFailure) -> Int {
        connection.query("SELECT coalesce(max(version), 0)::bigint FROM migration")
        return Int(try connection.finish().first?.first?.integer(0) ?? 0)
    }

    private func error(
        _ failure: PostgresFailure, _ connection: PostgresConnection, _ operation: String
    ) -> StoreError {
        let name = connection.address.name
        guard failure.code == PostgresFailure.newerCode, let found = Int(failure.text) else {
            return failure.error(of: name, operation)
        }
        return StoreError(
            .newer(found: found, known: version), path: name, operation: operation)
    }
}

extension PostgresFailure {
    fileprivate static let newerCode = "newer"

    fileprivate static func newer(_ found: Int, _ known: Int) -> PostgresFailure {
        PostgresFailure(code: newerCode, text: "\(found)", place: nil)
    }
}

extension ClusterSchema {
    // The trace of the request that brought an event about, which its receiver is told.
    private static let version5 = ["ALTER TABLE webhook ADD COLUMN trace bytea"]

    // Whether a node may own.
    private static let version4 = [
        "ALTER TABLE node ADD COLUMN eligible boolean NOT NULL DEFAULT true"
    ]

    // Where other nodes reach a node, and to which it has links.
    private static let version3 = [
        """
        ALTER TABLE node ADD COLUMN link bytea NOT NULL DEFAULT '',
          ADD COLUMN links bytea NOT NULL DEFAULT ''
        """
    ]

    // While `importing` is set nobody owns: it is where the import comes from. What an owner saw
    // of the database tells later ones whether it is another one now.
    private static let version2 = [
        "ALTER TABLE space ADD COLUMN importing bytea",
        "ALTER TABLE term ADD COLUMN timeline bigint, ADD COLUMN synchronous boolean",
        """
        ALTER TABLE node ADD COLUMN has_left boolean NOT NULL DEFAULT false,
          ADD COLUMN settings bytea NOT NULL DEFAULT ''
        """,
    ]

    // Text of clients is bytea, because text cannot hold NUL. The row of `space` is the judge of
    // who may write; it changes only at takeovers and ends, because a row that every turn changes
    // grows under a long snapshot, and a beat must not wait for a turn. So what each turn has to
    // leave behind is a row of `turn`. Ended calls and participations lie in a partition for each
    // day of their calls' ids, and are forgotten by `history.horizon`: a partition is dropped when
    // all of it is behind that.
    private static let version1 = [
        """
        CREATE TABLE space (
          id bigint PRIMARY KEY, name bytea NOT NULL UNIQUE, epoch bigint NOT NULL,
          owner bytea NOT NULL, token bytea NOT NULL, writer_pid bigint,
          writer_start timestamptz, clean boolean NOT NULL, released boolean NOT NULL,
          successor bytea NOT NULL)
        """,
        "ALTER TABLE space SET (fillfactor = 20)",
        "CREATE SEQUENCE space_id",
        """
        CREATE TABLE term (
          space bigint NOT NULL, epoch bigint NOT NULL, owner bytea NOT NULL,
          at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (space, epoch))
        """,
        "CREATE TABLE beat (space bigint PRIMARY KEY, beat bigint NOT NULL, wish bytea)",
        "ALTER TABLE beat SET (fillfactor = 20)",
        """
        CREATE TABLE node (
          space bigint NOT NULL, name bytea NOT NULL, process bytea NOT NULL,
          program bytea NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (space, name))
        """,
        "ALTER TABLE node SET (fillfactor = 50)",
        "CREATE TABLE turn (space bigint NOT NULL, at bigint NOT NULL, job bigint NOT NULL)",
        "CREATE TABLE history (space bigint PRIMARY KEY, horizon bigint NOT NULL)",
        "CREATE SEQUENCE place",
        """
        CREATE TABLE live_call (
          space bigint NOT NULL, id bytea NOT NULL, record bytea NOT NULL, epoch bigint NOT NULL,
          PRIMARY KEY (space, id))
        """,
        """
        CREATE TABLE ended_call (
          space bigint NOT NULL, id bytea NOT NULL, place bigint NOT NULL,
          ended_at bigint NOT NULL, reason bytea NOT NULL, record bytea NOT NULL,
          epoch bigint NOT NULL, PRIMARY KEY (space, id)) PARTITION BY RANGE (id)
        """,
        "CREATE INDEX ended_call_place ON ended_call (space, place)",
        "CREATE TABLE ended_call_other PARTITION OF ended_call DEFAULT",
        """
        CREATE TABLE participation (
          space bigint NOT NULL, usr bytea NOT NULL, call bytea NOT NULL,
          PRIMARY KEY (space, usr, call)) PARTITION BY RANGE (call)
        """,
        "CREATE TABLE participation_other PARTITION OF participation DEFAULT",
        """
        CREATE TABLE missed_call (
          space bigint NOT NULL, usr bytea NOT NULL, call bytea NOT NULL, at bigint NOT NULL,
          PRIMARY KEY (space, usr, call))
        """,
        """
        CREATE TABLE person_name (
          space bigint NOT NULL, usr bytea NOT NULL, name bytea NOT NULL, origin bigint NOT NULL,
          PRIMARY KEY (space, usr))
        """,
        """
        CREATE TABLE kept_reply (
          space bigint NOT NULL, usr bytea NOT NULL, key bytea NOT NULL, place bigint NOT NULL,
          at bigint NOT NULL, body_hash bigint NOT NULL, reply bytea NOT NULL,
          PRIMARY KEY (space, usr, key))
        """,
        "CREATE INDEX kept_reply_place ON kept_reply (space, place)",
        """
        CREATE TABLE registration (
          space bigint NOT NULL, usr bytea NOT NULL, device bytea NOT NULL,
          provider bytea NOT NULL, token bytea NOT NULL, environment bytea,
          registered_at bigint NOT NULL, PRIMARY KEY (space, usr, device, provider))
        """,
        // Tokens of browsers are long, and an index row must not be.
        "CREATE INDEX registration_token ON registration (space, provider, sha256(token))",
        """
        CREATE TABLE push_job (
          space bigint NOT NULL, id bigint NOT NULL, call bytea NOT NULL, record bytea NOT NULL,
          PRIMARY KEY (space, id))
        """,
        """
        CREATE TABLE push_outcome (
          space bigint NOT NULL, call bytea NOT NULL, job bigint NOT NULL, usr bytea NOT NULL,
          device bytea NOT NULL, provider bytea NOT NULL, kind bytea NOT NULL,
          at bigint NOT NULL, result bytea NOT NULL,
          PRIMARY KEY (space, call, job, usr, device, provider))
        """,
        """
        CREATE TABLE webhook (
          space bigint NOT NULL, id bigint NOT NULL, endpoint bytea NOT NULL,
          call bytea NOT NULL, type bytea NOT NULL, at bigint NOT NULL, body bytea NOT NULL,
          state bytea NOT NULL, attempts bigint NOT NULL, due_at bigint NOT NULL,
          last_error bytea, caller bytea NOT NULL, usr bytea NOT NULL, PRIMARY KEY (space, id))
        """,
        "CREATE INDEX webhook_state ON webhook (space, state, id)",
        """
        CREATE INDEX webhook_turn ON webhook (space, endpoint, caller, id)
          WHERE state = '\\x6f70656e'
        """,
        """
        CREATE TABLE timer (
          space bigint NOT NULL, id bigint NOT NULL, plugin bytea NOT NULL, name bytea NOT NULL,
          call bytea, due_at bigint NOT NULL, data bytea NOT NULL, PRIMARY KEY (space, id))
        """,
        """
        CREATE TABLE plugin_value (
          space bigint NOT NULL, plugin bytea NOT NULL, key bytea NOT NULL, value bytea NOT NULL,
          expires_at bigint, PRIMARY KEY (space, plugin, key))
        """,
        """
        CREATE INDEX plugin_value_expiry ON plugin_value (space, expires_at)
          WHERE expires_at IS NOT NULL
        """,
        """
        CREATE TABLE generation (
          space bigint NOT NULL, name bytea NOT NULL, place bigint NOT NULL,
          activated_at bigint NOT NULL, rolled_back_at bigint, PRIMARY KEY (space, name))
        """,
        """
        CREATE TABLE generation_file (
          space bigint NOT NULL, generation bytea NOT NULL, place bigint NOT NULL,
          path bytea NOT NULL, source bytea NOT NULL, PRIMARY KEY (space, generation, place))
        """,
    ]
}
