// call.cancel, call.join, call.leave and call.end.

import CallModel

extension Switchboard {
    /// What a `call.cancel` would do.
    struct Cancellation {
        let slot: CallSlot
        /// Nil: cancel the whole call.
        var chosen: [Int]?
        var errors: [InviteeError] = []
    }

    /// Checks in the order of D40: a lost race gets the code of what won it (R1, R6, A9).
    private func checkCancel(
        _ asker: Asker, _ id: CallID, _ users: [UserID]
    ) throws(Refusal) -> Cancellation {
        let place = try locate(asker, id)
        let state = self[place].state
        let call = calls[place.slot]
        let isTransfer = users.contains { call.transfer(to: $0)?.by == asker.user }
        let isWhole = users.isEmpty || !(isTransfer || calls[place.slot].allows(.cancelListed))
        if isWhole, self[place].role != .caller {
            throw Refusal(.notInviter, "only the caller cancels the whole call")
        }
        if state == .cancelled { throw Refusal(.cancelled, "the call was cancelled before") }
        guard state == .joined else { throw .wrongState(asker.user, state) }
        if isWhole, calls[place.slot].answeredAt != nil {
            throw Refusal(.alreadyAnswered, "somebody has accepted")
        }
        guard calls[place.slot].isLive else { throw .callEnded }
        // Where the mode cancels only whole calls, any invitee's name stands for the call; the name
        // of somebody else is a mistake.
        if isWhole, let first = users.first,
            !users.contains(where: { calls[place.slot].index(of: $0) != nil })
        {
            throw .notInvited(first)
        }
        if isWhole { return Cancellation(slot: place.slot) }
        let isCaller = self[place].role == .caller
        let (chosen, errors) = try call.choose(users, for: "cancelled") {
            let mayCancel = isCaller || $0.invitedBy == asker.user
            return $0.obstacleToCancel ?? (mayCancel ? nil : .notInviter)
        }
        return Cancellation(slot: place.slot, chosen: chosen, errors: errors)
    }

    mutating func cancel(
        _ asker: Asker, _ id: CallID, _ users: [UserID], push: PushText?
    ) throws(Refusal) {
        let cancellation = try checkCancel(asker, id, users)
        guard !isTrial else { return }
        var commit = change(cancellation.slot, by: asker, .callWithErrors(cancellation.errors))
        commit.push = push
        if let chosen = cancellation.chosen {
            commit.cancelText = asker.text
            for index in chosen { commit.move(index, to: .cancelled, .byInviter) }
        } else {
            commit.cancelWhole(.byCaller)
        }
        finish(&commit)
    }

    // MARK: call.join

    /// Whoever knows the id may join (D41), but not who was removed (K111). From another device of
    /// a joined user it moves the call there.
    private func checkJoin(
        _ asker: Asker, _ id: CallID
    ) throws(Refusal) -> (CallSlot, index: Int?) {
        let slot = try find(id, needs: .join)
        let index = calls[slot].index(of: asker.user)
        let participant = index.map { calls[slot].participants[$0] }
        // Its devices do not know of the call while the policies decide (F57).
        if let participant, !participant.isVisible { throw .notInvited(asker.user) }
        guard calls[slot].isLive else { throw .callEnded }
        if calls[slot].removed.contains(asker.user) { throw .notInvited(asker.user) }
        if let participant, participant.state == .joined {
            guard participant.device != asker.device else {
                throw Refusal(.alreadyPrimary, "this device is in the call")
            }
        } else if participant?.state.isLive != true {
            let limit = calls[slot].mode.participants
            guard calls[slot].placeCount < limit else {
                throw Refusal(.tooMany, "the call has \(limit) participants")
            }
            guard calls[slot].hasRoom(for: asker.user) else {
                throw Refusal(.tooMany, "the call had \(Settings.participantsMax) participants")
            }
        }
        return (slot, index)
    }

    mutating func join(_ asker: Asker, _ id: CallID, _ acceptance: Acceptance) throws(Refusal) {
        let (slot, known) = try checkJoin(asker, id)
        guard !isTrial else { return }
        var commit = change(slot, by: asker, .call)
        if let known, commit.call.participants[known].state == .joined {
            commit.moveCall(known, to: asker)
            commit.send(known, audio: acceptance.audio, video: acceptance.video)
            return finish(&commit)
        }
        let index = known ?? commit.call.participants.count
        if let known {
            if !commit.call.participants[known].state.isLive {
                commit.call.comeBack(known, at: now)
            }
            commit.move(known, to: .joined)
        } else {
            commit.add(Participant(user: asker.user, role: .joiner, state: .joined, at: now))
        }
        commit.join(index, device: asker.device, saying: asker.text, acceptance, at: now)
        finish(&commit)
    }

