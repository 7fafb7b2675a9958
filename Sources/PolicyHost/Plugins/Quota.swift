// How much of something a plugin uses, and who caused that.

import CallModel

/// A count that has a part for each pair of accounts, so that none of them can use it up (G75).
struct Quota {
    /// So many parts one account has for all the pairs of its calls.
    static let partsMax = 4

    private(set) var total = 0
    private var pairs: [Cause: Int] = [:]
    private var accounts: [UserID: Int] = [:]

    /// Whether `amount` more of `cause` is within `most` in all, and `part` of the pair.
    func hasRoom(for amount: Int = 1, _ cause: Cause, most: Int, part: Int) -> Bool {
        guard total + amount <= most else { return false }
        if cause.isNobody { return true }
        guard pairs[cause, default: 0] + amount <= part else { return false }
        guard let caller = cause.caller else { return true }
        return accounts[caller, default: 0] + amount <= part * Self.partsMax
    }

    /// Counts `amount` more of `cause`, or less.
    mutating func add(_ amount: Int = 1, _ cause: Cause) {
        total += amount
        if cause.isNobody { return }
        Self.add(amount, cause, &pairs)
        if let caller = cause.caller { Self.add(amount, caller, &accounts) }
    }

    private static func add<Key>(_ amount: Int, _ key: Key, _ counts: inout [Key: Int]) {
        let sum = counts[key, default: 0] + amount
        counts[key] = sum == 0 ? nil : sum
    }
}

/// One thing that is counted from its beginning to its end.
final class QuotaUse {
    private let memory: PluginMemory
    private let quota: ReferenceWritableKeyPath<PluginMemory, Quota>
    private let cause: Cause

    init(
        _ memory: PluginMemory, _ quota: ReferenceWritableKeyPath<PluginMemory, Quota>,
        _ cause: Cause
    ) {
        (self.memory, self.quota, self.cause) = (memory, quota, cause)
        memory[keyPath: quota].add(1, cause)
    }

    deinit { memory[keyPath: quota].add(-1, cause) }
}
