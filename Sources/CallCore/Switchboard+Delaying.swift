// Invitations that meet a held one, which may make somebody busy (H89).

import Collections
import CallModel

extension Switchboard {
    /// Behind whom the invitation has to wait; nil: it need not.
    mutating func inTheWay(of asker: Asker, _ invitation: Invitation) -> HeldUsers.Part? {
        let mode = mode(of: invitation)
        guard !held.isEmpty, mode.has(.refusesBusyCaller) || mode.has(.rejectsBusy) else {
            return nil
        }
        heldUsers.keep(held)
        guard let part = partInTheWay(of: asker.user, invitation.invitees) else { return nil }
        return meetsGlare(asker.user, invitation.invitees) ? nil : part
    }

    private func partInTheWay(of user: UserID, _ invitees: [UserID]) -> HeldUsers.Part? {
        if heldUsers.contains(.caller(user)) { return .caller(user) }
        return invitees.first { heldUsers.contains(.member($0)) }.map { .member($0) }
    }

    /// Whether one of `invitees` is calling `user` in this very moment: that counts at once.
    func meetsGlare(_ user: UserID, _ invitees: [UserID]) -> Bool {
        guard !held.isEmpty else { return false }
        guard heldUsers.isKept else {
            return held.contains {
                invitees.contains($0.call.caller) && $0.call.index(of: user) != nil
            }
        }
        return invitees.contains { heldUsers.contains(.pair(caller: $0, callee: user)) }
    }

    /// Tries again what waited long enough, or behind whom no held invitation is about any more.
    mutating func retryDelayed() {
        var ready = delayed.takeDue(at: now.milliseconds)
        for part in freed where !heldUsers.contains(part) { ready += delayed.take(behind: part) }
        freed = []
        ready.sort { $0.number < $1.number }
        for entry in ready {
            let asker = entry.value
            guard case .invite(let invitation) = asker.operation else { continue }
            if entry.until > now.milliseconds, let part = inTheWay(of: asker, invitation) {
                delayed.putBack(entry, behind: part)
            } else {
                goOn(asker, invitation)
            }
        }
    }

    /// Whatever waits for held invitations waits no longer.
    mutating func letDelayedGoOn() {
        for entry in delayed.takeAll() {
            guard case .invite(let invitation) = entry.value.operation else { continue }
            goOn(entry.value, invitation)
        }
    }

    private mutating func goOn(_ asker: Asker, _ invitation: Invitation) {
        do throws(Refusal) {
            try invite(asker, invitation, mayWait: false)
        } catch {
            answer(asker, .refused(error))
        }
    }

    /// No invitation is held: what a burst of them took is given back.
    mutating func forgetHeld() {
        if heldUsers.isKept { heldUsers = HeldUsers() }
        if held.placeCount > 64 { held = Slab() }
    }

    /// When the first held or delayed invitation has to go on.
    var nextRelease: Moment? {
        mutating get {
            while let first = holding.first, !isHeld(first.call, at: first.place) {
                _ = holding.removeFirst()
            }
            guard let waiting = delayed.nextDue.map({ Moment($0) }) else {
                return holding.first?.until
            }
            return min(waiting, holding.first?.until ?? waiting)
        }
    }
}
