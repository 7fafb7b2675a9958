// call.invite and call.add.

import Bookkeeping
import CallModel

extension Switchboard {
    /// The invitees that can be invited, and why the others cannot.
    struct Selection {
        var usable: [UserID] = []
        var errors: [InviteeError] = []
    }

    // MARK: call.invite

    func checkInvite(_ asker: Asker, _ invitation: Invitation) throws(Refusal) -> Selection {
        let mode = settings.mode(invitation.mode)
        if !invitation.items.isEmpty, !mode.has(.items) { throw .wrongMode(mode) }
        if invitation.items.count > settings.itemsMax {
            throw Refusal(
                .badRequest, "at most \(settings.itemsMax) items", detail: .field("items"))
        }
        if mode.has(.refusesBusyCaller), isIn(modesWith: .refusesBusyCaller, asker.user) {
            throw Refusal(.busy, "\(asker.user) is in another call")
        }
        let selection = select(
            invitation.invitees, by: asker.user, in: nil,
            limit: min(mode.invitees, mode.participants - 1))
        try refuseUnusable(selection, mode)
        return selection
    }

    mutating func invite(_ asker: Asker, _ invitation: Invitation) throws(Refusal) {
        var selection = try checkInvite(asker, invitation)
        selection.leaveOut(asker.shaping.refused)
        try refuseUnusable(selection, settings.mode(invitation.mode))
        let id = asker.shaping.draftID ?? newCallID()
        let call = newCall(id, asker, invitation)
        var commit = Commit(
            call, calls.open(id), by: asker, .invited(selection.errors), isFirst: true)
        commit.push = invitation.push
        commit.call.participants.reserveCapacity(1 + selection.usable.count)
        commit.changes.reserveCapacity(1 + selection.usable.count)
        commit.add(callerOf(call, asker))
        for user in selection.usable { admit(user, by: asker.user, into: &commit) }
        finish(&commit)
        consult(id, push: invitation.push)
    }

    /// The call that `invitation` makes, without participants.
    private func newCall(_ id: CallID, _ asker: Asker, _ invitation: Invitation) -> Call {
        let mode = settings.mode(invitation.mode)
        var call = Call(
            id: id, mode: invitation.mode, kind: invitation.kind,
            ringTime: invitation.timeout ?? mode.ringTime,
            deliveryCheck: invitation.deliveryCheck && mode.has(.deliveryCheck), createdAt: now)
        call.extendedData = invitation.extendedData
        for item in invitation.items { call.items.put(item) }
        return call
    }

    /// The call that `invitation` would make, as policies see it.
    func draftCall(_ id: CallID, _ asker: Asker, _ invitation: Invitation) -> Call {
        var call = newCall(id, asker, invitation)
        call.participants.append(callerOf(call, asker))
        for user in invitation.invitees {
            call.participants.append(invitee(user, by: asker.user, in: call))
        }
        return call
    }

    private func callerOf(_ call: Call, _ asker: Asker) -> Participant {
        var caller = Participant(user: asker.user, role: .caller, state: .joined, at: now)
        caller.device = asker.device
        caller.answeredAt = now
        caller.video = call.kind == "video"
        caller.isAnsweredFor = asker.device == nil
        return caller
    }

    private func invitee(_ user: UserID, by inviter: UserID, in call: Call) -> Participant {
        var invitee = Participant(user: user, role: .invitee, state: .inviting, at: now)
        invitee.invitedBy = inviter
        invitee.video = call.kind == "video"
        if settings.mode(call.mode).acknowledgeWithin == nil {
            invitee.deadlineAt = now + call.ringTime
        }
        return invitee
    }

    // MARK: call.add

    func checkAdd(
        _ asker: Asker, _ id: CallID, _ invitees: [UserID]
    ) throws(Refusal) -> (CallSlot, Selection) {
        let slot = try locateJoined(asker, id, needs: .add).slot
        let mode = mode(slot)
        let live = calls[slot].participants.count { $0.state.isLive }
        let selection = select(
            invitees, by: asker.user, in: calls[slot],
            limit: min(mode.invitees, mode.participants - live))
        if selection.usable.isEmpty, selection.errors.allSatisfy({ $0.code == .tooMany }) {
            throw .tooMany(selection.errors)
        }
        return (slot, selection)
    }

    mutating func add(
        _ asker: Asker, _ id: CallID, _ invitees: [UserID], push: PushText?
    ) throws(Refusal) {
        var (slot, selection) = try checkAdd(asker, id, invitees)
        selection.leaveOut(asker.shaping.refused)
        guard !selection.usable.isEmpty else {
            let call = calls[slot]
            return answer(
                asker, .callWithErrors(call, viewer: asker.user, errors: selection.errors))
        }
        var commit = change(slot, by: asker, .callWithErrors(selection.errors))
        commit.push = push
        for user in selection.usable { admit(user, by: asker.user, into: &commit) }
        finish(&commit)
        consult(id, push: push)
    }

    // MARK: Admitting one invitee

