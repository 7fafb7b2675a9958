// Writes what plugins own: timers, values, and the generations of their sources.

import CallModel
import Storage
import StoreContract

extension Turn {
    private static let putTimers = PostgresStatement(
        "put_timers",
        """
        INSERT INTO timer (space, id, plugin, name, call, due_at, data)
        SELECT $1, t.* FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[],
        $6::bigint[], $7::bytea[]) AS t (id, plugin, name, call, due_at, data)
        ON CONFLICT (space, id) DO UPDATE SET plugin = excluded.plugin, name = excluded.name,
        call = excluded.call, due_at = excluded.due_at, data = excluded.data
        """)
    private static let removeTimers = PostgresStatement(
        "remove_timers", "DELETE FROM timer WHERE space = $1 AND id = ANY ($2::bigint[])")
    private static let putValues = PostgresStatement(
        "put_values",
        """
        INSERT INTO plugin_value (space, plugin, key, value, expires_at)
        SELECT $1, t.* FROM unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[])
        AS t (plugin, key, value, expires_at)
        ON CONFLICT (space, plugin, key)
        DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at
        """)
    private static let removeValues = PostgresStatement(
        "remove_values",
        """
        DELETE FROM plugin_value AS v USING unnest($2::bytea[], $3::bytea[]) AS t (plugin, key)
        WHERE v.space = $1 AND v.plugin = t.plugin AND v.key = t.key
        """)
    private static let putGeneration = PostgresStatement(
        "put_generation",
        """
        INSERT INTO generation (space, name, place, activated_at, rolled_back_at)
        SELECT $1, $2, coalesce(max(place), 0) + 1, $3, NULL FROM generation WHERE space = $1
        ON CONFLICT (space, name) DO UPDATE SET place = excluded.place,
        activated_at = excluded.activated_at, rolled_back_at = NULL
        """)
    private static let putFile = PostgresStatement(
        "put_file",
        """
        INSERT INTO generation_file (space, generation, place, path, source)
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT (space, generation, place)
        DO UPDATE SET path = excluded.path, source = excluded.source
        """)
    private static let removeGenerations = PostgresStatement(
        "remove_generations",
        """
        DELETE FROM generation WHERE space = $1 AND name NOT IN
        (SELECT name FROM generation WHERE space = $1 ORDER BY place DESC LIMIT $2)
        """)
    private static let removeFiles = PostgresStatement(
        "remove_files",
        """
        DELETE FROM generation_file WHERE space = $1 AND generation NOT IN
        (SELECT name FROM generation WHERE space = $1)
        """)
    private static let markGeneration = PostgresStatement(
        "mark_generation",
        "UPDATE generation SET rolled_back_at = $3 WHERE space = $1 AND name = $2")

    func sendTimers(in space: Space, on link: PostgresConnection) {
        let id = PostgresValue.integer(space.id)
        let all = timers.sorted { $0.key < $1.key }
        let removed = all.filter { $0.value == nil }
        if !removed.isEmpty {
            link.run(Self.removeTimers, id, .integers(removed.map { $0.key.value }))
        }
        let put = all.compactMap(\.value)
        guard !put.isEmpty else { return }
        link.run(
            Self.putTimers, id, .integers(put.map { $0.id.value }),
            .lists(put.map { Array($0.plugin.utf8) }), .lists(put.map { Array($0.name.utf8) }),
            .lists(put.map { $0.callID?.stored }), .integers(put.map { $0.dueAt.milliseconds }),
            .lists(put.map { $0.data }))
    }

    static func send(
        _ values: FoldedValues, _ id: PostgresValue, _ link: PostgresConnection
    ) {
        let all = values.changed.sorted {
            ($0.key.plugin, $0.key.key) < ($1.key.plugin, $1.key.key)
        }
        let removed = all.filter { $0.value == nil }
        if !removed.isEmpty {
            link.run(
                removeValues, id, .lists(removed.map { Array($0.key.plugin.utf8) }),
                .lists(removed.map { Array($0.key.key.utf8) }))
        }
        let put = all.compactMap { name, value in value.map { (name, $0) } }
        guard !put.isEmpty else { return }
        link.run(
            putValues, id, .lists(put.map { Array($0.0.plugin.utf8) }),
            .lists(put.map { Array($0.0.key.utf8) }), .lists(put.map { $0.1.bytes }),
            .integers(put.map { $0.1.expiresAt?.milliseconds }))
    }

