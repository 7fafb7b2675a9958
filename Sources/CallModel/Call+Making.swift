// How invitations and answers change a call.

extension Call {
    /// The call that `invitation` makes, without participants.
    ///
    /// - Parameter check: the delivery check, if the mode has it.
    package init(
        _ id: CallID, of invitation: borrowing Invitation, row: ModeRow, check: Milliseconds?,
        at now: Moment
    ) {
        self.init(
            id: id, mode: row, kind: invitation.kind,
            ringTime: invitation.timeout ?? row.mode.ringTime,
            deliveryCheck: row.allows(.deliveryCheck) ? check : nil, createdAt: now)
        if let text = invitation.extendedData { extendedData = text }
        if let receiver = invitation.receiver { self.receiver = receiver }
        for item in invitation.items { items.put(item) }
    }
}

extension Call {
    /// Adds the caller and the invitees to a call without participants. They are made where they
    /// stay: to move one costs more than to make it.
    package mutating func begin(
        by caller: UserID, with device: DeviceID?, _ invitation: borrowing Invitation,
        calling invitees: [UserID]
    ) {
        let (now, isVideo) = (createdAt, kind == "video")
        let deadline = ringEnd(from: now)
        participants.reserveCapacity(1 + invitees.count)
        participants.append(Participant(user: caller, role: .caller, state: .joined, at: now))
        participants[0].call(with: device, invitation, isVideo: isVideo)
        for user in invitees {
            participants.append(
                Participant(user: user, role: .invitee, state: .inviting, at: now))
            participants[participants.count - 1].wait(
                invitedBy: caller, isVideo: isVideo, until: deadline)
        }
    }

    /// When an invitation of `now` ends; nil: its time begins when it rings.
    fileprivate func ringEnd(from now: Moment) -> Moment? {
        mode.ringsFromRinging ? nil : now + ringTime
    }
}

extension Participant {
    /// An invitee of `call`.
    package init(
        _ user: UserID, invitedBy inviter: UserID, to call: borrowing Call, at now: Moment
    ) {
        self.init(user: user, role: .invitee, state: .inviting, at: now)
        wait(invitedBy: inviter, isVideo: call.kind == "video", until: call.ringEnd(from: now))
    }

    /// Calls as `invitation` says, with `device`; nil: a policy makes the call.
    fileprivate mutating func call(
        with device: DeviceID?, _ invitation: borrowing Invitation, isVideo: Bool
    ) {
        self.device = device
        answeredAt = invitedAt
        audio = invitation.audio ?? true
        video = invitation.video ?? isVideo
        isAnsweredFor = device == nil
    }

    /// Waits for an answer to the invitation of `inviter` until `deadline`.
    fileprivate mutating func wait(
        invitedBy inviter: UserID, isVideo: Bool, until deadline: Moment?
    ) {
        invitedBy = inviter
        video = isVideo
        deadlineAt = deadline
    }

    /// Joins with `device`; nil: by a policy's decision, without one.
    package mutating func join(with device: DeviceID?, at now: Moment) {
        self.device = device
        answeredAt = now
        (held, mediaConnected) = (false, false)
        isAnsweredFor = device == nil
    }

    /// Keeps what of a decision comes later: an accept that waits, or the next question. `next`:
    /// where in the chain that begins; `push`: what a push may show until then.
    package mutating func keep(
        _ decision: Decision, by plugin: String, next: Int, push: PushText?, at now: Moment
    ) {
        (asking, policyAlarm) = (.nothing, nil)
        switch decision {
        case .accept(let wait, let data) where wait > 0:
            (asking, policyAlarm) = (.waiting, now + wait)
            policyNote = PolicyNote(plugin: plugin, extendedData: data)
        case .ring(let time?):
            (asking, policyAlarm) = (.ringingFor, now + time)
            askFrom = UInt8(clamping: next)
            keep(push: push)
        case .ring(nil): policyNote = nil
        case .accept, .reject, .forward: break
        }
    }

    /// The name of what `deliveryAlarm` stands for: one field serves four timers, because a
    /// participant has only one of them at a time (C35).
    package func deliveryTimer(in mode: Mode) -> TimerName {
        if state == .accepting { return .acceptAck }
        if state == .joined { return .presence }
        return mode.acknowledgeWithin == nil ? .check : .noAck
    }

    /// Its part is answered or over: no deadline runs, and no policy is asked any more.
    package mutating func stopDeadlines() {
        deadlineAt = nil
        deliveryAlarm = nil
        policyAlarm = nil
        if asking != .nothing { policyNote = nil }
        asking = .nothing
        begunBy = 0
    }
}

extension Call {
    /// When the delivery check or acknowledgement limit of somebody told `now` is over. Not before
    /// the devices are told: the time of the policies does not count (A22).
    package func deliveryAlarm(at now: Moment) -> Moment? {
        (mode.acknowledgeWithin ?? deliveryCheck).map { now + $0 }
    }

    /// Whether `user` comes in without asking: who was invited, or is in it.
    package func isOpen(to user: UserID) -> Bool {
        participant(user).map { $0.role != .joiner || $0.state.isLive } ?? false
    }

    /// When `user` came into the call, the first time if they have left since; nil: they never did.
    package func firstCame(_ user: UserID) -> Moment? {
        returns.first { $0.user == user }?.firstAt ?? participant(user)?.invitedAt
    }

