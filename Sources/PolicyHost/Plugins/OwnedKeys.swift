// Which keys count for whom.

import CallModel

/// Keys that a plugin uses, by the pair of accounts for whom each counts, and how much each pair
/// has under its keys (G75).
struct OwnedKeys {
    /// Of a pair that has some.
    private struct Owned {
        var keys: Set<String> = []
        /// When it was looked which of them are over.
        var sweptAt: Moment?
    }
    private var pairs: [Cause: Owned] = [:]
    private var used = Quota()

    /// How much all of them have.
    var total: Int { used.total }

    /// Pairs with more than twice as many keys as a pair has on average.
    var greedy: Set<Cause> {
        let count = pairs.values.reduce(0) { $0 + $1.keys.count }
        return Set(pairs.filter { $0.value.keys.count * pairs.count > 2 * count }.keys)
    }

    /// Whether `cause` may have `amount` more.
    func hasRoom(for amount: Int = 1, _ cause: Cause, part: Int) -> Bool {
        used.hasRoom(for: amount, cause, most: .max, part: part)
    }

    /// The key counts for `cause` from now on; it must count for nobody.
    mutating func add(_ key: String, _ amount: Int = 1, for cause: Cause) {
        pairs[cause, default: Owned()].keys.insert(key)
        used.add(amount, cause)
    }

    /// The key counts for `cause` no more.
    mutating func remove(_ key: String, _ amount: Int = 1, of cause: Cause) {
        used.add(-amount, cause)
        pairs[cause]?.keys.remove(key)
        if pairs[cause]?.keys.isEmpty == true { pairs[cause] = nil }
    }

    /// The keys of `cause`, to look which are over: once a second, because to be refused is to be
    /// cheap. Else none.
    mutating func sweep(_ cause: Cause, at now: Moment) -> Set<String> {
        guard let owned = pairs[cause], owned.sweptAt.map({ now - $0 >= 1_000 }) ?? true
        else { return [] }
        pairs[cause]?.sweptAt = now
        return owned.keys
    }
}