    /// Makes `user` a pending participant, or again one.
    func admit(_ user: UserID, by inviter: UserID, into commit: inout Commit) {
        var newcomer = invitee(user, by: inviter, in: commit.call)
        if let host = commit.call.index(of: inviter) {
            commit.call.participants[host].waitingAccept = commit.asker?.plugin.map {
                WaitingAccept(plugin: $0, extendedData: nil)
            }
        }
        let mode = settings.mode(commit.call.mode)
        let isAnsweredFor = settings.answerFor.contains(user)
        if isAnsweredFor || (mode.has(.rejectsBusy) && isBusy(user)) {
            newcomer.asking = .deciding
            newcomer.policyAlarm =
                decideBy(newcomer.deadlineAt, in: commit.call) + settings.decideGrace
        } else {
            startDeliveryClock(&newcomer, mode, checked: commit.call.deliveryCheck)
        }
        let index = commit.call.index(of: user) ?? commit.call.participants.count
        if index < commit.call.participants.count {
            let from = commit.call.participants[index].state
            commit.changes.append(.init(index: index, from: from, wasVisible: false))
            if index == 0 { newcomer.role = .caller }
            commit.call.participants[index] = consume newcomer
        } else {
            commit.add(consume newcomer)
        }
        if isAnsweredFor, !users.hasDevices(user) {
            commit.call.markDelivered(index, mode, at: now)
        }
        var invitees = 0
        for index in commit.call.participants.indices
        where commit.call.participants[index].countsAsInvitee { invitees += 1 }
        if invitees > 1 { commit.call.isGroup = true }
    }

    /// Starts the delivery check or the acknowledgement limit: the devices know from now on.
    func startDeliveryClock(_ participant: inout Participant, _ mode: Mode, checked: Bool) {
        guard participant.state == .inviting else { return }
        if let limit = mode.acknowledgeWithin {
            participant.deliveryAlarm = now + limit
        } else if checked {
            participant.deliveryAlarm = now + settings.deliveryCheckWithin
        }
    }

    // MARK: Who can be invited

    private func select(
        _ invitees: [UserID], by inviter: UserID, in call: Call?, limit: Int
    ) -> Selection {
        var selection = Selection()
        for user in invitees {
            if let code = obstacle(to: user, by: inviter, in: call, selection.usable) {
                selection.errors.append(InviteeError(user, code))
            } else if selection.usable.count >= limit {
                selection.errors.append(InviteeError(user, .tooMany))
            } else {
                selection.usable.append(user)
            }
        }
        return selection
    }

    private func obstacle(
        to user: UserID, by inviter: UserID, in call: Call?, _ chosen: [UserID]
    ) -> InviteeError.Code? {
        if user == inviter { return .itself }
        if chosen.contains(user) { return .duplicate }
        if call?.participant(user)?.state.isLive == true { return .alreadyInCall }
        if let directory = settings.users, !directory.contains(user),
            !settings.answerFor.contains(user)
        {
            return .unknownUser
        }
        return nil
    }

    /// Nobody can be invited: which refusal that is (D39).
    private func refuseUnusable(_ selection: Selection, _ mode: Mode) throws(Refusal) {
        let errors = selection.errors
        if mode.invitees == 1, errors.contains(where: { $0.code == .tooMany }) {
            throw .tooMany(errors)
        }
        guard selection.usable.isEmpty else { return }
        func all(_ code: InviteeError.Code) -> Bool { errors.allSatisfy { $0.code == code } }
        if all(.itself) {
            throw Refusal(.selfCall, "nobody can call themselves", detail: .errors(errors))
        }
        if all(.tooMany) { throw .tooMany(errors) }
        if all(.unknownUser) {
            throw Refusal(.notFound, "none of the invitees is known", detail: .errors(errors))
        }
        if all(.refused) {
            throw Refusal(.refused, "every invitee was refused", detail: .errors(errors))
        }
        throw Refusal(.badRequest, "none of the invitees can be called", detail: .errors(errors))
    }

    /// Whether the user is pending or joined in another live call (A12).
    func isBusy(_ user: UserID) -> Bool { users.callCount(of: user) > 0 }

    private func isIn(modesWith feature: Mode.Features, _ user: UserID) -> Bool {
        users[user]?.calls.contains { settings.mode(calls[$0].mode).has(feature) } ?? false
    }
}

extension Switchboard.Selection {
    mutating func leaveOut(_ refused: [UserID]) {
        guard !refused.isEmpty else { return }
        errors += usable.filter(refused.contains).map { InviteeError($0, .refused) }
        usable.removeAll { refused.contains($0) }
    }
}

extension Refusal {
    fileprivate static func tooMany(_ errors: [InviteeError]) -> Refusal {
        Refusal(.tooMany, "more invitees than the mode allows", detail: .errors(errors))
    }
}

extension [Call.Item] {
    /// Sets an item, keeping the place of a key that is there.
    mutating func put(_ item: Call.Item) {
        if let index = firstIndex(where: { $0.key == item.key }) {
            self[index] = item
        } else {
            append(item)
        }
    }
}
