// Work for the loop in pieces, so that nobody waits for a long list.

import EventLoop
import Glibc

/// Carries out long work a piece at a time: after half a millisecond others have their turn.
/// Owner: the loop's thread.
final class Pieces {
    /// Nanoseconds of one turn.
    static let turn: UInt64 = 500_000

    private var waiting: [() -> Bool] = []
    private var timer: Timer?

    init(on loop: EventLoop) {
        timer = Timer(on: loop) { [unowned self] in carryOn() }
    }

    /// Calls `step`, which does a little, again and again until it returns false.
    func run(_ step: @escaping () -> Bool) {
        waiting.append(step)
        if timer?.isArmed == false { timer?.arm(after: 0) }
    }

    private func carryOn() {
        let end = Self.now() + Self.turn
        while !waiting.isEmpty, Self.now() < end {
            let step = waiting.removeFirst()
            var goesOn = step()
            while goesOn, Self.now() < end { goesOn = step() }
            // Others that wait come first.
            if goesOn { waiting.append(step) }
        }
        if !waiting.isEmpty { timer?.arm(after: 0) }
    }

    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
