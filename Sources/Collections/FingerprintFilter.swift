// A filter that tells which names may be kept elsewhere, by their fingerprints.

/// Fingerprints with a mark each, forgotten by age and number. A miss is certain; a hit must be
/// looked up where the names are kept.
package struct FingerprintFilter: Sendable {
    private struct Entry {
        let fingerprint: UInt64
        let at: Int64
    }

    /// How many names have one fingerprint: one, unless there is a collision.
    private struct Kept {
        var count: Int32
        /// The lower half of the newest one's.
        let mark: UInt32
    }

    private var kept: [UInt64: Kept] = [:]
    private var order: [Entry] = []
    private var first = 0
    /// What fingerprints begin with: whoever chooses names must not choose their fingerprints.
    package let seed: UInt64

    /// A filter that holds nothing.
    package init(seed: UInt64) { self.seed = seed }

    /// How many are held.
    package var count: Int { order.count - first }

    /// Whether something with this fingerprint may be kept; with `mark`, also with this mark.
    package func mayContain(_ fingerprint: UInt64, mark: UInt64? = nil) -> Bool {
        guard let found = kept[fingerprint] else { return false }
        return mark.map { found.mark == UInt32(truncatingIfNeeded: $0) } ?? true
    }

    /// Remembers that something with this fingerprint is kept since `now`.
    package mutating func insert(_ fingerprint: UInt64, mark: UInt64, at now: Int64) {
        order.append(Entry(fingerprint: fingerprint, at: now))
        let count = kept[fingerprint]?.count ?? 0
        kept[fingerprint] = Kept(count: count + 1, mark: UInt32(truncatingIfNeeded: mark))
    }

    /// Forgets the oldest ones that are too old or too many.
    package mutating func forget(at now: Int64, lifetime: Int64, limit: Int) {
        while first < order.count, count > limit || now - order[first].at >= lifetime {
            let entry = order[first]
            first += 1
            guard var same = kept[entry.fingerprint] else { continue }
            same.count -= 1
            kept[entry.fingerprint] = same.count > 0 ? same : nil
        }
        if first > 4_096, first * 2 > order.count {
            order.removeFirst(first)
            first = 0
        }
    }
}
