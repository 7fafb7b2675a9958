// call.invite and call.add.

import Collections
import CallModel

extension Switchboard {
    /// Checks without changing anything, so that it can be asked before shaping too (F65).
    mutating func checkInvite(_ asker: Asker, _ invitation: Invitation) throws(Refusal) -> Selection
    {
        let row = row(of: invitation)
        if !invitation.items.isEmpty, !row.allows(.items) { throw .wrongMode(row.mode) }
        if invitation.items.count > settings.itemsMax {
            throw Refusal(
                .badRequest, "at most \(settings.itemsMax) items", detail: .field("items"))
        }
        if let other = blockingCall(of: asker.user, row) { throw busy(asker.user, in: other) }
        // Glare with a held invitation counts at once (H89). That call is not named: it has not
        // happened, and may never.
        if row.allows(.refusesBusyCaller), meetsGlare(asker.user, invitation.invitees) {
            throw Refusal(.busy, "\(asker.user) is in another call")
        }
        let selection = select(
            invitation.invitees, by: asker.user, in: nil,
            limit: min(row.mode.invitees, row.mode.participants - 1))
        try selection.refuse(in: row)
        return selection
    }

    /// `mayWait`: the invitation may wait for held ones that could make somebody busy (H89).
    mutating func invite(
        _ asker: Asker, _ invitation: Invitation, mayWait: Bool = true
    ) throws(Refusal) {
        if isTrial {
            _ = try checkInvite(asker, invitation)
            return
        }
        if mayWait, let part = blocker(of: asker, invitation) {
            let until = now + settings.heldWithin
            return delayed.append(asker, until: until.milliseconds, behind: part)
        }
        var selection = try checkInvite(asker, invitation)
        selection.leaveOut(asker.shaping.refused)
        try selection.refuse(in: row(of: invitation))
        try hold(asker, invitation, selection)
    }

    /// The mode of the call that `invitation` makes. A row: to copy it costs a reference.
    func row(of invitation: Invitation) -> ModeRow { invitation.mode ?? settings.defaultMode }

    /// The call that `invitation` makes, without participants.
    mutating func newCall(_ id: CallID, _ invitation: Invitation) -> Call {
        Call(
            id, of: invitation, row: row(of: invitation),
            check: invitation.deliveryCheck ?? settings.deliveryCheckDefault, at: now)
    }

    /// The call that `invitation` would make, as policies see it.
    mutating func draftCall(_ id: CallID, _ asker: Asker, _ invitation: Invitation) -> Call {
        var call = newCall(id, invitation)
        call.begin(by: asker.user, with: asker.device, invitation, calling: invitation.invitees)
        call.isGroup = call.participants.count > 2
        return call
    }

    // MARK: call.add

    mutating func add(
        _ asker: Asker, _ id: CallID, _ invitees: [UserID], push: PushText?
    ) throws(Refusal) {
        let slot = try locateJoined(asker, id, needs: .add).slot
        let mode = calls[slot].mode
        var selection = select(
            invitees, by: asker.user, in: calls[slot],
            limit: min(mode.invitees, mode.participants - calls[slot].placeCount))
        if selection.usable.isEmpty, selection.errors.allSatisfy({ $0.code == .tooMany }) {
            throw .tooMany(selection.errors)
        }
        guard !isTrial else { return }
        selection.leaveOut(asker.shaping.refused)
        guard !selection.usable.isEmpty else {
            let call = calls[slot]
            return answer(
                asker, .callWithErrors(call, viewer: asker.user, errors: selection.errors))
        }
        let asked = selection.usable.count { settings.answers(for: $0) }
        try admit(asked, of: asker.cause(in: calls[slot]))
        var commit = change(slot, by: asker, .callWithErrors(selection.errors))
        commit.push = push
        for user in selection.usable { admit(user, by: asker.user, into: &commit) }
        finish(&commit)
        consult(id, push: push)
    }

    // MARK: Admitting one invitee