    // MARK: call.leave

    mutating func leave(_ asker: Asker, _ id: CallID, push: PushText?) throws(Refusal) {
        let place = try locateJoined(asker, id, needs: .leave)
        guard !isTrial else { return }
        var commit = change(place.slot, by: asker, .call)
        // Told of the end that the leave may cause (A1).
        commit.leaver = asker.user
        (commit.push, commit.isFarewell) = (push, push != nil)
        commit.move(place.index, to: .left, .itself)
        commit.say(asker.text, place.index)
        finish(&commit)
    }

    // MARK: call.end

    mutating func end(_ asker: Asker, _ id: CallID, push: PushText?) throws(Refusal) {
        let place = try locate(asker, id, needs: .end)
        let mode = calls[place.slot].mode
        let state = self[place].state
        let isLive = calls[place.slot].isLive
        // One word for three things in such a mode: reject before the answer, cancel, or end.
        if mode.endMeansCancelOrReject, isLive, state.mayAnswer {
            return try reject(asker, id, busy: false)
        }
        guard state == .joined else { throw .wrongState(asker.user, state) }
        guard isLive else { throw .callEnded }
        try checkRight(to: .end, place)
        let isAnswered = calls[place.slot].state == .active
        guard isAnswered || mode.endMeansCancelOrReject || mode.has(.endUnanswered) else {
            throw .wrongState("nobody has accepted: cancel the call instead")
        }
        guard !isTrial else { return }
        var commit = change(place.slot, by: asker, .call)
        commit.push = push
        if !isAnswered, mode.endMeansCancelOrReject {
            commit.cancelWhole(.byCaller)
        } else {
            commit.isFarewell = push != nil
            commit.end(
                Call.End(
                    isAnswered ? reasonOfEnd(commit.call) : .cancelled,
                    detail: isAnswered ? nil : .endedWhileRinging, by: asker.user,
                    extendedData: asker.text))
        }
        finish(&commit)
    }

    /// A policy or the operator ends a call, whatever its mode and state.
    mutating func endForPolicy(_ asker: Asker, _ id: CallID, code: EndDetail?) throws(Refusal) {
        let slot = try find(id, needs: [])
        guard calls[slot].isLive else { throw .callEnded }
        var commit = change(slot, by: asker, .call)
        commit.end(Call.End(.policy, detail: code))
        finish(&commit)
    }

    /// Ends a call of modes with hold because the participant goes on with another call (A13).
    mutating func endCall(_ slot: CallSlot, by asker: Asker) {
        var commit = change(slot, by: asker.actor)
        if commit.call.state == .ringing {
            commit.cancelWhole(.byCaller)
        } else {
            commit.end(Call.End(reasonOfEnd(commit.call), by: asker.user))
        }
        finish(&commit)
    }

    /// An end before the media was ever connected is told apart, for the callers' statistics (C37).
    func reasonOfEnd(_ call: Call) -> EndReason {
        call.allows(.media) && call.connectedAt == nil
            ? .notConnected : .completed
    }
}

extension Commit {
    /// Withdraws every pending invitation; the caller becomes cancelled too.
    mutating func cancelWhole(_ detail: EndDetail) {
        let reason: Participant.Reason = detail == .callerLost ? .callerLost : .whole
        cancelText = asker?.text
        leaver = call.caller
        for index in call.participants.indices
        where call.participants[index].state.isPending
            || (index == 0 && call.participants[0].state.isLive)
        {
            move(index, to: .cancelled, reason)
        }
        end(Call.End(.cancelled, detail: detail, by: call.caller, extendedData: asker?.text))
    }

    /// Another device of a joined user takes the call over: only the old one is told (A7).
    fileprivate mutating func moveCall(_ index: Int, to asker: Asker) {
        let old = call.participants[index].device
        call.participants[index].device = asker.device
        call.participants[index].isAnsweredFor = asker.device == nil
        if let old {
            notify(.device(Address(asker.user, old)), .elsewhere(.replaced, asker.device))
        }
    }
}
