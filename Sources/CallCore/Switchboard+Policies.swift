// Asking the policies about invitations, and carrying out what they decide.

import Bookkeeping
import CallModel

extension Switchboard {
    // MARK: Asking

    /// When a question about an invitation must be answered.
    func decideBy(_ deadline: Moment?, in call: Call) -> Moment {
        let remaining = deadline.map { max(0, $0 - now) } ?? call.ringTime
        return now + min(settings.decideWithin, remaining / 4)
    }

    /// Decides about invitees who wait for it: the host rejects busy ones where the mode has it,
    /// the policies are asked about the accounts they answer for.
    mutating func consult(_ id: CallID, push: PushText? = nil) {
        guard let slot = calls.find(id) else { return }
        for index in calls[slot].participants.indices {
            // What was decided about one may be the end of the call, or of another's part in it.
            guard let slot = calls.find(id), calls[slot].isLive,
                calls[slot].participants[index].asking.isInQuestion
            else { continue }
            let user = calls[slot].participants[index].user
            let invitee = ParticipantKey(user: user, call: id)
            guard !questions.contains(invitee) else { continue }
            let isNew = calls[slot].participants[index].asking == .deciding
            if isNew, settings.mode(calls[slot].mode).has(.rejectsBusy),
                users.callCount(of: user) > 1
            {
                let text = calls[slot].busyText
                decide(invitee, by: "busy", .reject(busy: true), saying: text)
            } else if settings.answerFor.contains(user) {
                ask(slot, index, push: push)
            } else {
                ringOn(slot, index, push: push)
            }
        }
    }

    private mutating func ask(_ slot: CallSlot, _ index: Int, push: PushText?) {
        let call = calls[slot]
        let invitee = ParticipantKey(user: call.participants[index].user, call: call.id)
        let from = Int(call.participants[index].askFrom)
        let question = Question(
            id: newQuestionID(), decideBy: decideBy(call.participants[index].deadlineAt, in: call),
            subject: .invite(call, callee: invitee.user, from: from),
            facts: facts(of: call))
        questions.open(question.id, InviteQuestion(invitee: invitee, push: push))
        effects.append(.consult(question))
    }

    /// Asks the open questions of a restored call again, with fresh time.
    mutating func reask(_ id: CallID) {
        guard let slot = calls.find(id), calls[slot].participants.contains(where: \.isInQuestion)
        else { return }
        for index in calls[slot].participants.indices
        where calls[slot].participants[index].asking.isInQuestion {
            startDeciding(slot, index)
        }
        effects.append(.persist([.call(calls[slot])]))
        consult(id)
        if calls[slot].isLive { rearm(slot) }
    }

    private mutating func startDeciding(_ slot: CallSlot, _ index: Int) {
        calls[slot].participants[index].policyAlarm =
            decideBy(calls[slot].participants[index].deadlineAt, in: calls[slot])
            + settings.decideGrace
    }

    /// What is known of the users that a question concerns.
    func facts(for subject: Question.Subject) -> [UserFacts] {
        switch subject {
        case .invite(let call, _, _), .outgoingData(let call, _): facts(of: call)
        case .dial(let call, let user, _), .incomingData(let call, let user, _),
            .token(let call, let user):
            facts(of: call, and: user)
        }
    }

    /// What is known of a call's participants, and of one user more.
    public func facts(of call: Call, and other: UserID? = nil) -> [UserFacts] {
        let slot = calls.find(call.id)
        var known = call.participants.indices.map {
            facts(of: call.participants[$0].user, but: slot)
        }
        if let other, call.index(of: other) == nil { known.append(facts(of: other, but: slot)) }
        return known
    }

    /// What is known of a user; `call` does not count among its calls.
    public func facts(of user: UserID, besides call: CallID? = nil) -> UserFacts {
        facts(of: user, but: call.flatMap { calls.find($0) })
    }

    private func facts(of user: UserID, but slot: CallSlot?) -> UserFacts {
        guard let place = users.find(user) else { return UserFacts(user, calls: 0, devices: 0) }
        let isCounted = slot.map { users[place].calls.contains($0) } ?? false
        return UserFacts(
            user, calls: users[place].calls.count - (isCounted ? 1 : 0),
            devices: users[place].connectedCount)
    }

    // MARK: Answers

    mutating func answered(_ id: QuestionID, _ answer: Answer) {
        if shapingAnswered(id, answer) || tokenAnswered(id, answer) { return }
        guard let question = questions.close(id) else { return }
        guard let slot = calls.find(question.invitee.call), calls[slot].isLive,
            let index = calls[slot].index(of: question.invitee.user),
            calls[slot].participants[index].asking.isInQuestion
        else { return }
        if case .invite(let decision, let plugin, let next) = answer {
            carryOut(decision, by: plugin, next: next, question, at: (slot, index))
        } else {
            apply(settings.inviteDefault, question, slot, index)
        }
    }

