// The newest entries of many owners, of whom none can push out the others'.

/// Entries in the order in which they came: at most so many in all and so many of one owner, whose
/// own oldest goes for a new one. So an owner with many of them loses only its own.
package struct SharedHistory<Owner: Hashable & Sendable, Entry: Sendable>: Sendable {
    /// A place in `slots`; `none` ends a list.
    private typealias Place = Int32
    private static var none: Place { -1 }

    /// An entry in two lists: that of all, which may lose one in the middle, and that of its owner,
    /// which loses its first only.
    private struct Slot {
        let owner: Owner
        let entry: Entry
        var before: Place
        var after = SharedHistory.none
        var nextOfOwner = SharedHistory.none
    }

    /// What one owner has, the oldest first.
    private struct Own {
        var first: Place
        var last: Place
        var count: Int32
    }

    private var slots: [Slot?] = []
    private var free: [Place] = []
    private var owners: [Owner: Own] = [:]
    private var oldest = none
    private var newest = none

    private let most: Int
    private let share: Int

    /// A history of at most `most` entries, `share` of them of one owner.
    package init(most: Int, share: Int) {
        self.most = most
        self.share = share
    }

    /// How many entries there are.
    package var count: Int { slots.count - free.count }

    /// The entries, the oldest first.
    package var values: some Sequence<Entry> { all.lazy.map(\.entry) }

    /// Those of one owner, the oldest first.
    package func values(of owner: Owner) -> [Entry] {
        owners[owner].map { list(from: $0.first) { $0.nextOfOwner }.map(\.entry) } ?? []
    }

    private var all: UnfoldSequence<Slot, Place> { list(from: oldest) { $0.after } }

    private func list(
        from first: Place, _ next: @escaping (Slot) -> Place
    ) -> UnfoldSequence<Slot, Place> {
        sequence(state: first) { place in
            guard place != SharedHistory.none, let slot = slots[Int(place)] else { return nil }
            place = next(slot)
            return slot
        }
    }

    /// Adds the newest entry of `owner`.
    package mutating func append(_ entry: Entry, of owner: Owner) {
        if let own = owners[owner], own.count >= share {
            remove(own.first)
        } else if count >= most {
            remove(oldest)
        }
        let slot = Slot(owner: owner, entry: entry, before: newest)
        let place = free.popLast() ?? Place(slots.count)
        if Int(place) < slots.count { slots[Int(place)] = slot } else { slots.append(slot) }
        if newest == Self.none { oldest = place } else { slots[Int(newest)]?.after = place }
        newest = place
        if var own = owners[owner] {
            slots[Int(own.last)]?.nextOfOwner = place
            own.last = place
            own.count += 1
            owners[owner] = own
        } else {
            owners[owner] = Own(first: place, last: place, count: 1)
        }
    }

    /// Keeps those entries only for which `isWanted` holds.
    package mutating func keep(_ isWanted: (Owner, Entry) -> Bool) {
        var kept = SharedHistory(most: most, share: share)
        for slot in all where isWanted(slot.owner, slot.entry) {
            kept.append(slot.entry, of: slot.owner)
        }
        self = kept
    }

    /// Removes the entry at `place`, the oldest of its owner. The oldest of all is that too.
    private mutating func remove(_ place: Place) {
        guard let slot = slots[Int(place)], var own = owners[slot.owner] else { return }
        own.first = slot.nextOfOwner
        own.count -= 1
        owners[slot.owner] = own.count > 0 ? own : nil
        if slot.before == Self.none {
            oldest = slot.after
        } else {
            slots[Int(slot.before)]?.after = slot.after
        }
        if slot.after == Self.none {
            newest = slot.before
        } else {
            slots[Int(slot.after)]?.before = slot.before
        }
        slots[Int(place)] = nil
        free.append(place)
    }
}
