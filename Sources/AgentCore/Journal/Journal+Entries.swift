// What is entered into journals, each entry packed as `JournalText` reads it.

import CallModel

extension Journal {
    /// A user asked for something in a call that is there, or makes one.
    ///
    /// - Parameter code: why it was refused; nil: it was not.
    public func asks(
        _ request: Request, _ code: Refusal.Code?, in id: CallID, at now: Moment
    ) {
        // Only a request that makes a call has its beginning.
        var isNew = true
        if case .call = request.operation { isNew = false }
        let journal = journal(id, isWhole: isNew)
        journal.pen.begin(.request)
        journal.pen.put(request.operation.name.rawValue)
        journal.pen.put(request.user.text)
        journal.pen.put(request.device.text)
        journal.pen.put(optional: code?.rawValue)
        journal.pen.put(request.trace)
        endEntry(of: journal, at: now)
    }

    /// A call is as it is now because of what `actor` did.
    public func changed(
        _ call: borrowing Call, by actor: (name: String, device: String?), at now: Moment
    ) {
        let journal = journal(call.id, isWhole: call.revision <= 1)
        journal.pen.begin(.change)
        journal.pen.put(number: UInt64(call.revision))
        journal.pen.put(actor.name)
        journal.pen.put(optional: actor.device)
        journal.pen.put(call.state.place)
        let end = call.end
        journal.pen.put(optional: end?.reason.rawValue)
        if let end {
            journal.pen.put(optional: end.detail?.rawValue)
            journal.pen.put(optional: end.by?.text)
        }
        putChanges(of: call, journal)
        endEntry(of: journal, at: now)
        if call.media.place != journal.media {
            journal.media = call.media.place
            journal.pen.begin(.media)
            journal.pen.put(call.media.place)
            endEntry(of: journal, at: now)
        }
        if !call.isLive { ends(journal) }
    }

    /// The participants whose state is another one than at the last change. A call of an earlier
    /// version may have more than one entry has room for: those beyond are left out.
    private func putChanges(of call: borrowing Call, _ journal: CallJournal) {
        // With its end the states are forgotten.
        let isKept = call.isLive || journal.hasEnded
        call.participants.withUnsafeBufferPointer { people in
            var count: UInt64 = 0
            for place in people.indices where isNews(place, people, journal) { count += 1 }
            count = min(count, UInt64(Settings.participantsMax))
            journal.pen.put(number: count)
            for place in people.indices where count > 0 && isNews(place, people, journal) {
                count -= 1
                journal.pen.put(people[place].user.text)
                journal.pen.put(people[place].state.place)
                journal.pen.put(Self.place(of: people[place].reason))
            }
            guard isKept else { return }
            journal.states = people.indices.flatMap {
                [people[$0].state.place, Self.place(of: people[$0].reason)]
            }
        }
    }

    private func isNews(
        _ place: Int, _ people: UnsafeBufferPointer<Participant>, _ journal: CallJournal
    ) -> Bool {
        2 * place + 1 >= journal.states.count
            || journal.states[2 * place] != people[place].state.place
            || journal.states[2 * place + 1] != Self.place(of: people[place].reason)
    }

    private static func place(of reason: Participant.Reason?) -> UInt8 {
        reason.map { $0.place + 1 } ?? 0
    }

    /// A question about a call goes to the policies.
    public func asked(_ question: borrowing Question, at now: Moment) {
        let subject = question.subject
        let call = subject.call
        let journal = journal(call.id, isWhole: call.revision <= 1)
        journal.pen.begin(.asked)
        switch subject {
        case .invite(_, let callee, _):
            journal.pen.put(word: "invite")
            journal.pen.put(callee.text)
        case .dial(_, let user, _):
            journal.pen.put(word: "dial")
            journal.pen.put(user.text)
        case .incomingData(_, let user, _):
            journal.pen.put(word: "extended_data")
            journal.pen.put(user.text)
        case .outgoingData:
            journal.pen.put(word: "extended_data")
            journal.pen.put(word: "")
        case .join(_, let user):
            journal.pen.put(word: "join")
            journal.pen.put(user.text)
        case .token(_, let user):
            journal.pen.put(word: "token")
            journal.pen.put(user.text)
        }
        journal.pen.put(question.trace)
        endEntry(of: journal, at: now)
    }