    /// Makes `user` a pending participant, also one whose earlier part is over; returns its index.
    @discardableResult
    mutating func admit(_ user: UserID, by inviter: UserID, into commit: inout Commit) -> Int {
        if !commit.call.removed.isEmpty { commit.call.removed.removeAll { $0 == user } }
        var newcomer = Participant(user, invitedBy: inviter, to: commit.call, at: now)
        newcomer.begunBy = UInt16(
            clamping: commit.cause.user.flatMap { commit.call.index(of: $0) } ?? 0)
        if let host = commit.call.index(of: inviter) {
            commit.call.participants[host].policyNote = commit.asker?.plugin.map {
                PolicyNote(plugin: $0)
            }
        }
        if settings.answers(for: user)
            || commit.call.allows(.rejectsBusy) && busyCall(of: user) != nil
        {
            newcomer.asking = .deciding
            newcomer.keep(push: commit.push)
            newcomer.policyAlarm =
                decideBy(newcomer.deadlineAt, in: commit.call) + settings.decideGrace
        } else {
            newcomer.deliveryAlarm = commit.call.deliveryAlarm(at: now)
        }
        let known = commit.call.index(of: user)
        let place = known ?? commit.call.participants.count
        if let index = known {
            let from = commit.call.comeBack(index, at: now)
            commit.changes.append(.init(index: index, from: from, wasVisible: false))
            if index == 0 { newcomer.role = .caller }
            commit.call.participants[index] = consume newcomer
        } else {
            commit.add(consume newcomer)
        }
        // A transferor and the target of the transfer count as one (K103).
        let invitees = commit.call.participants.count {
            $0.countsAsInvitee && commit.call.transfer(to: $0.user) == nil
        }
        if invitees > 1 { commit.call.isGroup = true }
        return place
    }

    // MARK: Who can be invited

    /// Those of `invitees` who can be invited, and why the others cannot (D39).
    private mutating func select(
        _ invitees: [UserID], by inviter: UserID, in call: Call?, limit: Int
    ) -> Selection {
        var selection = Selection(usable: invitees)
        var place = 0  // of the next one who may be chosen: those move in front of the others
        for (index, user) in invitees.enumerated() {
            var code = obstacle(to: user, by: inviter, in: call, selection.usable[..<place])
            if code == nil, place >= limit { code = .tooMany }
            if let code {
                selection.errors.append(InviteeError(user, code))
            } else {
                if place < index { selection.usable[place] = user }
                place += 1
            }
        }
        selection.usable.removeLast(invitees.count - place)
        return selection
    }

    /// Why `user` cannot be invited; nil: it can. `chosen`: the invitees before it in the list.
    func obstacle(
        to user: UserID, by inviter: UserID, in call: Call?, _ chosen: ArraySlice<UserID> = []
    ) -> InviteeError.Code? {
        if user == inviter { return .itself }
        if chosen.contains(user) { return .duplicate }
        if let call {
            if call.participant(user)?.state.isLive == true { return .alreadyInCall }
            if !call.hasRoom(for: user, behind: chosen.count) { return .tooMany }
        }
        if let group = user.group {
            guard settings.groups[group] != nil else { return .unknownUser }
            // Policies may choose among the members of a group that is too large.
            return isTrial && settings.hooks.contains(.dial) ? nil : .tooMany
        }
        if let directory = settings.users, !directory.contains(user),
            !settings.answers(for: user)
        {
            return .unknownUser
        }
        return nil
    }

    /// The live call that keeps a user from inviting in `mode` (A10, A12).
    private mutating func blockingCall(of user: UserID, _ row: ModeRow) -> CallSlot? {
        if row.mode.countsEveryCall { return busyCall(of: user) }
        guard row.allows(.refusesBusyCaller), let place = users.find(user) else { return nil }
        return users[place].calls.newest(Self.looksAtOnce).last {
            calls[$0].allows(.refusesBusyCaller) && !calls[$0].mode.countsEveryCall
                && isCounted(place, in: $0)
        }
    }
}
