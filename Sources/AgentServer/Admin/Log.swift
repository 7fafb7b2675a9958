// What the process says of itself: one line an event, for a person or for a machine.

import Glibc
import JSON

/// Writes structured log lines. Any thread may use it; a line is one `write`.
public struct Log: Sendable {
    /// How much a line matters.
    public enum Level: String, Sendable, CaseIterable, Comparable {
        case debug, info, warn, error

        private var rank: Int {
            switch self {
            case .debug: 0
            case .info: 1
            case .warn: 2
            case .error: 3
            }
        }

        public static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }
    }

    /// What a line looks like.
    public enum Format: String, Sendable, CaseIterable {
        /// `12:03:04.123 info  listening  address=127.0.0.1:7600`.
        case text
        /// `{"time":…,"level":"info","message":"listening","address":…}`.
        case json
    }

    /// The lowest level that is written.
    public var level: Level
    private let format: Format
    private let descriptor: Int32

    /// A log that writes lines of `level` and above to `descriptor`; nil: text on a terminal,
    /// JSON otherwise.
    public init(level: Level = .info, format: Format? = nil, descriptor: Int32 = STDERR_FILENO) {
        self.level = level
        self.format = format ?? (isatty(descriptor) == 1 ? .text : .json)
        self.descriptor = descriptor
    }

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

    /// Writes a line whose words come from elsewhere, such as a plugin.
    public func write(_ level: Level, _ message: String, _ fields: [(String, String)]) {
        guard level >= self.level else { return }
        var line: [UInt8]
        switch format {
        case .text: line = textLine(level, message, fields)
        case .json: line = jsonLine(level, message, fields)
        }
        line.append(UInt8(ascii: "\n"))
        line.withUnsafeBytes { bytes in
            var rest = bytes
            while !rest.isEmpty {
                let written = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if written < 0, errno == EINTR { continue }
                guard written > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            }
        }
    }

    private func textLine(
        _ level: Level, _ message: String, _ fields: [(String, String)]
    ) -> [UInt8] {
        var text = "\(Self.time("%H:%M:%S")) \(level.rawValue)"
        text += String(repeating: " ", count: 6 - level.rawValue.utf8.count)
        text += Self.oneLine(message)
        for (name, value) in fields {
            let plain = Self.oneLine(value)
            let needsQuotes = plain.isEmpty || plain.contains(" ")
            text += needsQuotes ? "  \(name)=\"\(plain)\"" : "  \(name)=\(plain)"
        }
        return Array(text.utf8)
    }

    private func jsonLine(
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
        return writer.bytes
    }

    /// Control characters would break the line in two or paint the terminal.
    private static func oneLine(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return text }
        return String(
            text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) })
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
