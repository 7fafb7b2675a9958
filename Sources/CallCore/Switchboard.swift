// The one entry point: inputs in, effects out.

/// The switchboard: a value that turns inputs into effects. Whoever understands
/// `handle(_:at:)`, `Input` and `Effect` understands the product.
public struct Switchboard: Sendable {
    /// See `Settings`.
    public private(set) var settings: Settings

    /// A switchboard with `settings`; `seed` decides the random half of its call ids.
    public init(settings: Settings, seed: UInt64) {
        self.settings = settings
    }

    /// Takes over what the store kept. Deadlines that passed meanwhile fire now; open questions
    /// are asked again. Call once, before any input.
    public mutating func restore(_ restored: Restored, at now: Moment) -> [Effect] { [] }

    /// The only way state changes. Deadlines up to `now` fire first, then `input` is handled.
    public mutating func handle(_ input: Input, at now: Moment) -> [Effect] { [] }

    /// When `Input.deadlineReached` is next due; nil: never. May be earlier than any deadline.
    public var nextDeadline: Moment? { nil }
}
