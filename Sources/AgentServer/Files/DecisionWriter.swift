// Writes decisions into files, away from the loop.

import AgentCore
import CallModel
import Configuration
import EventLoop
import Glibc
import JSON

/// Files of JSON lines; the oldest file is deleted when there are enough. Owner: one thread, to
/// which it is handed over.
final class DecisionWriter: @unchecked Sendable {
    /// The system calls that it uses; tests replace them.
    struct System {
        /// Milliseconds since the machine started.
        var now: () -> Int64 = { Clock.bootMilliseconds() }
        /// Writes to a file, and returns how many bytes were written.
        var write: (Int32, UnsafeRawBufferPointer) -> Int = {
            Glibc.write($0, $1.baseAddress, $1.count)
        }
    }

    private let path: String
    private let log: Log
    private let system: System
    private var limits = Configuration.DecisionLog()
    private var file: Int32 = -1
    private var size = 0
    /// The file ends within a line: the next line must not become a part of it.
    private var isTorn = false
    /// When to try again to open a file.
    private var opensAgainAt: Int64 = 0
    private var repeated = RepeatedLine()
    private var lines = JSONWriter()

    /// A log in the file `path`, and in the numbered files beside it.
    init(path: String, log: Log, system: System = System()) {
        self.path = path
        self.log = log
        self.system = system
    }

    deinit { if file >= 0 { close(file) } }

    /// Applies other sizes.
    func configure(_ limits: Configuration.DecisionLog) { self.limits = limits }

    /// Writes `entries`; returns how many were left out because of the disk.
    func write(_ entries: [DecisionEntry]) -> Int {
        if file < 0, system.now() >= opensAgainAt { open() }
        guard file >= 0 else { return entries.count }
        for entry in entries {
            lines.startText()
            entry.write(into: &lines)
            lines.append(UInt8(ascii: "\n"))
        }
        defer { lines.removeAll() }
        if isTorn { withUnsafeBytes(of: UInt8(ascii: "\n")) { _ = write($0) } }
        let written = isTorn ? 0 : write(lines.written)
        // A line without its end cannot be read.
        let lost = lines.written.lines(from: written)
        if size >= limits.size { moveAside() }
        return lost
    }

    /// Returns how many bytes were written.
    private func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        let written = max(0, system.write(file, bytes))
        size += written
        if written > 0 { isTorn = bytes[written - 1] != UInt8(ascii: "\n") }
        if written < bytes.count { warn("cannot write the decision log") }
        return written
    }

    private func warn(_ text: StaticString, _ why: String = "") {
        guard let left = repeated.admit("\(text)", at: Moment(system.now())) else { return }
        log.warn(text, ("path", path), ("error", why), ("left_out", "\(left)"))
    }

    /// The pause after a file could not be opened, in milliseconds.
    static let reopenEvery: Int64 = 10_000

    private func open() {
        (size, isTorn) = (0, false)
        // Must not block: a pipe may have this name.
        file = Glibc.open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
        var status = stat()
        guard file >= 0, fstat(file, &status) == 0 else {
            return cannotOpen(String(cString: strerror(errno)))
        }
        guard status.st_mode & S_IFMT == S_IFREG else { return cannotOpen("it is no plain file") }
        guard status.st_size > 0 else { return }
        size = Int(status.st_size)
        var last: UInt8 = 0
        isTorn = pread(file, &last, 1, status.st_size - 1) == 1 && last != UInt8(ascii: "\n")
    }

    private func cannotOpen(_ why: String) {
        if file >= 0 { close(file) }
        file = -1
        opensAgainAt = system.now() + Self.reopenEvery
        warn("cannot open the decision log", why)
    }

    private func moveAside() {
        close(file)
        // Deletes surplus files, also when their number was lowered.
        var surplus = limits.files
        while unlink("\(path).\(surplus)") == 0 { surplus += 1 }
        for number in (1..<max(1, limits.files)).reversed() {
            rename(number == 1 ? path : "\(path).\(number - 1)", "\(path).\(number)")
        }
        if limits.files == 1 { unlink(path) }
        open()
    }

    /// Logs that decisions are missing.
    func tellLeftOut(_ count: Int) {
        log.warn("decisions were left out of the decision log", ("count", "\(count)"))
    }
}
