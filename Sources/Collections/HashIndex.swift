// Finds places in a slab by the hash of a name.

/// Hashes and places, open-addressed. Only the slab has the names: that keeps the table small, and
/// most searches touch one cache line of it.
///
/// The first bits of a hash choose a segment, the last ones a bucket of it. A segment that is half
/// full is split in two, so that adding a place costs the same however many there are. (Growing as
/// a whole, a table of half a million would hold everybody up.) Copies share the segments until
/// one of them is changed.
public struct HashIndex {
    /// A segment grows up to so many buckets; then it is split.
    @usableFromInline static let segmentSize = 4_096
    /// So many bits choose a segment. More would only help where very many hashes are the same.
    @usableFromInline static let mostBits = 16
    @usableFromInline static let empty = UInt64.max

    /// The hash above, the place below.
    @usableFromInline typealias Entry = UInt64

    /// How many buckets of a segment are full, and how many first bits all its hashes share.
    @usableFromInline
    struct About {
        @usableFromInline var count = 0
        @usableFromInline let bits: Int

        init(bits: Int) { self.bits = bits }
    }

    /// The buckets of a segment. They fill whole pages of memory, so what is to be known about the
    /// segment stands elsewhere.
    @usableFromInline
    struct Segment {
        @usableFromInline let buckets: UnsafeMutablePointer<Entry>
        @usableFromInline let about: UnsafeMutablePointer<About>

        init(bits: Int, size: Int) {
            buckets = .allocate(capacity: size)
            buckets.initialize(repeating: HashIndex.empty, count: size)
            about = .allocate(capacity: 1)
            about.initialize(to: About(bits: bits))
        }

        func free() {
            buckets.deallocate()
            about.deallocate()
        }

        @inlinable
        func put(_ entry: Entry, mask: Int) {
            var bucket = Int(entry >> 32) & mask
            while buckets[bucket] != HashIndex.empty { bucket = (bucket &+ 1) & mask }
            buckets[bucket] = entry
            about.pointee.count &+= 1
        }
    }

    /// Outside the owner: a property of a class would be checked at each access.
    @usableFromInline
    struct Table {
        /// By the first `bits` bits of a hash. A segment stands there once for each value of those
        /// bits that it does not tell apart.
        @usableFromInline var segments: UnsafeMutablePointer<Segment>
        @usableFromInline var bits = 0
        /// All segments have so many buckets, less one.
        @usableFromInline var mask = 15

        init() {
            segments = .allocate(capacity: 1)
            segments.initialize(to: Segment(bits: 0, size: mask + 1))
        }

        @inlinable
        func index(_ hash: UInt32) -> Int { Int(UInt64(hash) &>> UInt64(32 &- bits)) }

        /// Visits each segment once, with the part of `segments` in which it stands.
        func visit(_ visit: (Segment, Range<Int>) -> Void) {
            var index = 0
            while index < 1 << bits {
                let next = index + 1 << (bits - segments[index].about.pointee.bits)
                visit(segments[index], index..<next)
                index = next
            }
        }
    }

    /// Frees the memory, and tells whether a copy shares it.
    @usableFromInline
    final class Owner {
        let table: UnsafeMutablePointer<Table>

        init() {
            table = .allocate(capacity: 1)
            table.initialize(to: Table())
        }

        deinit {
            table.pointee.visit { segment, _ in segment.free() }
            table.pointee.segments.deallocate()
            table.deallocate()
        }
    }

    @usableFromInline var owner: Owner
    /// The owner's.
    @usableFromInline var table: UnsafeMutablePointer<Table>

    /// An empty table.
    public init() {
        owner = Owner()
        table = owner.table
    }

    /// The place with `hash` at which the name `matches`.
    @inlinable
    public func find(_ hash: UInt32, _ matches: (Int32) -> Bool) -> Int32? {
        let buckets = table.pointee.segments[table.pointee.index(hash)].buckets
        let mask = table.pointee.mask
        var bucket = Int(hash) & mask
        while buckets[bucket] != Self.empty {
            let place = Int32(truncatingIfNeeded: buckets[bucket])
            if UInt32(truncatingIfNeeded: buckets[bucket] >> 32) == hash, matches(place) {
                return place
            }
            bucket = (bucket &+ 1) & mask
        }
        return nil
    }

