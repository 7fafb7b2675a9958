// Fair turns on the policy thread: by the processor time that each account has had.

import CallModel
import Collections

/// What waits for the policy thread, taken in fair turns (G76).
///
/// Time is shared among the accounts that made the calls, at most four parts to one account, and an
/// account's time among the pairs of its calls. An account that is new begins at the time of those
/// served now: it comes next, and has not saved up time. Decisions go before reports, unless their
/// account is far ahead of one that has only reports.
struct FairTurns<Item> {
    enum Rank: Int, CaseIterable { case decision, report }

    /// How many parts one account can have, when that many pairs of its calls have something
    /// waiting.
    static var partsMax: Int { 4 }
    /// How much more time an account may have had, in nanoseconds, before its decisions come behind
    /// the reports of others.
    static var slack: UInt64 { 50_000_000 }
    /// Times that differ by less count as equal, in nanoseconds: an account that needs little at a
    /// time should not wait because of that little.
    private static var step: UInt64 { 5_000_000 }
    /// A run of so many nanoseconds or more is long.
    private static var long: UInt64 { 1_000_000 }
    /// So many accounts without anything waiting are remembered.
    static var idleMax: Int { 4_096 }

    private final class Pair {
        let cause: Cause
        /// The time that it has had, as in `Account.time`.
        var time: UInt64 = 0
        var queues: [Queue<Item>] = [Queue(), Queue()]

        init(_ cause: Cause) { self.cause = cause }

        var isIdle: Bool { queues.allSatisfy { $0.count == 0 } }
    }

    private final class Account {
        let name: UserID?
        /// The time that it has had, divided by its parts. While it had nothing waiting, it grew
        /// with the time of the others.
        var time: UInt64 = 0
        /// The length of its last run.
        var lastTime: UInt64 = 0
        var pairs: [Cause: Pair] = [:]
        /// For each rank, how many items wait, and whether the account is in the heap.
        var counts = [0, 0]
        var isListed = [false, false]

        init(_ name: UserID?) { self.name = name }

        var isIdle: Bool { counts[0] + counts[1] == 0 }
    }

    private var accounts: [UserID?: Account] = [:]
    /// For each rank, the accounts with something waiting, the least time first.
    private var heaps: [FairHeap<Account>] = [FairHeap(), FairHeap()]
    /// The time of the accounts that are served now.
    private var time: UInt64 = 0
    /// Idle accounts are dropped when there are more accounts than this.
    private var forgetsAt = Self.idleMax
    private var atTurn: (account: Account, pair: Pair)?
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Adds an item behind all others of its cause and rank.
    mutating func add(_ item: Item, _ cause: Cause, _ rank: Rank) {
        let name = cause.caller ?? cause.user
        let account = accounts[name] ?? Account(name)
        accounts[name] = account
        let isNew = account.isIdle && account.time / Self.step <= time / Self.step
        if account.isIdle { account.time = max(account.time, time) }
        let pair = account.pairs[cause] ?? Pair(cause)
        account.pairs[cause] = pair
        if pair.isIdle {
            let least = account.pairs.values.filter { !$0.isIdle }.map(\.time).min()
            pair.time = max(pair.time, least ?? 0)
        }
        pair.queues[rank.rawValue].append(item)
        account.counts[rank.rawValue] += 1
        count += 1
        list(account, rank, isNew: isNew)
    }

    /// Takes the next item; `took` must tell how long it took.
    mutating func next() -> Item? {
        guard let (account, rank) = nextAccount() else { return nil }
        time = max(time, account.time)
        let waiting = account.pairs.values.filter { $0.queues[rank.rawValue].count > 0 }
        guard let pair = waiting.min(by: { $0.time < $1.time }) else { return nil }
        account.counts[rank.rawValue] -= 1
        count -= 1
        atTurn = (account, pair)
        let item = pair.queues[rank.rawValue].removeFirst()
        if account.counts[rank.rawValue] > 0 { list(account, rank) }
        return item
    }

    /// The item taken last needed so many nanoseconds.
    mutating func took(_ nanoseconds: UInt64) {
        guard let (account, pair) = atTurn else { return }
        atTurn = nil
        // An account whose items took no time at all would be served for ever.
        let spent = max(nanoseconds, 1_000)
        account.lastTime = nanoseconds
        let active = account.pairs.values.count { !$0.isIdle || $0 === pair }
        account.time += spent / UInt64(min(active, Self.partsMax))
        pair.time += spent
        if pair.isIdle, account.pairs.count > 1 { account.pairs[pair.cause] = nil }
        if account.isIdle, accounts.count > forgetsAt { forgetIdle() }
    }

    /// Whether the next item is of an account whose last run was long.
    mutating func takesLong() -> Bool { (firstAccount()?.0.lastTime ?? 0) >= Self.long }

    private mutating func nextAccount() -> (Account, Rank)? {
        guard let (account, rank) = firstAccount() else { return nil }
        heaps[rank.rawValue].removeFirst()
        account.isListed[rank.rawValue] = false
        return (account, rank)
    }

    private mutating func firstAccount() -> (Account, Rank)? {
        let decision = first(.decision)
        let report = first(.report)
        var rank = Rank.decision
        if let decision, let report {
            rank = decision.time > report.time + Self.slack ? .report : .decision
        } else if decision == nil {
            rank = .report
        }
        guard let account = rank == .decision ? decision : report else { return nil }
        return (account, rank)
    }

    /// The account of this rank with the least time. Times only grow: an account whose time has
    /// grown since it was added is added again when it comes to the front.
    private mutating func first(_ rank: Rank) -> Account? {
        while let (time, account) = heaps[rank.rawValue].first {
            if time == account.time / Self.step { return account }
            heaps[rank.rawValue].removeFirst()
            heaps[rank.rawValue].add(account, at: account.time / Self.step)
        }
        return nil
    }

    private mutating func list(_ account: Account, _ rank: Rank, isNew: Bool = false) {
        guard !account.isListed[rank.rawValue] else { return }
        account.isListed[rank.rawValue] = true
        heaps[rank.rawValue].add(account, at: account.time / Self.step, isNew: isNew)
    }

    private mutating func forgetIdle() {
        accounts = accounts.filter { !$0.value.isIdle || $0.value.time > time }
        if accounts.count > Self.idleMax { accounts = accounts.filter { !$0.value.isIdle } }
        // The limit grows with the accounts, so that each search is paid for by as many new
        // accounts.
        forgetsAt = max(Self.idleMax, 2 * accounts.count)
    }
}

/// The least key first; among equal keys the new ones, and among those the earliest.
private struct FairHeap<Element> {
    private var nodes: [(key: UInt64, number: UInt64, element: Element)] = []
    private var lastNumber: UInt64 = 0

    var first: (UInt64, Element)? { nodes.first.map { ($0.key, $0.element) } }

    mutating func add(_ element: Element, at key: UInt64, isNew: Bool = false) {
        lastNumber += 1
        nodes.append((key, isNew ? lastNumber : lastNumber | 1 << 63, element))
        var place = nodes.count - 1
        while place > 0, isBefore(place, (place - 1) / 2) {
            nodes.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    mutating func removeFirst() {
        nodes.swapAt(0, nodes.count - 1)
        nodes.removeLast()
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2] where child < nodes.count {
                if isBefore(child, least) { least = child }
            }
            if least == place { return }
            nodes.swapAt(place, least)
            place = least
        }
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        (nodes[left].key, nodes[left].number) < (nodes[right].key, nodes[right].number)
    }
}
