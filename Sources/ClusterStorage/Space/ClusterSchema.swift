// The tables, version by version.

import StoreContract

/// How the database gets from one version to the next: `callagent cluster init` runs the steps
/// that are missing, and nothing else does.
///
/// Machines are upgraded one after the other, so nodes of two versions work on the same tables. A
/// step only adds, and what is not used any more is removed one release later. Each step says what
/// a program must know to work with the tables that it makes; the tables keep that, because an
/// older program cannot know it.
struct ClusterSchema: Sendable {
    /// One version of the tables.
    struct Step: Sendable {
        /// The oldest version that a program must know to use these tables.
        let readableFrom: Int
        let statements: [String]

        init(readableFrom: Int, _ statements: [String]) {
            (self.readableFrom, self.statements) = (readableFrom, statements)
        }
    }

    let steps: [Step]

    /// What this program reads and writes.
    static let current = ClusterSchema(
        steps: [version1, version2, version3, version4, version5, version6])

    var version: Int { steps.count }

    /// How long another one who makes them is waited for, in milliseconds.
    private static let lockPatience = 10_000

    /// Makes the tables, or adds what is missing: all of it, or nothing. A second one at the same
    /// time waits, and finds what the first one made.
    ///
    /// - Throws: `newer` for tables that this program may not use, `other` where a living node
    ///   could not go on.
    @discardableResult
    func migrate(_ connection: PostgresConnection) throws(StoreError) -> ClusterTables {
        do throws(StoreError) {
            return try ask(connection, "making the tables") { () throws(PostgresFailure) in
                try begin(connection)
                var tables = try installed(connection)
                if tables.version < version {
                    try refuseWhereNodesCannotGoOn(from: tables, connection)
                    try runSteps(from: tables, connection)
                    tables = try installed(connection)
                }
                if tables.version == version { try refuseWhereTablesAreGone(connection) }
                connection.query("COMMIT")
                try connection.finish()
                return tables
            }
        } catch {
            connection.query("ROLLBACK")
            _ = try? connection.finish()
            throw error
        }
    }

    private func begin(_ connection: PostgresConnection) throws(PostgresFailure) {
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
    }

    private func runSteps(
        from tables: ClusterTables, _ connection: PostgresConnection
    ) throws(PostgresFailure) {
        connection.query("ALTER TABLE migration ADD COLUMN IF NOT EXISTS readable_from bigint")
        for number in tables.version..<version {
            for statement in steps[number].statements { connection.query(statement) }
            connection.query(
                "INSERT INTO migration (version, readable_from) VALUES ($1, $2)",
                .integer(Int64(number + 1)), .integer(Int64(steps[number].readableFrom)))
        }
        try connection.finish()
    }

    /// A node that runs must not find tables that it may not use.
    private func refuseWhereNodesCannotGoOn(
        from tables: ClusterTables, _ connection: PostgresConnection
    ) throws(PostgresFailure) {
        let needed = steps[tables.version...].map(\.readableFrom).max() ?? 0
        guard tables.version > 0 else { return }
        // Older tables have not all of these columns.
        connection.query(
            """
            SELECT name, program FROM node AS n
            WHERE clock_timestamp() - at < interval '10 seconds'
            AND NOT coalesce((to_jsonb(n) ->> 'has_left')::boolean, false)
            AND coalesce((to_jsonb(n) ->> 'tables')::bigint, $1) < $2 ORDER BY name
            """, .integer(Int64(tables.version)), .integer(Int64(needed)))
        let names = try connection.finish().first?.all.map { "\($0.text(0)) (\($0.text(1)))" } ?? []
        guard !names.isEmpty else { return }
        throw PostgresFailure(
            code: PostgresFailure.refused,
            text: "tables of version \(version) are for programs that know version \(needed), and "
                + "these running nodes do not: \(names.joined(separator: ", ")); stop them first, "
                + "or give them a program in between")
    }

    /// A table that somebody has dropped is not made again: what was in it would be forgotten.
    private func refuseWhereTablesAreGone(
        _ connection: PostgresConnection
    ) throws(PostgresFailure) {
        let made = steps.flatMap(\.statements).filter { $0.hasPrefix("CREATE TABLE ") }
        for name in made.compactMap({ $0.split(separator: " ").dropFirst(2).first }) {
            connection.query("SELECT count(to_regclass('callagent.\(name)'))")
            guard try connection.finish().first?.first?.integer(0) == 0 else { continue }
            throw PostgresFailure(
                code: PostgresFailure.refused,
                text: "the table \(name) is gone: stop the nodes and restore a backup of the "
                    + "schema, or drop the schema callagent to begin with nothing")
        }
    }

    /// Whether this program can work with the tables that are there.
    ///
    /// - Returns: what they are.
    /// - Throws: `noSchema`, `newer`, `older`.
    @discardableResult
    func require(_ connection: PostgresConnection) throws(StoreError) -> ClusterTables {
        let tables = try ask(connection, "looking at the tables") { () throws(PostgresFailure) in
            try installed(connection)
        }
        guard tables.version < version else { return tables }
        throw StoreError(
            .older(found: tables.version, known: version), path: connection.address.name,
            operation: "looking at the tables",
            detail: "run callagent cluster init of this program; nodes that run go on meanwhile")
    }

    /// The tables that are there, if this program does not come too late for them.
    private func installed(
        _ connection: PostgresConnection
    ) throws(PostgresFailure) -> ClusterTables {
        // Tables up to version 4 do not say who may use them: nobody else.
        connection.query(
            """
            SELECT version, coalesce((to_jsonb(m) ->> 'readable_from')::bigint, version)
            FROM migration AS m ORDER BY version DESC LIMIT 1
            """)
        guard let row = try connection.finish().first?.first else {
            return ClusterTables(version: 0, readableFrom: 0)
        }
        let tables = ClusterTables(
            version: Int(row.integer(0)), readableFrom: Int(row.integer(1)))
        guard tables.readableFrom <= version else { throw PostgresFailure.newer(tables) }
        return tables
    }

    private func ask<Result>(
        _ connection: PostgresConnection, _ operation: String,
        _ body: () throws(PostgresFailure) -> Result
    ) throws(StoreError) -> Result {
        do throws(PostgresFailure) {
            return try body()
        } catch {
            let name = connection.address.name
            guard let found = error.newerVersion else { throw error.error(of: name, operation) }
            throw StoreError(
                .newer(found: found, known: version), path: name, operation: operation,
                detail: error.text)
        }
    }
}

/// The tables of a database.
public struct ClusterTables: Sendable, Equatable, CustomStringConvertible {
    /// Their version; 0: there are none.
    public let version: Int
    /// The oldest version that a program must know to use them.
    public let readableFrom: Int

    /// One line for a person.
    public var description: String {
        "tables of version \(version)"
            + (readableFrom < version ? ", for programs from version \(readableFrom) on" : "")
    }
}

extension PostgresFailure {
    private static let newerCode = "newer "
    /// No server said that.
    fileprivate static let refused = "-"

    fileprivate static func newer(_ tables: ClusterTables) -> PostgresFailure {
        PostgresFailure(
            code: newerCode + "\(tables.version)",
            text: "they are for programs that know version \(tables.readableFrom): "
                + "install a newer callagent on this machine")
    }

    fileprivate var newerVersion: Int? {
        code.hasPrefix(Self.newerCode) ? Int(code.dropFirst(Self.newerCode.count)) : nil
    }
}
