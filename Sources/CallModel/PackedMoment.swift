// A moment that may be missing, in the eight bytes of one that is there.

/// Keeps a `Moment?` as one number: an optional one would take sixteen bytes, and a call has a
/// dozen of them.
@propertyWrapper
public struct PackedMoment: Sendable, Equatable {
    /// The smallest number, which is no moment of anybody's clock, stands for none.
    @usableFromInline
    var milliseconds = Int64.min

    /// None.
    @inlinable
    public init() {}

    /// The moment, or none.
    @inlinable
    public var wrappedValue: Moment? {
        get { milliseconds == .min ? nil : Moment(milliseconds) }
        set { milliseconds = newValue?.milliseconds ?? .min }
    }
}
