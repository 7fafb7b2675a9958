// The live calls of one user.

/// Places in the table of calls, in the order in which they came. Most users are in one call: the
/// first place takes no memory of its own. An account may be in any number: looking one up, adding
/// and removing take no longer then.
public struct SlotList: Sequence, Sendable {
    private static let none: CallSlot = -1
    /// As many as are looked through; of more, it is known where each stands.
    private static let scanMax = 16

    private var first = none
    /// Those behind the first. Where their places are known, a gap is `none`.
    private var others: [CallSlot] = []
    /// Where each of `others` stands, if they are many.
    private var places: [CallSlot: Int32] = [:]

    /// No places.
    public init() {}

    /// How many there are.
    public var count: Int {
        (first == Self.none ? 0 : 1) + (places.isEmpty ? others.count : places.count)
    }

    /// Whether there is none.
    public var isEmpty: Bool { count == 0 }

    /// Whether `slot` is one of them.
    public func contains(_ slot: CallSlot) -> Bool {
        if first == slot { return true }
        return places.isEmpty ? others.contains(slot) : places[slot] != nil
    }

    /// Adds `slot`, which is none of them, at the end.
    public mutating func append(_ slot: CallSlot) {
        guard !isEmpty else { return first = slot }
        others.append(slot)
        if !places.isEmpty {
            places[slot] = Int32(others.count - 1)
        } else {
            notePlaces()
        }
    }

    /// Takes `slot` out.
    public mutating func remove(_ slot: CallSlot) {
        if first == slot {
            first = Self.none
        } else if places.isEmpty {
            others.removeAll { $0 == slot }
        } else if let place = places.removeValue(forKey: slot) {
            others[Int(place)] = Self.none
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
        for (place, slot) in others.enumerated() { places[slot] = Int32(place) }
    }

    /// Goes over the places as they were when it was made.
    public struct Iterator: IteratorProtocol {
        private let list: SlotList
        private var passed = 0

        fileprivate init(_ list: SlotList) { self.list = list }

        public mutating func next() -> CallSlot? {
            while passed <= list.others.count {
                let slot = passed == 0 ? list.first : list.others[passed - 1]
                passed += 1
                if slot != SlotList.none { return slot }
            }
            return nil
        }
    }

    public func makeIterator() -> Iterator { Iterator(self) }
}
