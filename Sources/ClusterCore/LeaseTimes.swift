// How long an owner may be silent.

import CallModel

/// The times of a lease. No clock of two machines is ever compared: each side measures by its own.
public struct LeaseTimes: Sendable, Equatable {
    /// How often an owner counts up its beat, and a standby looks at it.
    public var beat: Milliseconds = 500
    /// How long a beat must stand still before another node takes over.
    public var lease: Milliseconds = 2_500
    /// How often it must have been seen to stand still, by reads that worked.
    public var reads = 4

    /// How long more nodes must see another one than see the owner before that gives up.
    public var outnumbered: Milliseconds = 10_000

    /// How often others look while the owner was asked to give up: nobody serves from then on until
    /// one of them has seen that it did.
    public var look: Milliseconds { beat / Self.looks }

    /// So many of these looks in the time of a beat.
    private static let looks: Int64 = 10

    /// The defaults.
    public init() {}

    /// How long an owner may speak after the begin of its last successful beat: less than a lease,
    /// so that it is silent before another node can have taken over.
    public var voice: Milliseconds { lease - Self.margin }

    /// How much earlier an owner falls silent than others take over.
    private static let margin: Milliseconds = 300

    /// Why they make no sense; nil: they do.
    public var problem: String? {
        if beat < 50 { return "beat: at least 50 ms" }
        if lease < beat * 5 { return "lease: at least five beats" }
        return nil
    }
}
