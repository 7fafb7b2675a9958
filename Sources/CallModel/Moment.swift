// Time as the core has it: moments, and the milliseconds between them.

/// A length of time in milliseconds.
public typealias Milliseconds = Int64

/// A moment of the core's clock: milliseconds since 1970 UTC, never going back.
public struct Moment: Hashable, Sendable, Comparable, BitwiseCopyable, CustomStringConvertible {
    /// Milliseconds since 1970 UTC.
    public let milliseconds: Int64

    /// The moment `milliseconds` after 1970 UTC.
    @inlinable
    public init(_ milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The earlier one first.
    public static func < (left: Moment, right: Moment) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// The moment `span` milliseconds later.
    public static func + (moment: Moment, span: Milliseconds) -> Moment {
        Moment(moment.milliseconds + span)
    }

    /// The milliseconds from `right` to `left`.
    public static func - (left: Moment, right: Moment) -> Milliseconds {
        left.milliseconds - right.milliseconds
    }

    /// Takes `moment` if it is earlier.
    @inlinable
    package mutating func lower(to moment: Moment?) {
        if let moment, moment < self { self = moment }
    }

    /// The milliseconds.
    public var description: String { String(milliseconds) }
}

/// An optional moment in the memory of a moment: there are many calls.
@propertyWrapper
public struct Packed: Sendable, Equatable, BitwiseCopyable {
    private var milliseconds = Int64.min

    /// The moment, if there is one.
    public var wrappedValue: Moment? {
        get { milliseconds == .min ? nil : Moment(milliseconds) }
        set { milliseconds = newValue?.milliseconds ?? .min }
    }

    /// `wrappedValue`, packed.
    public init(wrappedValue: Moment?) { self.wrappedValue = wrappedValue }
}
