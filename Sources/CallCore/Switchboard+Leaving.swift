// call.cancel, call.join, call.leave and call.end.

import CallModel

extension Switchboard {
    // MARK: call.cancel

    /// What a `call.cancel` would do.
    enum Cancellation {
        case whole(Place, CallSlot)
        case listed(Place, CallSlot, [Int], [InviteeError])
    }

    func checkCancel(
        _ asker: Asker, _ id: CallID, _ users: [UserID]
    ) throws(Refusal) -> Cancellation {
        let place = try locate(asker, id)
        let participant = place.participant
        let isWhole = users.isEmpty || !place.mode.has(.cancelListed)
        if isWhole, participant.role != .caller {
            throw Refusal(.notInviter, "only the caller cancels the whole call")
        }
        if participant.state == .cancelled {
            throw Refusal(.cancelled, "the call was cancelled before")
        }
        guard participant.state == .joined else {
            throw .wrongState("\(asker.user) is \(participant.state.rawValue) in this call")
        }
        if isWhole, place.call.answeredAt != nil {
            throw Refusal(.alreadyAnswered, "somebody has accepted")
        }
        guard let slot = place.slot else { throw .callEnded }
        if isWhole { return .whole(place, slot) }
        return try checkListed(asker, place, slot, users)
    }

    private func checkListed(
        _ asker: Asker, _ place: Place, _ slot: CallSlot, _ users: [UserID]
    ) throws(Refusal) -> Cancellation {
        var chosen: [Int] = []
        var errors: [InviteeError] = []
        for user in users {
            let index = place.call.index(of: user)
            if let code = obstacle(to: asker, cancelling: index, in: place) {
                errors.append(InviteeError(user, code))
            } else if let index, !chosen.contains(index) {
                chosen.append(index)
            }
        }
        if chosen.isEmpty, let first = errors.first {
            throw Refusal(
                Refusal.Code(first.code), "\(first.user) cannot be cancelled",
                detail: .errors(errors))
        }
        return .listed(place, slot, chosen, errors)
    }

    private func obstacle(
        to asker: Asker, cancelling index: Int?, in place: Place
    ) -> InviteeError.Code? {
        guard let index else { return .notInvited }
        let participant = place.call.participants[index]
        switch participant.state {
        case .inviting, .undelivered, .ringing, .accepting:
            let mayCancel =
                place.participant.role == .caller || participant.invitedBy == asker.user
            return mayCancel ? nil : .notInviter
        case .joined, .rejected: return .alreadyAnswered
        case .cancelled, .timedOut, .left, .failed: return .wrongState
        }
    }

    mutating func cancel(
        _ asker: Asker, _ id: CallID, _ users: [UserID], push: PushText?
    ) throws(Refusal) {
        switch try checkCancel(asker, id, users) {
        case .whole(let place, let slot):
            var commit = Commit(
                place.call, slot: slot, asker: asker, reply: .callWithErrors([]))
            commit.push = push
            cancelWhole(&commit, .byCaller)
            finish(commit)
        case .listed(let place, let slot, let chosen, let errors):
            var commit = Commit(
                place.call, slot: slot, asker: asker, reply: .callWithErrors(errors))
            commit.cancelText = asker.text
            commit.push = push
            for index in chosen { commit.move(index, to: .cancelled, .byInviter) }
            finish(commit)
        }
    }

    /// Withdraws every pending invitation; the caller becomes cancelled too.
    func cancelWhole(_ commit: inout Commit, _ detail: EndDetail) {
        let text = commit.asker?.text
        let reason: Participant.Reason = detail == .callerLost ? .callerLost : .whole
        commit.cancelText = text
        commit.cause = commit.call.caller
        for index in commit.call.participants.indices
        where commit.call.participants[index].state.isPending || index == 0 {
            guard commit.call.participants[index].state.isLive else { continue }
            commit.move(index, to: .cancelled, reason)
        }
        commit.end(
            Call.End(.cancelled, detail: detail, by: commit.call.caller, extendedData: text))
    }

    // MARK: call.join

    func checkJoin(
        _ asker: Asker, _ id: CallID
    ) throws(Refusal) -> (call: Call, slot: CallSlot, index: Int?) {
        let slot = calls.find(id)
        guard let call = slot.map({ calls[$0] }) ?? ended[id] else { throw .notFound(id) }
        let mode = settings.mode(call.mode)
        guard mode.has(.join) else { throw .wrongMode(mode) }
        let index = call.index(of: asker.user)
        let participant = index.map { call.participants[$0] }
        if let participant, !participant.isVisible {
            throw Refusal(.notInvited, "\(asker.user) is not a participant of this call")
        }
        guard let slot else { throw .callEnded }
        if let participant, participant.state == .joined {
            guard participant.device != asker.device else {
                throw Refusal(.alreadyPrimary, "this device is in the call")
            }
        } else if participant?.state.isLive != true,
            call.participants.count(where: \.state.isLive) >= mode.participants
        {
            throw Refusal(.tooMany, "the call has \(mode.participants) participants")
        }
        return (call, slot, index)
    }

