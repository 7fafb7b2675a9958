// How long to wait before the next attempt to connect.

import CallModel

/// Growing, random waits: many clients that lost one server come back spread over time.
public struct Backoff: Sendable, Equatable {
    /// Bound of the first wait, in milliseconds.
    public var first: Milliseconds = 500
    /// Bound that later waits grow to, doubling each time, in milliseconds.
    public var longest: Milliseconds = 20_000
    /// No wait is shorter, in milliseconds.
    public var shortest: Milliseconds = 20
    /// After a connection that lasted this long, the waits start again with the first, in
    /// milliseconds.
    public var steadyAfter: Milliseconds = 5_000

    /// The defaults.
    public init() {}

    /// The wait after `failures` attempts in a row that failed, at least one: anything up to the
    /// bound, all alike.
    func wait(
        after failures: Int, _ dice: inout some RandomNumberGenerator
    ) -> Milliseconds {
        let doublings = min(max(failures, 1) - 1, 30)
        let bound = min(first << Milliseconds(doublings), longest)
        return shortest + Milliseconds.random(in: 0...max(bound - shortest, 0), using: &dice)
    }
}
