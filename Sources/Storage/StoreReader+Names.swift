// Reads what people are called, and who knows whom.

import CallModel
import StoreContract

extension StoreReader {
    package func names(after user: UserID?, limit: Int) throws(StoreError) -> [StoredName] {
        let page = try connection.prepare(
            "SELECT user, name, origin FROM person_name WHERE user > ? ORDER BY user LIMIT ?",
            for: "reading names")
        var names: [StoredName] = []
        try page.rows(.text(user?.text ?? ""), .integer(Int64(limit))) { row in
            if let name = StoredName(row) { names.append(name) }
            return true
        }
        return names
    }

    package func met(_ user: UserID, among others: [UserID]) throws(StoreError) -> [UserID] {
        // One transaction: all of it as of one moment.
        try begin.run()
        defer { try? end.run() }
        let all = (from: CallID(high: 0, low: 0), below: CallID(high: .max, low: .max))
        let own = try newestCalls(of: user) + recentCalls(of: user, in: all)
        let calls = Set(own.sorted(by: >).prefix(limits.pageScanMax))
        var met = try recentUsers(in: calls, among: Set(others))
        for other in others where !met.contains(other) {
            if try newestCalls(of: other).contains(where: calls.contains) { met.insert(other) }
        }
        return others.filter(met.contains)
    }

    /// The newest indexed calls of `user`: nobody's long history costs more than that.
    private func newestCalls(of user: UserID) throws(StoreError) -> [CallID] {
        let newest = try connection.prepare(
            "SELECT call FROM participation WHERE user = ? ORDER BY call DESC LIMIT ?",
            for: "finding who was in a call")
        var calls: [CallID] = []
        try newest.rows(.text(user.text), .integer(Int64(limits.pageScanMax))) { row in
            if let id = row.id(0) { calls.append(id) }
            return true
        }
        return calls
    }

    /// Those of `others` who are in one of `calls` by what waits to be indexed.
    private func recentUsers(
        in calls: Set<CallID>, among others: Set<UserID>
    ) throws(StoreError) -> Set<UserID> {
        var found: Set<UserID> = []
        try recentParticipations.rows { (row) throws(StoreError) in
            try connection.participations(in: row) { one in
                guard calls.contains(one.call) else { return }
                let user = UserID(String(decoding: one.user, as: UTF8.self))
                if others.contains(user) { found.insert(user) }
            }
            return true
        }
        return found
    }
}
