// The calls of each user in memory, by age.

import Collections
import CallModel

/// Which calls the users were in: what `ParticipationTable` is on disk.
struct Participations {
    private var index = HashIndex()
    private var slab = Slab<(user: UserID, calls: UserCalls)>()
    /// The seed is secret, so that nobody can choose users whose hashes collide.
    private let seed = UInt64.random(in: .min ... .max)

    /// The calls of `user`.
    subscript(user: UserID) -> UserCalls {
        find(user, user.hash(seed)).flatMap { slab[$0]?.calls } ?? UserCalls()
    }

    private func find(_ user: UserID, _ hash: UInt32) -> Int32? {
        index.find(hash) { slab[$0]?.user == user }
    }

    /// `user` was in the call.
    mutating func insert(_ user: UserID, _ call: CallID) {
        let hash = user.hash(seed)
        let place = find(user, hash) ?? open(user, hash)
        slab.change(at: place) { $0.calls.insert(call) }
    }

    private mutating func open(_ user: UserID, _ hash: UInt32) -> Int32 {
        let place = slab.insert((user, UserCalls()))
        index.insert(hash, place)
        return place
    }

    /// The call is forgotten, and so is that `user` was in it.
    mutating func remove(_ user: UserID, _ call: CallID) {
        let hash = user.hash(seed)
        guard let place = find(user, hash) else { return }
        var isEmpty = false
        slab.change(at: place) {
            $0.calls.remove(call)
            isEmpty = $0.calls.isEmpty
        }
        guard isEmpty else { return }
        index.remove(hash, place)
        _ = slab.remove(at: place)
    }
}

/// Ids of one user's calls, oldest first. Most users are in one call at a time: a single id takes
/// no memory of its own.
struct UserCalls {
    private enum Held {
        case none
        case one(CallID)
        case many(UserCallRow)
    }

    private var held = Held.none

    var isEmpty: Bool {
        switch held {
        case .none: true
        case .one: false
        case .many(let row): row.isEmpty
        }
    }

    /// Adds `id` unless it is there.
    mutating func insert(_ id: CallID) {
        switch held {
        case .none: held = .one(id)
        case .one(let first):
            guard first != id else { return }
            held = .many(UserCallRow(first))
            insert(id)
        case .many(let row): row.insert(id)
        }
    }

    /// Takes `id` out if it is there.
    mutating func remove(_ id: CallID) {
        switch held {
        case .none: break
        case .one(let only): if only == id { held = .none }
        case .many(let row): row.remove(id)
        }
    }

    /// The ids from `range.from` to below `range.below`.
    func ids(in range: (from: CallID, below: CallID)) -> ArraySlice<CallID> {
        switch held {
        case .none: []
        case .one(let id): range.from <= id && id < range.below ? [id] : []
        case .many(let row): row.ids(in: range)
        }
    }
}

/// Ids in order. New ones come at the end and old ones leave at the front, so that neither moves
/// the others: an account that everybody calls has very many.
private final class UserCallRow {
    private var ids: [CallID]
    /// Places at the front that are free.
    private var free = 0

    init(_ first: CallID) { ids = [first] }

    var isEmpty: Bool { free == ids.count }

    /// Adds `id` unless it is there.
    func insert(_ id: CallID) {
        guard let newest = ids.last, !isEmpty, id <= newest else { return ids.append(id) }
        let place = ids[free...].firstPlace { $0 >= id }
        if ids[place] != id { ids.insert(id, at: place) }
    }

    /// Takes `id` out if it is there.
    func remove(_ id: CallID) {
        guard !isEmpty else { return }
        // Mostly the oldest leaves first.
        let place = ids[free] == id ? free : ids[free...].firstPlace { $0 >= id }
        guard place < ids.count, ids[place] == id else { return }
        guard place == free else {
            ids.remove(at: place)
            return
        }
        free += 1
        // The rest is moved only when half is free: that makes removing cheap on average.
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

extension RandomAccessCollection where Index == Int {
    /// The first place from which on `condition` holds; it must hold from some place on.
    func firstPlace(where condition: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
