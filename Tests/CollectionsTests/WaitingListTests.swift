// What waits behind a key is looked at when that is free, or when its time has come.

import Testing

@testable import Collections

@Suite struct WaitingListTests {
    @Test func onlyWhatWaitsBehindAKeyIsLookedAt() {
        var list = WaitingList<String, Int>()
        for number in 0..<10 {
            list.append(number, until: 100 + Int64(number), behind: number % 2 == 0 ? "a" : "b")
        }
        #expect(list.nextDue == 100)
        let freed = list.take(behind: "a")
        #expect(freed.map(\.number) == [1, 3, 5, 7, 9] && freed.map(\.value) == [0, 2, 4, 6, 8])
        #expect(list.take(behind: "a").isEmpty)
        list.putBack(freed[4], behind: "c")
        #expect(list.nextDue == 101)
        #expect(list.takeDue(at: 103).map(\.number) == [2, 4])
        #expect(list.take(behind: "c").map(\.number) == [9])
        #expect(list.takeDue(at: 109).map(\.number) == [6, 8, 10])
        #expect(list.isEmpty && list.nextDue == nil)
    }

    /// A key that is busy all the time never lets go what waits behind it.
    @Test func whatWaitedLongEnoughIsNotListedForEver() {
        var list = WaitingList<String, Int>()
        for number in 0..<10_000 {
            list.append(number, until: Int64(number + 5), behind: "busy")
            _ = list.takeDue(at: Int64(number))
            #expect(list.listed <= 5 * 3 + 64)
        }
        #expect(list.take(behind: "busy").count == 5)
        #expect(list.isEmpty && list.listed == 0)
    }
}
