// What the system's service manager hears of this process (sd_notify of systemd).

import EventLoop
import Glibc

/// Tells systemd that the process is ready, that it ends, and regularly that its loop runs: if the
/// loop stands still, systemd ends the process and starts it anew. Each notice is a datagram that
/// waits for nobody; if the manager's queue has no room for it, it is sent again. Owner: the loop's
/// thread.
final class SystemdNotice {
    private let socket: Int32
    private let address: [UInt8]
    private let loop: EventLoop
    private var watchdog: Timer?
    /// Lines that had no room, one of each name.
    private var unsaid: [String] = []
    private lazy var again = Timer(on: loop) { [unowned self] in
        let lines = unsaid
        unsaid = []
        tell(lines)
    }

    /// After how many milliseconds it tries again.
    private static let retryAfter: Int64 = 50

    /// Nil: nobody wants to hear anything (`NOTIFY_SOCKET` is not set).
    init?(on loop: EventLoop) {
        guard let path = getenv("NOTIFY_SOCKET").map({ String(cString: $0) }),
            let address = Self.address(of: path)
        else { return nil }
        self.address = address
        self.loop = loop
        socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0, let pause = Self.watchdogPause else { return }
        watchdog = Timer(on: loop) { [unowned self] in
            // The next one comes soon.
            if unsaid.isEmpty { _ = say("WATCHDOG=1") }
            watchdog?.arm(after: pause)
        }
        watchdog?.arm(after: 0)
    }

    deinit { if socket >= 0 { close(socket) } }

    /// Half the time after which systemd takes a silent process for dead, in milliseconds; nil: it
    /// does not wait for this one.
    private static var watchdogPause: Int64? {
        guard let text = getenv("WATCHDOG_USEC").map({ String(cString: $0) }),
            let microseconds = Int64(text), microseconds > 0
        else { return nil }
        let process = getenv("WATCHDOG_PID").flatMap { Int32(String(cString: $0)) }
        guard process == nil || process == getpid() else { return nil }
        return max(1, microseconds / 2_000)
    }

    /// A `sockaddr_un` for `path`; with `@` it begins in the abstract name space.
    private static func address(of path: String) -> [UInt8]? {
        var name = Array(path.utf8)
        guard name.first == UInt8(ascii: "/") || name.first == UInt8(ascii: "@"),
            name.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path)
        else { return nil }
        if name[0] == UInt8(ascii: "@") { name[0] = 0 }
        return withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) } + name
    }

    /// Says these lines, such as `READY=1`.
    func tell(_ lines: String...) { tell(lines) }

    private func tell(_ lines: [String]) {
        let names = Set(lines.map(Self.name(of:)))
        let all = unsaid.filter { !names.contains(Self.name(of: $0)) } + lines
        unsaid = say(all.joined(separator: "\n")) ? [] : all
        if !unsaid.isEmpty { again.arm(after: Self.retryAfter) }
    }

    private static func name(of line: String) -> Substring { line.prefix { $0 != "=" } }

    /// Whether it need not be said again.
    private func say(_ text: String) -> Bool {
        var text = text
        return address.withUnsafeBytes { address in
            guard let start = address.baseAddress else { return true }
            let to = start.assumingMemoryBound(to: sockaddr.self)
            return text.withUTF8 { bytes in
                let sent = sendto(
                    socket, bytes.baseAddress, bytes.count,
                    Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL), to,
                    socklen_t(address.count))
                return sent >= 0 || (errno != EAGAIN && errno != ENOBUFS && errno != EINTR)
            }
        }
    }
}
