// Finds places in a slab by the hash of a name.

/// An open-addressed table of hashes and places. Only the slab has the names: that keeps the table
/// small, and most searches touch one cache line of it.
public struct HashIndex: Sendable {
    /// The hash above, the place below.
    @usableFromInline var buckets = [UInt64](repeating: empty, count: 16)
    @usableFromInline var count = 0

    @usableFromInline static let empty = UInt64.max

    /// An empty table.
    @inlinable
    public init() {}

    /// The place with `hash` at which the name `matches`.
    @inlinable
    public func find(_ hash: UInt32, _ matches: (Int32) -> Bool) -> Int32? {
        let mask = buckets.count - 1
        var bucket = Int(hash) & mask
        while buckets[bucket] != Self.empty {
            let place = Int32(truncatingIfNeeded: buckets[bucket])
            if UInt32(truncatingIfNeeded: buckets[bucket] >> 32) == hash, matches(place) {
                return place
            }
            bucket = (bucket + 1) & mask
        }
        return nil
    }

    /// Adds `place` under `hash`.
    @inlinable
    public mutating func insert(_ hash: UInt32, _ place: Int32) {
        if count * 2 >= buckets.count { grow() }
        put(UInt64(hash) << 32 | UInt64(UInt32(bitPattern: place)))
        count += 1
    }

    @inlinable
    mutating func put(_ entry: UInt64) {
        let mask = buckets.count - 1
        var bucket = Int(entry >> 32) & mask
        while buckets[bucket] != Self.empty { bucket = (bucket + 1) & mask }
        buckets[bucket] = entry
    }

    @inlinable
    mutating func grow() {
        let old = buckets
        buckets = [UInt64](repeating: Self.empty, count: old.count * 2)
        for entry in old where entry != Self.empty { put(entry) }
    }

    /// Removes `place` under `hash`, and closes the gap.
    @inlinable
    public mutating func remove(_ hash: UInt32, _ place: Int32) {
        let entry = UInt64(hash) << 32 | UInt64(UInt32(bitPattern: place))
        let mask = buckets.count - 1
        var gap = Int(hash) & mask
        while buckets[gap] != entry {
            precondition(buckets[gap] != Self.empty, "place \(place) is not in the index")
            gap = (gap + 1) & mask
        }
        var next = (gap + 1) & mask
        while buckets[next] != Self.empty {
            // An entry may move back to the gap unless its home lies behind the gap.
            let home = Int(buckets[next] >> 32) & mask
            if (next - home) & mask >= (next - gap) & mask {
                buckets[gap] = buckets[next]
                gap = next
            }
            next = (next + 1) & mask
        }
        buckets[gap] = Self.empty
        count -= 1
    }
}