    static func send(
        _ change: GenerationChange, keep: Int, _ id: PostgresValue, _ link: PostgresConnection
    ) {
        switch change {
        case .activate(let generation, let at):
            let name = PostgresValue.text(generation.name)
            link.run(putGeneration, id, name, .moment(at))
            for (place, file) in generation.files.enumerated() {
                link.run(
                    putFile, id, name, .integer(Int64(place)), .text(file.path),
                    .bytes(file.source))
            }
            link.run(removeGenerations, id, .integer(Int64(max(1, keep))))
            link.run(removeFiles, id)
        case .rollBack(let name, let at):
            link.run(markGeneration, id, .text(name), .moment(at))
        }
    }
}

/// What the values of plugins are after a turn, and what its increments tell.
struct FoldedValues {
    struct Name: Hashable {
        let plugin: String
        let key: String
    }

    struct Value {
        let bytes: [UInt8]
        let expiresAt: Moment?
    }

    /// nil: removed.
    private(set) var changed: [Name: Value?] = [:]
    private(set) var counters: [CommitResult.Counter] = []

    private static let read = PostgresStatement(
        "read_values",
        """
        SELECT v.plugin, v.key, v.value, v.expires_at FROM plugin_value AS v
        JOIN unnest($2::bytea[], $3::bytea[]) AS t (plugin, key)
        ON v.plugin = t.plugin AND v.key = t.key
        WHERE v.space = $1 AND (v.expires_at IS NULL OR v.expires_at > $4)
        """)

    /// Folds `changes`. What is counted up is read first: nobody else writes, or the fence of the
    /// turn fails.
    init(
        _ changes: [ValueChange], at now: Moment, in space: Space, on link: PostgresConnection
    ) throws(PostgresFailure) {
        let stored = try Self.stored(changes, at: now, in: space, on: link)
        for change in changes {
            switch change {
            case .set(let plugin, let key, let bytes, let expiresAt):
                let value = Value(bytes: bytes, expiresAt: expiresAt)
                changed[Name(plugin: plugin, key: key)] = .some(value)
            case .remove(let plugin, let key):
                changed[Name(plugin: plugin, key: key)] = .some(nil)
            case .increment(let plugin, let key, let amount, let expiresAt):
                let name = Name(plugin: plugin, key: key)
                let last = changed[name] ?? stored[name]
                let old = last.flatMap { $0.isOver(at: now) ? nil : $0 }
                guard let sum = Counting.sum(old?.bytes, amount) else {
                    counters.append(.notCountable)
                    continue
                }
                let value = Value(
                    bytes: Array(String(sum).utf8), expiresAt: old.map(\.expiresAt) ?? expiresAt)
                changed[name] = .some(value)
                counters.append(.sum(sum))
            }
        }
    }

    private static func stored(
        _ changes: [ValueChange], at now: Moment, in space: Space, on link: PostgresConnection
    ) throws(PostgresFailure) -> [Name: Value] {
        var names: Set<Name> = []
        for case .increment(let plugin, let key, _, _) in changes {
            names.insert(Name(plugin: plugin, key: key))
        }
        guard !names.isEmpty else { return [:] }
        let all = Array(names)
        link.run(
            read, .integer(space.id), .lists(all.map { Array($0.plugin.utf8) }),
            .lists(all.map { Array($0.key.utf8) }), .moment(now))
        var found: [Name: Value] = [:]
        guard let rows = try link.finish().first else { return [:] }
        for row in rows.all {
            found[Name(plugin: row.text(0), key: row.text(1))] = Value(
                bytes: row.bytes(2), expiresAt: row.optionalMoment(3))
        }
        return found
    }
}

extension FoldedValues.Value {
    fileprivate func isOver(at now: Moment) -> Bool { expiresAt.map { $0 <= now } ?? false }
}
