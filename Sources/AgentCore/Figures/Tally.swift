// Numbers for each case of an enum, kept where every request passes.

import CallModel

/// Counts by the cases of an enum. A case finds its number by its bits, which are its place among
/// the cases: no hash, and nothing is looked for.
public struct Tally<Key: CaseIterable & Sendable> {
    private var counts: [UInt64]

    /// Every case at 0.
    public init() {
        counts = [UInt64](repeating: 0, count: Key.allCases.count)
        // Should the bits ever mean something else, nothing is to be counted wrong in silence.
        precondition(
            Key.allCases.enumerated().allSatisfy { $1.casePlace == $0 },
            "the cases of \(Key.self) have other places")
    }

    /// Counts one more.
    public mutating func note(_ key: Key) { counts[key.casePlace] &+= 1 }

    /// How often it was counted.
    public subscript(key: Key) -> UInt64 { counts[key.casePlace] }

    /// Of all cases.
    public var total: UInt64 { counts.reduce(0, +) }
}
