// One atomic change of one call: collected first, then stored and told in one order.

import Collections
import CallModel

/// A change of one call under way. Operations and deadlines move participants and note what
/// has to be told; `Switchboard.finish` applies the ending rules, stores and tells. It cannot be
/// copied: a copy would cost more than the change itself.
struct Commit: ~Copyable {
    /// A participant whose state has changed.
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
            /// One device.
            case device(Address)
            /// All devices of a user.
            case devices(of: UserID)
        }

        let receivers: Receivers
        let kind: CallEvent.Kind
    }

    /// What the asker gets as its reply.
    enum ReplyShape {
        case done, call
        case callWithErrors([InviteeError])
        case invited([InviteeError])
        case items(keys: [String])
    }

    var call: Call
    let slot: CallSlot
    let actor: Actor
    /// Nil: a deadline or a rule.
    let asker: Asker?
    let reply: ReplyShape
    /// Whether the commit makes the call.
    let isFirst: Bool
    var changes: [Change] = []
    var notices: [Notice] = []
    /// What was decided about invitees of the first commit (H89).
    var rulings: [HeldInvitation.Ruling] = []
    /// Who cancels the whole call or leaves it: is told of the end nevertheless (A1).
    var leaver: UserID?
    /// What cancelled invitees are told.
    var cancelText: String?
    var push: PushText?
    /// Whether the push is for those who are in the call too, if they have no device (protocol 5).
    var isFarewell = false
    /// Whether somebody is called in the place of another one, about whom policies may be asked.
    var goesOn = false
    /// Whether the call object stays as it was, so that its revision does too.
    var isInternal = false

    /// A change of `call` by `asker`.
    init(_ call: Call, _ slot: CallSlot, by asker: Asker, _ reply: ReplyShape, isFirst: Bool) {
        (self.call, self.slot, self.reply, self.isFirst) = (call, slot, reply, isFirst)
        (self.asker, actor) = (asker, asker.actor)
        // Views of an end belong to an earlier text of it.
        if !call.views.isEmpty { self.call.views.removeAll { $0.owner == .end } }
        self.call.show(asker.shaping.views)
    }

    /// A change of `call` by a deadline or a rule.
    init(_ call: Call, _ slot: CallSlot, by actor: Actor) {
        (self.call, self.slot, self.actor) = (call, slot, actor)
        (asker, reply, isFirst) = (nil, .done, false)
    }

    /// The cause of what follows from it (G71).
    var cause: Cause { asker?.cause(in: call) ?? Cause(call.caller) }

    /// The plugin that decided about the invitee at `index`; nil: it is left to their devices.
    func decider(of index: Int) -> String? {
        let place = rulings.firstIndex { $0.index == index && !$0.decision.isRing }
        return place.map { rulings[$0].plugin }
    }

    /// Who changed the participant at `index`.
    func actor(of index: Int) -> Actor { decider(of: index).map { .policy($0) } ?? actor }

    /// The actor of the events that come after the invitations: the last plugin that decided.
    var lastActor: Actor {
        rulings.last { !$0.decision.isRing }.map { .policy($0.plugin) } ?? actor
    }

    /// Whether the change is an invitee's accept.
    func hasAccepted(_ change: Change) -> Bool {
        let participant = call.participants[change.index]
        return participant.role == .invitee && participant.state == .joined
            && change.from?.isPending != false
    }

    /// The first one of those who accepted in this commit and whom `counts` counts has the call;
    /// the others of them, and whoever is still called, are cancelled. False: nobody accepted.
    mutating func settleRace(among counts: (Int, borrowing Call) -> Bool) -> Bool {
        let ruled = rulings.compactMap { change(of: $0.index) }
        let accepted = (ruled + changes).filter { hasAccepted($0) && counts($0.index, call) }
        guard let winner = accepted.first?.index else { return false }
        for index in call.participants.indices where index != winner && counts(index, call) {
            let isRival = accepted.contains { $0.index == index }
            if isRival || call.participants[index].state.isPending {
                move(index, to: .cancelled, .taken)
            }
        }
        return true
    }

    /// How the participant at `index` changed.
    func change(of index: Int) -> Change? {
        for change in changes where change.index == index { return change }
        return nil
    }

    /// Moves the participant at `index` to `state`. An answer, or the end of their part, stops
    /// their deadlines: no deadline may fire for what is settled (R2).
    mutating func move(
        _ index: Int, to state: Participant.State, _ reason: Participant.Reason? = nil
    ) {
        if change(of: index) == nil {
            let from = call.participants[index].state
            let wasVisible = call.participants[index].asking.isVisible
            changes.append(Change(index: index, from: from, wasVisible: wasVisible))
        }
        call.participants[index].state = state
        call.participants[index].reason = reason
        if !state.mayAnswer { call.participants[index].stopDeadlines() }
    }

    /// Adds a participant.
    mutating func add(_ participant: consuming Participant) {
        changes.append(Change(index: call.participants.count, from: nil, wasVisible: false))
        call.participants.append(participant)
    }

    /// Sets the text of the participant at `index`. Views of the earlier text are dropped: they
    /// would show the wrong one.
    mutating func say(_ text: String?, _ index: Int) {
        call.participants[index].extendedData = text
        guard !call.views.isEmpty else { return }
        let owner = TextOwner.participant(call.participants[index].user)
        call.views.removeAll { $0.owner == owner }
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

    /// Stamps the end and stops what still runs.
    mutating func conclude(at now: Moment) {
        call.endedAt = now
        call.mediaAlarm = nil
        call.idleAlarm = nil
        if !call.transfers.isEmpty { call.transfers = [] }
        if !call.removed.isEmpty { call.removed = [] }
        if !call.forks.isEmpty { call.forks = [] }
        for index in call.participants.indices
        where call.participants[index].deliveryAlarm != nil {
            call.participants[index].deliveryAlarm = nil
        }
        for index in call.participants.indices where call.participants[index].state.isPending {
            if !call.participants[index].asking.isVisible, change(of: index) == nil {
                // Its devices never heard of the call, and so hear nothing of its end (F57).
                let state = call.participants[index].state
                changes.append(Change(index: index, from: state, wasVisible: false))
            }
            call.participants[index].stopDeadlines()
        }
    }
}

