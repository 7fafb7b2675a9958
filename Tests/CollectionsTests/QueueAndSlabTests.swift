// Values come at the end of a queue and leave at its front; in a slab they stand still.

import Collections
import CallModel
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

    @Test func severalLeaveAtOnceOrAllThereAre() {
        var queue = Queue<Int>()
        for value in 1...5 { queue.append(value) }
        #expect(queue.removeFirst(0) == [])
        #expect(queue.removeFirst(2) == [1, 2])
        #expect(queue.removeFirst(10) == [3, 4, 5])
        #expect(queue.count == 0)
    }
}

@Suite struct SlabTests {
    @Test func valuesKeepTheirPlacesAndFreePlacesAreUsedAgain() {
        var slab = Slab<String>()
        #expect(slab.isEmpty && slab.values.isEmpty)
        let (a, b, c) = (slab.insert("a"), slab.insert("b"), slab.insert("c"))
        #expect(Set([a, b, c]).count == 3 && !slab.isEmpty)
        #expect(slab[a] == "a" && slab[b] == "b" && slab[c] == "c")
        slab[b] = "d"
        let taken = slab.remove(at: a)
        #expect(taken == "a" && slab[a] == nil && slab[b] == "d")
        let again = slab.remove(at: a)
        #expect(again == nil && slab.values == ["d", "c"])
        #expect(slab.insert("e") == a)
        #expect(slab.insert("f") == 3)
        for place in [a, b, c, 3] { _ = slab.remove(at: place) }
        #expect(slab.isEmpty && slab.values.isEmpty)
    }

    @Test func aValueIsChangedWhereItStandsAndAFreePlaceStaysFree() {
        var slab = Slab<[Int]>()
        let (a, b) = (slab.insert([1]), slab.insert([2]))
        slab.change(at: a) { $0.append(3) }
        #expect(slab[a] == [1, 3] && slab[b] == [2])
        _ = slab.remove(at: a)
        slab.change(at: a) { $0.append(4) }
        #expect(slab[a] == nil && slab.values == [[2]])
    }
}

@Suite struct PlaceListTests {
    /// Adds and removes at random, with a plain array beside it that says what is right.
    @Test(arguments: [1, 2, 16, 17, 18, 40, 1_000])
    func placesAreKeptInTheOrderInWhichTheyCame(most: Int) {
        var random = SeededGenerator(seed: UInt64(most))
        var list = PlaceList()
        var model: [Int32] = []
        var next: Int32 = 0
        for step in 0..<most * 20 {
            // Grows to its most, shrinks to nothing, and so on.
            let grows = step / (most * 2) % 2 == 0
            if model.isEmpty || (model.count < most && Bool.random(using: &random) == grows) {
                list.append(next)
                model.append(next)
                next += 1
            } else {
                let gone = model.remove(at: Int.random(in: 0..<model.count, using: &random))
                list.remove(gone)
                #expect(!list.contains(gone))
            }
            #expect(list.count == model.count && list.isEmpty == model.isEmpty)
            if step % 7 == 0 {
                #expect(Array(list) == model)
                for count in [0, 1, 3, most] {
                    #expect(list.newest(count) == model.suffix(count).reversed())
                }
            }
            if let one = model.randomElement(using: &random) { #expect(list.contains(one)) }
        }
    }

    @Test func removingWhatIsNotThereChangesNothing() {
        for most: Int32 in [0, 1, 5, 100] {
            var list = PlaceList()
            for slot in 0..<most { list.append(slot) }
            list.remove(most + 1)
            #expect(Array(list) == Array(0..<most))
            #expect(!list.contains(most))
        }
    }

    @Test func aLoopSeesThePlacesAsTheyWere() {
        var list = PlaceList()
        for slot: Int32 in 0..<50 { list.append(slot) }
        var seen: [Int32] = []
        for slot in list {
            seen.append(slot)
            list.remove(slot)
        }
        #expect(seen == Array(0..<50) && list.isEmpty)
    }
}
