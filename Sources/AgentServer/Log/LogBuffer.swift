// Log lines that wait for a reader that may have stopped reading.

import EventLoop
import Glibc

/// Lines that wait to be written, within a bound, and the thread that writes them. Adding a line
/// never waits. Lines without room are left out and counted, and a later line says how many.
final class LogBuffer: Sendable {
    /// The lines of the whole process: several logs may write into it.
    static let standardError = LogBuffer(to: STDERR_FILENO)

    private let shared: Shared
    /// The newest lines, for whoever looks from afar.
    let newest = LogRing()

    /// Lines for `descriptor`; a negative one takes none.
    init(to descriptor: Int32, limit: Int = 1 << 20) {
        shared = Shared(descriptor, limit: limit)
        guard descriptor >= 0 else { return }
        // Without a thread nothing is written; a process that gets no thread ends soon.
        _ = try? WorkerThread(name: "log", yields: true) { [shared] in shared.run() }
    }

    deinit { shared.wake.close() }

    /// Bytes that may wait, with those being written.
    var limit: Int {
        get { shared.state.withLock { $0.limit } }
        set { shared.state.withLock { $0.limit = newValue } }
    }

    /// Lines that were left out since the process began.
    var leftOut: UInt64 { shared.state.withLock { $0.leftOutInAll } }

    /// Adds a whole line. `notice` makes the line that says how many were left out.
    func add(_ line: [UInt8], notice: @escaping @Sendable (Int) -> [UInt8]) {
        guard shared.descriptor >= 0 else { return }
        let mustWake = shared.state.withLock { $0.add(line, notice) }
        if mustWake { _ = shared.wake.post(()) }
    }

    /// Waits until everything is written, at most so many milliseconds.
    func flush(within patience: Int64) {
        guard shared.descriptor >= 0 else { return }
        let deadline = Clock.bootMilliseconds() + patience
        var batch: [Void] = []
        while !shared.state.withLock({ $0.awaitEnd() }) {
            guard case .elements = shared.written.takeAll(into: &batch, until: deadline) else {
                return
            }
        }
    }
}

/// Lines that are written at once, or a line that says how many were left out.
private struct Piece {
    /// A pipe takes at least this; a longer piece would only be lost as a whole.
    static let size = 65_536

    var bytes: [UInt8]
    /// The number of left-out lines that it reports; 0: it has lines.
    var told = 0

    /// Lines that are lost when only `count` bytes of it were written.
    func lost(after count: Int) -> Int {
        guard count < bytes.count else { return 0 }
        return told > 0 ? told : bytes.lines(from: count)
    }
}

extension RandomAccessCollection where Element == UInt8, Index == Int {
    /// Lines that end at `place`, counted from the beginning, or behind it.
    func lines(from place: Int) -> Int {
        dropFirst(place).count { $0 == UInt8(ascii: "\n") }
    }
}

/// What the threads that add lines share with the thread that writes them.
private final class Shared: Sendable {
    struct State {
        var limit: Int
        private var pieces: [Piece] = []
        /// Bytes in `pieces` and in what is being written.
        private var held = 0
        /// Lines left out since a line last said so.
        private var leftOut = 0
        private(set) var leftOutInAll: UInt64 = 0
        /// The last piece could not be written: left-out lines are reported with the next line.
        private var isFailing = false
        /// The thread is at work.
        private var isBusy = false
        /// A caller waits until everything is written.
        private var isAwaited = false
        private var notice: @Sendable (Int) -> [UInt8] = { _ in [] }

        init(limit: Int) { self.limit = limit }

        /// Whether everything is written; if not, the caller is told when it is.
        mutating func awaitEnd() -> Bool {
            isAwaited = isBusy
            return !isBusy
        }

        /// Returns whether to wake the thread.
        mutating func add(
            _ line: [UInt8], _ notice: @escaping @Sendable (Int) -> [UInt8]
        ) -> Bool {
            self.notice = notice
            let told = leftOut > 0 ? notice(leftOut) : []
            guard held + told.count + line.count <= limit else {
                leave(1)
                return false
            }
            if leftOut > 0 { append(Piece(bytes: told, told: leftOut)) }
            leftOut = 0
            let last = pieces.count - 1
            if last >= 0, pieces[last].told == 0, pieces[last].bytes.count < Piece.size {
                pieces[last].bytes += line
                held += line.count
            } else {
                append(Piece(bytes: line))
            }
            defer { isBusy = true }
            return !isBusy
        }

        private mutating func append(_ piece: Piece) {
            pieces.append(piece)
            held += piece.bytes.count
        }

        private mutating func leave(_ count: Int) {
            leftOut += count
            leftOutInAll += UInt64(count)
        }

        /// The next piece to write; nil: nothing.
        mutating func next() -> Piece? {
            if !pieces.isEmpty { return pieces.removeFirst() }
            if leftOut > 0, !isFailing {
                let piece = Piece(bytes: notice(leftOut), told: leftOut)
                leftOut = 0
                held += piece.bytes.count
                return piece
            }
            isBusy = false
            return nil
        }

        /// Whether a caller waits until everything is written.
        mutating func takeAwaited() -> Bool {
            defer { isAwaited = false }
            return isAwaited
        }

        /// So many bytes of a piece were written; the rest is lost.
        mutating func done(_ piece: Piece, written: Int) {
            held -= piece.bytes.count
            let lost = piece.lost(after: written)
            isFailing = lost > 0
            leftOut += lost
            if piece.told == 0 { leftOutInAll += UInt64(lost) }
        }
    }

    let descriptor: Int32
    let state: Locked<State>
    let wake = WorkerMailbox<Void>()
    let written = WorkerMailbox<Void>()

    init(_ descriptor: Int32, limit: Int) {
        self.descriptor = descriptor
        state = Locked(State(limit: limit))
    }

    /// The body of the thread.
    func run() {
        var batch: [Void] = []
        var isTorn = false
        while case .elements = wake.takeAll(into: &batch) {
            while let piece = state.withLock({ $0.next() }) {
                // After half a line, the next one begins on a new line.
                if isTorn, write([UInt8(ascii: "\n")]) == 1 { isTorn = false }
                let count = isTorn ? 0 : write(piece.bytes)
                if count > 0 { isTorn = piece.bytes[count - 1] != UInt8(ascii: "\n") }
                state.withLock { $0.done(piece, written: count) }
            }
            if state.withLock({ $0.takeAwaited() }) { _ = written.post(()) }
        }
    }

    /// Writes, waiting for a reader as long as it takes; returns how many bytes were written.
    private func write(_ bytes: [UInt8]) -> Int {
        bytes.withUnsafeBytes { all in
            var count = 0
            while count < all.count {
                let rest = UnsafeRawBufferPointer(rebasing: all[count...])
                let taken = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if taken > 0 { count += taken }
                guard taken <= 0 else { continue }
                switch errno {
                case EINTR: continue
                // Another process shares this descriptor and has made it non-blocking.
                case EAGAIN: waitForReader()
                default: return count
                }
            }
            return count
        }
    }

    private func waitForReader() {
        var one = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&one, 1, 1_000)
    }
}
