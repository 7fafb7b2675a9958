// One atomic change of one call: collected first, then stored and told in one order.

import CallModel

/// A change of one call under way. Operations and deadlines move participants and note what
/// has to be told; `Switchboard.finish` applies the ending rules, stores and tells.
struct Commit {
    /// A participant that changed its state.
    struct Change {
        let index: Int
        /// Nil: was not in the call.
        let from: Participant.State?
        /// Whether its devices knew of the invitation before.
        let wasVisible: Bool
    }

    /// An event for some devices beyond those that follow from the changes.
    struct Notice {
        enum Receivers {
            /// The primary devices of joined participants but this user.
            case joinedPrimaries(except: UserID?)
            /// All devices of pending and joined participants.
            case everybody
            /// One user's devices but one.
            case devices(UserID, except: DeviceID?)
            /// One device.
            case device(Address)
        }

        let receivers: Receivers
        let kind: CallEvent.Kind
    }

    /// What the issuer is told.
    enum ReplyShape {
        case none, done, call
        case callWithErrors([InviteeError])
        case invited([InviteeError])
        case items(keys: [String])
    }

    var call: Call
    /// Nil: a new call.
    let slot: CallSlot?
    let actor: Actor
    /// Nil: a deadline or a rule.
    var asker: Asker?
    var reply = ReplyShape.none
    var changes: [Change] = []
    var notices: [Notice] = []
    /// Who is told of the end although it is out of the call (A1).
    var cause: UserID?
    /// What cancelled invitees are told.
    var cancelText: String?
    var push: PushText?
    /// Records beside the call.
    var records: [Record] = []
    /// Whether the call object stays as it was, so that its revision does too.
    var isInternal = false

    /// A change of `call` by `asker`.
    init(_ call: Call, slot: CallSlot?, asker: Asker, reply: ReplyShape) {
        self.call = call
        self.slot = slot
        self.asker = asker
        self.reply = reply
        actor = asker.actor
        if !call.views.isEmpty { self.call.views.removeAll { $0.owner == .end } }
        self.call.show(asker.shaping.views)
    }

    /// A change of `call` by a deadline or a rule.
    init(_ call: Call, slot: CallSlot, actor: Actor) {
        self.call = call
        self.slot = slot
        self.actor = actor
    }

    /// Moves the participant at `index` to `state`. An answer or an end of its part stops its
    /// deadlines.
    mutating func move(
        _ index: Int, to state: Participant.State, _ reason: Participant.Reason? = nil
    ) {
        let before = call.participants[index]
        if !changes.contains(where: { $0.index == index }) {
            changes.append(Change(index: index, from: before.state, wasVisible: before.isVisible))
        }
        call.participants[index].state = state
        call.participants[index].reason = reason
        if !state.mayAnswer { stopDeadlines(index) }
    }

    /// Adds a participant.
    mutating func add(_ participant: Participant) {
        changes.append(
            Change(index: call.participants.count, from: nil, wasVisible: false))
        call.participants.append(participant)
    }

    /// The participant at `index` has said `text`: views of what it said before are over.
    mutating func say(_ text: String?, _ index: Int) {
        call.participants[index].extendedData = text
        let owner = TextOwner.participant(call.participants[index].user)
        if !call.views.isEmpty { call.views.removeAll { $0.owner == owner } }
        call.show(asker?.shaping.views ?? [])
    }

    /// Ends the call, unless it has ended before.
    mutating func end(_ end: Call.End) {
        guard call.isLive else { return }
        call.state = .ended
        call.end = end
    }

    mutating func notify(_ receivers: Notice.Receivers, _ kind: CallEvent.Kind) {
        notices.append(Notice(receivers: receivers, kind: kind))
    }

    private mutating func stopDeadlines(_ index: Int) {
        call.participants[index].deadlineAt = nil
        call.participants[index].deliveryAlarm = nil
        call.participants[index].policyAlarm = nil
        call.participants[index].asking = .nothing
        call.participants[index].waitingAccept = nil
    }
}

