// Which pairs of accounts count, and how often they are counted.

import CallModel
import Testing

@testable import PolicyHost

@Suite struct RecentPairsTests {
    private let start = Moment(1_800_000_000_000)

    private func pair(_ number: Int, caller: String? = nil) -> Cause {
        let user = UserID("user\(number)")
        return Cause(user, caller: caller.map { UserID($0) } ?? user)
    }

    /// Each of few pairs that fails may be the one that tips the balance.
    @Test func fewPairsAreCountedAtEachFailure() {
        var pairs = RecentPairs()
        for number in 0..<64 { pairs.asked(pair(number), at: start) }
        for number in 0..<64 {
            let isNew = pairs.failed(pair(number), at: start)
            let isDue = pairs.isTimeToCount()
            #expect(isNew && isDue)
        }
        #expect(pairs.counted(since: start + -1).failed == 64)
    }

    /// One account calls thousands of people, and a plugin fails for each of them: to count means
    /// to look at all of them, and that time is charged to nobody.
    @Test func whoMakesManyPairsFailDoesNotHaveThemCountedEachTime() {
        var pairs = RecentPairs()
        var looks = 0
        let calls = 20_000
        for number in 0..<calls {
            pairs.asked(pair(number, caller: "mallory"), at: start + Milliseconds(number))
            let isNew = pairs.failed(
                pair(number, caller: "mallory"), at: start + Milliseconds(number))
            if isNew, pairs.isTimeToCount() { looks += pairs.count }
        }
        #expect(pairs.count <= RecentPairs.most)
        #expect(looks <= 64 * calls)
        #expect(pairs.counted(since: start).failed == 1)
    }
}
