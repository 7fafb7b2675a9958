// Reads the pages of `call.list`.

import CallModel
import StoreContract

extension StoreReader {
    package func page(
        of user: UserID, matching query: ListQuery, bytes: Int
    ) throws(StoreError) -> CallPage {
        let filter = CallFilter(user: user, query: query)
        let range = filter.range
        var builder = PageBuilder(filter, bytes: bytes, scanMax: limits.pageScanMax)
        var damage: [StoreError] = []
        // One transaction: all of it as of one moment.
        try begin.run()
        defer { try? end.run() }
        func look(at row: Row, _ id: CallID) throws(StoreError) -> Bool {
            try builder.look(at: id) { () throws(StoreError) in
                try call(in: row, filter, &damage)
            }
        }
        var recent = try recentCalls(of: user, in: range)
        func lookAtRecent(after id: CallID?) throws(StoreError) -> Bool {
            while let next = recent.last, id.map({ next > $0 }) ?? true {
                recent.removeLast()
                let goesOn = try listedCall.first(.id(next)) { (row) throws(StoreError) in
                    try look(at: row, next)
                }
                guard goesOn == true else { return false }
            }
            return true
        }
        var goesOn = true
        try callsOfUser.rows(.text(user.text), .id(range.from), .id(range.below)) {
            (row) throws(StoreError) in
            guard let id = row.id(0) else { return true }
            goesOn = try lookAtRecent(after: id)
            if recent.last == id { recent.removeLast() }
            if goesOn { goesOn = try look(at: row, id) }
            return goesOn
        }
        if goesOn { _ = try lookAtRecent(after: nil) }
        return builder.page.with(damage)
    }

    /// The calls of `user` that wait to be indexed, oldest first.
    func recentCalls(
        of user: UserID, in range: (from: CallID, below: CallID)
    ) throws(StoreError) -> [CallID] {
        let name = Array(user.text.utf8)
        var calls: Set<CallID> = []
        try recentParticipations.rows { (row) throws(StoreError) in
            try connection.participations(in: row) { one in
                guard one.user.count == name.count, one.user.elementsEqual(name) else { return }
                if range.from <= one.call, one.call < range.below { calls.insert(one.call) }
            }
            return true
        }
        return calls.sorted()
    }

    /// The call in a row of id, live record, end reason and ended record, if it may belong in the
    /// answer; a damaged one is noted and left out.
    private func call(
        in row: Row, _ filter: CallFilter, _ damage: inout [StoreError]
    ) throws(StoreError) -> Call? {
        try damage.noting { () throws(StoreError) in
            if !row.isNull(1) { return try connection.call(of: row, id: 0, record: 1) }
            guard !row.isNull(2), filter.mayAdmit(ended: row.text(2)) else { return nil }
            return try connection.call(of: row, id: 0, record: 3)
        }
    }
}
