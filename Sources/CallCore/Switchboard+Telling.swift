// Who is told what of a commit (A1-A7, D48).

import CallModel
import Collections

extension Switchboard {
    /// Tells the devices, then the report hooks. The order of the events is part of the protocol:
    /// clients rely on `call.changed` before `call.ended` (A1).
    mutating func tell(_ commit: borrowing Commit) {
        if commit.isFirst {
            // The device that called has the call in its reply (A2).
            let others = addresses(of: commit.call.caller, except: commit.asker?.device)
            if !others.isEmpty { send(to: others, event(commit, .created(commit.call))) }
        }
        for change in commit.changes {
            if let plugin = commit.decider(of: change.index) {
                tellDecided(commit, change.index, by: plugin)
                continue
            }
            if change.isInvitation(in: commit.call) { tellIncoming(commit, change.index) }
            if change.isFirstHeard(in: commit.call) { tellLetIn(commit, change.index) }
            if let what = change.elsewhere(in: commit.call) {
                tellElsewhere(commit, change.index, what)
            }
        }
        tellChanged(commit)
        for change in commit.changes where change.wasVisible { tellOwn(commit, change) }
        for notice in commit.notices {
            send(
                to: receivers(of: notice, in: commit.call),
                event(commit, notice.kind, by: commit.lastActor))
        }
        tellEnded(commit)
        report(commit)
    }

    private func event(
        _ commit: borrowing Commit, _ kind: CallEvent.Kind, by actor: Actor? = nil
    ) -> CallEvent {
        CallEvent(
            callID: commit.call.id, revision: commit.call.revision, at: now,
            actor: actor ?? commit.actor, kind: kind)
    }

    /// Tells the devices of an account about which was decided in the same commit (H89). If it
    /// joined: the call, and that it was answered elsewhere. If it rings: the invitation. Else
    /// nothing.
    private mutating func tellDecided(_ commit: borrowing Commit, _ index: Int, by plugin: String) {
        let state = commit.call.participants[index].state
        if state.mayAnswer { return tellIncoming(commit, index) }
        guard state == .joined || state == .accepting else { return }
        let participant = commit.call.participants[index]
        let receivers = addresses(of: participant.user)
        send(to: receivers, invitation(commit, participant))
        send(
            to: receivers,
            event(commit, .elsewhere(.answered, nil), by: .policy(plugin)))
    }

    /// Tells the devices of an account that joined by a decision before they knew the call: the
    /// call, and that it was answered elsewhere (H89).
    private mutating func tellLetIn(_ commit: borrowing Commit, _ index: Int) {
        let participant = commit.call.participants[index]
        let device = commit.asker?.user == participant.user ? commit.asker?.device : nil
        let receivers = addresses(of: participant.user, except: device)
        tellIncoming(commit.call, index, to: receivers)
        send(to: receivers, event(commit, .elsewhere(.answered, device)))
    }

    private mutating func tellIncoming(_ commit: borrowing Commit, _ index: Int) {
        guard commit.call.participants[index].asking.isVisible, commit.call.isLive else { return }
        let participant = commit.call.participants[index]
        send(to: addresses(of: participant.user), invitation(commit, participant))
    }

    /// The `call.incoming` of a commit. The actor is the plugin that forwarded to the participant,
    /// if one did in this commit.
    private func invitation(_ commit: borrowing Commit, _ participant: Participant) -> CallEvent {
        let host = participant.invitedBy.flatMap { commit.call.index(of: $0) } ?? 0
        return event(commit, incoming(commit.call, participant), by: commit.actor(of: host))
    }

    /// The `call.incoming` of a pending participant, as of now.
    func incoming(_ call: Call, _ participant: Participant) -> CallEvent.Kind {
        .incoming(
            call, inviter: participant.invitedBy ?? call.caller,
            expiresIn: participant.deadlineAt.map { max(0, $0 - now) },
            transfer: call.transferOffer(to: participant.user))
    }

    /// A user's other devices learn what one of them, or a policy, did.
    private mutating func tellElsewhere(
        _ commit: borrowing Commit, _ index: Int, _ what: CallEvent.Elsewhere
    ) {
        let user = commit.call.participants[index].user
        let device = commit.asker?.user == user ? commit.asker?.device : nil
        let receivers = addresses(of: user, except: device)
        if !receivers.isEmpty { send(to: receivers, event(commit, .elsewhere(what, device))) }
    }

    private mutating func tellChanged(_ commit: borrowing Commit) {
        guard !commit.isFirst || !commit.rulings.isEmpty else { return }
        var changes: [CallEvent.Change] = []
        for change in commit.changes {
            let state = commit.call.participants[change.index].state
            guard change.from != state else { continue }
            // The reply or invitation shows a new call as it is: only decisions are news (H89).
            if commit.isFirst {
                guard state != .inviting, commit.decider(of: change.index) != nil else { continue }
            }
            changes.add(CallEvent.Change(commit.call.participants[change.index]))
        }
        guard !changes.isEmpty else { return }
        sendSeen(commit) { board, index, receivers in
            board.addChangedReceivers(commit, index, to: &receivers)
        } as: { viewer, call in
            .changed(viewer.map { user in changes.map { $0.seen(by: user, in: call) } } ?? changes)
        }
    }

    /// Sends one event to the devices that `add` names of each participant. Where receivers may see
    /// another text, each of them gets an event of their own (F65).
    private mutating func sendSeen(
        _ commit: borrowing Commit, to add: (inout Switchboard, Int, inout [Address]) -> Void,
        as kind: (_ viewer: UserID?, Call) -> CallEvent.Kind
    ) {
        var receivers: [Address] = []
        for index in commit.call.participants.indices {
            add(&self, index, &receivers)
            guard !commit.call.views.isEmpty, !receivers.isEmpty else { continue }
            let kind = kind(commit.call.participants[index].user, commit.call)
            send(to: receivers, event(commit, kind, by: commit.lastActor))
            receivers = []
        }
        guard !receivers.isEmpty else { return }
        send(to: receivers, event(commit, kind(nil, commit.call), by: commit.lastActor))
    }

