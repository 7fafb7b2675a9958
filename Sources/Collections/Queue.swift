// A queue: values are added at one end and taken at the other.

/// Values in the order in which they came. Both ends cost the same however many there are.
public struct Queue<Element> {
    @usableFromInline var elements: [Element] = []
    /// Places at the front whose values were taken; their memory is freed when the rest moves.
    @usableFromInline var left = 0

    /// An empty queue.
    @inlinable
    public init() {}

    /// How many values there are.
    @inlinable
    public var count: Int { elements.count - left }

    /// The oldest value.
    @inlinable
    public var first: Element? { left < elements.count ? elements[left] : nil }

    /// All values, the oldest first.
    @inlinable
    public var values: ArraySlice<Element> { elements[left...] }

    /// Adds a value behind the others.
    @inlinable
    public mutating func append(_ value: Element) { elements.append(value) }

    /// Takes the oldest value out.
    @inlinable
    public mutating func removeFirst() -> Element? {
        guard let oldest = first else { return nil }
        left += 1
        // Moving the rest only when half has left keeps the cost of each value constant.
        if left > elements.count / 2 {
            elements.removeFirst(left)
            left = 0
        }
        return oldest
    }

    /// Takes up to `count` of the oldest values out.
    public mutating func removeFirst(_ count: Int) -> [Element] {
        var taken: [Element] = []
        while taken.count < count, let oldest = removeFirst() { taken.append(oldest) }
        return taken
    }
}

extension Queue: Sendable where Element: Sendable {}
