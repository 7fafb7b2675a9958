// Values that keep their places, so that others may remember the place.

/// Values that keep their places until they are taken out. A place that is free is used again, the
/// last one first.
public struct Slab<Element> {
    @usableFromInline var places = Pages<Element?>()
    @usableFromInline var free: [Int32] = []

    /// An empty slab.
    @inlinable
    public init() {}

    /// How many values there are.
    @inlinable
    public var count: Int { places.count - free.count }

    /// Whether no place is taken.
    @inlinable
    public var isEmpty: Bool { count == 0 }

    /// How many places there are, taken or free.
    @inlinable
    public var placeCount: Int { places.count }

    /// All values, by their places.
    @inlinable
    public var values: [Element] { places.values(in: places.indices).compactMap { $0 } }

    /// Whether any value fits.
    @inlinable
    public func contains(where fits: (Element) -> Bool) -> Bool {
        places.indices.contains { index in places[index].map(fits) ?? false }
    }

    /// The value at `place`; nil: it is free. A value may only be replaced by a value.
    @inlinable
    public subscript(place: Int32) -> Element? {
        // Inlined always: else memory is allocated to hand a large value out.
        @inline(__always) _read { yield places[Int(place)] }
        @inline(__always) _modify { yield &places[Int(place)] }
    }

    /// Changes the value at `place` without moving it; nothing happens when the place is free.
    /// Cheaper than the subscript, which may allocate memory to hand a value out and back.
    @inlinable
    public mutating func change(at place: Int32, _ body: (inout Element) -> Void) {
        guard var value = places[Int(place)].take() else { return }
        body(&value)
        places[Int(place)] = value
    }

    /// Puts `value` at a free place, which it returns.
    @inlinable
    public mutating func insert(_ value: consuming Element) -> Int32 {
        guard let place = free.popLast() else {
            places.append(consume value)
            return Int32(places.count - 1)
        }
        places[Int(place)] = consume value
        return place
    }

    /// Takes the value at `place` out, and frees the place; nil: it was free.
    @inlinable
    public mutating func remove(at place: Int32) -> Element? {
        guard let value = places[Int(place)].take() else { return nil }
        free.append(place)
        return value
    }
}

extension Slab: Sendable where Element: Sendable {}
