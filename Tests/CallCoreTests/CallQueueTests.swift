// Calls come at the end of a row and leave at its front, and are found by id meanwhile.

import CallModel
import Testing

@Suite struct CallQueueTests {
    private func call(_ number: UInt64, revision: UInt32 = 0) -> Call {
        var call = Call(
            id: CallID(high: number, low: number * 7), mode: ModeIndex(0), kind: "audio",
            ringTime: 1_000, deliveryCheck: false, createdAt: Moment(Int64(number)))
        call.revision = revision
        return call
    }

    @Test func anEmptyRowHasNothing() {
        var row = CallQueue()
        #expect(row.count == 0 && row.oldest == nil && row[call(1).id] == nil)
        #expect(row.removeFirst() == nil)
    }

    @Test func callsLeaveInTheOrderInWhichTheyCame() {
        var row = CallQueue()
        var (next, oldest): (UInt64, UInt64) = (1, 1)
        // Adds three and takes two, so that the front moves through the memory many times.
        for _ in 0..<200 {
            for _ in 0..<3 {
                row.put(call(next), stamp: Moment(Int64(next) * 10))
                next += 1
            }
            for _ in 0..<2 {
                #expect(row.oldest == Moment(Int64(oldest) * 10))
                #expect(row.removeFirst() == call(oldest))
                #expect(row[call(oldest).id] == nil)
                oldest += 1
            }
            #expect(row.count == Int(next - oldest))
            #expect(row[call(oldest).id] == call(oldest))
            #expect(row[call(next - 1).id] == call(next - 1))
        }
        while row.removeFirst() != nil {}
        #expect(row.count == 0 && row.oldest == nil)
    }

    @Test func aCallThatComesAgainKeepsItsPlaceAndStamp() {
        var row = CallQueue()
        for number in 1...3 { row.put(call(UInt64(number)), stamp: Moment(Int64(number))) }
        row.put(call(1, revision: 5), stamp: Moment(99))
        #expect(row.count == 3 && row.oldest == Moment(1))
        let hasFour = row.update(call(4))
        let hasTwo = row.update(call(2, revision: 6))
        #expect(!hasFour && hasTwo)
        #expect(row.removeFirst()?.revision == 5)
        #expect(row.removeFirst()?.revision == 6)
        let isThere = row.update(call(2))
        #expect(!isThere)
        row.put(call(2, revision: 7), stamp: Moment(4))
        #expect(row[call(2).id]?.revision == 7 && row.count == 2)
    }
}
