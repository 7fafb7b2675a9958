// Moments to come, the earliest first.

import CallModel

/// A heap of moments with what is due then; of equal moments the one added first. Public, because
/// only then the compiler specializes it for items of other targets.
public struct DeadlineHeap<Item> {
    @usableFromInline struct Entry {
        @usableFromInline let at: Moment
        @usableFromInline let order: UInt64
        @usableFromInline let item: Item

        @inlinable init(at: Moment, order: UInt64, item: Item) {
            (self.at, self.order, self.item) = (at, order, item)
        }

        @inlinable func isBefore(_ other: Entry) -> Bool { (at, order) < (other.at, other.order) }
    }
    @usableFromInline var entries: [Entry] = []
    @usableFromInline var nextOrder: UInt64 = 0

    /// Nothing to come.
    @inlinable public init() {}

    /// The earliest moment.
    @inlinable public var first: Moment? { entries.first?.at }
    var count: Int { entries.count }

    /// Adds `item`, which is due at `moment`.
    @inlinable public mutating func add(_ item: Item, at moment: Moment) {
        let entry = Entry(at: moment, order: nextOrder, item: item)
        nextOrder += 1
        entries.append(entry)
        rise(entry)
    }

    /// Removes and returns the earliest item that is due at `now`.
    @inlinable public mutating func popDue(at now: Moment) -> Item? {
        guard let first = entries.first, first.at <= now else { return nil }
        let last = entries.removeLast()
        if !entries.isEmpty { sink(last) }
        return first.item
    }

    /// Puts `entry` at the first place, which is free, or further down.
    @inlinable mutating func sink(_ entry: Entry) {
        var place = 0
        while true {
            var least = 2 * place + 1
            guard least < entries.count else { break }
            if least + 1 < entries.count, entries[least + 1].isBefore(entries[least]) { least += 1 }
            guard entries[least].isBefore(entry) else { break }
            entries[place] = entries[least]
            place = least
        }
        entries[place] = entry
    }

    /// Puts `entry` at the last place, which is free, or nearer to the first one.
    @inlinable mutating func rise(_ entry: Entry) {
        var place = entries.count - 1
        while place > 0, entry.isBefore(entries[(place - 1) / 2]) {
            entries[place] = entries[(place - 1) / 2]
            place = (place - 1) / 2
        }
        entries[place] = entry
    }
}
