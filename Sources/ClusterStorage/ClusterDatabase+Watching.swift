// What an owner looks at again and again: the other nodes, and whether the database is the same.

import CallModel
import ClusterCore
import StoreContract

/// What an owner saw.
public struct ClusterSight: Sendable, Equatable {
    /// The cluster now.
    public let state: ClusterState
    /// The timeline that was seen before this one; nil: there was none, or it is the same.
    public let timelineBefore: Int64?
    /// Whether commits of that one may be missing: no synchronous standby had every one of them.
    public let mayHaveLost: Bool
}

extension ClusterDatabase {
    /// Looks at the cluster that `grant` owns, and remembers what database it is.
    public func watch(
        as grant: Grant, silence: Milliseconds = 3_000
    ) throws(StoreError) -> ClusterSight {
        let state = try state(silence: silence)
        let id = PostgresValue.integer(try Space(name, by: link).id)
        let epoch = PostgresValue.integer(Int64(grant.term.epoch))
        return try ask("looking at the cluster") { () throws(PostgresFailure) in
            // A standby that became the primary may not have heard of the last terms.
            link.query(
                """
                SELECT timeline, synchronous::int::bigint FROM term
                WHERE space = $1 AND timeline IS NOT NULL ORDER BY epoch DESC LIMIT 1
                """, id)
            link.query(
                """
                UPDATE term SET timeline = $3, synchronous = ($4::bigint = 1)
                WHERE space = $1 AND epoch = $2
                AND (timeline, synchronous) IS DISTINCT FROM ($3, $4::bigint = 1)
                """, id, epoch, .integer(state.timeline), .integer(state.isSynchronous ? 1 : 0))
            let before = try link.finish().first?.first
            let isOther = before.map { $0.integer(0) != state.timeline } ?? false
            return ClusterSight(
                state: state, timelineBefore: isOther ? before?.integer(0) : nil,
                mayHaveLost: isOther && before?.integer(1) != 1)
        }
    }
}
