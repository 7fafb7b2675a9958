// How lines of the log are graded, for everybody who writes or bounds them.

/// How much a line of the log matters.
public enum LogLevel: String, Sendable, CaseIterable, Comparable {
    case debug, info, warn, error

    private var rank: Int {
        switch self {
        case .debug: 0
        case .info: 1
        case .warn: 2
        case .error: 3
        }
    }

    /// By importance: `debug` first.
    public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rank < right.rank }
}
