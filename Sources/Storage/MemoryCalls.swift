// Calls in memory: live ones, the last ended ones, and who was in them.

import CallCore
import CallModel

/// What `CallTable` and `HistoryTable` are on disk.
struct MemoryCalls {
    private var calls: [CallID: Call] = [:]
    /// Ended calls in order of their ends, from `firstEnded` on.
    private var ended: [CallID] = []
    private var firstEnded = 0
    /// Ids of each user's calls, oldest first.
    private var participations: [UserID: [CallID]] = [:]
    private var missed: [UserID: [CallID: Moment]] = [:]

    subscript(id: CallID) -> Call? { calls[id] }

    /// Live calls by id.
    var live: [Call] { calls.values.filter(\.isLive).sorted { $0.id < $1.id } }

    /// Stores `call` and forgets the oldest ended calls beyond `endedMax`, which it returns.
    mutating func put(_ call: Call, endedMax: Int) -> [CallID] {
        let before = calls.updateValue(call, forKey: call.id)
        for participant in call.participants.dropFirst(before?.participants.count ?? 0) {
            index(call.id, of: participant.user)
        }
        guard !call.isLive, before?.isLive ?? true else { return [] }
        ended.append(call.id)
        return forgetEnded { count, _ in count > endedMax }
    }

    private mutating func index(_ id: CallID, of user: UserID) {
        var ids = participations.removeValue(forKey: user) ?? []
        let place = ids.firstPlace { $0 >= id }
        if place == ids.count || ids[place] != id { ids.insert(id, at: place) }
        participations[user] = ids
    }

    /// Forgets the oldest ended calls as long as `condition` holds of the number of ended calls
    /// and the oldest of them.
    private mutating func forgetEnded(while condition: (Int, Call) -> Bool) -> [CallID] {
        var forgotten: [CallID] = []
        while firstEnded < ended.count, let oldest = calls[ended[firstEnded]],
            condition(ended.count - firstEnded, oldest)
        {
            forget(oldest)
            forgotten.append(oldest.id)
            firstEnded += 1
        }
        // Moving the rest down only when half is empty keeps the cost of each call constant.
        if firstEnded > ended.count / 2 {
            ended.removeFirst(firstEnded)
            firstEnded = 0
        }
        return forgotten
    }

    private mutating func forget(_ call: Call) {
        calls[call.id] = nil
        for participant in call.participants {
            let user = participant.user
            guard var ids = participations.removeValue(forKey: user) else { continue }
            let place = ids.firstPlace { $0 >= call.id }
            if place < ids.count, ids[place] == call.id { ids.remove(at: place) }
            if !ids.isEmpty { participations[user] = ids }
            missed[user]?[call.id] = nil
        }
    }

    /// Forgets calls that ended at `moment` or before, at most `step`, and returns them.
    mutating func sweep(upTo moment: Moment, step: Int) -> [CallID] {
        var left = step
        return forgetEnded { _, oldest in
            guard left > 0, (oldest.endedAt ?? oldest.createdAt) <= moment else { return false }
            left -= 1
            return true
        }
    }

    /// The user's calls in `range`, newest first.
    func ids(of user: UserID, _ range: (from: CallID, below: CallID)) -> some Sequence<CallID> {
        let ids = participations[user] ?? []
        let first = ids.firstPlace { $0 >= range.from }
        let last = ids.firstPlace { $0 >= range.below }
        return ids[first..<max(first, last)].reversed()
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

extension Array {
    /// The first place from which on `condition` holds; it must hold from some place on.
    func firstPlace(where condition: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
