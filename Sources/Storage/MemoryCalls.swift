// Calls in memory: live ones, the last ended ones, and who was in them.

import CallModel

/// What `CallTable` and `HistoryTable` are on disk.
struct MemoryCalls {
    private var liveCalls: [CallID: Call] = [:]
    /// Calls by their ends.
    private var ended = CallQueue()
    private var participations: [UserID: UserCalls] = [:]
    private var missed: [UserID: [CallID: Moment]] = [:]

    subscript(id: CallID) -> Call? { liveCalls[id] ?? ended[id] }

    /// Live calls by id.
    var live: [Call] { liveCalls.values.sorted { $0.id < $1.id } }

    /// Stores `call` and forgets the oldest ended calls beyond `endedMax`, which it returns.
    mutating func put(_ call: Call, endedMax: Int) -> [CallID] {
        guard let endedAt = call.endedAt else {
            let before = liveCalls.updateValue(call, forKey: call.id)
            index(call, from: before?.participants.count ?? 0)
            return []
        }
        if ended.update(call) { return [] }
        let before = liveCalls.removeValue(forKey: call.id)
        index(call, from: before?.participants.count ?? 0)
        ended.put(call, stamp: endedAt)
        return forgetEnded { count, _ in count > endedMax }
    }

    /// Notes the participants from `first` on: they are only ever added at the end.
    private mutating func index(_ call: Call, from first: Int) {
        for place in call.participants.indices.dropFirst(first) {
            participations[call.participants[place].user, default: UserCalls()].insert(call.id)
        }
    }

    /// Forgets the oldest ended calls as long as `condition` holds of the number of ended calls
    /// and the end of the oldest of them.
    private mutating func forgetEnded(while condition: (Int, Moment) -> Bool) -> [CallID] {
        var forgotten: [CallID] = []
        while let end = ended.oldest, condition(ended.count, end), let call = ended.removeFirst() {
            forget(call)
            forgotten.append(call.id)
        }
        return forgotten
    }

    private mutating func forget(_ call: Call) {
        for place in call.participants.indices {
            let user = call.participants[place].user
            if let found = participations.index(forKey: user) {
                participations.values[found].remove(call.id)
                if participations.values[found].isEmpty { participations.remove(at: found) }
            }
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
        (participations[user] ?? UserCalls()).ids(in: range).reversed()
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
