// How long to wait before the next attempt.

/// Delays that double, each a little off so that many do not come back at once.
struct RetryPlan {
    /// Half a second first, a quarter of an hour at most.
    static let first: Int64 = 500
    static let longest: Int64 = 900_000

    private var state: UInt64

    /// - Parameter seed: where the dice begin.
    init(seed: UInt64) {
        state = seed
    }

    /// The delay after so many attempts, in milliseconds: 0.5, 1, 2, 4 … s, 20 % more or less.
    mutating func delay(afterAttempts attempts: Int) -> Int64 {
        let doublings = min(max(attempts - 1, 0), 20)
        return spread(min(Self.first << doublings, Self.longest))
    }

    /// `delay`, 20 % more or less.
    mutating func spread(_ delay: Int64) -> Int64 {
        let thousandths = 800 + Int64(roll() % 401)
        return delay * thousandths / 1_000
    }

    /// SplitMix64: small, and the same for the same seed.
    private mutating func roll() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
