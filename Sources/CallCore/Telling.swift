// Who is told what of a commit (semantics.md, 2.9; A1-A7, D48).

import CallModel

extension Switchboard {
    /// Tells the devices, then the report hooks.
    mutating func tell(_ commit: borrowing Commit) {
        if commit.isFirst {
            let created = event(commit, .created(commit.call))
            send(to: addresses(of: commit.call.caller), created)
        }
        for change in commit.changes {
            let participant = commit.call.participants[change.index]
            tellIncoming(commit, change, participant)
            tellElsewhere(commit, change, participant)
        }
        tellChanged(commit)
        for change in commit.changes where change.wasVisible { tellOwn(commit, change) }
        for notice in commit.notices {
            send(to: receivers(of: notice, in: commit.call), event(commit, notice.kind))
        }
        tellEnded(commit)
        report(commit)
    }

    private func event(_ commit: borrowing Commit, _ kind: CallEvent.Kind) -> CallEvent {
        CallEvent(
            callID: commit.call.id, revision: commit.call.revision, at: now, actor: commit.actor,
            kind: kind)
    }

    private mutating func tellIncoming(
        _ commit: borrowing Commit, _ change: Commit.Change, _ participant: Participant
    ) {
        guard change.isInvitation(of: participant), participant.isVisible, commit.call.isLive
        else { return }
        send(
            to: addresses(of: participant.user),
            event(commit, incoming(commit.call, participant)))
    }

    /// The `call.incoming` of a pending participant, as of now.
    func incoming(_ call: Call, _ participant: Participant) -> CallEvent.Kind {
        .incoming(
            call, inviter: participant.invitedBy ?? call.caller,
            expiresIn: participant.deadlineAt.map { max(0, $0 - now) })
    }

    /// A user's other devices learn what one of them, or a policy, did.
    private mutating func tellElsewhere(
        _ commit: borrowing Commit, _ change: Commit.Change, _ participant: Participant
    ) {
        guard let what = change.elsewhere(participant) else { return }
        let isAskers = commit.asker?.user == participant.user
        let device = isAskers ? commit.asker?.device : nil
        send(
            to: addresses(of: participant.user, except: device),
            event(commit, .elsewhere(what, device)))
    }

    private mutating func tellChanged(_ commit: borrowing Commit) {
        guard !commit.isFirst, !commit.changes.isEmpty else { return }
        var changes: [CallEvent.Change] = []
        for change in commit.changes {
            let participant = commit.call.participants[change.index]
            guard change.from != participant.state else { continue }
            changes.append(
                CallEvent.Change(
                    participant.user, participant.state, reason: participant.reason,
                    extendedData: participant.extendedData))
        }
        guard !changes.isEmpty else { return }
        var receivers: [Address] = []
        for index in commit.call.participants.indices {
            guard commit.call.views.isEmpty else {
                let viewer = commit.call.participants[index].user
                let seen = changes.map { $0.seen(by: viewer, in: commit.call) }
                send(to: changedReceivers(commit, index), event(commit, .changed(seen)))
                continue
            }
            receivers += changedReceivers(commit, index)
        }
        send(to: receivers, event(commit, .changed(changes)))
    }

    /// The devices of one participant that are told of the commit's changes (A5, A6, D48).
    private func changedReceivers(_ commit: borrowing Commit, _ index: Int) -> [Address] {
        let participant = commit.call.participants[index]
        let change = commit.change(of: index)
        switch participant.state {
        case .joined: return addresses(of: participant.user)
        case .inviting, .undelivered, .ringing, .accepting:
            if let change, change.isInvitation(of: participant) || !change.wasVisible { return [] }
            return participant.isVisible ? addresses(of: participant.user) : []
        case .left where change != nil && participant.reason == .idle:
            return addresses(of: participant.user)
        case .rejected, .left:
            guard change != nil, commit.asker?.user == participant.user else { return [] }
            return address(of: participant.user, commit.asker?.device)
        case .cancelled, .timedOut, .failed: return []
        }
    }

