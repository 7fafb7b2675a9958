// Calls in memory: live ones, the last ended ones, and who was in them.

import Collections
import CallModel
import StoreContract

/// What `CallTables` and `HistoryTable` are on disk: a slab of live calls, found by id, and the
/// ended ones.
struct MemoryCalls {
    private var places = HashIndex()
    private var slab = Slab<Call>()
    private var ended = EndedCalls()
    private var participations = Participations()
    private var missed: [UserID: [CallID: Moment]] = [:]

    subscript(id: CallID) -> Call? { find(id).flatMap { slab[$0] } ?? ended[id] }

    /// The place of a live call.
    private func find(_ id: CallID) -> Int32? {
        places.find(id.hash) { slab[$0]?.id == id }
    }

    /// The last live call.
    var lastLive: CallID? { slab.values.lazy.map(\.id).max() }

    /// The live calls that `query` asks for.
    func live(_ query: LiveCallQuery) -> LiveCalls {
        let isOfAll = query.users.isEmpty && query.calls.isEmpty
        let all = slab.values.filter { call in
            guard query.covers(call.id) else { return false }
            return isOfAll || query.calls.contains(call.id)
                || query.users.contains { call.participant($0) != nil }
        }
        var found = LiveCalls()
        found.calls = Array(all.sorted { $0.id < $1.id }.prefix(query.limit))
        if found.calls.count < all.count { found.lookedUpTo = found.calls.last?.id }
        return found
    }

    /// Stores `call` and forgets the oldest ended calls beyond `endedMax`, which it returns.
    mutating func put(_ call: Call, endedMax: Int) -> [CallID] {
        guard call.endedAt != nil else {
            putLive(call)
            return []
        }
        if let place = find(call.id) {
            index(call, from: slab[place]?.participants.count ?? 0)
            _ = slab.remove(at: place)
            places.remove(call.id.hash, place)
            ended.put(call)
        } else if ended.put(call) {
            index(call, from: 0)
        }
        return forgetEnded { count, _ in count > endedMax }
    }

    private mutating func putLive(_ call: Call) {
        if let place = find(call.id) {
            index(call, from: slab[place]?.participants.count ?? 0)
            slab[place] = call
        } else {
            places.insert(call.id.hash, slab.insert(call))
            index(call, from: 0)
        }
    }

    /// Indexes the participants from `first` on: they are only ever added at the end.
    private mutating func index(_ call: Call, from first: Int) {
        for place in call.participants.indices.dropFirst(first) {
            participations.insert(call.participants[place].user, call.id)
        }
    }

    /// Forgets the oldest ended calls as long as `condition` holds of the number of ended calls
    /// and the end of the oldest of them.
    private mutating func forgetEnded(while condition: (Int, Moment) -> Bool) -> [CallID] {
        var forgotten: [CallID] = []
        while let end = ended.firstEnd, condition(ended.count, end) {
            let users = ended.firstUsers
            guard let id = ended.removeFirst() else { break }
            for user in users {
                participations.remove(user, id)
                if !missed.isEmpty { forgetMissed(user, id) }
            }
            forgotten.append(id)
        }
        return forgotten
    }

    /// Keeps `call`, which has ended, without somebody who was in it; false: it is not kept.
    mutating func forget(_ gone: Forgotten, in call: Call) -> Bool {
        guard find(call.id) == nil, ended[call.id] != nil else { return false }
        ended.put(call)
        participations.remove(gone.user, call.id)
        participations.insert(gone.substitute, call.id)
        forgetMissed(gone.user, call.id)
        return true
    }

    /// Visits ended calls, the last one first, from behind `id` on, until `visit` returns false.
    func visitEnded(before id: CallID?, _ visit: (CallID) -> Bool) {
        ended.visit(before: id, visit)
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

    /// Those of `others` who were in one of the newest `scanMax` calls of `user`, by their own.
    func met(_ user: UserID, among others: [UserID], scanMax: Int) -> [UserID] {
        let all = (from: CallID(high: 0, low: 0), below: CallID(high: .max, low: .max))
        let calls = Set(ids(of: user, all).prefix(scanMax))
        return others.filter { other in
            ids(of: other, all).prefix(scanMax).contains(where: calls.contains)
        }
    }

    mutating func miss(_ user: UserID, _ call: CallID, at moment: Moment) {
        missed[user, default: [:]][call] = moment
    }

    private mutating func forgetMissed(_ user: UserID, _ call: CallID) {
        guard missed[user]?.removeValue(forKey: call) != nil else { return }
        if missed[user]?.isEmpty == true { missed[user] = nil }
    }

    mutating func see(_ user: UserID, upTo moment: Moment) {
        let left = (missed[user] ?? [:]).filter { $0.value > moment }
        missed[user] = left.isEmpty ? nil : left
    }

    func missedCount(of user: UserID) -> Int {
        missed[user]?.count ?? 0
    }

    /// Newest first.
    func missedCalls(of user: UserID, limit: Int) -> [(id: CallID, at: Moment)] {
        (missed[user] ?? [:]).sorted { $0.key > $1.key }.prefix(limit)
            .map { (id: $0.key, at: $0.value) }
    }
}