extension Switchboard {
    /// Applies the ending rules, then stores and tells: reply, invitations, elsewhere, changed,
    /// own events, other notices, ended.
    mutating func finish(_ commit: consuming Commit) {
        var commit = commit
        if !commit.changes.isEmpty { settle(&commit) }
        if commit.call.state == .ended { conclude(&commit) }
        if !commit.isInternal { commit.call.revision += 1 }
        noteConnected(&commit)
        updateIdle(&commit.call)
        release(commit)
        let slot = store(&commit)
        let records = [Record.call(commit.call)] + commit.records + pushJobs(of: commit)
        if let asker = commit.asker {
            answer(asker, reply(of: commit, to: asker), storing: records)
        } else {
            effects.append(.persist(records))
        }
        tellInvitations(commit)
        tellElsewhere(commit)
        tellChanged(commit)
        tellOwn(commit)
        tellNotices(commit)
        tellEnded(commit)
        report(commit)
        if let slot { rearm(slot) }
    }

    /// Puts the call into its table, or out of it when it ended; keeps the users' lists of calls.
    private mutating func store(_ commit: inout Commit) -> CallSlot? {
        let slot = commit.slot ?? calls.insert(commit.call)
        for change in commit.changes {
            let participant = commit.call.participants[change.index]
            let wasLive = change.from?.isLive ?? false
            if participant.state.isLive, !wasLive {
                join(participant.user, slot)
            } else if wasLive, !participant.state.isLive {
                part(participant.user, slot)
            }
        }
        guard commit.call.state == .ended else {
            calls[slot] = commit.call
            return slot
        }
        for participant in commit.call.participants where participant.state.isLive {
            part(participant.user, slot)
        }
        if let timer = calls.timer(slot) { wheel.cancel(timer.handle) }
        calls.setTimer(slot, nil)
        calls.remove(slot)
        ended.keep(
            commit.call, until: now + settings.endedCallsFor, limit: settings.endedCallsMax)
        return nil
    }

    /// Stamps the end and stops what still runs.
    private mutating func conclude(_ commit: inout Commit) {
        commit.call.endedAt = now
        commit.call.mediaAlarm = nil
        commit.call.idleAlarm = nil
        for index in commit.call.participants.indices {
            let participant = commit.call.participants[index]
            guard participant.state.isPending else { continue }
            if !participant.isVisible, !commit.changes.contains(where: { $0.index == index }) {
                // Its devices never heard of the call, and so hear nothing of its end (F57).
                commit.changes.append(
                    .init(index: index, from: participant.state, wasVisible: false))
            }
            commit.call.participants[index].deadlineAt = nil
            commit.call.participants[index].deliveryAlarm = nil
            commit.call.participants[index].policyAlarm = nil
            commit.call.participants[index].waitingAccept = nil
            commit.call.participants[index].asking = .nothing
        }
    }

    /// Forgets what waited for participants that wait no longer.
    private mutating func release(_ commit: borrowing Commit) {
        guard !openQuestions.isEmpty || !heldSignals.isEmpty else { return }
        for participant in commit.call.participants
        where !commit.call.isLive || !participant.state.mayAnswer {
            let seat = Seat(user: participant.user, call: commit.call.id)
            withdrawQuestion(seat)
            heldSignals[seat] = nil
        }
    }

    private func noteConnected(_ commit: inout Commit) {
        for change in commit.changes {
            let participant = commit.call.participants[change.index]
            guard participant.state.isLive, !participant.wasConnected,
                (users[participant.user]?.connectedCount ?? 0) > 0
            else { continue }
            commit.call.participants[change.index].wasConnected = true
        }
    }

    private func reply(of commit: borrowing Commit, to asker: Asker) -> Reply {
        switch commit.reply {
        case .none, .done: .done
        case .call: .call(commit.call, viewer: asker.user)
        case .callWithErrors(let errors):
            .callWithErrors(commit.call, viewer: asker.user, errors: errors)
        case .invited(let errors): .invited(commit.call, viewer: asker.user, errors: errors)
        case .items(let keys): .items(commit.call.items, keys: keys)
        }
    }

