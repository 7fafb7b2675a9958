// What the runs of a plugin are made for, so that time and failures are counted where they belong.

import CallModel

/// What an event of a plugin counts for.
struct Origin {
    /// Who caused it.
    var cause = Cause.nobody
    /// What pauses after failures when there is no account behind it.
    var pauseKey: PauseKey?
    /// The number of the trial that the event is (`Breaker.admits`); 0: it is none.
    var trial = 0
    /// Stands for the cause where a number is wanted; 0: nobody.
    var number = 0
    /// Stands for the cause, and the account that made the call, in C; 0: nobody.
    var part: Int64 = 0

    /// Whether it tells a plugin of something: nobody waits for it.
    var isReport: Bool {
        if case .report(let hook) = pauseKey { hook.kind == .report } else { false }
    }
}

/// What has no account behind it and pauses by itself when it fails (G71).
enum PauseKey: Hashable {
    /// A timer, by name.
    case timer(String)
    /// A report.
    case report(Hook)

    /// As people read it.
    var text: String {
        switch self {
        case .timer(let name): "the timer '\(name)'"
        case .report(let hook): "on.\(hook.rawValue)"
        }
    }
}

extension Cause {
    /// As people read it.
    var text: String {
        switch (user, caller) {
        case (let user?, let caller?) where user != caller: "\(user) in calls of \(caller)"
        case (let user?, _): user.text
        case (nil, let caller?): "calls of \(caller)"
        case (nil, nil): "nobody"
        }
    }
}

/// One event of a plugin with everything that it began: handlers, their parts, what they detached.
/// All of it shares the event's processor time (G77).
final class PluginEvent {
    let origin: Origin
    /// Processor time so far, in nanoseconds.
    var spent: UInt64

    init(_ origin: Origin, spent: UInt64) {
        self.origin = origin
        self.spent = spent
    }
}
