// Brings a state directory in: all of it, or nothing that anybody would serve.

import CallModel
import ClusterCore
import Storage
import StoreContract

extension ClusterDatabase {
    /// Brings in everything that the state directory of a single server holds, live calls too.
    /// What is in the directory stays.
    ///
    /// From its first change to its end no node owns. If it fails it may be tried again, which
    /// begins anew, or be thrown away by `discardImport`.
    ///
    /// - Parameters:
    ///   - source: the store there, open and not in use.
    ///   - path: where it is, for people.
    ///   - progress: hears now and then how many changes are written.
    /// - Throws: `other` when the cluster has an owner or calls already.
    public func importAll(
        from source: StoreExport, at path: String = "",
        _ progress: @escaping (Int) -> Void = { _ in }
    ) throws(StoreError) {
        let grant = try beginImport(of: path)
        var options = ClusterStoreOptions()
        (options.space, options.patience, options.grant) = (name, Self.importPatience, grant)
        let store = try ClusterStore(at: link.address, options)
        // What is imported keeps to the limits that a node will have.
        store.limits = .unlimited
        let now = source.newest ?? Moment(0)
        _ = try store.restore(at: now, in: grant.term)
        var count = 0
        try source.read { (batch, at) throws(StoreError) in
            try store.commit(batch, at: at)
            count += batch.count
            progress(count)
        }
        try store.close()
        try endImport(grant, isClean: source.endedCleanly)
    }

    /// Throws away what an import that did not end has brought in.
    ///
    /// - Throws: `other` when there is none.
    public func discardImport() throws(StoreError) {
        guard try state().importing != nil else {
            throw refusal("there is no import that did not end")
        }
        try endImport(try beginImport(of: ""), isClean: true)
    }

    private static let importPatience: Milliseconds = 60_000

    /// Keeps all nodes out, and removes what an earlier import has left.
    private func beginImport(of path: String) throws(StoreError) -> Grant {
        try link.waitLonger(upTo: Self.longPatience)
        let state = try state()
        guard state.isReleased else { throw refusal("there is a living owner") }
        let space = try Space(name, by: link)
        let id = PostgresValue.integer(space.id)
        try lock(id)
        let isFree = state.importing != nil ? true : try isEmpty(id)
        guard isFree else {
            throw refusal("there are calls already")
        }
        let fence = Fence(Term(owner: "", epoch: state.term.epoch + 1))
        try ask("importing") { () throws(PostgresFailure) in
            let old = PostgresValue.integer(Int64(state.term.epoch))
            link.query(Self.claim, id, old, .bytes(fence.token), .text(path))
            guard try link.finish().first?.count == 1 else {
                throw PostgresFailure(code: "-", text: "a node was faster: it owns now")
            }
            fence.begin(.share, in: space, on: link)
            for table in Self.tables where state.importing != nil {
                link.query("DELETE FROM \(table) WHERE space = $1", id)
            }
            link.query("UPDATE history SET horizon = 0 WHERE space = $1", id)
            try link.finish()
        }
        return Grant(fence.term, token: fence.token)
    }

    private static let claim = """
        WITH taken AS (UPDATE space SET epoch = epoch + 1, owner = '', token = $3,
        importing = $4, successor = '' WHERE id = $1 AND epoch = $2 AND released
        RETURNING epoch, owner)
        INSERT INTO term (space, epoch, owner) SELECT $1, epoch, owner FROM taken
        ON CONFLICT DO NOTHING RETURNING epoch
        """

    /// What belongs to a space, except for the rows that it always has.
    private static let tables = [
        "live_call", "ended_call", "participation", "missed_call", "person_name", "kept_reply",
        "registration", "push_job", "push_outcome", "webhook", "timer", "plugin_value",
        "generation", "generation_file", "turn",
    ]

    /// Two at once would mix what they bring. The lock ends with this connection.
    private func lock(_ id: PostgresValue) throws(StoreError) {
        let isOurs = try ask("importing") { () throws(PostgresFailure) in
            link.query("SELECT pg_try_advisory_lock(7305804, $1::bigint::int)::int::bigint", id)
            return try link.finish().first?.first?.integer(0) == 1
        }
        guard isOurs else { throw refusal("another import is under way") }
    }

    private func isEmpty(_ id: PostgresValue) throws(StoreError) -> Bool {
        try ask("looking for calls") { () throws(PostgresFailure) in
            for table in ["live_call", "ended_call", "kept_reply", "registration", "turn"] {
                link.query("SELECT 1 FROM \(table) WHERE space = $1 LIMIT 1", id)
            }
            return try link.finish().allSatisfy { $0.count == 0 }
        }
    }

    /// From now on a node may own.
    private func endImport(_ grant: Grant, isClean: Bool) throws(StoreError) {
        let id = PostgresValue.integer(try Space(name, by: link).id)
        try ask("importing") { () throws(PostgresFailure) in
            link.query(
                """
                UPDATE space SET importing = NULL, clean = $3::bigint = 1
                WHERE id = $1 AND token = $2 RETURNING id
                """, id, .bytes(grant.token), .integer(isClean ? 1 : 0))
            guard try link.finish().first?.count == 1 else {
                throw PostgresFailure(code: "-", text: "another import has begun since")
            }
        }
    }

    private func refusal(_ why: String) -> StoreError {
        StoreError(.other, path: link.address.name, operation: "importing", detail: why)
    }
}

extension StoreLimits {
    /// Nothing goes for lack of room.
    fileprivate static var unlimited: StoreLimits {
        var limits = StoreLimits()
        (limits.keysPerUser, limits.keysMax) = (.max / 2, .max / 2)
        (limits.registrationsPerUser, limits.generationsMax) = (.max / 2, .max / 2)
        return limits
    }
}
