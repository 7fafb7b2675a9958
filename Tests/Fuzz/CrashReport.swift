// Says how to replay an iteration that crashes the process.

import Glibc

/// The iteration under way, kept where a signal handler may read it.
enum CrashReport {
    nonisolated(unsafe) private static var prefix = UnsafeMutableBufferPointer<CChar>(
        start: nil, count: 0)
    nonisolated(unsafe) static var iteration = 0

    /// Prepares the line for `fuzzer`; the handler may not allocate.
    static func begin(_ fuzzer: Fuzzer, seed: UInt64) {
        let text = "\nCRASH in \(fuzzer.name). Replay: \(replay(fuzzer, seed)) "
        prefix.deallocate()
        prefix = .allocate(capacity: text.utf8.count)
        _ = prefix.initialize(from: text.utf8.map { CChar(bitPattern: $0) })
        for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT] { signal(number, handle) }
    }

    /// The command that replays an iteration, without its number.
    static func replay(_ fuzzer: Fuzzer, _ seed: UInt64) -> String {
        "swift run fuzz run \(fuzzer.name) --seed \(seed) --iteration"
    }

    private static let handle: @convention(c) (CInt) -> Void = { number in
        write(2, CrashReport.prefix.baseAddress, CrashReport.prefix.count)
        withUnsafeTemporaryAllocation(byteCount: 24, alignment: 1) { digits in
            var (rest, start) = (CrashReport.iteration, 23)
            digits[start] = 0x0A
            repeat {
                start -= 1
                digits[start] = 0x30 + UInt8(rest % 10)
                rest /= 10
            } while rest > 0
            write(2, digits.baseAddress?.advanced(by: start), 24 - start)
        }
        signal(number, SIG_DFL)
        raise(number)
    }
}