    // MARK: Telling

    func event(_ commit: borrowing Commit, _ kind: CallEvent.Kind) -> CallEvent {
        CallEvent(
            callID: commit.call.id, revision: commit.call.revision, at: now, actor: commit.actor,
            kind: kind)
    }

    /// Every device of `user`, connected or resumable.
    func addresses(of user: UserID, except device: DeviceID? = nil) -> [Address] {
        guard let state = users[user] else { return [] }
        var addresses: [Address] = []
        for known in state.devices where known.id != device {
            addresses.append(Address(user, known.id))
        }
        return addresses
    }

    /// The device, if it is connected or resumable.
    func address(of user: UserID, _ device: DeviceID?) -> [Address] {
        guard let device, let state = users[user],
            state.devices.contains(where: { $0.id == device })
        else { return [] }
        return [Address(user, device)]
    }

    mutating func send(to receivers: [Address], _ event: CallEvent) {
        if !receivers.isEmpty { effects.append(.send(to: receivers, event)) }
    }

    private mutating func tellInvitations(_ commit: borrowing Commit) {
        if commit.slot == nil {
            send(
                to: addresses(of: commit.call.caller),
                event(commit, .created(commit.call)))
        }
        for change in commit.changes {
            let participant = commit.call.participants[change.index]
            guard change.isNewlyInvited(participant), participant.isVisible,
                commit.call.isLive
            else { continue }
            send(
                to: addresses(of: participant.user),
                event(commit, incoming(commit.call, participant)))
        }
    }

    /// The `call.incoming` of a pending participant, as of now.
    func incoming(_ call: Call, _ participant: Participant) -> CallEvent.Kind {
        .incoming(
            call, inviter: participant.invitedBy ?? call.caller,
            expiresIn: participant.deadlineAt.map { max(0, $0 - now) })
    }

    /// A user's other devices learn what one of them, or a policy, did.
    private mutating func tellElsewhere(_ commit: borrowing Commit) {
        for change in commit.changes {
            let participant = commit.call.participants[change.index]
            guard let what = change.elsewhere(participant) else { continue }
            let isAskers = commit.asker?.user == participant.user
            let device = isAskers ? commit.asker?.device : nil
            send(
                to: addresses(of: participant.user, except: device),
                event(commit, .elsewhere(what, device)))
        }
    }

    private mutating func tellChanged(_ commit: borrowing Commit) {
        guard commit.slot != nil, !commit.changes.isEmpty else { return }
        let changes = commit.changes.compactMap { change -> CallEvent.Change? in
            let participant = commit.call.participants[change.index]
            guard change.from != participant.state || change.isRenewed else { return nil }
            return CallEvent.Change(
                participant.user, participant.state, reason: participant.reason,
                extendedData: participant.extendedData)
        }
        guard !changes.isEmpty else { return }
        if commit.call.views.isEmpty {
            var receivers: [Address] = []
            for index in commit.call.participants.indices {
                receivers += changedReceivers(commit, index)
            }
            send(to: receivers, event(commit, .changed(changes)))
        } else {
            for index in commit.call.participants.indices {
                let viewer = commit.call.participants[index].user
                send(
                    to: changedReceivers(commit, index),
                    event(commit, .changed(changes.map { $0.seen(by: viewer, in: commit.call) })))
            }
        }
    }

    /// The devices of one participant that are told of the commit's changes (A5, A6, D48).
    private func changedReceivers(_ commit: borrowing Commit, _ index: Int) -> [Address] {
        let participant = commit.call.participants[index]
        let change = commit.changes.first { $0.index == index }
        switch participant.state {
        case .inviting, .undelivered, .ringing, .accepting:
            if let change, change.isNewlyInvited(participant) || !change.wasVisible { return [] }
            return participant.isVisible ? addresses(of: participant.user) : []
        case .joined: return addresses(of: participant.user)
        case .left where change != nil && participant.reason == .idle:
            return addresses(of: participant.user)
        case .rejected, .left:
            guard change != nil, commit.asker?.user == participant.user else { return [] }
            return address(of: participant.user, commit.asker?.device)
        case .cancelled, .timedOut, .failed: return []
        }
    }

