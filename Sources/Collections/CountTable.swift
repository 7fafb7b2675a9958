// Counts by key.

/// A key whose hash depends on a secret seed: whoever chooses keys cannot choose their hashes.
public protocol SeededHash: Equatable, Sendable {
    /// The hash that `seed` decides.
    func hash(_ seed: UInt64) -> UInt32
}

/// Counts by key. Adding returns a place, so that removing needs no search.
public struct CountTable<Key: SeededHash>: Sendable {
    private var places = HashIndex()
    private var slab = Slab<(key: Key, hash: UInt32)>()
    /// By the places of the keys: to look at a count, its key need not be copied.
    private var counts: [Int] = []
    /// All counts together.
    public private(set) var total = 0
    /// Makes the hashes differ from process to process.
    private let seed: UInt64

    /// No counts.
    public init(seed: UInt64) { self.seed = seed }

    /// The count of `key`.
    public func count(of key: Key) -> Int {
        find(key, key.hash(seed)).map { counts[Int($0)] } ?? 0
    }

    /// Adds one to the count of `key`, and returns its place.
    public mutating func add(_ key: Key) -> Int32 {
        total += 1
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
    public mutating func remove(at place: Int32) {
        guard place >= 0, counts[Int(place)] > 0 else { return }
        total -= 1
        counts[Int(place)] -= 1
        guard counts[Int(place)] == 0, let hash = slab.remove(at: place)?.hash else { return }
        places.remove(hash, place)
    }

    private func find(_ key: Key, _ hash: UInt32) -> Int32? {
        places.find(hash) { slab[$0]?.key == key }
    }
}
