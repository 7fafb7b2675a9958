// How late the loop comes to what is due.

import CallModel
import EventLoop

/// Has the loop wake it every second and notes how late it was. Owner: the loop's thread.
final class LoopLag {
    private static let every: Milliseconds = 1_000
    /// So many looks make half of what is remembered.
    private static let half = 30

    private var timer: Timer?
    private var due: Int64?
    private var looks = 0
    /// The latest of this half minute, and of the one before.
    private var (now, before) = (Milliseconds(0), Milliseconds(0))

    init(_ loop: EventLoop) {
        timer = Timer(on: loop) { [unowned self] in look() }
    }

    /// From now on it is looked.
    func start() { arm() }

    /// The latest in the last half to whole minute, in milliseconds.
    var most: Milliseconds { max(now, before, late) }

    private var late: Milliseconds { due.map { max(0, Clock.bootMilliseconds() - $0) } ?? 0 }

    private func look() {
        now = max(now, late)
        looks += 1
        if looks == Self.half { (looks, before, now) = (0, now, 0) }
        arm()
    }

    private func arm() {
        let next = Clock.bootMilliseconds() + Self.every
        due = next
        timer?.arm(at: next)
    }
}
