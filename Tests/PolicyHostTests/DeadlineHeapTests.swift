// The heap of moments to come, beside a sorted list that does the same.

import CallModel
import Testing

@testable import PolicyHost

@Suite struct DeadlineHeapTests {
    @Test func whatIsDueComesInOrder() {
        var heap = DeadlineHeap<String>()
        #expect(heap.first == nil && heap.popDue(at: Moment(9)) == nil)
        for (item, at) in [("c", 3), ("a", 1), ("d", 3), ("b", 1)] as [(String, Int64)] {
            heap.add(item, at: Moment(at))
        }
        #expect(heap.first == Moment(1) && heap.popDue(at: Moment(0)) == nil)
        let order = (0..<5).map { _ in heap.popDue(at: Moment(3)) }
        #expect(order == ["a", "b", "c", "d", nil])
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func itDoesWhatASortedListDoes(seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        var heap = DeadlineHeap<Int>()
        var list: [(at: Moment, item: Int)] = []
        for _ in 0..<2_000 {
            switch Int.random(in: 0..<10, using: &dice) {
            case 0..<6:
                let at = Moment(.random(in: 0..<50, using: &dice))
                let item = Int.random(in: 0..<40, using: &dice)
                heap.add(item, at: at)
                list.insert((at, item), at: list.firstIndex { $0.at > at } ?? list.count)
            default:
                let now = Moment(.random(in: 0..<60, using: &dice))
                let isDue = list.first.map { $0.at <= now } ?? false
                #expect(heap.popDue(at: now) == (isDue ? list.removeFirst().item : nil))
            }
            #expect(heap.first == list.first?.at && heap.count == list.count)
        }
    }
}
