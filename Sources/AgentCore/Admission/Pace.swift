// How fast a message comes that is not whole yet, as far as looks from time to time tell.

import CallModel

/// Compares, window by window, how much came with how much has to come.
///
/// Looks are counted, not milliseconds: a process that could not look for a while could not read
/// either, and nobody is to blame for that.
public struct Pace {
    /// Between two looks, in milliseconds.
    public static let lookEvery: Milliseconds = 500

    private var looks = 0
    private var before: Int

    /// Begins with a message of which `count` bytes are there.
    public init(from count: Int) { before = count }

    /// One look, every `lookEvery`, at a message of which `count` bytes are there.
    public mutating func isTooSlow(_ count: Int, _ limits: ServerLimits) -> Bool {
        looks += 1
        let window = Int(max(limits.rateWindow, Self.lookEvery))
        guard looks * Int(Self.lookEvery) >= window else { return false }
        defer { (looks, before) = (0, count) }
        return (count - before) * 1_000 < limits.bytesPerSecondMin * window
    }
}

/// A message that was seen to be incomplete. An object of its own, because few links have one.
public final class Unfinished {
    /// When it was seen first.
    public let since: Moment
    /// How fast it comes.
    public var pace: Pace

    /// A message of which `count` bytes are there at `now`.
    public init(since now: Moment, _ count: Int) {
        since = now
        pace = Pace(from: count)
    }
}
