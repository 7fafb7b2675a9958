// Which pairs of accounts a plugin, or a generation, has met lately, and how it went.

import CallModel
import Lua

/// What one pair of accounts had of a plugin.
struct PairUse {
    let cause: Cause
    let firstAt: Moment
    var lastAt: Moment
    var asked = 0
    var failed = 0
    /// Of the last failure.
    var failedAt: Moment?
    /// Whether a failure is the plugins' own, not one that those before them had too.
    var hasOwnFailure = false
    /// Processor time.
    var nanoseconds: UInt64 = 0

    init(_ cause: Cause, at now: Moment) {
        (self.cause, firstAt, lastAt) = (cause, now, now)
    }
}

/// How many of the pairs that count (G71) asked, and how many of them met a failure.
struct CountedPairs: Equatable {
    var asked = 0
    var failed = 0
    /// Of those, pairs with a failure that the plugins before did not have (`PairUse`).
    var failedAnew = 0
    /// How often the pairs that count have asked.
    var decisions = 0
    /// The same, with at most `CountedPairs.most` of each: one that asks much stands for no others.
    var spread = 0

    static let most = 10

    var failureRate: Double { share(failed) }
    /// The share of pairs that would have met a failure before, too.
    var inheritedRate: Double { share(failed - failedAnew) }

    private func share(_ count: Int) -> Double { asked == 0 ? 0 : Double(count) / Double(asked) }
}

/// The pairs that asked last: so many at most. Chance chooses eight places for a new pair; it takes
/// the place of the oldest of them. So nobody can choose which pair goes.
struct RecentPairs {
    static let most = 2_048
    private static let ways = 8

    /// Of the pair at the same place; 0: none.
    private var hashes: [Int] = []
    private var uses: [PairUse] = []
    private(set) var count = 0
    /// First failures since it was last time to count.
    private var uncounted = 0

    /// Notes that `cause` asks; returns a number that stands for it.
    @discardableResult
    mutating func asked(_ cause: Cause, at now: Moment) -> Int {
        let place = place(for: cause, at: now)
        uses[place].asked += 1
        uses[place].lastAt = now
        return hashes[place]
    }

    /// Notes processor time of `cause`, for which `number` stands.
    mutating func took(_ nanoseconds: UInt64, _ cause: Cause, _ number: Int) {
        guard let place = find(cause, number) else { return }
        uses[place].nanoseconds += nanoseconds
    }

    /// Notes that `cause` met a failure; returns whether it is the first one within a minute.
    mutating func failed(_ cause: Cause, at now: Moment) -> Bool {
        let place = place(for: cause, at: now)
        let isNew = uses[place].failedAt.map { now - $0 >= Breaker.window } ?? true
        uses[place].failed += 1
        uses[place].failedAt = now
        return isNew
    }

    /// One failed for the first time: whether to count how many did. To count costs as much as
    /// there are pairs, and so thousands of them need some such failures, 64 only one.
    mutating func isTimeToCount() -> Bool {
        uncounted += 1
        guard uncounted * 64 >= count else { return false }
        uncounted = 0
        return true
    }

    /// What `cause` has met is a failure that the plugins before did not have. Returns whether that
    /// is news.
    mutating func failedAnew(_ cause: Cause) -> Bool {
        guard let place = find(cause, cause.shortHash), !uses[place].hasOwnFailure else {
            return false
        }
        uses[place].hasOwnFailure = true
        return true
    }

    /// What `cause` had; nil: it is not known.
    subscript(cause: Cause) -> PairUse? { find(cause, cause.shortHash).map { uses[$0] } }

    /// The pairs that count of those that asked since `since`: a pair counts only if neither of
    /// its accounts was counted before it.
    func counted(since: Moment) -> CountedPairs {
        var accounts: Set<UserID> = []
        var counted = CountedPairs()
        let asked = all.filter { $0.lastAt > since }
        for use in asked.sorted(by: { $0.isBefore($1) }) {
            let pair = [use.cause.user, use.cause.caller].compactMap { $0 }
            guard accounts.isDisjoint(with: pair) else { continue }
            accounts.formUnion(pair)
            counted.asked += 1
            counted.decisions += use.asked
            counted.spread += min(use.asked, CountedPairs.most)
            guard use.failedAt.map({ $0 > since }) ?? false else { continue }
            counted.failed += 1
            if use.hasOwnFailure { counted.failedAnew += 1 }
        }
        return counted
    }

    /// All of them, in no order.
    var all: [PairUse] { uses.indices.lazy.filter { hashes[$0] != 0 }.map { uses[$0] } }

    private func find(_ cause: Cause, _ hash: Int) -> Int? {
        guard !hashes.isEmpty else { return nil }
        let first = hash & (Self.most - Self.ways)
        for place in first..<first + Self.ways where hashes[place] == hash {
            if uses[place].cause == cause { return place }
        }
        return nil
    }

    private mutating func place(for cause: Cause, at now: Moment) -> Int {
        if hashes.isEmpty {
            hashes = [Int](repeating: 0, count: Self.most)
            let none = PairUse(.nobody, at: Moment(0))
            uses = [PairUse](repeating: none, count: Self.most)
        }
        let hash = cause.shortHash
        if let place = find(cause, hash) { return place }
        let first = hash & (Self.most - Self.ways)
        var oldest = first
        for place in first..<first + Self.ways {
            if hashes[place] == 0 {
                oldest = place
                break
            }
            if uses[place].lastAt < uses[oldest].lastAt { oldest = place }
        }
        if hashes[oldest] == 0 { count += 1 }
        hashes[oldest] = hash
        uses[oldest] = PairUse(cause, at: now)
        return oldest
    }
}

extension PairUse {
    /// Whether it asked first; of the same moment in the order of names.
    fileprivate func isBefore(_ other: PairUse) -> Bool {
        // Names are put together where it matters only: it is asked for thousands of pairs.
        firstAt == other.firstAt ? cause.text < other.cause.text : firstAt < other.firstAt
    }
}

extension Cause {
    /// Stands for the pair and, in its upper half, for the account that made the call; `number`
    /// stands for the pair. Never 0.
    func number(ofPair number: Int) -> Int64 {
        var account = number
        if let caller, caller != user { account = Cause(caller).shortHash }
        return Int64(truncatingIfNeeded: account << 32 | number & 0xFFFF_FFFF) | 1
    }

    /// Never 0. The one account of most causes is looked at once.
    fileprivate var shortHash: Int {
        var hash = UInt64(caller?.hash(Self.seed) ?? 0)
        if user != caller { hash.mix(UInt64(user?.hash(Self.seed) ?? 0) + 1 << 32) }
        return Int(truncatingIfNeeded: hash) | 1 << 62
    }

    /// Nobody outside knows it, so nobody can choose names that meet.
    private static let seed = UInt64.random(in: .min ... .max)
}
