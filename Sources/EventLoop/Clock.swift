// The two clocks that everything uses, in milliseconds.
import CUV
import Glibc

/// Readers of the system's clocks.
public enum Clock {
    /// Milliseconds since the machine started, time asleep included (CLOCK_BOOTTIME). Never goes
    /// back.
    public static func bootMilliseconds() -> Int64 { read(CLOCK_BOOTTIME) }

    /// Milliseconds since 1970 UTC (CLOCK_REALTIME). An administrator may set it back.
    public static func wallMilliseconds() -> Int64 { read(CLOCK_REALTIME) }

    /// Whether a service such as chrony keeps the wall clock synchronised.
    public static var isKept: Bool { cuv_clock_is_kept() != 0 }

    /// CLOCK_MONOTONIC, which condition variables sleep by; it stands still while the machine
    /// sleeps.
    static func monotonicMilliseconds() -> Int64 { read(CLOCK_MONOTONIC) }

    /// The same clock in nanoseconds, to tell how long something took.
    static func monotonicNanoseconds() -> Int64 { read(CLOCK_MONOTONIC, perSecond: 1_000_000_000) }

    private static func read(_ clock: Int32, perSecond parts: Int64 = 1_000) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * parts + Int64(time.tv_nsec) / (1_000_000_000 / parts)
    }
}
