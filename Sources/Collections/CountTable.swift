// Counts by key.

/// A key whose hash depends on a secret seed: whoever chooses keys cannot choose their hashes.
public protocol SeededHash: Equatable, Sendable {
    /// The hash that `seed` decides.
    func hash(_ seed: UInt64) -> UInt32
}

/// Counts by key. Adding returns a place, so that removing needs no search.
public struct CountTable<Key: SeededHash>: Sendable {
    @usableFromInline var places = HashIndex()
    @usableFromInline var slab = Slab<(key: Key, hash: UInt32)>()
    /// By the places of the keys: to look at a count, its key need not be copied.
    @usableFromInline var counts = Pages<Int>()
    /// All counts together.
    public var total: Int { sum }
    @usableFromInline var sum = 0
    /// Makes the hashes differ from process to process.
    @usableFromInline let seed: UInt64

    /// No counts.
    @inlinable
    public init(seed: UInt64) { self.seed = seed }

    /// The count of `key`.
    @inlinable
    public func count(of key: Key) -> Int {
        find(key, key.hash(seed)).map { counts[Int($0)] } ?? 0
    }

    /// Adds one to the count of `key`, and returns its place.
    @inlinable
    public mutating func add(_ key: Key) -> Int32 {
        sum += 1
        let hash = key.hash(seed)
        if let place = find(key, hash) {
            counts[Int(place)] += 1
            return place
        }
        let place = slab.insert((key, hash))
        if Int(place) == counts.count {
            counts.append(1)
        } else {
            counts[Int(place)] = 1
        }
        places.insert(hash, place)
        return place
    }

    /// Takes one away from the count at `place`; a negative place has no count.
    @inlinable
    public mutating func remove(at place: Int32) {
        guard place >= 0, counts[Int(place)] > 0 else { return }
        sum -= 1
        counts[Int(place)] -= 1
        guard counts[Int(place)] == 0, let hash = slab.remove(at: place)?.hash else { return }
        places.remove(hash, place)
    }

    @inlinable
    func find(_ key: Key, _ hash: UInt32) -> Int32? {
        places.find(hash) { slab[$0]?.key == key }
    }
}
