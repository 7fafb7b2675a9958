// Arrays of few elements, each of which is worth a word.

extension Array {
    /// Takes the element at `place` out and leaves `rest` there: reading it would copy it, and it
    /// would be destroyed with the array.
    @inlinable
    public mutating func take(at place: Int, leaving rest: consuming Element) -> Element {
        swap(&self[place], &rest)
        return rest
    }

    /// Empties an array whose elements were taken out, and keeps its memory. What is left of them
    /// has no value, and destroying it all at once costs more than one by one.
    @inlinable
    public mutating func removeTaken() {
        while !isEmpty { removeLast() }
    }

    /// Appends to an array that mostly gets this one element: growing an empty one asks the
    /// allocator how much it gave, which costs more than a place for one.
    @inlinable
    public mutating func add(_ element: consuming Element) {
        if capacity == 0 { self = [element] } else { append(element) }
    }
}