    /// A plugin answered, or did not.
    public func answered(_ answer: borrowing JournalAnswer, in id: CallID, at now: Moment) {
        guard let journal = known(id) else { return }
        journal.pen.begin(.answered)
        journal.pen.put(answer.hook)
        journal.pen.put(answer.user.text)
        journal.pen.put(answer.plugin)
        journal.pen.put(answer.generation)
        journal.pen.put(answer.decision)
        journal.pen.put(optional: answer.detail)
        journal.pen.put(number: answer.processor / 1_000)
        journal.pen.put(number: UInt64(max(0, answer.wall)) * 1_000)
        journal.pen.put(optional: answer.failure)
        endEntry(of: journal, at: now)
    }

    /// A device was told of an event under the number `seq`.
    public func told(
        _ event: borrowing CallEvent, _ address: Address, _ seq: UInt64, at now: Moment
    ) {
        guard let journal = known(event.callID) else { return }
        let name = event.kind.name
        guard name != .signal else {
            journal.signals += 1
            return
        }
        if case .timer(let timer) = event.actor, journal.timerRevision != event.revision {
            journal.timerRevision = event.revision
            journal.pen.begin(.timer)
            journal.pen.put(timer.place)
            endEntry(of: journal, at: now)
        }
        journal.pen.begin(.told)
        journal.pen.put(name.place)
        journal.pen.put(address.user.text)
        journal.pen.put(address.device.text)
        journal.pen.put(number: seq)
        endEntry(of: journal, at: now)
    }

    /// A device has acknowledged that it was called.
    public func acknowledged(_ id: CallID, by address: Address, at now: Moment) {
        note(.acknowledged, address, nil, in: id, at: now)
    }

    /// A device that comes or goes is entered in so many calls of its user, those that the user
    /// came into last: whoever is in thousands must not hold up the others. What is known of the
    /// user has every connection.
    static let connectionCallsMax = 64

    /// A device of a participant is there, or gone.
    public func connection(
        of address: Address, isThere: Bool, _ why: String?, in calls: [CallID], at now: Moment
    ) {
        for id in calls {
            note(isThere ? .connected : .disconnected, address, why, in: id, at: now)
        }
        people.connection(of: address, isThere: isThere, why, at: now)
    }

    private func note(
        _ kind: JournalKind, _ address: Address, _ why: String?, in id: CallID, at now: Moment
    ) {
        guard let journal = known(id) else { return }
        journal.pen.begin(kind)
        journal.pen.put(address.user.text)
        journal.pen.put(address.device.text)
        if kind == .disconnected { journal.pen.put(optional: why) }
        endEntry(of: journal, at: now)
    }

    /// Something was sent out because of a call.
    public func sent(_ delivery: JournalDelivery, in id: CallID, at now: Moment) {
        guard let journal = known(id) else { return }
        journal.pen.begin(delivery.address == nil ? .webhook : .push)
        if let address = delivery.address {
            journal.pen.put(address.user.text)
            journal.pen.put(optional: address.device?.text)
        }
        journal.pen.put(delivery.target)
        journal.pen.put(delivery.state)
        journal.pen.put(optional: delivery.status)
        journal.pen.put(number: UInt64(max(0, delivery.took)))
        if let event = delivery.event {
            // A program that knows of no event looks for the trace in this place.
            journal.pen.put(optional: delivery.trace?.description)
            journal.pen.put(event)
        } else {
            journal.pen.put(delivery.trace)
        }
        endEntry(of: journal, at: now)
    }

    /// An invitation was refused before there was a call, or a device was sent away.
    public func noteRefused(
        _ operation: Operation, by user: UserID, _ refusal: Refusal, at now: Moment
    ) {
        guard let invitees = operation.invitees else { return }
        noteRefused(inviting: invitees, by: user, refusal, at: now)
    }

    /// The same of a request of which only that is known.
    func noteRefused(
        inviting invitees: [UserID], by user: UserID, _ refusal: Refusal, at now: Moment
    ) {
        people.refuse(invitees, by: user, refusal, at: now)
    }

    /// Nobody can call from now on; `isAnother`: somebody could since the last time.
    func noteOutage(_ why: String, isAnother: Bool, at now: Moment) {
        people.beginOutage(why, isAnother: isAnother, at: now)
    }

    /// Whoever wants to can call again.
    func noteEndOfOutage(at now: Moment) { people.endOutage(at: now) }

    /// There was no room for a device's connection.
    public func noteTurnedAway(_ address: Address, _ why: String, at now: Moment) {
        people.connection(of: address, isThere: false, why, at: now)
    }

    /// A device's token is good no more.
    public func noteRevoked(_ address: Address, at now: Moment) {
        people.connection(of: address, isThere: false, "revoked", at: now)
    }
}

extension CaseIterable where Self: RawRepresentable<String> {
    /// The place among the cases, as an entry has it.
    fileprivate var place: UInt8 { UInt8(truncatingIfNeeded: casePlace) }
}