    /// Who was cancelled, timed out or failed has its own event.
    private mutating func tellOwn(_ commit: borrowing Commit, _ change: Commit.Change) {
        let participant = commit.call.participants[change.index]
        let kind: CallEvent.Kind
        switch participant.state {
        case .timedOut: kind = .timedOut
        case .failed: kind = .failed(participant.reason ?? .acceptFailed)
        case .cancelled where change.from?.isPending == true:
            let view = commit.call.views.first {
                $0.receiver == participant.user && $0.owner == .end
            }
            kind = .cancelled(
                inviter: participant.invitedBy,
                extendedData: view.map(\.text) ?? commit.cancelText,
                reason: participant.reason ?? .byInviter)
        case .cancelled, .inviting, .undelivered, .ringing, .accepting, .joined, .rejected, .left:
            return
        }
        send(to: addresses(of: participant.user), event(commit, kind))
    }

    /// The last event of a call (A1).
    private mutating func tellEnded(_ commit: borrowing Commit) {
        guard let end = commit.call.end, let endedAt = commit.call.endedAt else { return }
        var receivers: [Address] = []
        for (index, participant) in commit.call.participants.enumerated() {
            let change = commit.change(of: index)
            let knows = change.map { $0.wasVisible || $0.from == nil } ?? true
            guard commit.cause == participant.user || (participant.state.isLive && knows)
            else { continue }
            guard commit.call.views.isEmpty else {
                let text = commit.call.extendedData(of: .end, for: participant.user)
                let seen = Call.End(end.reason, detail: end.detail, by: end.by, extendedData: text)
                let ended = CallEvent.Kind.ended(seen, at: endedAt, duration: commit.call.duration)
                send(to: addresses(of: participant.user), event(commit, ended))
                continue
            }
            receivers += addresses(of: participant.user)
        }
        let ended = CallEvent.Kind.ended(end, at: endedAt, duration: commit.call.duration)
        send(to: receivers, event(commit, ended))
    }

    // MARK: Where it goes

    mutating func send(to receivers: [Address], _ event: CallEvent) {
        if !receivers.isEmpty { effects.append(.send(to: receivers, event)) }
    }

    /// Every device of `user`, connected or resumable.
    func addresses(of user: UserID, except device: DeviceID? = nil) -> [Address] {
        guard let place = users.find(user) else { return [] }
        var addresses: [Address] = []
        for known in users[place].devices where known.id != device {
            addresses.append(Address(user, known.id))
        }
        return addresses
    }

    /// The device, if it is connected or resumable.
    func address(of user: UserID, _ device: DeviceID?) -> [Address] {
        guard let device, let place = users.find(user) else { return [] }
        for known in users[place].devices where known.id == device {
            return [Address(user, device)]
        }
        return []
    }

    private func receivers(of notice: Commit.Notice, in call: Call) -> [Address] {
        switch notice.receivers {
        case .joinedPrimaries(let except): return primaries(of: call, except: except)
        case .device(let address): return self.address(of: address.user, address.device)
        case .everybody:
            var receivers: [Address] = []
            for participant in call.participants
            where participant.state.isLive && participant.isVisible {
                receivers += addresses(of: participant.user)
            }
            return receivers
        }
    }

    /// The primary devices of the joined participants.
    func primaries(of call: Call, except user: UserID?) -> [Address] {
        var receivers: [Address] = []
        for participant in call.participants
        where participant.state == .joined && participant.user != user {
            receivers += address(of: participant.user, participant.device)
        }
        return receivers
    }
}

extension Commit.Change {
    /// Whether the change made the participant an invited one.
    func isInvitation(of participant: Participant) -> Bool {
        participant.state.isPending && !(from?.isLive ?? false)
    }

    /// What the user's other devices are told.
    fileprivate func elsewhere(_ participant: Participant) -> CallEvent.Elsewhere? {
        guard let from else { return nil }
        switch participant.state {
        case .joined, .accepting: return from.mayAnswer && wasVisible ? .answered : nil
        case .rejected: return wasVisible ? .rejected : nil
        case .left: return from == .joined && participant.reason == .itself ? .left : nil
        case .inviting, .undelivered, .ringing, .cancelled, .timedOut, .failed: return nil
        }
    }
}

extension CallEvent.Change {
    /// The change with the text that `viewer` sees.
    fileprivate func seen(by viewer: UserID, in call: Call) -> CallEvent.Change {
        let text = call.extendedData(of: .participant(user), for: viewer)
        return CallEvent.Change(user, state, reason: reason, extendedData: text)
    }
}
