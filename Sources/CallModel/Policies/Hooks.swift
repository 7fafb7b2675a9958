// What the policies listen to.

/// Hooks that some plugin has: what nobody listens to is neither asked nor told.
public struct Hooks: OptionSet, Sendable {
    /// One bit for each hook.
    public let rawValue: UInt32
    /// The hooks of these bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// `on.dial`.
    public static let dial = Hooks(rawValue: 1 << 0)
    /// `on.extended_data`, asked with `"in"`.
    public static let incomingData = Hooks(rawValue: 1 << 1)
    /// `on.extended_data`, asked with `"out"`.
    public static let outgoingData = Hooks(rawValue: 1 << 2)
    /// `on.token`.
    public static let token = Hooks(rawValue: 1 << 3)
    /// Any report hook except `on.presence` and `on.signal`.
    public static let reports = Hooks(rawValue: 1 << 4)
    /// `on.presence`.
    public static let presence = Hooks(rawValue: 1 << 5)
    /// `on.signal`.
    public static let signal = Hooks(rawValue: 1 << 6)
    /// `on.join`.
    public static let join = Hooks(rawValue: 1 << 7)
}
