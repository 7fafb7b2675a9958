// What most owners do not have.

/// A value in memory of its own, which most owners do not have: an owner without one keeps a
/// pointer instead of the room for it.
package final class Boxed<Value: Sendable>: Sendable {
    /// What is inside.
    package let value: Value

    /// `value` in memory of its own.
    package init(_ value: Value) { self.value = value }
}
