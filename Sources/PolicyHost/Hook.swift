// The hooks that a plugin may have.

import CallModel

/// A hook: `on.NAME(function … end)`.
public enum Hook: String, Sendable, CaseIterable {
    case dial, invite, token
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
        case .dial, .invite, .token: .decision
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
        case .token: 2
        case .push: 3
        case .extendedData: 4
        case .accepted: 5
        case .rejected: 6
        case .cancelled: 7
        case .timeout: 8
        case .undelivered: 9
        case .participant: 10
        case .ended: 11
        case .signal: 12
        case .presence: 13
        case .pushFailed: 14
        case .start: 15
        case .stop: 16
        case .pluginError: 17
        }
    }
}
