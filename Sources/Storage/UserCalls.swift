// The calls of one user in memory, by age.

import CallModel

/// Ids of one user's calls, oldest first. New ones come at the end and old ones go from the front,
/// so neither moves the others: an account that everybody calls has as many as there are.
struct UserCalls {
    private var ids: [CallID] = []
    /// Places at the front that are free.
    private var free = 0

    var isEmpty: Bool { free == ids.count }

    /// Adds `id` unless it is there.
    mutating func insert(_ id: CallID) {
        guard let newest = ids.last, !isEmpty, id <= newest else { return ids.append(id) }
        let place = ids[free...].firstPlace { $0 >= id }
        if ids[place] != id { ids.insert(id, at: place) }
    }

    /// Takes `id` out if it is there.
    mutating func remove(_ id: CallID) {
        let place = ids[free...].firstPlace { $0 >= id }
        guard place < ids.count, ids[place] == id else { return }
        guard place == free else {
            ids.remove(at: place)
            return
        }
        free += 1
        // Moving the rest only when half is free makes removing one constant on average.
        if free > ids.count / 2 {
            ids.removeFirst(free)
            free = 0
        }
    }

    /// The ids from `range.from` to below `range.below`.
    func ids(in range: (from: CallID, below: CallID)) -> ArraySlice<CallID> {
        let first = ids[free...].firstPlace { $0 >= range.from }
        return ids[first..<max(first, ids[free...].firstPlace { $0 >= range.below })]
    }
}
