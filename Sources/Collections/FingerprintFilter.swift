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
        var count: Int32 = 0
        /// The newest one's.
        var mark: UInt32 = 0
    }

    private var kept: [UInt64: Kept] = [:]
    private var order: [Entry] = []
    private var first = 0

    /// A filter that holds nothing.
    package init() {}

    /// How many are held.
    package var count: Int { order.count - first }

    /// Whether something with this fingerprint may be kept; with `mark`, also with this mark.
    package func mayContain(_ fingerprint: UInt64, mark: UInt32? = nil) -> Bool {
        guard let found = kept[fingerprint] else { return false }
        return mark == nil || found.mark == mark
    }

    /// Remembers that something with this fingerprint is kept since `now`.
    package mutating func insert(_ fingerprint: UInt64, mark: UInt32, at now: Int64) {
        order.append(Entry(fingerprint: fingerprint, at: now))
        kept[fingerprint, default: Kept()].count += 1
        kept[fingerprint]?.mark = mark
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

extension UInt64 {
    /// FNV-1a over both texts: the same in every life of the process.
    package init(fingerprintOf first: String, _ second: String) {
        self = 0xCBF2_9CE4_8422_2325
        for byte in first.utf8 { self = (self ^ UInt64(byte)) &* 0x100_0000_01B3 }
        self = (self ^ 0xFF) &* 0x100_0000_01B3
        for byte in second.utf8 { self = (self ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
}
