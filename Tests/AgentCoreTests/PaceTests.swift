// How few bytes a second are too few.

import Testing

@testable import AgentCore

@Suite struct PaceTests {
    private var limits: ServerLimits = {
        var limits = ServerLimits()
        limits.bytesPerSecondMin = 1_024
        limits.rateWindow = 2_000
        return limits
    }()

    /// What four looks, which are two seconds, say when `counts` bytes are there at each.
    private func looks(_ counts: [Int], from before: Int = 0) -> [Bool] {
        var pace = Pace(from: before)
        return counts.map { pace.isTooSlow($0, limits) }
    }

    @Test func justEnoughIsEnough() {
        #expect(looks([0, 0, 0, 2_048]) == [false, false, false, false])
        #expect(looks([0, 0, 0, 2_047]) == [false, false, false, true])
    }

    @Test func whatWasThereBeforeDoesNotCount() {
        #expect(looks([60_000, 60_000, 60_000, 62_047], from: 60_000).last == true)
        #expect(looks([60_000, 60_000, 60_000, 62_048], from: 60_000).last == false)
    }

    @Test func aGoodBeginningDoesNotExcuseWhatFollows() {
        let counts = [60_000, 60_000, 60_000, 60_000, 60_500, 61_000, 61_500, 62_047]
        #expect(looks(counts).filter { $0 } == [true])
        #expect(looks(counts).last == true)
    }

    @Test func withoutARateNothingIsTooSlow() {
        var free = self
        free.limits.bytesPerSecondMin = 0
        #expect(!free.looks([0, 0, 0, 0, 0, 0, 0, 0]).contains(true))
    }

    @Test func aWindowIsNeverShorterThanALook() {
        var hasty = self
        hasty.limits.rateWindow = 1
        #expect(hasty.looks([512, 1_023]) == [false, true])
    }
}
