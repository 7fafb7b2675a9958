// The core's time.

import CallModel
import EventLoop

/// Reads the clock of deadlines: the time at the start plus the time since, also while the machine
/// slept. It never goes back, and drifts towards the wall clock by at most one millisecond
/// a second.
struct CoreClock {
    /// The difference to the wall clock that is logged, in milliseconds.
    static let gapMax: Milliseconds = 60_000

    /// The moment at which the clock stands, for tests that let time pass themselves; nil: it runs.
    private var standing: Moment?
    private var base: Int64
    private var lastDrift: Int64
    private var last: Int64

    /// A clock that begins at the store's clock, or else the wall clock, but not before `newest`.
    init(notBefore newest: Moment?, store: Moment? = nil) {
        let boot = Clock.bootMilliseconds()
        let start = max(
            store?.milliseconds ?? Clock.wallMilliseconds(), newest?.milliseconds ?? 0)
        base = start - boot
        lastDrift = boot
        last = start
    }

    /// A clock that stands at `moment`.
    init(standingAt moment: Moment) {
        self.init(notBefore: moment)
        standing = moment
    }

    /// The present moment.
    mutating func now() -> Moment {
        if let standing { return standing }
        let boot = Clock.bootMilliseconds()
        if boot - lastDrift >= 1_000 { drift(at: boot) }
        last = max(last, base + boot)
        return Moment(last)
    }

    /// When `moment` comes by the boot clock, in milliseconds; nil: never, while the clock stands.
    func bootMoment(of moment: Moment) -> Int64? {
        standing == nil ? moment.milliseconds - base : nil
    }

    /// How far the wall clock is ahead, in milliseconds.
    var gap: Milliseconds { Clock.wallMilliseconds() - (base + Clock.bootMilliseconds()) }

    private mutating func drift(at boot: Int64) {
        let seconds = (boot - lastDrift) / 1_000
        lastDrift += seconds * 1_000
        let ahead = Clock.wallMilliseconds() - (base + boot)
        base += min(max(ahead, -seconds), seconds)
    }
}
