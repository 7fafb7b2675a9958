// How much of each cause there is of something.

import CallModel

/// Counts by cause. Who adds to one keeps its place, so that taking away needs no search.
public struct CauseCounts: Sendable {
    private var places = HashIndex()
    private var slab = Slab<(cause: Cause, count: Int)>()
    /// All counts together.
    public private(set) var total = 0
    /// Makes the hashes differ from process to process: users choose their names.
    private let seed: UInt64

    /// No counts.
    public init(seed: UInt64) { self.seed = seed }

    /// The count of `cause`.
    public func count(of cause: Cause) -> Int {
        find(cause, hash(cause)).flatMap { slab[$0]?.count } ?? 0
    }

    /// Adds one to the count of `cause`, and returns its place.
    public mutating func add(_ cause: Cause) -> Int32 {
        total += 1
        let hash = hash(cause)
        if let place = find(cause, hash) {
            slab[place]?.count += 1
            return place
        }
        let place = slab.insert((cause, 1))
        places.insert(hash, place)
        return place
    }

    /// Takes one away from the count at `place`.
    public mutating func remove(at place: Int32) {
        guard place >= 0, let (cause, count) = slab[place] else { return }
        total -= 1
        if count > 1 {
            slab[place]?.count = count - 1
        } else {
            places.remove(hash(cause), place)
            _ = slab.remove(at: place)
        }
    }

    private func find(_ cause: Cause, _ hash: UInt32) -> Int32? {
        places.find(hash) { slab[$0]?.cause == cause }
    }

    private func hash(_ cause: Cause) -> UInt32 {
        let user = cause.user?.hash(seed) ?? 0
        // Mostly the two are the same.
        guard cause.caller != cause.user else { return user }
        return user &* 31 &+ (cause.caller?.hash(seed) ?? 0)
    }
}
