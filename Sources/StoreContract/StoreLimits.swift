// How much a store keeps, and for how long.

import CallModel

/// How much a store keeps. A change counts from the next operation on.
public struct StoreLimits: Sendable, Equatable {
    /// Idempotency keys kept for one user; the oldest go first.
    public var keysPerUser = 1_000
    /// Idempotency keys kept in all; the oldest go first.
    public var keysMax = 1_000_000
    /// How long an idempotency key is kept.
    public var keyLifetime: Milliseconds = 24 * 3_600_000
    /// How long an ended call is kept.
    public var retention: Milliseconds = 90 * 24 * 3_600_000
    /// How long a delivered or failed webhook is kept for replay.
    public var webhookRetention: Milliseconds = 7 * 24 * 3_600_000
    /// How long after its time an open webhook is given up. This is longer than its receiver is
    /// tried, so it happens only to webhooks that nobody tries.
    public var webhookPatience: Milliseconds = 4 * 24 * 3_600_000
    /// Ended calls, and finished webhooks, kept by a store in memory.
    public var endedCallsInMemory = 10_000
    /// Participations that wait to be indexed together.
    public var recentParticipations = 2_048
    /// Generations kept, the active one included.
    public var generationsMax = 20
    /// Push registrations of one user (G79); the oldest go first.
    public var registrationsPerUser = 10
    /// Calls that one page looks through.
    public var pageScanMax = 1_000
    /// Rows of each kind that one `sweep` looks at.
    public var sweepStep = 200

    /// The defaults.
    public init() {}
}
