// Values come at the end of a queue and leave at its front.

import Bookkeeping
import Testing

@Suite struct QueueTests {
    @Test func anEmptyQueueHasNothing() {
        var queue = Queue<Int>()
        #expect(queue.count == 0 && queue.first == nil)
        #expect(queue.removeFirst() == nil)
        queue.append(1)
        #expect(queue.removeFirst() == 1)
        #expect(queue.count == 0 && queue.first == nil)
        #expect(queue.removeFirst() == nil)
    }

    @Test func valuesLeaveInTheOrderInWhichTheyCame() {
        var queue = Queue<Int>()
        var (next, oldest) = (1, 1)
        // Adds three and takes two, so that the front moves through the memory many times.
        for _ in 0..<200 {
            for _ in 0..<3 {
                queue.append(next)
                next += 1
            }
            for _ in 0..<2 {
                #expect(queue.first == oldest)
                #expect(queue.removeFirst() == oldest)
                oldest += 1
            }
            #expect(queue.count == next - oldest)
        }
        while let value = queue.removeFirst() {
            #expect(value == oldest)
            oldest += 1
        }
        #expect(oldest == next)
    }
}
