// Who takes part in invitations that are held, and which invitations wait for that.

import Bookkeeping
import CallModel

/// Counts of who takes part in held invitations, so that nobody has to look through all of them.
struct HeldUsers: Sendable {
    /// Somebody's part in a held invitation.
    enum Part: Hashable, Sendable {
        /// Calls or is called.
        case member(UserID)
        /// Calls.
        case caller(UserID)
        /// The one calls the other.
        case pair(caller: UserID, callee: UserID)
    }

    private var counts: [Part: Int] = [:]
    /// Whether it is kept: from the first question on, because most servers never ask.
    private(set) var isKept = false

    /// Keeps it from now on, while `held` are held.
    mutating func keep(_ held: Slab<HeldInvitation>) {
        guard !isKept else { return }
        isKept = true
        for invitation in held.values { add(invitation.call) }
    }

    /// A held invitation more, which makes `call`.
    mutating func add(_ call: Call) {
        for part in Self.parts(of: call) { counts[part, default: 0] += 1 }
    }

    /// One less.
    mutating func remove(_ call: Call) {
        for part in Self.parts(of: call) {
            let left = (counts[part] ?? 0) - 1
            counts[part] = left > 0 ? left : nil
        }
    }

    /// Whether somebody has this part.
    func contains(_ part: Part) -> Bool { !counts.isEmpty && counts[part] != nil }

    /// All parts in the invitation that makes `call`.
    static func parts(of call: Call) -> [Part] {
        var parts: [Part] = [.caller(call.caller), .member(call.caller)]
        for index in 1..<call.participants.count {
            let user = call.participants[index].user
            parts += [.member(user), .pair(caller: call.caller, callee: user)]
        }
        return parts
    }
}

/// An invitation that waits until a held one of the same account is decided.
struct DelayedInvitation: Sendable {
    let asker: Asker
    let until: Moment
}

/// Invitations that wait, each behind one part that somebody has in a held one: only who waits
/// behind that is looked at when it is free.
struct DelayedInvitations: Sendable {
    /// One that waits, with its number in the order in which they came.
    struct Entry: Sendable {
        let number: UInt64
        let invitation: DelayedInvitation
    }

    private var waiting: [UInt64: DelayedInvitation] = [:]
    /// Numbers; those that wait no longer are left out later.
    private var behind: [HeldUsers.Part: [UInt64]] = [:]
    /// How many numbers these are.
    private(set) var listed = 0
    private var order = Queue<(number: UInt64, until: Moment)>()
    private var last: UInt64 = 0

    /// Whether none waits.
    var isEmpty: Bool { waiting.isEmpty }

    /// Adds one, which waits behind `part`.
    mutating func append(_ invitation: DelayedInvitation, behind part: HeldUsers.Part) {
        last += 1
        order.append((last, invitation.until))
        putBack(Entry(number: last, invitation: invitation), behind: part)
    }

    /// One that was taken out waits on, behind `part`.
    mutating func putBack(_ entry: Entry, behind part: HeldUsers.Part) {
        waiting[entry.number] = entry.invitation
        behind[part, default: []].append(entry.number)
        listed += 1
        // Somebody may be in held ones all the time, and then nobody takes what waits behind him.
        if listed > 2 * waiting.count + 64 { leaveOutThoseThatWentOn() }
    }

    private mutating func leaveOutThoseThatWentOn() {
        behind = behind.compactMapValues { numbers in
            let left = numbers.filter { waiting[$0] != nil }
            return left.isEmpty ? nil : left
        }
        listed = behind.values.reduce(0) { $0 + $1.count }
    }

    /// Takes out what waits behind `part`.
    mutating func take(behind part: HeldUsers.Part) -> [Entry] {
        guard let numbers = behind.removeValue(forKey: part) else { return [] }
        listed -= numbers.count
        return numbers.compactMap { take($0) }
    }

    /// Takes out what has waited long enough.
    mutating func takeDue(at now: Moment) -> [Entry] {
        var due: [Entry] = []
        while let first = order.first, first.until <= now {
            _ = order.removeFirst()
            if let entry = take(first.number) { due.append(entry) }
        }
        return due
    }

    /// Takes all out, in the order in which they came.
    mutating func takeAll() -> [Entry] {
        waiting.keys.sorted().compactMap { take($0) }
    }

    /// When the first one has waited long enough.
    var nextDue: Moment? {
        mutating get {
            while let first = order.first, waiting[first.number] == nil {
                _ = order.removeFirst()
            }
            return order.first?.until
        }
    }

    private mutating func take(_ number: UInt64) -> Entry? {
        guard let invitation = waiting.removeValue(forKey: number) else { return nil }
        if waiting.isEmpty { (behind, listed) = ([:], 0) }
        return Entry(number: number, invitation: invitation)
    }
}
