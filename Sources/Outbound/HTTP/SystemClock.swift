// The clocks that this target reads, in milliseconds.

import CCurl
import Glibc

/// Readers of the system's clocks.
enum SystemClock {
    /// CLOCK_MONOTONIC: libcurl's time-outs run by it too.
    static var monotonic: Int64 { read(CLOCK_MONOTONIC) }

    /// CLOCK_BOOTTIME, which cannot be set, and which goes on while the machine sleeps.
    static var boot: Int64 { read(CLOCK_BOOTTIME) }

    /// CLOCK_REALTIME, since 1970 UTC.
    static var wall: Int64 { read(CLOCK_REALTIME) }

    private static func read(_ clock: Int32) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
