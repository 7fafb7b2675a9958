// Nothing behind a record leaves before it is durable, and everything leaves in order.

import CallModel
import Storage
import Testing

@testable import AgentServer

@Suite struct EffectQueueTests {
    private let now = Moment(1_000)

    private func record(_ number: Int64) -> StoreRecord {
        .seen(UserID("ann"), upTo: Moment(number))
    }

    private func notice(_ number: UInt64) -> EffectQueue.Item {
        .notice(StoreTicket(value: number))
    }

    /// The tickets that may leave now.
    private func leave(_ queue: inout EffectQueue) -> [UInt64] {
        var items: [EffectQueue.Item] = []
        _ = queue.takeReady(into: &items)
        return items.compactMap { item in
            if case .notice(let ticket) = item { ticket.value } else { nil }
        }
    }

    @Test func withoutRecordsEverythingLeavesAtOnce() {
        var queue = EffectQueue()
        queue.add(notice(1))
        queue.add(notice(2))
        #expect(leave(&queue) == [1, 2])
        #expect(leave(&queue) == [] && queue.count == 0 && queue.openSince == nil)
        #expect(queue.takeBatch() == nil)
    }

    @Test func whatStandsBehindARecordWaitsUntilItIsDurable() {
        var queue = EffectQueue()
        queue.add(notice(1))
        queue.add(record(1), at: now)
        queue.add(notice(2))
        queue.add(record(2), at: now + 1)
        queue.add(notice(3))
        #expect(leave(&queue) == [1])
        #expect(queue.takeBatch() == [record(1), record(2)])
        #expect(leave(&queue) == [])
        queue.batchIsDurable()
        #expect(leave(&queue) == [2, 3])
        #expect(!queue.isSubmitted && queue.openSince == nil)
    }

    @Test func oneBatchIsWithTheStoreWhileTheNextGathers() {
        var queue = EffectQueue()
        queue.add(record(1), at: now)
        queue.add(notice(1))
        #expect(queue.takeBatch() == [record(1)])
        queue.add(notice(2))
        queue.add(record(2), at: now + 5)
        queue.add(notice(3))
        #expect(queue.takeBatch() == nil && queue.isSubmitted)
        #expect(queue.openSince == now && queue.gatheringSince == now + 5)
        queue.batchIsDurable()
        #expect(leave(&queue) == [1, 2])
        #expect(queue.openSince == now + 5)
        #expect(queue.takeBatch() == [record(2)])
        #expect(leave(&queue) == [])
        queue.batchIsDurable()
        #expect(leave(&queue) == [3])
    }

    @Test func whatWasReadyStaysBeforeWhatBecomesReady() {
        var queue = EffectQueue()
        queue.add(notice(1))
        queue.add(record(1), at: now)
        queue.add(notice(2))
        _ = queue.takeBatch()
        queue.batchIsDurable()
        #expect(leave(&queue) == [1, 2])
    }

    @Test func whoWaitedIsNamedWhenEverythingIsForgotten() {
        var queue = EffectQueue()
        queue.add(notice(1))
        queue.add(record(1), at: now)
        queue.add(notice(2))
        _ = queue.takeBatch()
        queue.add(record(2), at: now)
        queue.add(notice(3))
        #expect(queue.removeAll().map(\.value) == [1, 2, 3])
        #expect(queue.count == 0 && queue.takeBatch() == nil && !queue.isSubmitted)
    }
}
