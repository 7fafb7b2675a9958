// What the system knows of the process, under the names that all programs use for it.

import Configuration
import EventLoop
import Glibc

/// Processor time, memory and descriptors of this process. Owner: the loop's thread.
struct ProcessFigures {
    /// With more connections descriptors are not counted one by one.
    private static let countedMost = 5_000

    private let startedAt = Clock.wallMilliseconds()
    /// Descriptors that are no connections, when they were counted last.
    private var others = 0

    /// Every figure.
    ///
    /// - Parameter connections: so many of the descriptors are connections.
    mutating func samples(connections: Int) -> [Metrics.Sample] {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let time = Self.milliseconds(usage.ru_utime) + Self.milliseconds(usage.ru_stime)
        return [
            Self.thousandths(
                "process_cpu_seconds_total", "Processor time of the process.", isCounter: true,
                time),
            Self.whole(
                "process_resident_memory_bytes", "Memory of the process that is in the machine.",
                residentBytes),
            Self.whole(
                "process_open_fds", "Open descriptors of the process.",
                openDescriptors(connections: connections)),
            Self.whole(
                "process_max_fds", "Descriptors that the process may open.",
                DescriptorLimit.soft(of: getpid()) ?? 0),
            Self.thousandths(
                "process_start_time_seconds", "When the process began, since 1970 UTC.",
                isCounter: false, startedAt),
        ]
    }

    /// Bytes that are free for the process where `directory` is; nil: nobody knows.
    static func freeBytes(at directory: String) -> Int? {
        var space = statvfs()
        guard statvfs(directory, &space) == 0 else { return nil }
        return Int(space.f_bavail) * Int(space.f_frsize)
    }

    private static func milliseconds(_ time: timeval) -> Int64 {
        Int64(time.tv_sec) * 1_000 + Int64(time.tv_usec) / 1_000
    }

    private static func whole(_ name: String, _ help: String, _ value: Int) -> Metrics.Sample {
        Metrics.Sample(name: name, help: help, isCounter: false, value: UInt64(max(0, value)))
    }

    private static func thousandths(
        _ name: String, _ help: String, isCounter: Bool, _ value: Int64
    ) -> Metrics.Sample {
        Metrics.Sample(
            name: name, help: help, isCounter: isCounter, value: UInt64(max(0, value) / 1_000),
            thousandths: UInt64(max(0, value) % 1_000))
    }

    private var residentBytes: Int {
        let text = String(decoding: Files.read("/proc/self/statm") ?? [], as: UTF8.self)
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return (pages ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Newer kernels tell the number; older ones take a microsecond for each to list them, and the
    /// loop is not to stand still for that: with many connections it is reckoned.
    private mutating func openDescriptors(connections: Int) -> Int {
        var status = stat()
        if stat("/proc/self/fd", &status) == 0, status.st_size > 0 { return Int(status.st_size) }
        guard connections < Self.countedMost, let count = Self.listed else {
            return connections + others
        }
        others = max(0, count - connections)
        return count
    }

    private static var listed: Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // Two names of folders, and the descriptor that lists them.
        return max(0, count - 3)
    }
}
