// Where a run is to stop next, and how a step back is found.

import CLua

/// Where a run stands: in which function of which handler.
struct DebugPlace: Equatable {
    /// See `DebuggedState.number`.
    let state: Int
    let handler: Int64
    /// Coroutines that stand inside each other there.
    let coroutines: Int32
    /// Functions under way in the innermost of them.
    let levels: Int32
}

/// What a run goes on to.
enum DebugGoal {
    /// Breakpoints, errors and pauses.
    case free
    /// The first line of a handler or test, not of a file that is loaded.
    case entry
    /// Any next line.
    case into
    /// The next line of the function, or of one outside of it.
    case over(DebugPlace)
    /// A line outside of the function.
    case out(DebugPlace)
    /// The line of this number, counted from the beginning.
    case step(Int)
}

/// A run that only looks for the line to go back to. All runs are the same, so a step back is the
/// same run once more, as far as the line before.
struct DebugSurvey {
    /// The number of the line at which it is over, and which line that was; nil: an error came.
    let end: Int
    let line: Int32?
    enum Wish {
        /// The last line before in this function, or outside of it.
        case line(DebugPlace)
        /// The last breakpoint before.
        case breakpoint
    }
    let wish: Wish
    /// The number of the line, once one is found.
    var found: Int?
    /// The first line of a handler or test.
    var entry: Int?
    /// Whether its run has begun; the one before has to be ended first.
    var hasBegun = false
    /// Whether the end was met at the same line.
    var isSame = false
}
