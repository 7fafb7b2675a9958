// What happens when a deadline of a call comes.

import CallModel

extension Switchboard {
    /// Sets the one timer of a call to its next deadline.
    mutating func rearm(_ slot: CallSlot) {
        let next = nextDeadline(of: calls[slot])
        if let timer = calls.timer(slot) {
            if timer.at == next { return }
            wheel.cancel(timer.handle)
        }
        let handle = wheel.schedule(TimerKey.call(slot).packed, at: next)
        calls.setTimer(slot, CallTimer(handle: handle, at: next))
    }

    private func nextDeadline(of call: Call) -> Moment {
        var next = call.createdAt + settings.callAgeMax
        func consider(_ moment: Moment?) {
            if let moment, moment < next { next = moment }
        }
        for participant in call.participants {
            consider(ringEnd(of: participant, in: call))
            consider(participant.deliveryAlarm)
            consider(participant.policyAlarm)
        }
        consider(call.mediaAlarm)
        consider(call.idleAlarm)
        return next
    }

    /// The end of the ring time; an answer that is being shaped may still make it (E65).
    private func ringEnd(of participant: Participant, in call: Call) -> Moment? {
        guard participant.state.mayAnswer, let deadline = participant.deadlineAt else { return nil }
        return isStaged(participant.user, call.id) ? deadline + settings.shapingGrace : deadline
    }

    /// Fires what is due of a call, earliest kinds first, until nothing is.
    mutating func fireDeadlines(of slot: CallSlot) {
        calls.setTimer(slot, nil)
        let id = calls[slot].id
        while let current = calls.find(id), fireOne(current) {}
        if let current = calls.find(id) { rearm(current) }
    }

    /// Fires one kind of due deadline; false: none is due.
    private mutating func fireOne(_ slot: CallSlot) -> Bool {
        let call = calls[slot]
        for (index, participant) in call.participants.enumerated() {
            guard let alarm = participant.policyAlarm, alarm <= now else { continue }
            policyAlarm(slot, index)
            return true
        }
        return fireRing(slot, call) || fireDelivery(slot, call) || fireCall(slot, call)
    }

    // MARK: ring, expire

    private mutating func fireRing(_ slot: CallSlot, _ call: Call) -> Bool {
        let due = call.participants.indices.filter { index in
            ringEnd(of: call.participants[index], in: call).map { $0 <= now } ?? false
        }
        guard !due.isEmpty else { return false }
        let expires = settings.mode(call.mode).acknowledgeWithin != nil
        var commit = Commit(call, slot: slot, actor: .timer(expires ? .expire : .ring))
        for index in due {
            if expires {
                commit.move(index, to: .failed, .expired)
            } else {
                commit.move(index, to: .timedOut)
            }
        }
        finish(commit)
        return true
    }

    // MARK: check, no_ack, accept_ack

    private mutating func fireDelivery(_ slot: CallSlot, _ call: Call) -> Bool {
        let due = call.participants.indices.filter { index in
            call.participants[index].deliveryAlarm.map { $0 <= now } ?? false
        }
        guard let first = due.first else { return false }
        let mode = settings.mode(call.mode)
        var commit = Commit(
            call, slot: slot,
            actor: .timer(deliveryTimer(call.participants[first], mode)))
        for index in due {
            commit.call.participants[index].deliveryAlarm = nil
            undelivered(&commit, index, mode)
        }
        finish(commit)
        return true
    }

    private func deliveryTimer(_ participant: Participant, _ mode: Mode) -> TimerName {
        if participant.state == .accepting { return .acceptAck }
        return mode.acknowledgeWithin == nil ? .check : .noAck
    }

    private func undelivered(_ commit: inout Commit, _ index: Int, _ mode: Mode) {
        let participant = commit.call.participants[index]
        if participant.state == .accepting {
            commit.move(index, to: .failed, .acceptUnacked)
        } else if mode.acknowledgeWithin != nil {
            let isOnline = (users[participant.user]?.connectedCount ?? 0) > 0
            commit.move(index, to: .failed, isOnline ? .noAck : .offline)
        } else if participant.state == .inviting {
            commit.move(index, to: .undelivered)
        }
    }

    // MARK: connect, reconnect, idle, max_age

    private mutating func fireCall(_ slot: CallSlot, _ call: Call) -> Bool {
        let timer: TimerName
        let end: Call.End
        if let alarm = call.mediaAlarm, alarm <= now {
            let isReconnect = call.media == .reconnecting
            timer = isReconnect ? .reconnect : .connect
            end = Call.End(isReconnect ? .connectionLost : .connectTimeout)
        } else if let alarm = call.idleAlarm, alarm <= now {
            timer = .idle
            end = Call.End(.idle)
        } else if call.createdAt + settings.callAgeMax <= now {
            timer = .maxAge
            end = Call.End(.idle, detail: .maxAge)
        } else {
            return false
        }
        var commit = Commit(call, slot: slot, actor: .timer(timer))
        commit.end(end)
        finish(commit)
        return true
    }
}
