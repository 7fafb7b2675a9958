// A node as it stands in the node table.

import ClusterCore
import StoreContract

/// One node, as `callagent cluster` shows it.
public struct ClusterNodeState: Sendable, Equatable {
    /// What it wrote about itself.
    public let note: NodeNote
    /// Whether it has done so within the last seconds, by the database's clock.
    public let isAlive: Bool
    /// Whether it ended as it should.
    public let hasLeft: Bool
    /// Which version of the tables its program knows.
    public let tables: Int

    /// Whether it is gone, and nobody ended it.
    public var isLost: Bool { !isAlive && !hasLeft }

    init(_ row: PostgresRow) {
        var note = NodeNote(
            row.text(0), process: row.text(1), program: row.text(2),
            settings: NodeNote.settings(row.text(5)), link: row.text(6))
        note.links = NodeNote.names(row.text(7))
        note.isEligible = row.integer(8) == 1
        (note.generation, note.whyNot) = (row.text(9), row.text(10))
        note.fingerprint = row.bytes(11)
        note.sees = NodeNote.names(row.text(13))
        self.note = note
        tables = Int(row.integer(12))
        isAlive = row.integer(3) == 1
        hasLeft = row.integer(4) == 1
    }

    static let read = PostgresStatement(
        "nodes",
        """
        SELECT name, process, program,
        (NOT has_left AND clock_timestamp() - at < $2::bigint * interval '1 ms')::int::bigint,
        has_left::int::bigint, settings, link, links, eligible::int::bigint,
        generation, why_not, fingerprint, tables, sees
        FROM node WHERE space = $1 ORDER BY name
        """)

    /// Where it is reached.
    public var place: NodePlace { NodePlace(link: note.link, fingerprint: note.fingerprint) }
}

extension ClusterView {
    /// Who sees whom in a cluster that `owner` owns, or did last.
    public init(owner: String, _ states: [ClusterNodeState]) {
        self.init(
            owner: owner,
            states.map { state in
                let note = state.note
                var node = SeenNode(note.name, reaches: Set(note.sees))
                // A front end needs no other way to the owner than its link. The links of an owner
                // are made by the others.
                if note.name != owner { node.reaches.formUnion(note.links) }
                node.isAlive = state.isAlive
                // An older program neither looks nor answers those who do.
                node.hasLink = !note.link.isEmpty && state.tables >= ClusterSchema.withSight
                node.mayOwn = note.isEligible && note.whyNot.isEmpty
                return node
            })
    }
}
