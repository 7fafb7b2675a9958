// Who takes part in held invitations (H89).

import Collections
import CallModel

/// Counts who takes part in held invitations, so that nobody has to look through all of them.
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
    /// Whether the counts are kept: from the first look on, because most servers never need them.
    private(set) var isKept = false

    /// Keeps the counts from now on; `held` are the invitations held so far.
    mutating func keep(_ held: Slab<HeldInvitation>) {
        guard !isKept else { return }
        isKept = true
        for invitation in held.values { add(invitation.call) }
    }

    /// An invitation is held that would make `call`.
    mutating func add(_ call: Call) {
        for part in Self.parts(of: call) { counts[part, default: 0] += 1 }
    }

    /// The invitation that would make `call` is no longer held.
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
        for other in call.participants.dropFirst() {
            parts += [.member(other.user), .pair(caller: call.caller, callee: other.user)]
        }
        return parts
    }
}