extension Switchboard {
    /// A change of the call at `slot` by `asker`. The call is out of its table until `finish`.
    mutating func change(_ slot: CallSlot, by asker: Asker, _ reply: Commit.ReplyShape) -> Commit {
        assert(!isTrial, "a trial of \(asker.operation.name) changes a call")
        return Commit(take(slot), slot, by: asker, reply, isFirst: false)
    }

    /// A change of the call at `slot` by a deadline or a rule.
    mutating func change(_ slot: CallSlot, by actor: Actor) -> Commit {
        Commit(take(slot), slot, by: actor)
    }

    private mutating func take(_ slot: CallSlot) -> Call {
        var call = CallTable.vacant
        swap(&call, &calls[slot])
        return call
    }

    /// Applies the ending rules, then stores and tells: reply, invitations, elsewhere, changed,
    /// own events, other notices, ended.
    mutating func finish(_ commit: inout Commit) {
        if !commit.changes.isEmpty { settle(&commit) }
        if !commit.call.isLive { commit.conclude(at: now) }
        if !commit.isInternal { commit.call.revision += 1 }
        let absent = noteConnected(&commit)
        updateIdle(&commit.call)
        release(commit)
        keepUsersCalls(commit)
        var records = [Record.call(commit.call)]
        addPushJobs(of: commit, to: &records)
        // The reply is the first effect behind the store's (A2).
        if let asker = commit.asker {
            answer(asker, reply(of: commit, to: asker), storing: records)
        } else {
            effects.append(.persist(records))
        }
        tell(commit)
        swap(&commit.call, &calls[commit.slot])
        guard calls[commit.slot].isLive else { return retire(commit.slot) }
        rearm(commit.slot)
        if let absent {
            let isAsker = commit.asker?.user == calls[commit.slot].participants[absent].user
            joinedAfterLoss(commit.slot, absent, heardAt: isAsker ? commit.asker?.heardAt : nil)
        }
        if commit.goesOn { consult(calls[commit.slot].id) }
    }

    /// Keeps an ended call for a while, without a deadline: late requests are answered from memory.
    mutating func retire(_ slot: CallSlot) {
        wheel.cancel(calls[timerOf: slot])
        calls[timerOf: slot] = .none
        calls.retire(slot, until: now + settings.endedCallsFor, limit: settings.endedCallsMax)
    }

    /// Brings the users' lists of live calls up to date.
    private mutating func keepUsersCalls(_ commit: borrowing Commit) {
        // A call that ended in its first commit was in no list.
        if commit.isFirst, !commit.call.isLive { return }
        if commit.isFirst { countMade(by: commit.call.caller, 1) }
        for change in commit.changes {
            let isLive = commit.call.participants[change.index].state.isLive
            let wasLive = change.from?.isLive ?? false
            if isLive, !wasLive {
                join(commit.call.participants[change.index].user, commit.slot)
            } else if wasLive, !isLive {
                part(commit.call.participants[change.index].user, commit.slot)
            }
        }
        guard !commit.call.isLive else { return }
        countMade(by: commit.call.caller, -1)
        for index in commit.call.participants.indices
        where commit.call.participants[index].state.isLive {
            part(commit.call.participants[index].user, commit.slot)
        }
    }

    /// Drops the questions about and the signals for participants who can no longer answer.
    private mutating func release(_ commit: borrowing Commit) {
        guard !commit.isFirst, !questions.isEmpty || !heldSignals.isEmpty else { return }
        for index in commit.call.participants.indices
        where !commit.call.isLive || !commit.call.participants[index].state.mayAnswer {
            let user = commit.call.participants[index].user
            let key = ParticipantKey(user: user, call: commit.call.id)
            if !questions.isEmpty { withdrawQuestion(key) }
            if !heldSignals.isEmpty { _ = heldSignals.take(key) }
        }
    }

    /// Notes who of those that changed was heard in the call: only they can be lost to it (A20).
    /// Returns the participant that has joined and is lost already. There is at most one, because
    /// who joins by a decision cannot be lost (A22).
    private mutating func noteConnected(_ commit: inout Commit) -> Int? {
        guard commit.call.isLive else { return nil }
        var absent: Int?
        for place in commit.changes.indices {
            let index = commit.changes[place].index
            guard commit.call.participants[index].state.isLive else { continue }
            if !commit.call.participants[index].wasConnected {
                let user = commit.call.participants[index].user
                commit.call.participants[index].wasConnected =
                    isConnected(user)
                    || (commit.asker?.isHeard == true && commit.asker?.user == user)
            }
            if commit.call.participants[index].state == .joined,
                commit.changes[place].from != .joined, isLost(commit.call.participants[index])
            {
                absent = index
            }
        }
        return absent
    }

    private mutating func reply(of commit: borrowing Commit, to asker: Asker) -> Reply {
        switch commit.reply {
        case .done: .done
        case .call: .call(commit.call, viewer: asker.user)
        case .callWithErrors(let errors):
            .callWithErrors(commit.call, viewer: asker.user, errors: errors)
        case .invited(let errors): .invited(commit.call, viewer: asker.user, errors: errors)
        case .items(let keys): .items(commit.call.items, keys: keys)
        }
    }
}