    private mutating func carryOut(
        _ decision: Decision, by plugin: String, next: Int, _ question: InviteQuestion,
        at place: (slot: CallSlot, index: Int)
    ) {
        let (slot, index) = place
        let push = question.push
        switch decision {
        case .accept(let wait, let data) where wait <= 0:
            decide(question.invitee, by: plugin, .accept(), saying: data)
        case .accept(let wait, let data):
            ringOn(slot, index, push: push) { participant, now in
                participant.asking = .waiting
                participant.policyAlarm = now + wait
                participant.waitingAccept = WaitingAccept(plugin: plugin, extendedData: data)
            }
        case .reject(let busy, let data):
            let text = data ?? (busy ? calls[slot].busyText : nil)
            decide(question.invitee, by: plugin, .reject(busy: busy), saying: text)
        case .ring(let time?):
            ringOn(slot, index, push: push) { participant, now in
                participant.asking = .ringingFor
                participant.policyAlarm = now + time
                participant.askFrom = UInt8(clamping: next)
            }
        case .ring(nil): ringOn(slot, index, push: push)
        case .forward(let target): decide(question.invitee, by: plugin, .forward(to: target))
        }
    }

    private mutating func apply(
        _ outcome: Settings.InviteDefault, _ question: InviteQuestion, _ slot: CallSlot,
        _ index: Int
    ) {
        switch outcome {
        case .ring: ringOn(slot, index, push: question.push)
        case .reject: decide(question.invitee, by: "default", .reject())
        }
    }

    /// Carries out what was decided for an account.
    private mutating func decide(
        _ who: ParticipantKey, by plugin: String, _ action: CallAction, saying text: String? = nil
    ) {
        begin(
            Asker(
                id: nil, user: who.user, plugin: plugin,
                operation: .call(who.call, action, saying: text)))
    }

    /// Lets the devices ring, telling them of the invitation if they do not know of it yet.
    private mutating func ringOn(
        _ slot: CallSlot, _ index: Int, push: PushText?,
        _ change: (inout Participant, Moment) -> Void = { _, _ in }
    ) {
        var participant = calls[slot].participants[index]
        let isNews = !participant.isVisible
        participant.asking = .nothing
        participant.policyAlarm = nil
        change(&participant, now)
        if isNews {
            startDeliveryClock(
                &participant, mode(slot), checked: calls[slot].deliveryCheck)
        }
        calls[slot].participants[index] = participant
        let call = calls[slot]
        var records = [Record.call(call)]
        if isNews { addPushJob(.invite, for: participant, in: call, push, to: &records) }
        effects.append(.persist(records))
        if isNews { tellIncoming(call, index, to: addresses(of: participant.user)) }
        rearm(slot)
    }

    /// Sends a pending participant's `call.incoming`, and what was held for it, to its devices.
    mutating func tellIncoming(_ call: Call, _ index: Int, to receivers: [Address]) {
        let participant = call.participants[index]
        let inviter = participant.invitedBy ?? call.caller
        let host = call.participant(inviter)
        let event = CallEvent(
            callID: call.id, revision: call.revision, at: participant.invitedAt,
            actor: host?.waitingAccept.map { .policy($0.plugin) }
                ?? host?.device.map { .user(inviter, $0) } ?? .policy("default"),
            kind: incoming(call, participant))
        send(to: receivers, event)
        sendHeldSignals(of: participant.user, in: call.id, to: receivers)
    }

    // MARK: forward

    /// Invites `target` in the place of the asker; a loop or too many hops is no decision.
    mutating func forward(_ asker: Asker, _ id: CallID, to target: UserID) throws(Refusal) {
        let place = try locate(asker, id)
        let forwarder = self[place]
        guard calls[place.slot].isLive, forwarder.state.mayAnswer else { throw .callEnded }
        let isKnown = settings.users?.contains(target) ?? true
        guard isKnown, calls[place.slot].index(of: target) == nil,
            Int(forwarder.hops) < settings.forwardHopsMax
        else {
            let question = InviteQuestion(invitee: .init(user: asker.user, call: id), push: nil)
            return apply(settings.inviteDefault, question, place.slot, place.index)
        }
        var commit = change(place.slot, by: asker, .done)
        commit.move(place.index, to: .cancelled, .forwarded)
        admit(target, by: forwarder.user, into: &commit)
        let index = commit.call.participants.count - 1
        commit.call.participants[index].deadlineAt = forwarder.deadlineAt
        commit.call.participants[index].hops = forwarder.hops + 1
        finish(&commit)
        consult(id)
    }

    // MARK: decide, wait, for

    mutating func policyAlarm(_ slot: CallSlot, _ index: Int) {
        calls[slot].participants[index].policyAlarm = nil
        let participant = calls[slot].participants[index]
        let invitee = ParticipantKey(user: participant.user, call: calls[slot].id)
        switch participant.asking {
        case .nothing: break
        case .deciding, .decidingAgain:
            let push = questions[invitee]?.push
            withdrawQuestion(invitee)
            apply(
                settings.inviteWhenLate, InviteQuestion(invitee: invitee, push: push), slot, index)
        case .waiting:
            calls[slot].participants[index].asking = .nothing
            guard let accept = participant.waitingAccept else { return }
            decide(invitee, by: accept.plugin, .accept(), saying: accept.extendedData)
        case .ringingFor:
            calls[slot].participants[index].asking = .decidingAgain
            startDeciding(slot, index)
            effects.append(.persist([.call(calls[slot])]))
            ask(slot, index, push: nil)
        }
    }

    /// Takes the open question of an invitation back.
    mutating func withdrawQuestion(_ invitee: ParticipantKey) {
        guard let id = questions.close(about: invitee) else { return }
        effects.append(.withdraw(id))
    }
}
