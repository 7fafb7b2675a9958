// Files of lines that grow to a bound, the oldest of which are deleted.

import AgentCore
import CallModel
import Decisions
import EventLoop
import Glibc

/// A file of JSON lines with numbered older ones beside it. Owner: one thread, to which it is
/// handed over.
final class LineFiles: @unchecked Sendable {
    /// The system calls that it uses; tests replace them.
    struct System {
        /// Milliseconds since the machine started.
        var now: () -> Int64 = { Clock.bootMilliseconds() }
        /// Writes to a file, and returns how many bytes were written.
        var write: (Int32, UnsafeRawBufferPointer) -> Int = {
            Glibc.write($0, $1.baseAddress, $1.count)
        }
    }

    /// What the log says.
    struct Words {
        var cannotWrite: StaticString
        var cannotOpen: StaticString
    }

    let path: String
    /// Bytes of one file, roughly, and files in all.
    var limits = (size: 64 << 20, files: 4)
    /// How long older files are kept, in milliseconds; nil: as long as there is room.
    var retention: Int64?
    private let words: Words
    private let log: Log
    private let system: System
    private var file: Int32 = -1
    private var size = 0
    /// How often a file was moved aside.
    private(set) var moved = 0
    /// The file ends within a line: the next line must not become a part of it.
    private var isTorn = false
    /// When to try again to open a file, and when to look whether it is still the one there.
    private var opensAgainAt: Int64 = 0
    private var looksAgainAt: Int64 = 0
    private var repeated = RepeatedLine()

    /// The file `path`, and the numbered files beside it.
    init(path: String, log: Log, words: Words, system: System = System()) {
        self.path = path
        self.log = log
        self.words = words
        self.system = system
    }

    deinit { if file >= 0 { close(file) } }

    /// Whether there is a file to write to; tries to open it, now and then.
    func isReady() -> Bool {
        let now = system.now()
        if file >= 0, now >= looksAgainAt {
            looksAgainAt = now + Self.lookEvery
            openIfTaken()
        }
        if file < 0, now >= opensAgainAt { open() }
        return file >= 0
    }

    /// Somebody may have deleted the file, or moved it away: lines written to a file without its
    /// name are lost to its readers, and nobody would notice.
    private func openIfTaken() {
        var (own, there) = (stat(), stat())
        guard fstat(file, &own) == 0 else { return }
        let isThere = stat(path, &there) == 0
        guard !isThere || own.st_ino != there.st_ino || own.st_dev != there.st_dev else { return }
        warn(words.cannotWrite, isThere ? "another file took its place" : "it was taken away")
        openAgain()
    }

    /// Appends whole lines; returns how many of their bytes were written.
    func append(_ lines: UnsafeRawBufferPointer) -> Int {
        guard isReady() else { return 0 }
        if isTorn { withUnsafeBytes(of: UInt8(ascii: "\n")) { _ = write($0) } }
        let written = isTorn ? 0 : write(lines)
        if size >= limits.size { moveAside() }
        return written
    }

    /// Returns how many bytes were written.
    private func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        let count = system.write(file, bytes)
        let why = count < 0 ? String(cString: strerror(errno)) : "it takes no more: is it full?"
        let written = max(0, count)
        size += written
        if written > 0 { isTorn = bytes[written - 1] != UInt8(ascii: "\n") }
        if written < bytes.count { warn(words.cannotWrite, why) }
        return written
    }

    private func warn(_ text: StaticString, _ why: String) {
        guard let left = repeated.admit("\(text)", at: Moment(system.now())) else { return }
        log.warn(text, ("path", path), ("error", why), ("left_out", "\(left)"))
    }

    /// The pause after a file could not be opened, in milliseconds.
    static let reopenEvery: Int64 = 10_000
    /// The pause between two looks whether a file is still there.
    static let lookEvery: Int64 = 1_000

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
        warn(words.cannotOpen, why)
    }

    private func moveAside() {
        close(file)
        moved += 1
        // Deletes surplus files, also when their number was lowered.
        var surplus = limits.files
        while unlink("\(path).\(surplus)") == 0 { surplus += 1 }
        for number in (1..<max(1, limits.files)).reversed() {
            rename(number == 1 ? path : "\(path).\(number - 1)", "\(path).\(number)")
        }
        if limits.files == 1 { unlink(path) }
        removeOld()
        open()
    }

    // MARK: Writing again

    /// Begins to write one of the files again, number 0 the newest, without what must not be kept.
    ///
    /// - Parameter change: what becomes of a line, which may be the same; nil: it goes.
    /// - Returns: nil: there is no such file.
    /// - Throws: a `LineFilesError` of one line.
    func rewrite(
        _ number: Int, _ change: @escaping LineRewrite.Change
    ) throws(LineFilesError) -> LineRewrite? {
        // The rest of an earlier attempt, left by a crash, may name a person who must not be named.
        unlink(LineRewrite.path(beside: self))
        let old = Glibc.open(name(number), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard old >= 0 else { return nil }
        return try LineRewrite(of: self, old, change)
    }

    private func name(_ number: Int) -> String { number == 0 ? path : "\(path).\(number)" }

    /// Where the file of this status stands now: it may have been moved aside; nil: it is gone.
    func name(of status: stat) -> String? {
        for number in 0...max(limits.files, 1) {
            var found = stat()
            guard stat(name(number), &found) == 0 else { continue }
            if found.st_ino == status.st_ino, found.st_dev == status.st_dev { return name(number) }
        }
        return nil
    }

    func writeWhole(_ bytes: [UInt8], to file: Int32) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let count = system.write(file, UnsafeRawBufferPointer(rebasing: bytes[done...]))
                guard count > 0 else { return false }
                done += count
            }
            return true
        }
    }

    /// Another file has the name of the newest one.
    func openAgain() {
        guard file >= 0 else { return }
        close(file)
        open()
    }

    /// Deletes older files whose last line is older than `retention`.
    func removeOld() {
        guard let retention else { return }
        // In seconds: the time of a file may be any number, and a product of it too much.
        let oldest = Int((Clock.wallMilliseconds() - retention) / 1_000)
        for number in 1..<max(2, limits.files) {
            var status = stat()
            guard stat("\(path).\(number)", &status) == 0 else { continue }
            if status.st_mtim.tv_sec < oldest { unlink("\(path).\(number)") }
        }
    }
}

/// A file of lines could not be written again.
struct LineFilesError: Error, CustomStringConvertible {
    let description: String

    /// The last system call failed for `path`.
    init(_ path: String) {
        description = "\(path): \(String(cString: strerror(errno)))"
    }
}
