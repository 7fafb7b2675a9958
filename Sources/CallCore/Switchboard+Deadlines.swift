// What happens when a deadline of a call comes.

import Collections
import CallModel

extension Switchboard {
    /// Sets the one timer of a call to its next deadline. A timer for each deadline would mean
    /// cancelling most of them: few ever fire.
    mutating func rearm(_ slot: CallSlot) {
        let next = nextDeadline(slot)
        if calls[timerOf: slot] == .none {
            calls[timerOf: slot] = wheel.schedule(TimerKey.call(slot), at: next)
        } else {
            wheel.move(calls[timerOf: slot], to: next.milliseconds)
        }
    }

    private func nextDeadline(_ slot: CallSlot) -> Moment {
        var next = calls[slot].createdAt + settings.callAgeMax
        next.lower(to: calls[slot].mediaAlarm)
        next.lower(to: calls[slot].idleAlarm)
        for index in calls[slot].participants.indices {
            next.lower(to: ringEnd(slot, index))
            next.lower(to: calls[slot].participants[index].deliveryAlarm)
            next.lower(to: calls[slot].participants[index].policyAlarm)
        }
        return next
    }

    /// The end of the ring time, and a little later while an answer is being shaped: it came in
    /// time (F65).
    private func ringEnd(_ slot: CallSlot, _ index: Int) -> Moment? {
        guard calls[slot].participants[index].state.mayAnswer,
            let deadline = calls[slot].participants[index].deadlineAt
        else { return nil }
        guard !waiting.isEmpty, isStaged(calls[slot].participants[index].user, calls[slot].id)
        else { return deadline }
        return deadline + settings.shapingGrace
    }

    /// Fires the due deadlines of a call, one kind in one commit, until none is due. A deadline
    /// that no longer matters is gone from the call, so nothing has to be cancelled.
    mutating func fireDeadlines(of slot: CallSlot) {
        fired += calls[slot].participants.count
        calls[timerOf: slot] = .none
        noteBack(in: slot)
        while calls[slot].isLive, fireOne(slot) {}
        if calls[slot].isLive { rearm(slot) }
    }

    /// Where very many deadlines have come together, this call's may wait for their turn: they come
    /// before what somebody does in it (R2).
    mutating func fireOverdue(of slot: CallSlot) {
        guard wheel.isDue(calls[timerOf: slot], at: now.milliseconds) else { return }
        wheel.cancel(calls[timerOf: slot])
        fireDeadlines(of: slot)
    }

    /// Fires one kind of due deadline; false: none is due.
    private mutating func fireOne(_ slot: CallSlot) -> Bool {
        for index in calls[slot].participants.indices
        where isDue(calls[slot].participants[index].policyAlarm) {
            policyAlarm(slot, index)
            return true
        }
        return fireRing(slot) || fireDelivery(slot) || fireCall(slot)
    }

    private func isDue(_ deadline: Moment?) -> Bool { deadline.map { $0 <= now } ?? false }

    // MARK: ring, expire

    /// All who are due form one commit: watchers are told once.
    private mutating func fireRing(_ slot: CallSlot) -> Bool {
        let due = calls[slot].participants.indices.filter { isDue(ringEnd(slot, $0)) }
        guard !due.isEmpty else { return false }
        let expires = calls[slot].mode.ringsFromRinging
        var commit = change(slot, by: .timer(expires ? .expire : .ring))
        for index in due {
            commit.move(index, to: expires ? .failed : .timedOut, expires ? .expired : nil)
        }
        finish(&commit)
        return true
    }

    // MARK: check, no_ack, accept_ack

    /// One commit has one actor, so it takes those of one timer; the rest come with the next one.
    private mutating func fireDelivery(_ slot: CallSlot) -> Bool {
        let due = calls[slot].participants.indices.filter {
            isDue(calls[slot].participants[$0].deliveryAlarm)
        }
        guard let first = due.first else { return false }
        let mode = calls[slot].mode
        let timer = calls[slot].participants[first].deliveryTimer(in: mode)
        var commit = change(slot, by: .timer(timer))
        for index in due
        where commit.call.participants[index].deliveryTimer(in: mode) == timer {
            commit.call.participants[index].deliveryAlarm = nil
            undelivered(&commit, index, mode)
        }
        finish(&commit)
        return true
    }

    /// One alarm serves four waits, which never run at once: the state tells which it is.
    private mutating func undelivered(_ commit: inout Commit, _ index: Int, _ mode: Mode) {
        let participant = commit.call.participants[index]
        if participant.state == .accepting {
            commit.move(index, to: .failed, .acceptUnacked)
        } else if participant.state == .joined {
            commit.move(index, to: .left, .lost)
        } else if mode.acknowledgeWithin != nil {
            commit.move(index, to: .failed, isConnected(participant.user) ? .noAck : .offline)
        } else if participant.state == .inviting {
            commit.move(index, to: .undelivered)
        }
    }

    // MARK: connect, reconnect, idle, max_age

    /// Ends the call for a reason of its own: no media, nobody there, or too old (C37, C38).
    private mutating func fireCall(_ slot: CallSlot) -> Bool {
        let call = calls[slot]
        let timer: TimerName
        let end: Call.End
        if isDue(call.mediaAlarm), call.media == .reconnecting {
            (timer, end) = (.reconnect, Call.End(.connectionLost))
        } else if isDue(call.mediaAlarm) {
            (timer, end) = (.connect, Call.End(.connectTimeout))
        } else if isDue(call.idleAlarm) {
            (timer, end) = (.idle, Call.End(.idle))
        } else if call.createdAt + settings.callAgeMax <= now {
            (timer, end) = (.maxAge, Call.End(.idle, detail: .maxAge))
        } else {
            return false
        }
        var commit = change(slot, by: .timer(timer))
        commit.end(end)
        finish(&commit)
        return true
    }
}