    /// Who was cancelled, timed out or failed has its own event.
    private mutating func tellOwn(_ commit: borrowing Commit) {
        for change in commit.changes where change.wasVisible {
            let participant = commit.call.participants[change.index]
            let wasPending = change.from?.isPending ?? false
            let kind: CallEvent.Kind
            switch participant.state {
            case .timedOut: kind = .timedOut
            case .cancelled where wasPending:
                kind = .cancelled(
                    inviter: participant.invitedBy,
                    extendedData: seenCancelText(commit, by: participant.user),
                    reason: participant.reason ?? .byInviter)
            case .failed: kind = .failed(participant.reason ?? .acceptFailed)
            case .cancelled, .inviting, .undelivered, .ringing, .accepting, .joined, .rejected,
                .left:
                continue
            }
            send(to: addresses(of: participant.user), event(commit, kind))
        }
    }

    private func seenCancelText(_ commit: borrowing Commit, by viewer: UserID) -> String? {
        let view = commit.call.views.first { $0.receiver == viewer && $0.owner == .end }
        return view.map(\.text) ?? commit.cancelText
    }

    private mutating func tellNotices(_ commit: borrowing Commit) {
        for notice in commit.notices {
            send(to: receivers(of: notice, in: commit.call), event(commit, notice.kind))
        }
    }

    func receivers(of notice: Commit.Notice, in call: Call) -> [Address] {
        switch notice.receivers {
        case .joinedPrimaries(let except): return primaries(of: call, except: except)
        case .everybody:
            var receivers: [Address] = []
            for participant in call.participants
            where participant.state.isLive && participant.isVisible {
                receivers += addresses(of: participant.user)
            }
            return receivers
        case .devices(let user, let except): return addresses(of: user, except: except)
        case .device(let address): return self.address(of: address.user, address.device)
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

    /// The last event of a call (A1).
    private mutating func tellEnded(_ commit: borrowing Commit) {
        guard let end = commit.call.end, let endedAt = commit.call.endedAt else { return }
        func kind(for viewer: UserID) -> CallEvent.Kind {
            let text = commit.call.extendedData(of: .end, for: viewer)
            let seen = Call.End(end.reason, detail: end.detail, by: end.by, extendedData: text)
            return .ended(seen, at: endedAt, duration: commit.call.duration)
        }
        var receivers: [Address] = []
        for (index, participant) in commit.call.participants.enumerated() {
            let isCause = commit.cause == participant.user
            let change = commit.changes.first { $0.index == index }
            let knows = change.map { $0.wasVisible || $0.from == nil } ?? true
            guard isCause || (participant.state.isLive && knows) else { continue }
            if commit.call.views.isEmpty {
                receivers += addresses(of: participant.user)
            } else {
                send(
                    to: addresses(of: participant.user),
                    event(commit, kind(for: participant.user)))
            }
        }
        send(to: receivers, event(commit, kind(for: commit.call.caller)))
    }
}

extension Commit.Change {
    /// Whether the change made the participant an invited one.
    func isNewlyInvited(_ participant: Participant) -> Bool {
        participant.state.isPending && !(from?.isLive ?? false)
    }

    /// Whether the participant was invited anew.
    var isRenewed: Bool { from == nil }

    /// What the user's other devices are told.
    func elsewhere(_ participant: Participant) -> CallEvent.Elsewhere? {
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
    func seen(by viewer: UserID, in call: Call) -> CallEvent.Change {
        let text = call.extendedData(of: .participant(user), for: viewer)
        return CallEvent.Change(user, state, reason: reason, extendedData: text)
    }
}
