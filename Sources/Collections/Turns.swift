// Fair shares of a list whose elements belong to owners.

/// The places of a list, to be taken from the owners of its elements in turn, so that an owner of
/// very many does not hide those of others.
public struct Turns: Sendable {
    /// Of each element, how many of its owner stand before it.
    private let turns: [Int32]

    /// A list whose elements belong to `owners`, in this order.
    public init<Owner: Hashable>(_ owners: [Owner]) {
        var counts: [Owner: Int32] = [:]
        turns = owners.map { owner in
            let turn = counts[owner, default: 0]
            counts[owner] = turn + 1
            return turn
        }
    }

    /// The places of `count` elements at most, in the order of the list.
    public func places(atMost count: Int) -> [Int] {
        guard turns.count > count else { return Array(turns.indices) }
        // An element whose turn is `count` or later has that many of its owner before it.
        var ofTurn = [Int](repeating: 0, count: count)
        for turn in turns where turn < count { ofTurn[Int(turn)] += 1 }
        var (last, left) = (0, count)
        while last < count, ofTurn[last] <= left {
            left -= ofTurn[last]
            last += 1
        }
        var chosen: [Int] = []
        for (place, turn) in turns.enumerated() where turn <= last {
            if turn == last {
                guard left > 0 else { continue }
                left -= 1
            }
            chosen.append(place)
        }
        return chosen
    }
}