    mutating func join(_ asker: Asker, _ id: CallID) throws(Refusal) {
        let (call, slot, known) = try checkJoin(asker, id)
        var commit = Commit(call, slot: slot, asker: asker, reply: .call)
        if let known, call.participants[known].state == .joined {
            moveCall(&commit, known, to: asker)
            return finish(commit)
        }
        let index = known ?? call.participants.count
        if let known {
            if !call.participants[known].state.isLive {
                commit.call.participants[known].invitedAt = now
            }
            commit.move(known, to: .joined)
        } else {
            commit.add(Participant(user: asker.user, role: .joiner, state: .joined, at: now))
        }
        commit.takeUp(index, Acceptance(), at: now)
        finish(commit)
    }

    /// Another device of a joined user takes the call over; nobody else is told.
    private func moveCall(_ commit: inout Commit, _ index: Int, to asker: Asker) {
        let old = commit.call.participants[index].device
        commit.call.participants[index].device = asker.device
        commit.call.participants[index].isAnsweredFor = asker.device == nil
        if let old {
            commit.notify(
                .device(Address(asker.user, old)), .elsewhere(.replaced, asker.device))
        }
    }

    // MARK: call.leave

    func checkLeave(_ asker: Asker, _ id: CallID) throws(Refusal) -> Place {
        try locateJoined(asker, id, needs: .leave)
    }

    mutating func leave(_ asker: Asker, _ id: CallID) throws(Refusal) {
        let place = try checkLeave(asker, id)
        var commit = Commit(place.call, slot: place.slot, asker: asker, reply: .call)
        commit.cause = asker.user
        commit.move(place.index, to: .left, .itself)
        commit.say(asker.text, place.index)
        finish(commit)
    }

    // MARK: call.end

    /// What a `call.end` would do.
    enum Ending {
        case end(Place, CallSlot, Call.End)
        case cancel(Place, CallSlot)
        case reject
    }

    func checkEnd(_ asker: Asker, _ id: CallID) throws(Refusal) -> Ending {
        let place = try locate(asker, id, needs: .end)
        let meansCancel = place.mode.has(.endMeansCancelOrReject)
        let state = place.participant.state
        if meansCancel, place.slot != nil, state.mayAnswer { return .reject }
        guard state == .joined else {
            throw .wrongState("\(asker.user) is \(state.rawValue) in this call, not joined")
        }
        guard let slot = place.slot else { throw .callEnded }
        if place.call.state == .ringing {
            if meansCancel { return .cancel(place, slot) }
            guard place.mode.has(.endUnanswered) else {
                throw .wrongState("nobody has accepted: cancel the call instead")
            }
            return .end(
                place, slot,
                Call.End(.cancelled, detail: .endedWhileRinging, by: asker.user))
        }
        return .end(place, slot, Call.End(reasonOfEnd(place.call), by: asker.user))
    }

    mutating func end(_ asker: Asker, _ id: CallID) throws(Refusal) {
        switch try checkEnd(asker, id) {
        case .reject: try reject(asker, id, busy: false)
        case .cancel(let place, let slot):
            var commit = Commit(place.call, slot: slot, asker: asker, reply: .call)
            cancelWhole(&commit, .byCaller)
            finish(commit)
        case .end(let place, let slot, let end):
            var commit = Commit(place.call, slot: slot, asker: asker, reply: .call)
            commit.end(
                Call.End(end.reason, detail: end.detail, by: end.by, extendedData: asker.text))
            finish(commit)
        }
    }

    /// Ends a call of modes with hold because its participant takes up another one.
    mutating func endCall(_ slot: CallSlot, by asker: Asker) {
        var commit = Commit(calls[slot], slot: slot, actor: asker.actor)
        if commit.call.state == .ringing {
            cancelWhole(&commit, .byCaller)
        } else {
            commit.end(Call.End(reasonOfEnd(commit.call), by: asker.user))
        }
        finish(commit)
    }

    private func reasonOfEnd(_ call: Call) -> EndReason {
        settings.mode(call.mode).has(.media) && call.connectedAt == nil
            ? .notConnected : .completed
    }
}

extension Refusal.Code {
    /// The code of an operation that failed for every user it named.
    fileprivate init(_ code: InviteeError.Code) {
        switch code {
        case .alreadyAnswered: self = .alreadyAnswered
        case .notInvited: self = .notInvited
        case .notInviter: self = .notInviter
        case .wrongState: self = .wrongState
        case .unknownUser, .alreadyInCall, .duplicate, .tooMany, .blocked, .itself, .refused:
            self = .badRequest
        }
    }
}
