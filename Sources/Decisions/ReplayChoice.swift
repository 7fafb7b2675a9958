// Which decisions are asked again when there is no time for all.

import CallModel
import PolicyHost

extension [DecisionRecord] {
    /// What asking one takes besides the runs of its plugins, in nanoseconds, roughly.
    private static var base: UInt64 { 100_000 }

    /// As many of them, oldest first, as took `time` nanoseconds when they were made: of every
    /// account that made calls the newest ones, in turn. Accounts whose decisions cost much, or are
    /// many, do not take the place of others.
    public func inTurn(within time: UInt64) -> [DecisionRecord] {
        var rows: [[Int]] = []
        var places: [UserID?: Int] = [:]
        for index in indices.reversed() {
            let account = self[index].cause.caller ?? self[index].cause.user
            if let place = places[account] {
                rows[place].append(index)
            } else {
                places[account] = rows.count
                rows.append([index])
            }
        }
        var chosen: [Int] = []
        var (left, turn) = (time, 0)
        while !rows.isEmpty {
            rows.removeAll { row in
                let cost = self[row[turn]].asked.reduce(Self.base) { $0 + $1.processor }
                guard cost <= left else { return true }
                left -= cost
                chosen.append(row[turn])
                return row.count == turn + 1
            }
            turn += 1
        }
        return chosen.sorted().map { self[$0] }
    }
}
