// Which idempotency keys are kept: fingerprints only, the replies are in the store (B25).

import CallModel

/// Fingerprints of the kept idempotency keys. A miss is certain; a hit is fetched.
package struct KeyFilter: Sendable {
    private struct Entry {
        let fingerprint: UInt64
        let at: Moment
    }

    /// How many keys have one fingerprint: one, but for a collision.
    private struct Kept {
        var count: Int32 = 0
        /// The lower half of the hash of the newest one's request.
        var body: UInt32 = 0
    }

    private var kept: [UInt64: Kept] = [:]
    private var order: [Entry] = []
    private var first = 0

    /// A filter without keys.
    package init() {}

    /// Keys kept.
    package var count: Int { order.count - first }

    /// Whether a reply may be kept for `key` of `user`.
    package func mayContain(_ user: UserID, _ key: String) -> Bool {
        kept[Self.fingerprint(user.text, key)] != nil
    }

    /// Whether a reply may be kept for this very request of `user` under `key`.
    package func mayContain(_ user: UserID, _ key: IdempotencyKey) -> Bool {
        let body = UInt32(truncatingIfNeeded: key.bodyHash)
        return kept[Self.fingerprint(user.text, key.text)]?.body == body
    }

    /// Remembers that a reply is kept for `key` of `user`.
    package mutating func insert(_ user: UserID, _ key: IdempotencyKey, at now: Moment) {
        let entry = Entry(fingerprint: Self.fingerprint(user.text, key.text), at: now)
        order.append(entry)
        kept[entry.fingerprint, default: Kept()].count += 1
        kept[entry.fingerprint]?.body = UInt32(truncatingIfNeeded: key.bodyHash)
    }

    /// Forgets the oldest keys that are too old or too many. A user's surplus keys stay in the
    /// filter until they are too old: the store has dropped them, so a hit there is a miss.
    package mutating func forget(at now: Moment, lifetime: Milliseconds, limit: Int) {
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

    /// FNV-1a over both texts: the same in every life of the process.
    private static func fingerprint(_ user: String, _ key: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in user.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        hash = (hash ^ 0xFF) &* 0x100_0000_01B3
        for byte in key.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash
    }
}
