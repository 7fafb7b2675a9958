// Timers, values and generations of plugins in memory.

import CallModel
import StoreContract

/// What `PluginTables` and `GenerationTable` are on disk.
struct MemoryPlugins {
    private struct Value {
        var bytes: [UInt8]
        var expiresAt: Moment?
        func isLive(at now: Moment) -> Bool { expiresAt.map { $0 > now } ?? true }
    }

    private(set) var timers: [JobID: NamedTimer] = [:]
    private var values: [String: [String: Value]] = [:]
    /// Last activated first.
    private var kept: [(generation: StoredGeneration, at: Moment, rolledBackAt: Moment?)] = []

    mutating func apply(_ change: TimerChange) {
        switch change {
        case .set(let timer): timers[timer.id] = timer
        case .remove(let id): timers[id] = nil
        }
    }

    mutating func apply(_ change: ValueChange, at now: Moment) -> CommitResult.Counter? {
        switch change {
        case .set(let plugin, let key, let bytes, let expiresAt):
            values[plugin, default: [:]][key] = Value(bytes: bytes, expiresAt: expiresAt)
        case .remove(let plugin, let key): values[plugin]?[key] = nil
        case .increment(let plugin, let key, let amount, let expiresAt):
            let old = values[plugin]?[key].flatMap { $0.isLive(at: now) ? $0 : nil }
            guard let sum = Counting.sum(old?.bytes, amount) else { return .notCountable }
            values[plugin, default: [:]][key] = Value(
                bytes: Array(String(sum).utf8),
                expiresAt: old.map(\.expiresAt) ?? expiresAt)
            return .sum(sum)
        }
        return nil
    }

    func value(of plugin: String, key: String, at now: Moment) -> [UInt8]? {
        values[plugin]?[key].flatMap { $0.isLive(at: now) ? $0.bytes : nil }
    }

    func keys(of plugin: String, prefix: String, limit: Int, at now: Moment) -> [String] {
        let wanted = Array(prefix.utf8)
        return (values[plugin] ?? [:])
            .filter { $0.value.isLive(at: now) && $0.key.utf8.starts(with: wanted) }
            .map(\.key).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            .prefix(limit).map { $0 }
    }

    /// Removes at most `step` values that expired; how many.
    mutating func sweep(at now: Moment, step: Int) -> Int {
        var expired: [(plugin: String, key: String)] = []
        search: for (plugin, values) in values {
            for (key, value) in values where !value.isLive(at: now) {
                guard expired.count < step else { break search }
                expired.append((plugin, key))
            }
        }
        for (plugin, key) in expired { values[plugin]?[key] = nil }
        return expired.count
    }

    mutating func apply(_ change: GenerationChange, keep: Int) {
        switch change {
        case .activate(let generation, let at):
            kept.removeAll { $0.generation.name == generation.name }
            kept.insert((generation, at, nil), at: 0)
            kept.removeLast(max(0, kept.count - max(1, keep)))
        case .rollBack(let name, let at):
            guard let place = kept.firstIndex(where: { $0.generation.name == name }) else { return }
            kept[place].rolledBackAt = at
        }
    }

    /// The kept generations, last activated first.
    var marks: [GenerationMark] {
        kept.indices.map { place in
            GenerationMark(
                name: kept[place].generation.name, activatedAt: kept[place].at,
                rolledBackAt: kept[place].rolledBackAt, isActive: place == 0)
        }
    }

    func generation(named name: String) -> StoredGeneration? {
        kept.first { $0.generation.name == name }?.generation
    }
}
