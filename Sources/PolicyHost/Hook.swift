// The hooks that a plugin may have.

import CallModel

/// A hook: `on.NAME(function … end)`.
public enum Hook: String, Sendable, CaseIterable {
    case dial, invite, join, token
    case push
    case extendedData = "extended_data"
    case accepted, rejected, cancelled, timeout, undelivered, participant, ended
    case signal, presence
    case pushFailed = "push_failed"
    case start, stop
    case pluginError = "plugin_error"

    /// How the answers of several plugins become one.
    public enum Kind: Sendable {
        /// The first answer wins.
        case decision
        /// Each gets the result of the one before.
        case shaping
        /// Nobody waits for an answer.
        case report
    }

    /// See `Kind`.
    public var kind: Kind {
        switch self {
        case .dial, .invite, .join, .token: .decision
        case .push, .extendedData: .shaping
        case .accepted, .rejected, .cancelled, .timeout, .undelivered, .participant, .ended,
            .signal, .presence, .pushFailed, .start, .stop, .pluginError:
            .report
        }
    }

    /// What the switchboard must ask or tell for it.
    var demand: Hooks {
        switch self {
        case .dial: .dial
        case .join: .join
        case .token: .token
        case .extendedData: [.incomingData, .outgoingData]
        case .accepted, .rejected, .cancelled, .timeout, .undelivered, .participant, .ended:
            .reports
        case .signal: .signal
        case .presence: .presence
        case .invite, .push, .pushFailed, .start, .stop, .pluginError: []
        }
    }

    /// Its place among all hooks; written out, because every question looks it up.
    var index: Int {
        switch self {
        case .dial: 0
        case .invite: 1
        case .join: 2
        case .token: 3
        case .push: 4
        case .extendedData: 5
        case .accepted: 6
        case .rejected: 7
        case .cancelled: 8
        case .timeout: 9
        case .undelivered: 10
        case .participant: 11
        case .ended: 12
        case .signal: 13
        case .presence: 14
        case .pushFailed: 15
        case .start: 16
        case .stop: 17
        case .pluginError: 18
        }
    }
}
