// Taking elements out of an array without a copy of them.

extension Array {
    /// Takes the element at `place` out and leaves `rest` there: reading it would copy it, and it
    /// would be destroyed with the array.
    @inlinable
    public mutating func take(at place: Int, leaving rest: consuming Element) -> Element {
        swap(&self[place], &rest)
        return rest
    }
}
