// Counts by key.

/// A key whose hash depends on a secret seed: whoever chooses keys cannot choose their hashes.
public protocol SeededHash: Equatable, Sendable {
    /// The hash that `seed` decides.
    func hash(_ seed: UInt64) -> UInt32
}

/// Counts by key. Adding returns a place, so that removing needs no search.
public struct CountTable<Key: SeededHash>: Sendable {
    private var places = HashIndex()
    private var slab = Slab<(key: Key, hash: UInt32, count: Int)>()
    /// All counts together.
    public private(set) var total = 0
    /// Makes the hashes differ from process to process.
    private let seed: UInt64

    /// No counts.
    public init(seed: UInt64) { self.seed = seed }

    /// The count of `key`.
    public func count(of key: Key) -> Int {
        find(key, key.hash(seed)).flatMap { slab[$0]?.count } ?? 0
    }

    /// Adds one to the count of `key`, and returns its place.
    public mutating func add(_ key: Key) -> Int32 {
        total += 1
        let hash = key.hash(seed)
        if let place = find(key, hash) {
            slab[place]?.count += 1
            return place
        }
        let place = slab.insert((key, hash, 1))
        places.insert(hash, place)
        return place
    }

    /// Takes one away from the count at `place`; a negative place has none.
    public mutating func remove(at place: Int32) {
        guard place >= 0, let count = slab[place]?.count else { return }
        total -= 1
        if count > 1 {
            slab[place]?.count = count - 1
        } else if let hash = slab.remove(at: place)?.hash {
            places.remove(hash, place)
        }
    }

    private func find(_ key: Key, _ hash: UInt32) -> Int32? {
        places.find(hash) { slab[$0]?.key == key }
    }
}
