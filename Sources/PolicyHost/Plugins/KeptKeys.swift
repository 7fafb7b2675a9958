// Who has brought what into a plugin's `kv`.

import CallModel

/// Bytes of `kv` by the pair of accounts for whom they were kept (G75), as far as that is known: it
/// is not known for entries from before the process began, and these count for nobody.
struct KeptKeys {
    /// What an entry takes beside its key and value, in bytes.
    static let entryBytes = 256
    /// Entries whose pairs are known; beyond it those of some are forgotten.
    static let entriesMax = 100_000

    /// What is kept under a key.
    struct Entry {
        /// Whom it is kept for.
        let cause: Cause
        /// Of the value.
        let bytes: Int
        /// When it goes by itself; nil: never.
        let expiresAt: Moment?

        fileprivate func hasExpired(at now: Moment) -> Bool {
            expiresAt.map { $0 <= now } ?? false
        }

        fileprivate func size(under key: String) -> Int {
            bytes + key.utf8.count + KeptKeys.entryBytes
        }
    }
    private var entries: [String: Entry] = [:]
    private var owned = OwnedKeys()

    /// Bytes that count for somebody.
    var bytes: Int { owned.total }

    /// Notes that an entry is kept under `key`. Returns false, and notes nothing, if its pair would
    /// have more than `part` bytes. Whoever keeps it last has it.
    mutating func keep(_ entry: Entry, under key: String, part: Int, at now: Moment) -> Bool {
        guard !entry.cause.isNobody else {
            forget(key)
            return true
        }
        guard hasRoom(for: entry, under: key, part: part, at: now) else { return false }
        forget(key)
        if entries.count >= Self.entriesMax { forgetSome() }
        entries[key] = entry
        owned.add(key, entry.size(under: key), for: entry.cause)
        return true
    }

    /// Notes that a number is added to what is kept under `key`; it stays whose it is.
    mutating func add(_ entry: Entry, to key: String, part: Int, at now: Moment) -> Bool {
        if let old = entries[key], !old.hasExpired(at: now) { return true }
        return keep(entry, under: key, part: part, at: now)
    }

    /// The entry is gone.
    mutating func forget(_ key: String) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        owned.remove(key, entry.size(under: key), of: entry.cause)
    }

    private mutating func hasRoom(
        for entry: Entry, under key: String, part: Int, at now: Moment
    ) -> Bool {
        let cause = entry.cause
        func fits() -> Bool {
            let before = entries[key].map { $0.cause == cause ? $0.size(under: key) : 0 } ?? 0
            let more = entry.size(under: key) - before
            return more <= 0 || owned.hasRoom(for: more, cause, part: part)
        }
        if fits() { return true }
        for key in owned.sweep(cause, at: now) where entries[key]?.hasExpired(at: now) == true {
            forget(key)
        }
        return fits()
    }

    private mutating func forgetSome() {
        for key in Array(entries.keys.prefix(Self.entriesMax / 10)) { forget(key) }
    }
}
