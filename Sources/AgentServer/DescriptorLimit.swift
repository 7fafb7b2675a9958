// How many files, and so connections, a process may have open.

import Configuration
import Glibc

/// The limit of descriptors. The soft one counts; a process may raise it up to the hard one.
public enum DescriptorLimit {
    /// The hard limit of this process.
    static var hard: Int? { limit().map { Int(clamping: $0.rlim_max) } }

    /// How many connections of clients there may be where so many files may be open: a tenth of
    /// them, and at least 64, is kept for the operator's tools, pushes, webhooks and files.
    static func connections(of allowed: Int) -> Int {
        max(allowed / 2, allowed - max(64, allowed / 10))
    }

    /// How many files have to be allowed for so many connections.
    static func needed(for connections: Int) -> Int {
        max(connections + 64, connections * 10 / 9)
    }

    /// The same of this process; nil: it is not known.
    static var connections: Int? {
        limit().map { connections(of: Int(clamping: $0.rlim_cur)) }
    }

    private static func limit() -> rlimit? {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? limit : nil
    }

    private static var resource: __rlimit_resource_t {
        __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    }

    /// Raises the soft limit of this process to its hard one: the usual soft limit of 1,024 is for
    /// programs that call `select`.
    public static func raise() {
        guard var limit = limit() else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
    }

    /// The soft limit of another process, as the kernel tells it.
    static func soft(of process: Int32) -> Int? {
        guard let text = Files.read("/proc/\(process)/limits") else { return nil }
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        let title = "Max open files"
        let line = lines.first { $0.hasPrefix(title) }
        return line?.dropFirst(title.count).split(separator: " ").first.flatMap { Int($0) }
    }
}
