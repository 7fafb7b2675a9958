// Calls in memory: live ones, the last ended ones, and who was in them.

import Bookkeeping
import CallModel

/// What `CallTable` and `HistoryTable` are on disk: a slab of calls, found by id.
struct MemoryCalls {
    /// A call at its place.
    private enum Held {
        case whole(Call)
        /// An ended call, and its place among the packed ones.
        case packed(Int32)
    }

    private var places = HashIndex()
    private var slab = Slab<Held>()
    private var packed = PackedCalls()
    /// Ended calls by their ends.
    private var ended = Queue<(place: Int32, at: Moment)>()
    private var participations = Participations()
    private var missed: [UserID: [CallID: Moment]] = [:]

    subscript(id: CallID) -> Call? {
        switch find(id).flatMap({ slab[$0] }) {
        case .whole(let call): call
        case .packed(let place): packed[place]
        case nil: nil
        }
    }

    private func find(_ id: CallID) -> Int32? {
        places.find(id.hash) { place in
            switch slab[place] {
            case .whole(let call): call.id == id
            case .packed(let place): packed.id(at: place) == id
            case nil: false
            }
        }
    }

    /// Live calls by id.
    var live: [Call] {
        slab.values.compactMap { held in
            if case .whole(let call) = held, call.endedAt == nil { call } else { nil }
        }.sorted { $0.id < $1.id }
    }

    /// Stores `call` and forgets the oldest ended calls beyond `endedMax`, which it returns.
    mutating func put(_ call: Call, endedMax: Int) -> [CallID] {
        let place: Int32
        if let known = find(call.id) {
            place = known
            guard case .whole(let before) = slab[known], before.endedAt == nil else {
                // Nobody comes into a call that has ended, and it ends once.
                keep(call, at: known)
                return []
            }
            index(call, from: before.participants.count)
        } else {
            place = slab.insert(.whole(call))
            places.insert(call.id.hash, place)
            index(call, from: 0)
        }
        keep(call, at: place)
        guard let endedAt = call.endedAt else { return [] }
        ended.append((place, endedAt))
        return forgetEnded { count, _ in count > endedMax }
    }

    /// Puts `call` at `place`, where there is an older version of it.
    private mutating func keep(_ call: Call, at place: Int32) {
        if case .packed(let old) = slab[place] { packed.remove(at: old) }
        slab[place] = CallBytes.canWrite(call) ? .packed(packed.insert(call)) : .whole(call)
    }

    /// Notes the participants from `first` on: they are only ever added at the end.
    private mutating func index(_ call: Call, from first: Int) {
        for place in call.participants.indices.dropFirst(first) {
            participations.insert(call.participants[place].user, call.id)
        }
    }

    /// Forgets the oldest ended calls as long as `condition` holds of the number of ended calls
    /// and the end of the oldest of them.
    private mutating func forgetEnded(while condition: (Int, Moment) -> Bool) -> [CallID] {
        var forgotten: [CallID] = []
        while let oldest = ended.first, condition(ended.count, oldest.at) {
            _ = ended.removeFirst()
            guard let (id, users) = take(oldest.place) else { continue }
            places.remove(id.hash, oldest.place)
            for user in users {
                participations.remove(user, id)
                if !missed.isEmpty { missed[user]?[id] = nil }
            }
            forgotten.append(id)
        }
        return forgotten
    }

    /// Takes the ended call at `place` out and tells who was in it.
    private mutating func take(_ place: Int32) -> (id: CallID, users: [UserID])? {
        switch slab.remove(at: place) {
        case .whole(let call): return (call.id, call.participants.map(\.user))
        case .packed(let place):
            defer { packed.remove(at: place) }
            return (packed.id(at: place), packed.users(at: place))
        case nil: return nil
        }
    }

    /// Forgets calls that ended at `moment` or before, at most `step`, and returns them.
    mutating func sweep(upTo moment: Moment, step: Int) -> [CallID] {
        var left = step
        return forgetEnded { _, end in
            guard left > 0, end <= moment else { return false }
            left -= 1
            return true
        }
    }

    /// The user's calls in `range`, newest first.
    func ids(of user: UserID, _ range: (from: CallID, below: CallID)) -> some Sequence<CallID> {
        participations[user].ids(in: range).reversed()
    }

    mutating func miss(_ user: UserID, _ call: CallID, at moment: Moment) {
        missed[user, default: [:]][call] = moment
    }

    mutating func see(_ user: UserID, upTo moment: Moment) {
        let left = (missed[user] ?? [:]).filter { $0.value > moment }
        missed[user] = left.isEmpty ? nil : left
    }

    func missedCount(of user: UserID) -> Int {
        missed[user]?.count ?? 0
    }

    /// Newest first.
    func missedCalls(of user: UserID, limit: Int) -> [MissedCall] {
        (missed[user] ?? [:]).sorted { $0.key > $1.key }.prefix(limit)
            .map { MissedCall(callID: $0.key, at: $0.value) }
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
