// The breaker of one occasion: after too many failures a plugin is passed over for it.

import CallModel

/// Decides whether a plugin is still run for one pair of accounts, timer or report.
struct Breaker {
    enum State: Equatable {
        case closed
        /// Not run until this moment.
        case open(until: Moment, pause: Milliseconds)
        /// One event is being tried; it has this number.
        case trying(Int, pause: Milliseconds)
    }

    static let failuresMax = 5
    static let killsMax = 3
    static let window: Milliseconds = 60_000
    static let firstPause: Milliseconds = 60_000
    static let longestPause: Milliseconds = 3_600_000

    private(set) var state = State.closed
    /// Failures that count, oldest first.
    private var failures: [(at: Moment, isKill: Bool)] = []
    /// When it failed last.
    private(set) var lastFailure = Moment(0)
    /// Whether failures count until a run succeeds, however far apart they are.
    private let keepsFailures: Bool

    init(keepsFailures: Bool = false) { self.keepsFailures = keepsFailures }

    /// When it is tried again; nil: it is run.
    var openUntil: Moment? { if case .open(let until, _) = state { until } else { nil } }

    /// Whether nothing of it matters any more.
    func isStale(at now: Moment) -> Bool {
        switch state {
        case .closed: now >= lastFailure + Self.window
        case .open(let until, _): now >= until + Self.longestPause
        case .trying: false
        }
    }

    /// Whether the plugin may be run now: the number of the trial that this is, 0 when it is
    /// none, nil when the plugin is passed over. After its pause one event is tried, as `next`.
    mutating func admits(at now: Moment, next trial: Int) -> Int? {
        switch state {
        case .closed: return 0
        case .trying: return nil
        case .open(let until, let pause):
            guard now >= until else { return nil }
            state = .trying(trial, pause: pause)
            return trial
        }
    }

    /// Notes a run without failure; only the event that is tried ends a pause.
    mutating func succeeded(of trial: Int, at now: Moment) {
        switch state {
        case .trying(trial, _): self = Breaker(keepsFailures: keepsFailures)
        case .closed: failures.removeAll { now - $0.at >= Self.window }
        case .trying, .open: break
        }
    }

    /// A run was taken back; if it was the event that was tried, the next one is tried.
    mutating func ended(of trial: Int, at now: Moment) {
        guard case .trying(trial, let pause) = state else { return }
        state = .open(until: now, pause: pause)
    }

    /// Notes a failure; returns whether the plugin is passed over because of it.
    mutating func failed(_ failure: Failure, of trial: Int, at now: Moment) -> Bool {
        lastFailure = now
        switch state {
        case .trying(trial, let pause):
            let longer = min(pause * 2, Self.longestPause)
            state = .open(until: now + longer, pause: longer)
            return true
        case .open, .trying: return false
        case .closed:
            if !keepsFailures { failures.removeAll { now - $0.at >= Self.window } }
            failures.append((now, failure.isKill))
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

extension Failure {
    /// Whether the run was ended by force.
    var isKill: Bool { self == .cpu || self == .memory }
}

/// When a plugin is run for nobody at all.
struct Quarantine {
    /// It is not thought of while fewer pairs of accounts ask.
    static let pairsMin = 20

    /// When it ends or ended; nil: there was none.
    private(set) var until: Moment?
    private(set) var pause = Breaker.firstPause

    func isOn(at now: Moment) -> Bool { until.map { now < $0 } ?? false }

    /// Begins another one: twice as long as the last, if that ended not long ago.
    mutating func begin(at now: Moment) {
        let isAgain = until.map { now < $0 + pause } ?? false
        pause = isAgain ? min(pause * 2, Breaker.longestPause) : Breaker.firstPause
        until = now + pause
    }
}
