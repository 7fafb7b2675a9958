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

    /// When something came from the other end last.
    public private(set) var heardAt: Moment
    private var pingedAt: Moment
    /// When the oldest ping went out that nothing has come after.
    private var askedAt: Moment?

    /// A connection that was opened at `now`.
    public init(at now: Moment) {
        heardAt = now
        pingedAt = now
    }

    /// Something came from the other end, be it a pong.
    public mutating func heard(at now: Moment) {
        heardAt = now
        askedAt = nil
    }

    /// When `due` has something to say.
    public func nextDeadline(limits: SessionLimits) -> Moment {
        let nextPing = pingedAt + limits.pingInterval
        return min(nextPing, end(limits: limits) ?? nextPing)
    }

    /// What is due at `now`.
    public mutating func due(at now: Moment, limits: SessionLimits) -> Due {
        if let end = end(limits: limits), now >= end { return .close }
        guard now >= pingedAt + limits.pingInterval else { return .nothing }
        pingedAt = now
        if askedAt == nil { askedAt = now }
        return .ping
    }

    /// When silence ends the connection: whoever was not asked, or only just, because the machine
    /// stood still, is not given up for it.
    private func end(limits: SessionLimits) -> Moment? {
        guard let askedAt else { return nil }
        let patience = limits.silenceMax - limits.pingInterval
        return max(heardAt + limits.silenceMax, askedAt + patience)
    }
}
