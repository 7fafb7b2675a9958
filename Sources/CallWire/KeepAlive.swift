// Pings, and noticing that nobody is there any more.

import CallModel

/// The silence of one connection. Both ends use it: whoever pings learns that the other is gone.
public struct KeepAlive: Sendable, Equatable {
    /// What is due.
    public enum Due: Sendable, Equatable {
        /// Nothing.
        case nothing
        /// Send a ping.
        case ping
        /// Close with 4009.
        case close
    }

    private var heardAt: Moment
    private var pingedAt: Moment

    /// A connection that was opened at `now`.
    public init(at now: Moment) {
        heardAt = now
        pingedAt = now
    }

    /// Something came from the other end, be it a pong.
    public mutating func heard(at now: Moment) { heardAt = now }

    /// When `due` has something to say.
    public func nextDeadline(limits: SessionLimits) -> Moment {
        min(pingedAt + limits.pingInterval, heardAt + limits.silenceMax)
    }

    /// What is due at `now`.
    public mutating func due(at now: Moment, limits: SessionLimits) -> Due {
        if now >= heardAt + limits.silenceMax { return .close }
        guard now >= pingedAt + limits.pingInterval else { return .nothing }
        pingedAt = now
        return .ping
    }
}
