// call.ringing, call.accept, call.accept_ack and call.reject.

import CallModel

extension Switchboard {
    // MARK: call.ringing

    mutating func ringing(_ asker: Asker, _ id: CallID) throws(Refusal) {
        let place = try locate(asker, id)
        let state = place.participant.state
        guard let slot = place.slot, state == .inviting || state == .undelivered else {
            return answer(asker, .done)
        }
        var commit = Commit(place.call, slot: slot, asker: asker, reply: .done)
        commit.move(place.index, to: .ringing)
        markDelivered(&commit.call.participants[place.index], in: place.call)
        finish(commit)
    }

    // MARK: call.accept

    func checkAccept(_ asker: Asker, _ id: CallID) throws(Refusal) -> (Place, CallSlot) {
        let place = try locate(asker, id)
        if place.participant.state == .joined, place.participant.role != .invitee {
            throw Refusal(.alreadyJoined, "\(asker.user) is in the call")
        }
        return (place, try answerableSlot(place))
    }

    /// The live call of somebody who may still answer; a lost answer gets its own state's code
    /// first (A8).
    private func answerableSlot(_ place: Place) throws(Refusal) -> CallSlot {
        let participant = place.participant
        switch participant.state {
        case .inviting, .undelivered, .ringing: break
        case .accepting, .joined, .rejected, .left:
            throw Refusal(.alreadyAnswered, "\(participant.user) has answered")
        case .timedOut: throw Refusal(.expired, "the ring time has passed")
        case .failed where participant.reason == .expired:
            throw Refusal(.expired, "the ring time has passed")
        case .cancelled: throw Refusal(.cancelled, "the invitation was withdrawn")
        case .failed: throw .callEnded
        }
        guard let slot = place.slot else { throw .callEnded }
        return slot
    }

    mutating func accept(
        _ asker: Asker, _ id: CallID, _ acceptance: Acceptance
    ) throws(Refusal) {
        let (place, slot) = try checkAccept(asker, id)
        let index = place.index
        var commit = Commit(place.call, slot: slot, asker: asker, reply: .call)
        let isHandshake = place.mode.acceptHandshake != nil
        if isHandshake, isLost(place.call.participants[0]) {
            commit.move(index, to: .failed, .callerOffline)
        } else if let limit = place.mode.acceptHandshake {
            commit.move(index, to: .accepting)
            commit.call.participants[index].deliveryAlarm = now + limit
        } else {
            commit.move(index, to: .joined)
        }
        commit.takeUp(index, acceptance, at: now)
        finish(commit)
        if !isHandshake, place.mode.has(.hold) {
            settleOtherCalls(of: asker, but: id, holding: acceptance.holdActive)
        }
    }

    /// Accepting holds or ends the user's other joined calls of modes with hold (A13).
    private mutating func settleOtherCalls(of asker: Asker, but id: CallID, holding: Bool) {
        for slot in users[asker.user]?.calls ?? [] {
            let call = calls[slot]
            guard call.id != id, settings.mode(call.mode).has(.hold),
                let index = call.index(of: asker.user), call.participants[index].state == .joined
            else { continue }
            if !holding {
                endCall(slot, by: asker)
            } else if call.state == .active, !call.participants[index].held {
                setHeld(slot, index, true, by: asker)
            }
        }
    }

    // MARK: call.accept_ack

    func checkAcceptAck(
        _ asker: Asker, _ id: CallID, _ user: UserID
    ) throws(Refusal) -> (slot: CallSlot, call: Call, index: Int) {
        let place = try locate(asker, id)
        guard place.mode.acceptHandshake != nil else { throw .wrongMode(place.mode) }
        guard place.participant.role == .caller else {
            throw Refusal(.notInviter, "only the caller acknowledges an accept")
        }
        guard let index = place.call.index(of: user), index != place.index else {
            throw Refusal(.notInvited, "\(user) is not an invitee of this call")
        }
        let state = place.call.participants[index].state
        if state == .joined { throw Refusal(.alreadyAnswered, "the accept is acknowledged") }
        guard let slot = place.slot else { throw .callEnded }
        guard state == .accepting else { throw .wrongState("\(user) has not accepted") }
        return (slot, place.call, index)
    }

    mutating func acceptAck(_ asker: Asker, _ id: CallID, _ user: UserID) throws(Refusal) {
        let (slot, call, index) = try checkAcceptAck(asker, id, user)
        var commit = Commit(call, slot: slot, asker: asker, reply: .call)
        commit.move(index, to: .joined)
        finish(commit)
    }

    // MARK: call.reject

    func checkReject(
        _ asker: Asker, _ id: CallID, busy: Bool
    ) throws(Refusal) -> (Place, CallSlot) {
        let place = try locate(asker, id, needs: busy && asker.device != nil ? .answersBusy : [])
        return (place, try answerableSlot(place))
    }

    mutating func reject(_ asker: Asker, _ id: CallID, busy: Bool) throws(Refusal) {
        let (place, slot) = try checkReject(asker, id, busy: busy)
        var commit = Commit(place.call, slot: slot, asker: asker, reply: .call)
        commit.move(place.index, to: .rejected, busy ? .busy : .declined)
        commit.say(asker.text, place.index)
        commit.call.participants[place.index].answeredAt = now
        commit.call.participants[place.index].device = asker.device
        finish(commit)
    }
}

extension Commit {
    /// The participant at `index` is in the call with the asker's device from now on.
    mutating func takeUp(_ index: Int, _ acceptance: Acceptance, at now: Moment) {
        say(asker?.text, index)
        call.participants[index].device = asker?.device
        call.participants[index].audio = acceptance.audio ?? true
        call.participants[index].video = acceptance.video ?? (call.kind == "video")
        call.participants[index].answeredAt = now
        call.participants[index].held = false
        call.participants[index].mediaConnected = false
        call.participants[index].isAnsweredFor = asker?.device == nil
    }
}
