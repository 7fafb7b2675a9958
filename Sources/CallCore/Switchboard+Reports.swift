// What the policies are told, and whom a push wakes.

import CallModel

extension Switchboard {
    /// Tells the report hooks of a commit. Reports are effects behind `persist`, so plugins never
    /// hear of what is not stored.
    mutating func report(_ commit: borrowing Commit) {
        guard settings.hooks.contains(.reports) else { return }
        let (call, cause) = (commit.call, commit.cause)
        let last = commit.lastActor
        for notice in commit.notices { tell(call, last, .notice(notice.kind), cause: cause) }
        var timedOut: [UserID] = []
        var undelivered: [UserID] = []
        for change in commit.changes {
            let participant = call.participants[change.index]
            guard change.from != participant.state else { continue }
            let actor = commit.actor(of: change.index)
            tell(
                call, actor,
                .participant(participant.user, from: change.from, to: participant.state),
                text: commit.cancelText, cause: cause)
            switch participant.state {
            case .joined where change.from?.isPending == true || actor != commit.actor:
                tell(call, actor, .accepted(participant.user), cause: cause)
            case .rejected:
                let reason = participant.reason ?? .declined
                tell(call, actor, .rejected(participant.user, reason), cause: cause)
            case .timedOut: timedOut.append(participant.user)
            case .undelivered: undelivered.append(participant.user)
            case .inviting, .ringing, .accepting, .joined, .cancelled, .left, .failed: break
            }
        }
        if !timedOut.isEmpty { tell(call, last, .timeout(timedOut), cause: cause) }
        if !undelivered.isEmpty { tell(call, last, .undelivered(undelivered), cause: cause) }
        if call.end?.reason == .cancelled {
            tell(call, last, .cancelled(by: call.end?.by), cause: cause)
        }
        if !call.isLive { tell(call, last, .ended, cause: cause) }
    }

    mutating func tell(
        _ call: Call, _ by: Actor, _ kind: Report.Kind, text: String? = nil, cause: Cause
    ) {
        effects.append(
            .tell(
                Report(
                    call: call, at: now, actor: by, kind: kind, facts: facts(of: call),
                    cancelText: text, cause: cause)))
    }

    mutating func tellPresence(_ user: UserID, online: Bool) {
        guard settings.hooks.contains(.presence) else { return }
        let (kind, known) = (Report.Kind.presence(user, online: online), facts(of: user))
        effects.append(
            .tell(Report(call: nil, at: now, kind: kind, facts: [known], cause: Cause(user))))
    }

    // MARK: Push

    /// Adds the push jobs that follow from a commit.
    mutating func addPushJobs(of commit: borrowing Commit, to records: inout [Record]) {
        guard settings.wakesDevices else { return }
        for index in commit.call.participants.indices {
            guard let kind = pushKind(commit, index) else { continue }
            let participant = commit.call.participants[index]
            // The text of a forwarded invitation is for the new invitee.
            let text = participant.reason == .forwarded ? nil : commit.push
            let job = pushJob(kind, for: participant, in: commit.call, text, by: commit.cause)
            if let job { records.append(job) }
        }
    }

    /// What a push tells the participant at `index`; nil: no push. Whoever never heard of the call
    /// hears nothing of its end either (F57).
    private mutating func pushKind(_ commit: borrowing Commit, _ index: Int) -> PushJob.Kind? {
        let (state, isLive) = (commit.call.participants[index].state, commit.call.isLive)
        guard let change = commit.change(of: index) else {
            if !isLive, state.isPending { return .end }
            return isFarewell(commit, to: index) ? isLive ? .leave : .end : nil
        }
        if change.isInvitation(in: commit.call) {
            let isTold = state.mayAnswer && commit.call.participants[index].asking.isVisible
            return isLive && isTold ? .invite : nil
        }
        guard change.wasVisible, change.from?.isPending == true else { return nil }
        switch state {
        case .cancelled: return .cancel
        case .timedOut, .failed: return change.from?.mayAnswer == true ? .missed : nil
        case .inviting, .undelivered, .ringing, .accepting: return isLive ? nil : .end
        case .joined, .rejected, .left: return nil
        }
    }

    /// Whether a push tells the participant that somebody left or ended the call: they stay in the
    /// call, know of it, and have no connection on which an event could tell them.
    private mutating func isFarewell(_ commit: borrowing Commit, to index: Int) -> Bool {
        guard commit.isFarewell else { return false }
        let participant = commit.call.participants[index]
        guard participant.state.isLive, participant.isVisible,
            participant.user != commit.asker?.user
        else { return false }
        return !isConnected(participant.user)
    }

    /// The job that wakes the participant's devices without a connection; nil: the server sends no
    /// pushes.
    mutating func pushJob(
        _ kind: PushJob.Kind, for participant: Participant, in call: Call, _ text: PushText?,
        by cause: Cause
    ) -> Record? {
        guard settings.wakesDevices else { return nil }
        let connected = users[participant.user]?.devices.filter(\.isConnected).map(\.id) ?? []
        let job = PushJob(
            kind, callID: call.id, user: participant.user, text: text, connected: connected,
            expiresAt: participant.deadlineAt, cause: cause)
        return .push(job)
    }
}
