// Reads the store of a cluster, on a connection of its own.

import CallModel
import Storage
import StoreContract

/// A connection that only reads: sees every commit that was durable when a method is called.
final class ClusterReader: CallReader, EmbeddedReader {
    let link: PostgresConnection
    let space: Space
    let limits: StoreLimits

    init(by link: PostgresConnection, of space: Space, _ limits: StoreLimits) {
        (self.link, self.space, self.limits) = (link, space, limits)
    }

    func answer(_ query: StoreQuery) throws(StoreError) -> StoreAnswer {
        switch query {
        // One question each, where the steps of other stores would be many.
        case .missed(let user, let limit): try missed(by: user, limit)
        case .values(let plugin, let keys, let now):
            .values(try values(of: plugin, keys, at: now))
        default: try find(query)
        }
    }

    var id: PostgresValue { .integer(space.id) }

    /// The rows of one question.
    func ask(
        _ operation: String, _ statement: PostgresStatement, _ values: PostgresValue...
    ) throws(StoreError) -> [PostgresRow] {
        do throws(PostgresFailure) {
            link.run(statement, all: values)
            return try link.finish().first.map { Array($0.all) } ?? []
        } catch {
            throw error.error(of: link.address.name, operation)
        }
    }

    /// The call whose id and record stand in these columns.
    func call(of row: PostgresRow, id: Int32, record: Int32) throws(StoreError) -> Call {
        guard let id = row.id(id) else {
            throw damage("reading a call", "a call id has not 16 bytes")
        }
        do throws(RecordDamage) {
            return try CallRecord.read(row.raw(record), id: id)
        } catch {
            let field = error.field.isEmpty ? "" : ", field \(error.field)"
            throw damage("reading a call", "call \(id)\(field): \(error.problem)")
        }
    }

    func damage(_ operation: String, _ detail: String) -> StoreError {
        StoreError(
            .damagedRecord, path: link.address.name, operation: operation, detail: detail)
    }

    // MARK: Calls

    private static let readCall = PostgresStatement(
        "call",
        """
        SELECT id, record FROM live_call WHERE space = $1 AND id = $2 UNION ALL
        SELECT id, record FROM ended_call WHERE space = $1 AND id = $2
        AND place > (SELECT horizon FROM history WHERE space = $1)
        """)
    private static let readVersion = PostgresStatement(
        "version",
        """
        SELECT c.id, c.record, t.owner, t.epoch FROM
        (SELECT id, record, epoch FROM live_call WHERE space = $1 AND id = $2 UNION ALL
        SELECT id, record, epoch FROM ended_call WHERE space = $1 AND id = $2
        AND place > (SELECT horizon FROM history WHERE space = $1)) AS c
        JOIN term AS t ON t.space = $1 AND t.epoch = c.epoch
        """)

    func call(_ id: CallID) throws(StoreError) -> Call? {
        guard let row = try ask("reading a call", Self.readCall, self.id, .id(id)).first
        else { return nil }
        return try call(of: row, id: 0, record: 1)
    }

    func version(of id: CallID) throws(StoreError) -> StoredVersion? {
        let rows = try ask("reading the version of a call", Self.readVersion, self.id, .id(id))
        guard let row = rows.first else { return nil }
        let call = try call(of: row, id: 0, record: 1)
        let term = Term(owner: row.text(2), epoch: UInt32(clamping: row.integer(3)))
        return StoredVersion(term: term, revision: call.revision)
    }

    private static let readMissed = PostgresStatement(
        "missed",
        """
        SELECT m.call, m.at, coalesce(l.record, e.record) FROM missed_call AS m
        LEFT JOIN live_call AS l ON l.space = $1 AND l.id = m.call
        LEFT JOIN ended_call AS e ON e.space = $1 AND e.id = m.call
        AND e.place > (SELECT horizon FROM history WHERE space = $1)
        WHERE m.space = $1 AND m.usr = $2 ORDER BY m.call DESC LIMIT $3
        """)
    private static let countMissed = PostgresStatement(
        "count_missed", "SELECT count(*) FROM missed_call WHERE space = $1 AND usr = $2")

