// Whether the wall clock still goes with the clock of the calls.

import CallModel
import EventLoop

/// Looks every ten seconds how far the wall clock is from the calls' clock, and tells the log when
/// that changes by more than a minute: somebody has set it. Owner: the loop's thread.
final class ClockWatch {
    private static let every: Milliseconds = 10_000

    private let gap: () -> Milliseconds
    private let log: Log
    private var timer: Timer?
    /// The gap that the log knows.
    private var told: Milliseconds = 0

    /// A watch over `gap`, how far the wall clock is ahead.
    init(_ loop: EventLoop, log: Log, gap: @escaping () -> Milliseconds) {
        (self.gap, self.log) = (gap, log)
        timer = Timer(on: loop) { [unowned self] in start() }
    }

    /// Looks now, and from now on.
    func start() {
        look()
        timer?.arm(after: Self.every)
    }

    /// Tells what has changed since it told something.
    func look() {
        let gap = gap()
        guard abs(gap - told) > CoreClock.gapMax else { return }
        told = gap
        if abs(gap) > CoreClock.gapMax {
            log.warn("the wall clock is not the calls' clock", ("ahead_ms", "\(gap)"))
        } else {
            log.info("the wall clock is the calls' clock again", ("ahead_ms", "\(gap)"))
        }
    }
}
