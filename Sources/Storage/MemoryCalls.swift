// Calls in memory: live ones, the last ended ones, and who was in them.

import Bookkeeping
import CallModel

/// What `CallTable` and `HistoryTable` are on disk: a slab of calls, found by id. Ended calls lie
/// in it as they ended, because most of them are written once and read once more, when they are
/// forgotten: in a table by id each would be a miss of the processor's caches.
struct MemoryCalls {
    private var places = HashIndex()
    private var slab = Slab<Call>()
    /// Ended calls by their ends.
    private var ended = Queue<(place: Int32, at: Moment)>()
    private var participations = Participations()
    private var missed: [UserID: [CallID: Moment]] = [:]

    subscript(id: CallID) -> Call? { find(id).flatMap { slab[$0] } }

    private func find(_ id: CallID) -> Int32? {
        places.find(id.hash) { slab[$0]?.id == id }
    }

    /// Live calls by id.
    var live: [Call] {
        slab.values.filter { $0.endedAt == nil }.sorted { $0.id < $1.id }
    }

    /// Stores `call` and forgets the oldest ended calls beyond `endedMax`, which it returns.
    mutating func put(_ call: Call, endedMax: Int) -> [CallID] {
        let place: Int32
        var before: Call?
        if let known = find(call.id) {
            (place, before) = (known, slab[known])
            slab[known] = call
        } else {
            place = slab.insert(call)
            places.insert(call.id.hash, place)
        }
        // Nobody comes into a call that has ended, and it ends once.
        if before?.endedAt != nil { return [] }
        index(call, from: before?.participants.count ?? 0)
        guard let endedAt = call.endedAt else { return [] }
        ended.append((place, endedAt))
        return forgetEnded { count, _ in count > endedMax }
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
            guard let call = slab.remove(at: oldest.place) else { continue }
            places.remove(call.id.hash, oldest.place)
            forget(call)
            forgotten.append(call.id)
        }
        return forgotten
    }

    private mutating func forget(_ call: Call) {
        for place in call.participants.indices {
            let user = call.participants[place].user
            participations.remove(user, call.id)
            if !missed.isEmpty { missed[user]?[call.id] = nil }
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
