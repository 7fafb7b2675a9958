// How many lines of the log a plugin may write in a minute, and for whom.

import CallModel
import Configuration

/// Lines of one plugin in the minute at hand, with a part for each pair of accounts (G75): who
/// makes a plugin write does not hide what it writes of others.
struct LogLines {
    static let window: Milliseconds = 60_000

    private var since = Moment(0)
    private var written = Quota()
    /// Lines of this minute were left out, and a line has said so.
    private var isOver = false
    /// Not written, and not counted in a line.
    private var left = 0

    /// What is to be done about one line more.
    enum Verdict: Equatable {
        /// It is written, behind a line that tells of so many that were left out.
        case write(behind: Int)
        /// It is left out, and the first of its minute.
        case leaveFirst
        case leave
    }

    mutating func admit(_ cause: Cause, _ limits: PluginLimits, at now: Moment) -> Verdict {
        if now - since >= Self.window { (since, written, isOver) = (now, Quota(), false) }
        let hasRoom = written.hasRoom(
            cause, most: limits.logLinesPerMinute, part: limits.logLinesOfCause)
        guard hasRoom else {
            left += 1
            defer { isOver = true }
            return isOver ? .leave : .leaveFirst
        }
        written.add(1, cause)
        guard !isOver, left > 0 else { return .write(behind: 0) }
        defer { left = 0 }
        return .write(behind: left)
    }
}