    private func missed(by user: UserID, _ limit: Int) throws(StoreError) -> StoreAnswer {
        let name = PostgresValue.text(user.text)
        let rows = try ask(
            "reading missed calls", Self.readMissed, id, name, .integer(Int64(limit)))
        var found: [MissedCall] = []
        for row in rows {
            guard let id = row.id(0) else { continue }
            let call = row.isNull(2) ? nil : try call(of: row, id: 0, record: 2)
            found.append(MissedCall(callID: id, at: row.moment(1), call: call))
        }
        return .missed(found, count: try missedCount(of: user))
    }

    func missedCount(of user: UserID) throws(StoreError) -> Int {
        let rows = try ask("counting missed calls", Self.countMissed, id, .text(user.text))
        return Int(rows.first?.integer(0) ?? 0)
    }

    func missedCalls(
        of user: UserID, limit: Int
    ) throws(StoreError) -> [(id: CallID, at: Moment)] {
        guard case .missed(let found, _) = try missed(by: user, limit) else { return [] }
        return found.map { ($0.callID, $0.at) }
    }

    // MARK: Keys and values

    private static let readReply = PostgresStatement(
        "reply",
        "SELECT body_hash, reply FROM kept_reply WHERE space = $1 AND usr = $2 AND key = $3")
    private static let readValues = PostgresStatement(
        "values",
        """
        SELECT v.key, v.value FROM plugin_value AS v JOIN unnest($3::bytea[]) AS t (key)
        ON v.key = t.key WHERE v.space = $1 AND v.plugin = $2
        AND (v.expires_at IS NULL OR v.expires_at > $4)
        """)
    private static let readKeys = PostgresStatement(
        "keys",
        """
        SELECT key FROM plugin_value WHERE space = $1 AND plugin = $2 AND key >= $3
        AND key < $4 AND (expires_at IS NULL OR expires_at > $5) ORDER BY key LIMIT $6
        """)

    func reply(of user: UserID, under key: String) throws(StoreError) -> KeptReply? {
        let rows = try ask(
            "reading a kept reply", Self.readReply, id, .text(user.text), .text(key))
        return rows.first.map {
            KeptReply(bodyHash: UInt64(bitPattern: $0.integer(0)), reply: $0.bytes(1))
        }
    }

    private func values(
        of plugin: String, _ keys: [String], at now: Moment
    ) throws(StoreError) -> [[UInt8]?] {
        let rows = try ask(
            "reading values", Self.readValues, id, .text(plugin),
            .lists(Set(keys).map { Array($0.utf8) }), .moment(now))
        var found: [String: [UInt8]] = [:]
        for row in rows { found[row.text(0)] = row.bytes(1) }
        return keys.map { found[$0] }
    }

    func value(of plugin: String, key: String, at now: Moment) throws(StoreError) -> [UInt8]? {
        try values(of: plugin, [key], at: now)[0]
    }

    func keys(
        of plugin: String, prefix: String, limit: Int, at now: Moment
    ) throws(StoreError) -> [String] {
        // No text has the byte 0xFF: everything that begins with the prefix is before it.
        let rows = try ask(
            "reading keys", Self.readKeys, id, .text(plugin), .text(prefix),
            .bytes(Array(prefix.utf8) + [0xFF]), .moment(now), .integer(Int64(limit)))
        return rows.map { $0.text(0) }
    }

    // MARK: Generations

    private static let readMarks = PostgresStatement(
        "generations",
        """
        SELECT name, activated_at, rolled_back_at FROM generation WHERE space = $1
        ORDER BY place DESC
        """)
    private static let readGeneration = PostgresStatement(
        "generation", "SELECT name FROM generation WHERE space = $1 AND name = $2")
    private static let readFiles = PostgresStatement(
        "files",
        """
        SELECT path, source FROM generation_file WHERE space = $1 AND generation = $2
        ORDER BY place
        """)

    func generations() throws(StoreError) -> [GenerationMark] {
        var marks: [GenerationMark] = []
        for row in try ask("reading generations", Self.readMarks, id) {
            marks.append(
                GenerationMark(
                    name: row.text(0), activatedAt: row.moment(1),
                    rolledBackAt: row.optionalMoment(2), isActive: marks.isEmpty))
        }
        return marks
    }

    func generation(named name: String) throws(StoreError) -> StoredGeneration? {
        let known = try ask("finding a generation", Self.readGeneration, id, .text(name))
        guard !known.isEmpty else { return nil }
        let rows = try ask("reading sources", Self.readFiles, id, .text(name))
        return StoredGeneration(
            name: name,
            files: rows.map { StoredGeneration.File(path: $0.text(0), source: $0.bytes(1)) })
    }
}
