// The order in which effects leave.

import CallModel
import Testing

@testable import AgentCore

@Suite struct EffectQueueTests {
    /// The tests' changes are texts, and their tickets numbers.
    private typealias Effects = EffectQueue<String, UInt64>

    private let now = Moment(1_000)

    /// The numbers of the requests whose replies may leave now, and 100 more for each notice.
    private func leaving(_ queue: inout Effects) -> [UInt64] {
        var numbers: [UInt64] = []
        var items: [Effects.Item] = []
        while queue.takeReady(into: &items) {
            for item in items {
                switch item {
                case .effect(.reply(let id, _)): numbers.append(id.value)
                case .effect(let effect): Issue.record("not put in: \(effect)")
                case .notice(let ticket): numbers.append(100 + ticket)
                }
            }
            items = []
        }
        return numbers
    }

    private func reply(_ number: UInt64) -> Effects.Item {
        .effect(.reply(RequestID(number), .done))
    }

    private func notice(_ number: UInt64) -> Effects.Item {
        .notice(number)
    }

    @Test func withoutABarrierEverythingLeavesInOrder() {
        var queue = Effects()
        for number in 1...3 { queue.add(reply(UInt64(number))) }
        #expect(leaving(&queue) == [1, 2, 3])
        #expect(queue.takeBatch(at: now) == nil)
    }

    @Test func nothingBehindABarrierLeavesBeforeItsBatchIsDurable() {
        var queue = Effects()
        queue.add(reply(1))
        queue.add("a")
        queue.add(reply(2))
        #expect(leaving(&queue) == [1])
        #expect(queue.takeBatch(at: now) == ["a"])
        #expect(leaving(&queue) == [])
        queue.batchIsDurable()
        #expect(leaving(&queue) == [2])
    }

    @Test func whatGathersWhileABatchIsWithTheStoreWaitsForTheNextOne() {
        var queue = Effects()
        queue.add("a")
        queue.add(reply(1))
        #expect(queue.takeBatch(at: now) == ["a"])
        queue.add("b")
        queue.add("c")
        queue.add(reply(2))
        #expect(queue.takeBatch(at: now) == nil)
        queue.batchIsDurable()
        #expect(leaving(&queue) == [1])
        #expect(queue.takeBatch(at: now) == ["b", "c"])
        #expect(leaving(&queue) == [])
        queue.batchIsDurable()
        #expect(leaving(&queue) == [2])
    }

    @Test func aLaterBarrierOfABatchHoldsBackWhatStandsBehindItOnly() {
        var queue = Effects()
        queue.add("a")
        queue.add(reply(1))
        queue.add("b")
        queue.add(reply(2))
        #expect(queue.takeBatch(at: now)?.count == 2)
        queue.batchIsDurable()
        #expect(leaving(&queue) == [1, 2])
    }

    @Test func aNoticeWaitsForTheChangesBeforeIt() {
        var queue = Effects()
        queue.add("a")
        queue.add(notice(7))
        #expect(leaving(&queue) == [])
        _ = queue.takeBatch(at: now)
        queue.batchIsDurable()
        #expect(leaving(&queue) == [107])
    }

    @Test func theAgeOfTheOldestOpenChangeCountsFromTheEndOfItsTurn() {
        var queue = Effects()
        #expect(queue.openSince == nil && !queue.isOpen)
        queue.add("a")
        #expect(queue.openSince == nil && queue.isOpen)
        queue.turnEnded(at: Moment(10))
        queue.add("b")
        queue.turnEnded(at: Moment(12))
        #expect(queue.openSince == Moment(10))
        _ = queue.takeBatch(at: Moment(13))
        queue.turnEnded(at: Moment(14))
        queue.add("c")
        queue.turnEnded(at: Moment(20))
        #expect(queue.openSince == Moment(10))
        queue.batchIsDurable()
        #expect(queue.openSince == Moment(20))
        _ = queue.takeBatch(at: Moment(21))
        #expect(queue.openSince == Moment(20))
        // What came in the turn that brings the news is with the store before its end.
        queue.add("d")
        queue.batchIsDurable()
        #expect(queue.openSince == nil)
        _ = queue.takeBatch(at: Moment(30))
        #expect(queue.openSince == Moment(30))
        queue.batchIsDurable()
        #expect(queue.openSince == nil && !queue.isOpen)
    }

    @Test func afterAFailureNothingIsLeftAndWhoWaitedIsKnown() {
        var queue = Effects()
        queue.add("a")
        queue.add(notice(1))
        _ = queue.takeBatch(at: now)
        queue.add("b")
        queue.add(reply(2))
        queue.add(notice(3))
        #expect(queue.removeAll() == [1, 3])
        #expect(queue.count == 0 && queue.openSince == nil && !queue.isSubmitted)
        queue.add("c")
        queue.add(reply(4))
        #expect(leaving(&queue) == [])
        #expect(queue.takeBatch(at: now) == ["c"])
        queue.batchIsDurable()
        #expect(leaving(&queue) == [4])
    }

    @Test func manyEffectsBehindManyBarriersKeepTheirOrder() {
        var queue = Effects()
        var left: [UInt64] = []
        for number in UInt64(1)...10_000 {
            if number.isMultiple(of: 3) { queue.add("\(number)") }
            queue.add(reply(number))
            if number.isMultiple(of: 7), queue.takeBatch(at: now) != nil { queue.batchIsDurable() }
            left += leaving(&queue)
        }
        while queue.takeBatch(at: now) != nil { queue.batchIsDurable() }
        left += leaving(&queue)
        #expect(left == Array(1...10_000))
    }
}
