// When a call becomes active, and when and why it ends by itself.

import CallModel

extension Switchboard {
    /// Applies what follows from a commit's changes: the call becomes active, accounts without
    /// a device leave when nobody else is there, the call ends when its mode says so.
    mutating func settle(_ commit: inout Commit) {
        guard commit.call.isLive else { return }
        if !commit.call.forks.isEmpty { settleForks(&commit) }
        if !commit.call.transfers.isEmpty { settleTransfers(&commit) }
        activate(&commit)
        if commit.call.allows(.firstAcceptWins) {
            // A transfer is no race.
            _ = commit.settleRace { index, call in
                !call.transfers.contains { $0.to == call.participants[index].user }
            }
        }
        endWithoutCaller(&commit)
        guard commit.call.isLive else { return }
        dismissAnsweredFor(&commit)
        endIfDone(&commit)
    }

    /// The first one beside the caller to join makes the call active.
    private mutating func activate(_ commit: inout Commit) {
        guard commit.call.state == .ringing,
            commit.call.joinedCount > (commit.call.participants[0].state == .joined ? 1 : 0)
        else { return }
        commit.call.state = .active
        commit.call.answeredAt = now
        connectAnew(&commit)
    }

    /// Where the mode says so, a call whose caller has left ends, or is cancelled before anybody
    /// joined: nobody would be there to talk to (H90). Who was transferred away has a successor.
    private func endWithoutCaller(_ commit: inout Commit) {
        guard commit.call.participants[0].state == .left, commit.change(of: 0)?.from == .joined
        else { return }
        let caller = commit.call.participants[0]
        guard caller.reason != .transferred else { return }
        let endsAlways = commit.call.allows(.callerLeavesEnds)
        if commit.call.joinedCount == 0, commit.call.pendingCount > 0 {
            guard endsAlways || commit.call.mode.leaveCancels else { return }
            commit.cancelWhole(caller.reason == .lost ? .callerLost : .byCaller)
        } else if endsAlways {
            commit.end(Call.End(reasonOfEnd(commit.call), by: caller.user))
        }
    }

    /// Accounts that joined by a decision and have no device leave when all others are gone or
    /// lost, because plugins do not hang up; where the mode has no leave, the call ends (A22).
    mutating func dismissAnsweredFor(_ commit: inout Commit) {
        guard commit.call.isLive, commit.call.participants.contains(where: \.isUnattended)
        else { return }
        // Who is only to take the place of such an account has nobody to talk to either (K103).
        let others = commit.call.participants.filter { $0.state.isLive && !$0.isUnattended }
        let areReplacements = others.allSatisfy { commit.call.transfer(to: $0.user) != nil }
        guard areReplacements || others.allSatisfy({ isLost($0) }) else { return }
        let mode = commit.call.mode
        guard mode.has(.leave) else {
            // Where the last answer ends a call, `endIfDone` says so with a better reason.
            if mode.endWhenAnswered != .always || commit.call.pendingCount > 0 {
                commit.end(Call.End(.idle))
            }
            return
        }
        for index in commit.call.participants.indices
        where commit.call.participants[index].isUnattended {
            commit.move(index, to: .left, .idle)
        }
    }

    /// Ends the call when too few are left or everybody has answered, as its mode says (R12, A19).
    private mutating func endIfDone(_ commit: inout Commit) {
        let mode = commit.call.mode
        let pending = commit.call.expectedCount
        let joined = commit.call.joinedCount
        let somebodyLeft = commit.changes.contains {
            $0.from == .joined && commit.call.participants[$0.index].state == .left
        }
        // The last leave of all ends the ringing too: nobody is left to be rung for (H90).
        let mayEndRinging =
            joined == 0 && mode.leaveCancels && !commit.call.participants[0].state.isLive
        if let limit = mode.endWhenJoinedAtMost, somebodyLeft, joined <= limit,
            limit == 0 || pending == 0 || mayEndRinging
        {
            let reason: EndReason = mode.isTwoParty ? .completed : .lastLeft
            return commit.end(Call.End(reason, by: commit.asker?.user))
        }
        guard pending == 0 else { return }
        if joined == 0, somebodyLeft || commit.call.answeredAt != nil {
            return commit.end(Call.End(.lastLeft))
        }
        let isDone =
            switch mode.endWhenAnswered {
            case .always: true
            case .ifNobodyJoined: commit.call.answeredAt == nil || commit.call.isLeftToOne
            case .ifAlone: joined <= 1
            case .never: false
            }
        if isDone || joined == 0 { commit.end(commit.call.outcome) }
    }

    /// Starts or stops the idle time (C38). It runs while at most one joined participant is there.
    mutating func updateIdle(_ call: inout Call) {
        guard call.isLive, let limit = call.mode.idleLimit else { return }
        let present = call.participants.count { $0.state == .joined && !isLost($0) }
        if call.state == .active, present <= 1, call.pendingCount == 0 {
            call.idleAlarm = call.idleAlarm ?? now + limit
        } else {
            call.idleAlarm = nil
        }
    }
}