    /// Adds `place` under `hash`.
    @inlinable
    public mutating func insert(_ hash: UInt32, _ place: Int32) {
        if !isKnownUniquelyReferenced(&owner) { stopSharing() }
        var segment = table.pointee.segments[table.pointee.index(hash)]
        while segment.about.pointee.count &* 2 > table.pointee.mask {
            addRoom(for: hash)
            segment = table.pointee.segments[table.pointee.index(hash)]
        }
        segment.put(Self.entry(hash, place), mask: table.pointee.mask)
    }

    @inlinable
    static func entry(_ hash: UInt32, _ place: Int32) -> Entry {
        UInt64(hash) << 32 | UInt64(UInt32(bitPattern: place))
    }

    /// Removes `place` under `hash`, and closes the gap.
    @inlinable
    public mutating func remove(_ hash: UInt32, _ place: Int32) {
        if !isKnownUniquelyReferenced(&owner) { stopSharing() }
        let segment = table.pointee.segments[table.pointee.index(hash)]
        let (buckets, mask) = (segment.buckets, table.pointee.mask)
        let entry = Self.entry(hash, place)
        var gap = Int(hash) & mask
        while buckets[gap] != entry {
            precondition(buckets[gap] != Self.empty, "place \(place) is not in the index")
            gap = (gap &+ 1) & mask
        }
        var next = (gap &+ 1) & mask
        while buckets[next] != Self.empty {
            // An entry may move back to the gap unless its home lies behind the gap.
            let home = Int(buckets[next] >> 32) & mask
            if (next &- home) & mask >= (next &- gap) & mask {
                buckets[gap] = buckets[next]
                gap = next
            }
            next = (next &+ 1) & mask
        }
        buckets[gap] = Self.empty
        segment.about.pointee.count &-= 1
    }

    // MARK: Growing

    /// Makes room in the segment of `hash`.
    @inline(never) @usableFromInline
    func addRoom(for hash: UInt32) {
        let segment = table.pointee.segments[table.pointee.index(hash)]
        let isSmall = table.pointee.bits == 0 && table.pointee.mask + 1 < Self.segmentSize
        let bits = segment.about.pointee.bits
        guard !isSmall, bits < Self.mostBits else { return enlargeSegments() }
        if bits == table.pointee.bits { doublePlaces() }
        let width = 1 << (table.pointee.bits - bits)
        let first = table.pointee.index(hash) & ~(width - 1)
        split(segment, at: first..<first + width)
    }

    /// One more bit tells the entries of `segment` apart.
    private func split(_ segment: Segment, at places: Range<Int>) {
        let (bits, mask) = (segment.about.pointee.bits + 1, table.pointee.mask)
        let halves = [Segment(bits: bits, size: mask + 1), Segment(bits: bits, size: mask + 1)]
        for bucket in 0...mask where segment.buckets[bucket] != Self.empty {
            let entry = segment.buckets[bucket]
            halves[Int(entry >> (64 - UInt64(bits)) & 1)].put(entry, mask: mask)
        }
        segment.free()
        let middle = places.lowerBound + places.count / 2
        for place in places { table.pointee.segments[place] = halves[place < middle ? 0 : 1] }
    }

    private func doublePlaces() {
        let old = table.pointee.segments
        table.pointee.segments = .allocate(capacity: 2 << table.pointee.bits)
        for place in 0..<1 << table.pointee.bits {
            (table.pointee.segments + 2 * place).initialize(repeating: old[place], count: 2)
        }
        old.deallocate()
        table.pointee.bits += 1
    }

    private func enlargeSegments() {
        let mask = table.pointee.mask * 2 + 1
        let segments = table.pointee.segments
        table.pointee.visit { segment, places in
            let larger = Segment(bits: segment.about.pointee.bits, size: mask + 1)
            for bucket in 0...table.pointee.mask where segment.buckets[bucket] != Self.empty {
                larger.put(segment.buckets[bucket], mask: mask)
            }
            segment.free()
            for place in places { segments[place] = larger }
        }
        table.pointee.mask = mask
    }

    @inline(never) @usableFromInline
    mutating func stopSharing() {
        let shared = self
        self = HashIndex()
        shared.table.pointee.visit { segment, _ in
            for bucket in 0...shared.table.pointee.mask
            where segment.buckets[bucket] != Self.empty {
                let entry = segment.buckets[bucket]
                insert(UInt32(entry >> 32), Int32(truncatingIfNeeded: entry))
            }
        }
    }
}

extension HashIndex: @unchecked Sendable {}
