// How long something took, in a few numbers.

import CallModel

/// How long something took, counted below a few bounds; in rows, where it is told apart by
/// something.
public struct Durations {
    /// From a turn of the loop to what nobody waits for.
    public static let ofWork: [Milliseconds] = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000]

    /// Rising; the last column of a row is for what is above all of them.
    public let bounds: [Milliseconds]
    private var counts: [UInt64]
    private var sums: [Milliseconds]

    /// No values yet.
    public init(_ bounds: [Milliseconds] = ofWork, rows: Int = 1) {
        self.bounds = bounds
        counts = [UInt64](repeating: 0, count: rows * (bounds.count + 1))
        sums = [Milliseconds](repeating: 0, count: rows)
    }

    /// Adds a value to a row.
    public mutating func note(_ duration: Milliseconds, row: Int = 0) {
        var column = 0
        while column < bounds.count, duration > bounds[column] { column += 1 }
        counts[row * (bounds.count + 1) + column] &+= 1
        sums[row] += max(0, duration)
    }

    /// How many values of a row are up to each bound and above the one before.
    public func counts(row: Int = 0) -> [UInt64] {
        Array(counts[row * (bounds.count + 1)..<(row + 1) * (bounds.count + 1)])
    }

    /// Of all values of a row.
    public func sum(row: Int = 0) -> Milliseconds { sums[row] }
}
