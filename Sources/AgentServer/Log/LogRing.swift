// The newest lines of the log, in memory.

import AgentCore
import CallModel
import Collections
import EventLoop
import JSON

/// One line of the log.
struct LogLine: Sendable {
    let number: Int
    /// Milliseconds of the wall clock.
    let at: Int64
    let level: LogLevel
    let message: String
    let fields: [(String, String)]

    /// The field `name`; nil: there is none.
    func field(_ name: String) -> String? { fields.first { $0.0 == name }?.1 }

    fileprivate var bytes: Int {
        fields.reduce(message.utf8.count + 64) { $0 + $1.0.utf8.count + $1.1.utf8.count + 64 }
    }

    /// `n`, `at`, `level`, `message`, `fields`.
    func write(into writer: inout JSONWriter) {
        writer.object {
            $0.field("n", number)
            $0.field("at", at)
            $0.field("level", level.rawValue)
            $0.field("message", message)
            $0.object("fields") {
                for (name, value) in fields {
                    $0.key(text: name)
                    $0.value(value)
                }
            }
        }
    }
}

/// The newest lines that were written, for whoever looks from afar. Any thread adds.
final class LogRing: Sendable {
    /// Lines that are kept.
    static let most = 10_000
    /// Bytes of them, roughly.
    static let bytesMax = 4 << 20

    private struct Lines {
        /// The oldest first.
        var kept = Queue<LogLine>()
        var bytes = 0
        var last = 0

        mutating func add(_ line: LogLine) {
            kept.append(line)
            bytes += line.bytes
            while kept.count > LogRing.most || bytes > LogRing.bytesMax,
                let old = kept.removeFirst()
            {
                bytes -= old.bytes
            }
        }
    }

    private let lines = Locked(Lines())

    /// Adds a line that was written now.
    func add(_ level: LogLevel, _ message: String, _ fields: [(String, String)]) {
        let at = Clock.wallMilliseconds()
        lines.withLock { lines in
            lines.last += 1
            lines.add(
                LogLine(
                    number: lines.last, at: at, level: level, message: message, fields: fields))
        }
    }

    /// The number of the newest line.
    var last: Int { lines.withLock { $0.last } }

    /// At most `count` lines behind number `after`, the oldest first; whether some are kept no
    /// more.
    func lines(after: Int, _ count: Int) -> (found: [LogLine], areMissing: Bool) {
        lines.withLock { lines in
            let oldest = lines.last - lines.kept.count + 1
            let begin = max(after + 1, oldest)
            let found = lines.kept.values.dropFirst(begin - oldest).prefix(count)
            return (Array(found), after + 1 < oldest)
        }
    }

    /// At most `count` lines before number `before`, the newest first.
    func lines(before: Int, _ count: Int) -> [LogLine] {
        lines.withLock { lines in
            let newer = max(0, lines.last - max(before - 1, 0))
            return Array(lines.kept.values.dropLast(newer).suffix(count).reversed())
        }
    }
}
