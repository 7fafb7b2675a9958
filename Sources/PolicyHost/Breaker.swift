// The breaker of one plugin: after too many failures it is quarantined.

import CallModel

/// Decides whether a plugin is still run.
struct Breaker {
    enum State: Equatable {
        case closed
        /// Not run until this moment.
        case open(until: Moment, pause: Milliseconds)
        /// One event is being tried.
        case trying(pause: Milliseconds)
    }

    static let failuresMax = 5
    static let killsMax = 3
    static let window: Milliseconds = 60_000
    static let firstPause: Milliseconds = 60_000
    static let longestPause: Milliseconds = 3_600_000

    private(set) var state = State.closed
    private var failures: [(at: Moment, isKill: Bool)] = []

    /// Whether the plugin may be run now. After its pause one event is tried.
    mutating func admits(at now: Moment) -> Bool {
        switch state {
        case .closed: return true
        case .trying: return false
        case .open(let until, let pause):
            guard now >= until else { return false }
            state = .trying(pause: pause)
            return true
        }
    }

    /// Notes a run without failure.
    @inline(__always)
    mutating func succeeded() {
        if state == .closed { return }
        self = Breaker()
    }

    /// The event that was tried was taken back: the next one is tried.
    mutating func trialEnded(at now: Moment) {
        if case .trying(let pause) = state { state = .open(until: now, pause: pause) }
    }

    /// Notes a failure; returns whether this quarantines the plugin.
    mutating func failed(_ failure: Failure, at now: Moment) -> Bool {
        switch state {
        case .trying(let pause):
            let longer = min(pause * 2, Self.longestPause)
            state = .open(until: now + longer, pause: longer)
            return true
        case .open: return false
        case .closed:
            failures.removeAll { now - $0.at >= Self.window }
            failures.append((now, failure == .cpu || failure == .memory))
            let kills = failures.count { $0.isKill }
            guard failures.count >= Self.failuresMax || kills >= Self.killsMax else {
                return false
            }
            failures = []
            state = .open(until: now + Self.firstPause, pause: Self.firstPause)
            return true
        }
    }
}
