// The times and sizes of sessions.

import CallModel

/// What a session keeps, and for how long.
public struct SessionLimits: Sendable, Equatable {
    /// Time for the first message of a connection.
    public var helloWithin: Milliseconds = 5_000
    /// The server pings as often as this.
    public var pingInterval: Milliseconds = 25_000
    /// A connection ends after this much silence; more than `pingInterval`.
    public var silenceMax: Milliseconds = 33_000
    /// Time for a new connection to resume a session.
    public var resumeWindow: Milliseconds = 120_000
    /// Unacknowledged events that are kept for a resume.
    public var heldEvents = 256
    /// Bytes of unacknowledged events that are kept for a resume.
    public var heldBytes = 262_144
    /// The message that is no JSON object and closes the connection: this one (B24).
    public var unparseableMessages = 3

    /// The limits of the protocol.
    public init() {}
}
