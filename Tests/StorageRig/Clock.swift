// The clocks to measure with.

import Glibc

/// Seconds of time and of work.
enum Clock {
    static var wall: Double { now(CLOCK_MONOTONIC) }
    static var cpu: Double { now(CLOCK_PROCESS_CPUTIME_ID) }

    private static func now(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
