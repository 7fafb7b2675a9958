// Places in a table, few or many.

/// Places in a table, in the order in which they came. Mostly there is one: the first takes no
/// separate memory. With many, searching, adding and removing do not get slower.
public struct PlaceList: Sequence, Sendable {
    private static let none: Int32 = -1
    /// Up to so many places are searched one by one; with more, an index tells where each stands.
    private static let scanMax = 16

    private var first = none
    /// Those behind the first. With an index, a gap is `none`.
    private var others: [Int32] = []
    /// The index: where each of `others` stands, if they are many.
    private var places: [Int32: Int32] = [:]

    /// No places.
    public init() {}

    /// How many there are.
    public var count: Int {
        (first == Self.none ? 0 : 1) + (places.isEmpty ? others.count : places.count)
    }

    /// Whether there is none.
    public var isEmpty: Bool { count == 0 }

    /// Whether `place` is one of them.
    public func contains(_ place: Int32) -> Bool {
        if first == place { return true }
        return places.isEmpty ? others.contains(place) : places[place] != nil
    }

    /// Adds `place`, which is none of them, at the end.
    public mutating func append(_ place: Int32) {
        guard !isEmpty else { return first = place }
        others.append(place)
        if !places.isEmpty {
            places[place] = Int32(others.count - 1)
        } else {
            notePlaces()
        }
    }

    /// Takes `place` out.
    public mutating func remove(_ place: Int32) {
        if first == place {
            first = Self.none
        } else if places.isEmpty {
            others.removeAll { $0 == place }
        } else if let index = places.removeValue(forKey: place) {
            others[Int(index)] = Self.none
        }
        if places.isEmpty || places.count < others.count / 2 { closeGaps() }
    }

    private mutating func closeGaps() {
        guard !others.isEmpty else { return }
        others.removeAll { $0 == Self.none }
        if first == Self.none, !others.isEmpty { first = others.removeFirst() }
        notePlaces()
    }

    private mutating func notePlaces() {
        places = [:]
        guard others.count > Self.scanMax else { return }
        for (index, place) in others.enumerated() { places[place] = Int32(index) }
    }

    /// The `count` places that came last, or all if there are fewer, the newest first. What it
    /// costs grows with `count` and with gaps among these, not with how many there are.
    public func newest(_ count: Int) -> [Int32] {
        var found: [Int32] = []
        var index = others.endIndex
        while found.count < count, index > others.startIndex {
            index -= 1
            if others[index] != Self.none { found.append(others[index]) }
        }
        if found.count < count, first != Self.none { found.append(first) }
        return found
    }

    /// Goes over the places as they were when it was made.
    public struct Iterator: IteratorProtocol {
        private let list: PlaceList
        private var passed = 0

        fileprivate init(_ list: PlaceList) { self.list = list }

        /// The next place that is not empty; nil: there is none.
        public mutating func next() -> Int32? {
            while passed <= list.others.count {
                let place = passed == 0 ? list.first : list.others[passed - 1]
                passed += 1
                if place != PlaceList.none { return place }
            }
            return nil
        }
    }

    /// Goes over the places as they are now.
    public func makeIterator() -> Iterator { Iterator(self) }
}
