// A place on the disk for one measurement, and the clocks to measure with.

import Glibc

/// A state directory that is removed with the object. On /var/tmp, which is a disk where /tmp may
/// be memory.
final class Folder {
    let path: String

    init() {
        var template = Array("/var/tmp/callagent-rig-XXXXXX".utf8CString)
        path = String(cString: mkdtemp(&template))
    }

    deinit {
        for name in ["callagent.db", "callagent.db-wal", "callagent.db-shm", "lock"] {
            unlink(path + "/" + name)
        }
        rmdir(path)
    }
}

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
