// What those have begun to say, or left unread, who have not said who they are.

/// Counts it as it comes, so that a bound is never exceeded by more than one read. Owner: the
/// loop's thread.
struct Beginners {
    /// Those of whom something is kept, in no order. They are newcomers: a bounded number.
    private var links: [ClientLink] = []
    /// Of all of them together.
    private(set) var bytes = 0

    /// How many they are.
    var count: Int { links.count }

    /// What is kept of a link may have changed.
    mutating func note(_ link: ClientLink) {
        let kept = link.keptBytes + link.unreadBytes
        guard kept != link.counted.bytes else { return }
        guard kept > 0 else { return forget(link) }
        if link.counted.bytes == 0 {
            link.counted.index = links.count
            links.append(link)
        }
        bytes += kept - link.counted.bytes
        link.counted.bytes = kept
    }

    /// The link is no beginner any more, or gone.
    mutating func forget(_ link: ClientLink) {
        guard link.counted.bytes > 0 else { return }
        bytes -= link.counted.bytes
        link.counted.bytes = 0
        let last = links.removeLast()
        guard last !== link else { return }
        links[link.counted.index] = last
        last.counted.index = link.counted.index
    }

    /// Of whom most is kept; nil: nobody.
    var greediest: ClientLink? { links.max { $0.counted.bytes < $1.counted.bytes } }

    /// Those of whom more is kept than an equal share of `limit`.
    func greedy(of limit: Int) -> [ClientLink] {
        links.filter { $0.counted.bytes > limit / links.count }
    }
}
