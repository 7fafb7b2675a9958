// Moments to come, the earliest first.

import CallModel

/// A heap of moments with what is due then; of equal moments the one added first.
package struct DeadlineHeap<Item> {
    private struct Entry {
        let at: Moment
        let order: UInt64
        let item: Item

        func isBefore(_ other: Entry) -> Bool { (at, order) < (other.at, other.order) }
    }
    private var entries: [Entry] = []
    private var nextOrder: UInt64 = 0

    package init() {}

    /// The earliest moment.
    package var first: Moment? { entries.first?.at }
    var count: Int { entries.count }

    package mutating func add(_ item: Item, at moment: Moment) {
        entries.append(Entry(at: moment, order: nextOrder, item: item))
        nextOrder += 1
        var place = entries.count - 1
        while place > 0, entries[place].isBefore(entries[(place - 1) / 2]) {
            entries.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    /// Removes and returns the earliest item that is due at `now`.
    package mutating func popDue(at now: Moment) -> Item? {
        guard let first = entries.first, first.at <= now else { return nil }
        remove(at: 0)
        return first.item
    }

    /// Removes everything equal to `item`; costs a pass over the heap.
    mutating func remove(_ item: Item) where Item: Equatable {
        while let place = entries.firstIndex(where: { $0.item == item }) { remove(at: place) }
    }

    private mutating func remove(at place: Int) {
        entries.swapAt(place, entries.count - 1)
        entries.removeLast()
        guard place < entries.count else { return }
        var place = place
        while place > 0, entries[place].isBefore(entries[(place - 1) / 2]) {
            entries.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < entries.count && entries[child].isBefore(entries[least]) {
                least = child
            }
            if least == place { return }
            entries.swapAt(place, least)
            place = least
        }
    }
}
