// The log of the process: one line for each event, for a person or for a machine.

import AgentCore
import CallModel
import EventLoop
import Glibc
import JSON

/// Writes structured log lines. Any thread may use it, and none ever waits for a reader of the log:
/// see `LogBuffer`.
public struct Log: Sendable {
    /// How important a line is.
    public typealias Level = LogLevel

    /// What a line looks like.
    public enum Format: String, Sendable, CaseIterable {
        /// `12:03:04.123 info  listening  address=127.0.0.1:7600`.
        case text
        /// `{"time":…,"level":"info","message":"listening","address":…}`.
        case json
    }

    private struct Settings {
        var level: Level
        var format: Format
        /// Lines of each level; those below `level` are none.
        var lines = Tally<Level>()
    }

    /// Shared by all copies of a log, on whatever thread they are.
    private let settings: Locked<Settings>
    private let automaticFormat: Format
    private let buffer: LogBuffer

    /// A log that writes lines of `level` and above to `descriptor`; nil: text on a terminal,
    /// JSON otherwise.
    public init(level: Level = .info, format: Format? = nil, descriptor: Int32 = STDERR_FILENO) {
        automaticFormat = isatty(descriptor) == 1 ? .text : .json
        settings = Locked(Settings(level: level, format: format ?? automaticFormat))
        buffer = descriptor == STDERR_FILENO ? .standardError : LogBuffer(to: descriptor)
    }

    /// Writes lines of `level` and above from now on; nil: text on a terminal, JSON otherwise.
    func configure(level: Level, format: Format?) {
        let format = format ?? automaticFormat
        settings.withLock { ($0.level, $0.format) = (level, format) }
    }

    /// Bytes of lines that may wait to be written.
    var bufferLimit: Int {
        get { buffer.limit }
        nonmutating set { buffer.limit = newValue }
    }

    /// Lines of each level, those left out among them.
    var lines: Tally<Level> { settings.withLock { $0.lines } }

    /// The newest lines of the process.
    var newest: LogRing { buffer.newest }

    /// Lines left out because they were not read, or the disk was full.
    var leftOut: UInt64 { buffer.leftOut }

    /// Waits until all lines are written, a second at most: before the process ends.
    public static func flush() { LogBuffer.standardError.flush(within: 1_000) }

    /// Names of fields that mean the same in every line.
    static let ownNames: Set<String> = ["time", "level", "message", "plugin", "call"]

    /// Writes a line at level `debug`.
    public func debug(_ message: StaticString, _ fields: (String, String)...) {
        write(.debug, "\(message)", fields)
    }

    /// Writes a line at level `info`.
    public func info(_ message: StaticString, _ fields: (String, String)...) {
        write(.info, "\(message)", fields)
    }

    /// Writes a line at level `warn`.
    public func warn(_ message: StaticString, _ fields: (String, String)...) {
        write(.warn, "\(message)", fields)
    }

    /// Writes a line at level `error`.
    public func error(_ message: StaticString, _ fields: (String, String)...) {
        write(.error, "\(message)", fields)
    }

    /// Writes a line whose text comes from elsewhere, such as a plugin.
    public func write(_ level: Level, _ message: String, _ fields: [(String, String)]) {
        let format = settings.withLock { settings -> Format? in
            guard level >= settings.level else { return nil }
            settings.lines.note(level)
            return settings.format
        }
        guard let format else { return }
        newest.add(level, message, fields)
        buffer.add(Self.line(format, level, message, fields)) { count in
            Self.line(format, .warn, "\(count) lines were left out", [])
        }
    }

    private static func line(
        _ format: Format, _ level: Level, _ message: String, _ fields: [(String, String)]
    ) -> [UInt8] {
        var line: [UInt8]
        switch format {
        case .text: line = textLine(level, message, fields)
        case .json: line = jsonLine(level, message, fields)
        }
        line.append(UInt8(ascii: "\n"))
        return line
    }

    private static func textLine(
        _ level: Level, _ message: String, _ fields: [(String, String)]
    ) -> [UInt8] {
        var text = "\(Self.time("%H:%M:%S")) \(level.rawValue)"
        text += String(repeating: " ", count: 6 - level.rawValue.utf8.count)
        text += message.onOneLine
        for (name, value) in fields { text += "  \(name)=\(value.asFieldValue)" }
        return Array(text.utf8)
    }

    private static func jsonLine(
        _ level: Level, _ message: String, _ fields: [(String, String)]
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object {
            $0.field("time", Self.time("%Y-%m-%dT%H:%M:%S") + "Z")
            $0.field("level", level.rawValue)
            $0.field("message", message)
            for (name, value) in fields {
                $0.key(text: name)
                $0.value(value)
            }
        }
        return writer.bytes.escapingUnshown
    }

    /// The wall clock in UTC, with milliseconds.
    private static func time(_ pattern: String) -> String {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var parts = tm()
        gmtime_r(&now.tv_sec, &parts)
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { buffer in
            let count = strftime(buffer.baseAddress, buffer.count, pattern, &parts)
            return String(
                decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        let milliseconds = String(now.tv_nsec / 1_000_000 + 1_000)
        return "\(text).\(milliseconds.dropFirst())"
    }
}
