// What the policies are told, and whom a push wakes.

import Bookkeeping
import CallModel

extension Switchboard {
    /// Tells the report hooks of a commit.
    mutating func report(_ commit: borrowing Commit) {
        guard settings.hooks.contains(.reports) else { return }
        let (call, actor) = (commit.call, commit.actor)
        for notice in commit.notices { tell(call, actor, .notice(notice.kind)) }
        var timedOut: [UserID] = []
        var undelivered: [UserID] = []
        for change in commit.changes {
            let participant = call.participants[change.index]
            guard change.from != participant.state else { continue }
            tell(
                call, actor,
                .participant(participant.user, from: change.from, to: participant.state),
                text: commit.cancelText)
            switch participant.state {
            case .joined where change.from?.isPending == true:
                tell(call, actor, .accepted(participant.user))
            case .rejected:
                tell(call, actor, .rejected(participant.user, participant.reason ?? .declined))
            case .timedOut: timedOut.append(participant.user)
            case .undelivered: undelivered.append(participant.user)
            case .inviting, .ringing, .accepting, .joined, .cancelled, .left, .failed: break
            }
        }
        if !timedOut.isEmpty { tell(call, actor, .timeout(timedOut)) }
        if !undelivered.isEmpty { tell(call, actor, .undelivered(undelivered)) }
        if call.end?.reason == .cancelled { tell(call, actor, .cancelled(by: call.end?.by)) }
        if !call.isLive { tell(call, actor, .ended) }
    }

    mutating func tell(_ call: Call, _ by: Actor, _ kind: Report.Kind, text: String? = nil) {
        let all = facts(of: call)
        effects.append(
            .tell(Report(call: call, at: now, actor: by, kind: kind, facts: all, cancelText: text)))
    }

    mutating func tellPresence(_ user: UserID, online: Bool) {
        guard settings.hooks.contains(.presence) else { return }
        let (kind, known) = (Report.Kind.presence(user, online: online), facts(of: user))
        effects.append(.tell(Report(call: nil, at: now, kind: kind, facts: [known])))
    }

    // MARK: Push

    /// Adds the push jobs that follow from a commit.
    func addPushJobs(of commit: borrowing Commit, to records: inout [Record]) {
        guard settings.wakesDevices else { return }
        for index in commit.call.participants.indices {
            guard let kind = pushKind(commit, index) else { continue }
            let participant = commit.call.participants[index]
            addPushJob(kind, for: participant, in: commit.call, commit.push, to: &records)
        }
    }

    private func pushKind(_ commit: borrowing Commit, _ index: Int) -> PushJob.Kind? {
        let (state, isLive) = (commit.call.participants[index].state, commit.call.isLive)
        guard let change = commit.change(of: index) else {
            return !isLive && state.isPending ? .end : nil
        }
        if change.isInvitation(in: commit.call) {
            return isLive && commit.call.participants[index].asking.isVisible ? .invite : nil
        }
        guard change.wasVisible, change.from?.isPending == true else { return nil }
        switch state {
        case .cancelled: return .cancel
        case .timedOut, .failed: return change.from?.mayAnswer == true ? .missed : nil
        case .inviting, .undelivered, .ringing, .accepting: return isLive ? nil : .end
        case .joined, .rejected, .left: return nil
        }
    }

    /// Adds a job to wake the participant's devices that have no live connection.
    func addPushJob(
        _ kind: PushJob.Kind, for participant: Participant, in call: Call, _ text: PushText?,
        to records: inout [Record]
    ) {
        guard settings.wakesDevices else { return }
        let connected = users[participant.user]?.devices.filter(\.isConnected).map(\.id) ?? []
        let job = PushJob(
            kind, callID: call.id, user: participant.user, text: text, connected: connected,
            expiresAt: participant.deadlineAt)
        records.append(.push(job))
    }
}
