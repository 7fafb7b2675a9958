// The newest entries of many owners, of whom none can push out the others'.

/// Entries in the order in which they came: at most so many in all and so many of one owner, whose
/// own oldest goes for a new one. So whoever makes many of them forgets only what is his.
package struct SharedHistory<Owner: Hashable & Sendable, Entry: Sendable>: Sendable {
    /// An entry that has gone is nil until the list is tidied.
    private var entries: [(number: UInt64, owner: Owner, entry: Entry?)] = []
    /// What each owner has in the list, by number, the oldest first.
    private var numbers: [Owner: Queue<UInt64>] = [:]
    private var last: UInt64 = 0
    /// Where the oldest entry is to be looked for.
    private var start = 0
    /// How many entries there are.
    package private(set) var count = 0

    private let most: Int
    private let share: Int

    /// A history of at most `most` entries, `share` of them of one owner.
    package init(most: Int, share: Int) {
        self.most = most
        self.share = share
    }

    /// The entries, the oldest first.
    package var values: some Sequence<Entry> { entries[start...].lazy.compactMap(\.entry) }

    /// Those of one owner, the oldest first.
    package func values(of owner: Owner) -> [Entry] {
        numbers[owner]?.values.compactMap { entries[place(of: $0)].entry } ?? []
    }

    /// Adds the newest entry of `owner`.
    package mutating func append(_ entry: Entry, of owner: Owner) {
        if let own = numbers[owner], own.count >= share {
            removeOldest(of: owner)
        } else if count >= most {
            while entries[start].entry == nil { start += 1 }
            removeOldest(of: entries[start].owner)
        }
        last += 1
        entries.append((last, owner, entry))
        numbers[owner, default: Queue()].append(last)
        count += 1
        // Tidying only when half has gone keeps the cost of each entry constant.
        guard entries.count > 2 * most else { return }
        entries.removeAll { $0.entry == nil }
        start = 0
    }

    /// Keeps those entries only for which `isWanted` holds.
    package mutating func keep(_ isWanted: (Owner, Entry) -> Bool) {
        entries.removeAll { _, owner, entry in
            guard let entry else { return true }
            return !isWanted(owner, entry)
        }
        start = 0
        count = entries.count
        numbers = [:]
        for (number, owner, _) in entries { numbers[owner, default: Queue()].append(number) }
    }

    // The oldest of one owner stands before all others of the same.
    private mutating func removeOldest(of owner: Owner) {
        guard let number = numbers[owner]?.removeFirst() else { return }
        if numbers[owner]?.count == 0 { numbers[owner] = nil }
        entries[place(of: number)].entry = nil
        count -= 1
    }

    private func place(of number: UInt64) -> Int {
        var (low, high) = (0, entries.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
