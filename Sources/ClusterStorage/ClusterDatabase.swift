// What an operator does with the database of a cluster: make it, fill it, look at it.

import CallModel
import ClusterCore
import Storage
import StoreContract

/// The state of a cluster.
public struct ClusterState: Sendable, Equatable {
    /// Who owns, since which takeover.
    public let term: Term
    /// Grows as long as the owner lives.
    public let beat: Int64
    /// Whether it has given up, so that nobody owns.
    public let isReleased: Bool
    /// Where an import comes from that is under way or did not end; nil: there is none.
    public let importing: String?
    /// All nodes that ever were, by name.
    public let nodes: [ClusterNodeState]
    /// Whether a commit waits for a synchronous standby of the database.
    public let isSynchronous: Bool
    /// Changes when a standby of the database becomes the primary.
    public let timeline: Int64
    /// The tables.
    public let tables: ClusterTables

    /// The names of settings that `node` has otherwise than the owner, in order.
    public func differing(_ node: ClusterNodeState) -> [String] {
        guard let owner = nodes.first(where: { $0.note.name == term.owner })?.note.settings else {
            return []
        }
        let mine = node.note.settings
        return Set(mine.keys).union(owner.keys).filter { mine[$0] != owner[$0] }.sorted()
    }
}

/// The database of a cluster, for tools.
public final class ClusterDatabase {
    let link: PostgresConnection
    let name: String

    /// Connects to the database at `address`.
    public init(
        at address: DatabaseAddress, space: String = Space.usual,
        patience: Milliseconds = 2_000
    ) throws(StoreError) {
        link = try PostgresConnection(to: address, patience: patience)
        name = space
    }

    /// Makes the tables, or what a newer program needs beside those that are there.
    ///
    /// - Returns: the tables that are there then.
    @discardableResult
    public func prepare() throws(StoreError) -> ClusterTables {
        // Making an index of a large table takes its time.
        try link.waitLonger(upTo: Self.longPatience)
        let tables = try ClusterSchema.current.migrate(link)
        try Space.make(name, by: link)
        return tables
    }

    /// How long something may take that no client waits for.
    static let longPatience: Milliseconds = 600_000

    /// What the cluster is like now.
    ///
    /// - Parameter silence: how long a living node may say nothing.
    public func state(silence: Milliseconds = 3_000) throws(StoreError) -> ClusterState {
        let tables = try ClusterSchema.current.require(link)
        let id = PostgresValue.integer(try Space(name, by: link).id)
        return try ask("looking at the cluster") { () throws(PostgresFailure) in
            link.run(LeaseRow.read, id)
            link.run(ClusterNodeState.read, id, .integer(silence))
            link.query(
                """
                SELECT (current_setting('synchronous_standby_names') <> ''
                AND current_setting('synchronous_commit') IN ('on', 'remote_write', 'remote_apply'))
                ::int::bigint,
                ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint
                """)
            link.query("SELECT importing FROM space WHERE id = $1", id)
            let rows = try link.finish()
            guard let first = rows[0].first else {
                throw PostgresFailure(text: "the space is gone")
            }
            let row = LeaseRow(first)
            return ClusterState(
                term: row.term, beat: row.beat, isReleased: row.isReleased,
                importing: rows[3].first?.optionalText(0),
                nodes: rows[1].all.map { ClusterNodeState($0) },
                isSynchronous: rows[2].first?.integer(0) == 1,
                timeline: rows[2].first?.integer(1) ?? 0, tables: tables)
        }
    }

    /// Asks the owner to give up to the node `target`; empty: to any other one. It hears of it with
    /// its next beat.
    public func askOwner(toGiveUpTo target: String) throws(StoreError) {
        let id = PostgresValue.integer(try Space(name, by: link).id)
        try ask("asking the owner") { () throws(PostgresFailure) in
            link.query("UPDATE beat SET wish = $2 WHERE space = $1", id, .text(target))
            try link.finish()
        }
    }

    /// Forgets a node that will not come back.
    ///
    /// - Throws: `other` when there is none of this name that is gone.
    public func forget(_ node: String) throws(StoreError) {
        let id = PostgresValue.integer(try Space(name, by: link).id)
        let isThere = try ask("forgetting a node") { () throws(PostgresFailure) in
            link.query(
                """
                DELETE FROM node WHERE space = $1 AND name = $2
                AND clock_timestamp() - at > interval '10 seconds' RETURNING name
                """, id, .text(node))
            return try link.finish().first?.count == 1
        }
        guard isThere else {
            throw StoreError(
                .other, path: link.address.name, operation: "forgetting a node",
                detail: "no node '\(node)' is gone for ten seconds")
        }
    }

    func ask<Result>(
        _ operation: String, _ body: () throws(PostgresFailure) -> Result
    ) throws(StoreError) -> Result {
        do throws(PostgresFailure) {
            return try body()
        } catch {
            throw error.error(of: link.address.name, operation)
        }
    }
}
