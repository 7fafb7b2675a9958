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
    /// Events tried so far. A run carries the number that was current when its event began: only
    /// one that began with the trial at hand says how that went.
    private(set) var trials = 0
    private var failures: [(at: Moment, isKill: Bool)] = []

    /// Whether the plugin may be run now. After its pause one event is tried.
    mutating func admits(at now: Moment) -> Bool {
        switch state {
        case .closed: return true
        case .trying: return false
        case .open(let until, let pause):
            guard now >= until else { return false }
            state = .trying(pause: pause)
            trials += 1
            return true
        }
    }

    /// Notes a run without failure.
    @inline(__always)
    mutating func succeeded(of trial: Int) {
        guard case .trying = state, trial == trials else { return }
        reset()
    }

    /// What went wrong so far says nothing any more.
    mutating func reset() {
        state = .closed
        failures = []
    }

    /// A run was taken back; if it was the event that was tried, the next one is tried.
    mutating func ended(of trial: Int, at now: Moment) {
        guard case .trying(let pause) = state, trial == trials else { return }
        state = .open(until: now, pause: pause)
    }

    /// Notes a failure; returns whether this quarantines the plugin.
    mutating func failed(_ failure: Failure, of trial: Int, at now: Moment) -> Bool {
        switch state {
        case .trying(let pause):
            guard trial == trials else { return false }
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
