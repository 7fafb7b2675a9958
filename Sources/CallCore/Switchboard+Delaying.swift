// Invitations that wait for a held one, because its decision may make somebody busy (H89).

import Collections
import CallModel

extension Switchboard {
    /// The part in a held invitation for which this one has to wait; nil: it need not wait. A mode
    /// that refuses nobody for being busy never waits.
    mutating func blocker(of asker: Asker, _ invitation: Invitation) -> HeldUsers.Part? {
        let row = row(of: invitation)
        guard !held.isEmpty, row.allows(.refusesBusyCaller) || row.allows(.rejectsBusy) else {
            return nil
        }
        heldUsers.keep(held)
        guard let part = blockingPart(of: asker.user, invitation.invitees) else { return nil }
        return meetsGlare(asker.user, invitation.invitees) ? nil : part
    }

    /// Whose held invitation the new one waits for: who is busy is known only when that is decided.
    private func blockingPart(of user: UserID, _ invitees: [UserID]) -> HeldUsers.Part? {
        if heldUsers.contains(.caller(user)) { return .caller(user) }
        return invitees.first { heldUsers.contains(.member($0)) }.map { .member($0) }
    }

    /// Whether one of `invitees` has an invitation to `user` held: glare counts at once (H89, R8).
    mutating func meetsGlare(_ user: UserID, _ invitees: [UserID]) -> Bool {
        guard !held.isEmpty else { return false }
        guard heldUsers.isKept else {
            return held.contains {
                invitees.contains($0.call.caller) && $0.call.index(of: user) != nil
            }
        }
        return invitees.contains { heldUsers.contains(.pair(caller: $0, callee: user)) }
    }

    /// Tries the delayed invitations whose time is over or whose held invitation is decided, in
    /// the order in which they came.
    mutating func retryDelayed() {
        var ready = delayed.takeDue(at: now.milliseconds)
        for part in freed where !heldUsers.contains(part) { ready += delayed.take(behind: part) }
        freed = []
        ready.sort { $0.number < $1.number }
        for entry in ready {
            let asker = entry.value
            guard case .invite(let invitation) = asker.operation else { continue }
            if entry.until > now.milliseconds, let part = blocker(of: asker, invitation) {
                delayed.putBack(entry, behind: part)
            } else {
                retry(asker, invitation)
            }
        }
    }

    /// Carries out all delayed invitations: a reload must not change what decides them (G84).
    mutating func releaseDelayed() {
        for entry in delayed.takeAll() {
            guard case .invite(let invitation) = entry.value.operation else { continue }
            retry(entry.value, invitation)
        }
    }

    /// It waited once; a second time would let a chain of callers keep it waiting for ever.
    private mutating func retry(_ asker: Asker, _ invitation: Invitation) {
        do throws(Refusal) {
            try invite(asker, invitation, mayWait: false)
        } catch {
            answer(asker, .refused(error))
        }
    }

    /// No invitation is held any more: gives back the memory that a burst of them took.
    mutating func forgetHeld() {
        if heldUsers.isKept { heldUsers = HeldUsers() }
        if held.placeCount > 64 { (held, heldCalls) = (Slab(), []) }
    }

    /// When the first hold or delay ends.
    var nextRelease: Moment? {
        mutating get {
            let ends = firstHold?.until
            guard let waiting = delayed.nextDue.map({ Moment($0) }) else { return ends }
            return min(waiting, ends ?? waiting)
        }
    }
}