    /// The participant at `index`, whose part is over, comes anew; returns the state before.
    @discardableResult
    package mutating func comeBack(_ index: Int, at now: Moment) -> Participant.State {
        let user = participants[index].user
        if !returns.contains(where: { $0.user == user }) {
            returns.append(Return(user, firstAt: participants[index].invitedAt))
        }
        participants[index].invitedAt = now
        return participants[index].state
    }

    /// The transfer to `user` that is not answered yet.
    package func transfer(to user: UserID) -> Transfer? {
        transfers.first { $0.isPending && $0.to == user }
    }

    /// The user whose place `user` is asked to take, and the text that `user` sees.
    package func transferOffer(to user: UserID) -> CallEvent.TransferOffer? {
        guard let transfer = transfer(to: user) else { return nil }
        return CallEvent.TransferOffer(
            by: transfer.by, extendedData: extendedData(of: .transfer, for: user))
    }

    /// How many places of its mode the call takes: the target of a transfer takes none of its own
    /// (K103).
    package var placeCount: Int {
        count(\.isLive) - transfers.count(where: \.isPending)
    }

    /// Whether `user` may become a participant, with `others` who come before: whoever was in the
    /// call before takes no new place.
    package func hasRoom(for user: UserID, behind others: Int = 0) -> Bool {
        participants.count + others < Settings.participantsMax || index(of: user) != nil
    }

    /// How many are rung for to join those who are there: whoever shall take the place of one of
    /// them replaces that one, and nobody is added (K103).
    package var expectedCount: Int {
        pendingCount - transfers.count(where: \.isPending)
    }

    /// Whether the call is one of two, was handed over, and nobody is there to talk to (K105).
    package var isLeftToOne: Bool { mode.isTwoParty && joinedCount <= 1 && !transfers.isEmpty }

    /// All who have joined have to report their media again, before `deadline`.
    package mutating func connectAnew(until deadline: Moment) {
        for index in participants.indices where participants[index].mediaConnected {
            participants[index].mediaConnected = false
        }
        media = .establishing
        mediaAlarm = deadline
    }

    /// The transfer to `old` goes to `user` instead, because `old` has forwarded it.
    package mutating func hand(transferTo old: UserID, on user: UserID) {
        for index in transfers.indices
        where transfers[index].isPending && transfers[index].to == old {
            transfers[index].to = user
        }
    }

    /// The transfer at `index` is answered, or is none any more.
    package mutating func close(transfer index: Int) {
        let to = transfers[index].to
        transfers[index].isPending = false
        views.removeAll { $0.owner == .transfer && $0.receiver == to }
    }

    /// The cause of questions and decisions about the invitation at `index` (G71).
    package func cause(of index: Int) -> Cause {
        let place = Int(participants[index].begunBy)
        return Cause(place < participants.count ? participants[place].user : caller, caller: caller)
    }

    /// A device of the participant at `index` confirmed, or a policy will accept in their place
    /// (A4, A22).
    package mutating func markDelivered(_ index: Int, at now: Moment) {
        participants[index].state = .ringing
        participants[index].deliveryAlarm = nil
        guard mode.ringsFromRinging else { return }
        participants[index].deadlineAt = now + (turn(of: index) ?? ringTime)
    }
}

extension [Call.Item] {
    /// Sets an item, keeping the place of a key that is there.
    package mutating func put(_ item: Call.Item) {
        if let index = firstIndex(where: { $0.key == item.key }) {
            self[index] = item
        } else {
            append(item)
        }
    }
}

extension CallEvent.Change {
    /// The change with the text that `viewer` sees.
    package func seen(by viewer: UserID, in call: Call) -> CallEvent.Change {
        let text = call.extendedData(of: .participant(user), for: viewer)
        return CallEvent.Change(user, state, reason: reason, extendedData: text)
    }
}

/// How a call ends by itself.
extension Call {
    /// Why a call ends that nobody is pending in any more: the first rule that fits.
    package var outcome: End {
        if answeredAt != nil { return End(.settled, detail: .answered) }
        var (others, late, refused, busy, failed, last) = (0, 0, 0, 0, 0, 0)
        for index in participants.indices
        where participants[index].role != .caller
            && participants[index].reason != .forwarded
            && transfer(to: participants[index].user) == nil
        {
            (others, last) = (others + 1, index)
            let state = participants[index].state
            if state == .timedOut { late += 1 }
            if state == .failed { failed += 1 }
            if state == .rejected { refused += 1 }
            if state == .rejected, participants[index].reason == .busy { busy += 1 }
        }
        if late == others { return End(.noAnswer) }
        if refused == others {
            let by = others == 1 ? participants[last].user : nil
            return End(busy == others ? .busy : .rejected, by: by)
        }
        if failed == others { return Self.failure(participants[last].reason) }
        return End(.settled, detail: .mixed)
    }

    private static func failure(_ reason: Participant.Reason?) -> End {
        switch reason {
        case .offline: End(.peerOffline)
        case .noAck: End(.peerNoAck)
        case .expired: End(.expired)
        case .callerOffline: End(.acceptFailed, detail: .callerOffline)
        case .acceptUnacked: End(.acceptFailed, detail: .noAck)
        case .dialFailed, .acceptFailed, .declined, .busy, .byInviter, .whole, .callerLost,
            .forwarded, .taken, .itself, .lost, .kicked, .idle, .transferred, nil:
            End(.acceptFailed)
        }
    }
}
