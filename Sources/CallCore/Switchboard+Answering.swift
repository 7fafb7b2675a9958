// call.ringing, call.accept, call.accept_ack and call.reject.

import Collections
import CallModel

extension Switchboard {
    /// The first device that shows the call counts; later ones change nothing (A21).
    mutating func ringing(_ asker: Asker, _ id: CallID) throws(Refusal) {
        let place = try locate(asker, id)
        let state = self[place].state
        // A late one changes nothing (A21, R9).
        guard calls[place.slot].isLive, state == .inviting || state == .undelivered else {
            return answer(asker, .done)
        }
        var commit = change(place.slot, by: asker, .done)
        commit.move(place.index, to: .ringing)
        commit.call.markDelivered(place.index, at: now)
        finish(&commit)
    }

    // MARK: call.accept

    /// An answer that comes too late gets the code of its own state first (A8).
    private func checkMayAnswer(_ place: Place) throws(Refusal) {
        switch self[place].state {
        case .inviting, .undelivered, .ringing: break
        case .accepting, .joined, .rejected, .left:
            throw Refusal(.alreadyAnswered, "\(self[place].user) has answered")
        case .timedOut,
            .failed where self[place].reason == .expired:
            throw Refusal(.expired, "the ring time has passed")
        case .cancelled: throw Refusal(.cancelled, "the invitation was withdrawn")
        case .failed: throw .callEnded
        }
        guard calls[place.slot].isLive else { throw .callEnded }
    }

    mutating func accept(_ asker: Asker, _ id: CallID, _ acceptance: Acceptance) throws(Refusal) {
        let place = try locate(asker, id)
        // The caller and joiners are in the call without an answer (D41).
        if self[place].state == .joined, self[place].role != .invitee {
            throw Refusal(.alreadyJoined, "\(asker.user) is in the call")
        }
        try checkMayAnswer(place)
        guard !isTrial else { return }
        let mode = calls[place.slot].mode
        // An accept that a plugin decides is not bound by it (A12).
        if asker.device != nil, mode.countsEveryCall,
            let other = joinedCall(of: asker.user, besides: place.slot)
        {
            throw busy(asker.user, in: other)
        }
        var commit = change(place.slot, by: asker, .call)
        applyAccept(place.index, &commit)
        commit.join(
            place.index, device: asker.device, saying: asker.text, acceptance, at: now)
        finish(&commit)
        if mode.has(.hold) {
            settleOtherCalls(of: asker, but: place.slot, holding: acceptance.holdActive)
        }
    }

    /// The participant at `index` accepts: they join, or wait for the caller's acknowledgement
    /// where the mode has the handshake.
    func applyAccept(_ index: Int, _ commit: inout Commit) {
        guard let limit = commit.call.mode.acceptHandshake else {
            return commit.move(index, to: .joined)
        }
        // Nobody would acknowledge the accept: it fails in the same commit (A16).
        if isLost(commit.call.participants[0]) {
            commit.move(index, to: .failed, .callerOffline)
        } else {
            commit.move(index, to: .accepting)
            commit.call.participants[index].deliveryAlarm = now + limit
        }
    }

    /// Accepting holds or ends the user's other joined calls of modes with hold (A13).
    mutating func settleOtherCalls(
        of asker: Asker, but chosen: CallSlot, holding: Bool, andHeld: Bool = true
    ) {
        guard let place = users.find(asker.user), users[place].calls.count > 1 else { return }
        let settle: Sweep.Act = { [since = now] board, slot, index in
            let part = board.calls[slot].participants[index]
            guard slot != chosen, board.calls[slot].allows(.hold), part.state == .joined,
                holding
                    ? !part.held && board.calls[slot].state == .active : !part.held || andHeld,
                // Whoever joined it later chose otherwise.
                part.answeredAt.map({ $0 <= since }) ?? true
            else { return false }
            guard holding else {
                board.endCall(slot, by: asker)
                return true
            }
            var commit = board.change(slot, by: asker.actor)
            commit.hold(index, true)
            board.finish(&commit)
            return true
        }
        for number in sweeps.indices where sweeps[number].user == asker.user {
            guard let before = sweeps[number].chosen else { continue }
            // Each call ends up as if no sweep had to wait: older ones leave out the new choice.
            sweeps[number].calls.removeAll { $0 == chosen }
            if calls[before].isLive, let index = calls[before].index(of: asker.user) {
                _ = settle(&self, before, index)
            }
        }
        sweep(place, holding ? .hold : andHeld ? .endAlsoHeld : .end, but: chosen, settle)
    }

    // MARK: call.accept_ack

    /// The second half of the handshake: only now the invitee is in the call (A16).
    mutating func acceptAck(_ asker: Asker, _ id: CallID, _ user: UserID) throws(Refusal) {
        let place = try locate(asker, id, needs: .acceptAck)
        guard self[place].role == .caller else {
            throw Refusal(.notInviter, "only the caller acknowledges an accept")
        }
        guard let index = calls[place.slot].index(of: user), index != place.index else {
            throw .notInvited(user)
        }
        let state = calls[place.slot].participants[index].state
        if state == .joined { throw Refusal(.alreadyAnswered, "the accept is acknowledged") }
        guard calls[place.slot].isLive else { throw .callEnded }
        guard state == .accepting else { throw .wrongState(user, state) }
        var commit = change(place.slot, by: asker, .call)
        commit.move(index, to: .joined)
        finish(&commit)
    }

    // MARK: call.reject

    mutating func reject(_ asker: Asker, _ id: CallID, busy: Bool) throws(Refusal) {
        // Policies may say busy in every mode; of users it is a word of some modes (A11).
        let saysBusy = busy && asker.device != nil
        let place = try locate(asker, id, needs: saysBusy ? .answersBusy : [])
        try checkMayAnswer(place)
        guard !isTrial else { return }
        var commit = change(place.slot, by: asker, .call)
        commit.move(place.index, to: .rejected, busy ? .busy : .declined)
        commit.say(asker.text, place.index)
        commit.call.participants[place.index].answeredAt = now
        commit.call.participants[place.index].device = asker.device
        finish(&commit)
    }
}

extension Commit {
    /// The participant at `index` joins with `device`; nil: by a policy's decision, without one.
    mutating func join(
        _ index: Int, device: DeviceID?, saying text: String?, _ acceptance: Acceptance,
        at now: Moment
    ) {
        say(text, index)
        let isVideo = call.kind == "video"
        if change(of: index)?.from == nil { call.participants[index].video = isVideo }
        call.participants[index].join(with: device, at: now)
        send(index, audio: acceptance.audio ?? true, video: acceptance.video ?? isVideo)
    }

    /// What the participant at `index` sends, nil: as before. The others hear of what is not as
    /// they know it: for somebody new, audio, and video where the call's kind is that.
    mutating func send(_ index: Int, audio: Bool?, video: Bool?) {
        let part = call.participants[index]
        let (audio, video) = (audio ?? part.audio, video ?? part.video)
        guard (audio, video) != (part.audio, part.video) else { return }
        (call.participants[index].audio, call.participants[index].video) = (audio, video)
        let flags = CallEvent.Kind.mediaFlags(part.user, audio: audio, video: video)
        notify(.joinedPrimaries(except: part.user), flags)
    }
}