    /// The devices of one participant that are told of the commit's changes (A5, A6, D48).
    private mutating func addChangedReceivers(
        _ commit: borrowing Commit, _ index: Int, to receivers: inout [Address]
    ) {
        let user = commit.call.participants[index].user
        let change = commit.change(of: index)
        switch commit.call.participants[index].state {
        case .joined, .accepting: addDevices(of: user, to: &receivers)
        case .inviting, .undelivered, .ringing:
            let isNew = change.map { $0.isInvitation(in: commit.call) || !$0.wasVisible }
            guard isNew != true, commit.call.participants[index].asking.isVisible else { return }
            addDevices(of: user, to: &receivers)
        case .left where change != nil && commit.call.participants[index].reason == .idle,
            .left where change != nil && commit.call.participants[index].reason == .lost:
            addDevices(of: user, to: &receivers)
        case .rejected, .left:
            guard change != nil, let asker = commit.asker, asker.user == user else { return }
            addDevice(asker.device, of: user, to: &receivers)
        case .cancelled, .timedOut, .failed: break
        }
    }

    /// Tells participants that were cancelled, timed out or failed by an event of their own (A1).
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

    /// Tells the end: the last event of a call (A1). Who was told by an event of its own, or never
    /// heard of the call (F57), is left out.
    private mutating func tellEnded(_ commit: borrowing Commit) {
        guard let end = commit.call.end else { return }
        sendSeen(commit) { board, index, receivers in
            let user = commit.call.participants[index].user
            let knows = commit.change(of: index).map { $0.wasVisible || commit.isTold($0) } ?? true
            if commit.leaver == user || (commit.call.participants[index].state.isLive && knows) {
                board.addDevices(of: user, to: &receivers)
            }
        } as: { viewer, call in
            let text = viewer.map { call.extendedData(of: .end, for: $0) } ?? end.extendedData
            return .ended(end.saying(text), of: call)
        }
    }

    // MARK: Where it goes

    mutating func send(to receivers: [Address], _ event: consuming CallEvent) {
        if !receivers.isEmpty { effects.append(.send(to: receivers, event)) }
    }

    /// Every device of `user`, connected or resumable.
    public func addresses(of user: UserID, except device: DeviceID? = nil) -> [Address] {
        var addresses: [Address] = []
        addDevices(of: user, except: device, to: &addresses)
        return addresses
    }

    /// Devices that may resume are among them: what they miss is kept for them.
    private func addDevices(
        of user: UserID, except device: DeviceID? = nil, to receivers: inout [Address]
    ) {
        guard let place = users.find(user) else { return }
        for index in users[place].devices.indices where users[place].devices[index].id != device {
            receivers.add(Address(user, users[place].devices[index].id))
        }
    }

    /// The device, if it is connected or resumable.
    func addDevice(_ device: DeviceID?, of user: UserID, to receivers: inout [Address]) {
        guard let device, let place = users.find(user) else { return }
        for index in users[place].devices.indices where users[place].devices[index].id == device {
            receivers.add(Address(user, device))
        }
    }

    /// Who is told, as of this commit: whoever left in it hears no more.
    private func receivers(of notice: Commit.Notice, in call: Call) -> [Address] {
        var receivers: [Address] = []
        switch notice.receivers {
        case .joinedPrimaries(let except): return primaries(of: call, except: except)
        case .device(let address):
            addDevice(address.device, of: address.user, to: &receivers)
        case .devices(let user): addDevices(of: user, to: &receivers)
        case .everybody:
            for participant in call.participants
            where participant.state.isLive && participant.isVisible {
                addDevices(of: participant.user, to: &receivers)
            }
        }
        return receivers
    }

    /// The primary devices of the joined participants.
    func primaries(of call: Call, except user: UserID?) -> [Address] {
        var receivers: [Address] = []
        for participant in call.participants
        where participant.state == .joined && participant.user != user {
            addDevice(participant.device, of: participant.user, to: &receivers)
        }
        return receivers
    }
}

extension Commit {
    /// Whether the devices of a new participant are told of a call that ends in the same commit:
    /// those of the caller and of an account that joined by a decision are.
    fileprivate func isTold(_ change: Change) -> Bool {
        guard change.from == nil else { return false }
        return !isFirst || change.index == 0 || !call.participants[change.index].state.mayAnswer
    }
}

extension Commit.Change {
    /// Whether the change made the participant an invited one.
    func isInvitation(in call: borrowing Call) -> Bool {
        call.participants[index].state.isPending && !(from?.isLive ?? false)
    }

    /// Whether the change let a participant in whose devices had not heard of the call.
    fileprivate func isFirstHeard(in call: borrowing Call) -> Bool {
        guard let from, from.mayAnswer, !wasVisible else { return false }
        let state = call.participants[index].state
        return state == .joined || state == .accepting
    }

    /// What the user's other devices are told.
    fileprivate func elsewhere(in call: borrowing Call) -> CallEvent.Elsewhere? {
        guard let from else { return nil }
        switch call.participants[index].state {
        case .joined, .accepting: return from.mayAnswer && wasVisible ? .answered : nil
        case .rejected: return wasVisible ? .rejected : nil
        case .left: return call.participants[index].reason == .itself ? .left : nil
        case .inviting, .undelivered, .ringing, .cancelled, .timedOut, .failed: return nil
        }
    }
}
