// Asking the policies about invitations, and carrying out what they decide.

/// An open question about an invitation.
struct InviteQuestion: Sendable {
    let call: CallID
    let user: UserID
}

extension Switchboard {
    // MARK: Asking

    /// When a question about an invitation to `call` must be answered.
    func decideBy(for call: Call) -> Moment {
        now + min(settings.decideWithin, call.ringTime / 4)
    }

    /// Decides about invitees that nobody was told of yet: the host rejects busy ones where the
    /// mode has it, the policies are asked about the accounts they answer for.
    mutating func consultAboutNewcomers(of id: CallID) {
        guard let call = calls[id] else { return }
        for participant in call.participants where participant.asking == .deciding {
            guard let slot = calls.find(id), let index = calls[slot].index(of: participant.user),
                calls[slot].participants[index].asking == .deciding,
                !questions.contains(where: {
                    $0.value.call == id && $0.value.user == participant.user
                })
            else { continue }
            let isBusy = (users[participant.user]?.calls.count ?? 0) > 1
            if isBusy, settings.mode(call.mode).has(.rejectsBusy) {
                let text = busyText(for: call)
                decide(id, participant.user, by: "busy", .reject(busy: true), saying: text)
            } else if settings.answerFor.contains(participant.user) {
                ask(slot, index, from: 0)
            } else {
                ringOn(slot, index)
            }
        }
    }

    private mutating func ask(_ slot: CallSlot, _ index: Int, from place: Int) {
        let call = calls[slot]
        let user = call.participants[index].user
        let subject = Question.Subject.invite(call, callee: user, from: place)
        let question = Question(
            id: newQuestionID(), decideBy: decideBy(for: call), subject: subject,
            facts: facts(for: subject))
        questions[question.id] = InviteQuestion(call: call.id, user: user)
        effects.append(.consult(question))
    }

    /// Asks the open questions of a restored call again, with fresh time.
    mutating func reask(_ slot: CallSlot) {
        for index in calls[slot].participants.indices {
            let participant = calls[slot].participants[index]
            guard participant.asking == .deciding || participant.asking == .decidingAgain else {
                continue
            }
            calls[slot].participants[index].policyAlarm =
                decideBy(for: calls[slot]) + settings.decideGrace
            ask(slot, index, from: Int(participant.askFrom))
        }
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
    func facts(of call: Call, and other: UserID? = nil) -> [UserFacts] {
        let slot = calls.find(call.id)
        var known = call.participants.map { facts(of: $0.user, but: slot) }
        if let other, call.index(of: other) == nil { known.append(facts(of: other, but: slot)) }
        return known
    }

    /// What is known of a user.
    public func facts(of user: UserID) -> UserFacts { facts(of: user, but: nil) }

    private func facts(of user: UserID, but slot: CallSlot?) -> UserFacts {
        guard let state = users[user] else { return UserFacts(user, calls: 0, devices: 0) }
        let isCounted = slot.map { state.calls.contains($0) } ?? false
        return UserFacts(
            user, calls: state.calls.count - (isCounted ? 1 : 0), devices: state.connectedCount)
    }

    // MARK: Answers

    mutating func answered(_ id: QuestionID, _ answer: Answer) {
        if shapingAnswered(id, answer) || tokenAnswered(id, answer) { return }
        guard let question = questions.removeValue(forKey: id),
            let slot = calls.find(question.call),
            let index = calls[slot].index(of: question.user)
        else { return }
        let participant = calls[slot].participants[index]
        guard participant.asking == .deciding || participant.asking == .decidingAgain else {
            return
        }
        if case .invite(let decision, let plugin, let next) = answer {
            carryOut(decision, by: plugin, next: next, slot, index)
        } else {
            applyDefault(settings.inviteDefault, slot, index)
        }
    }

    private mutating func carryOut(
        _ decision: Decision, by plugin: String, next: Int, _ slot: CallSlot, _ index: Int
    ) {
        let call = calls[slot]
        let user = call.participants[index].user
        switch decision {
        case .accept(let wait, let data) where wait <= 0:
            decide(call.id, user, by: plugin, .accept(), saying: data)
        case .accept(let wait, let data):
            ringOn(slot, index, asking: .waiting, for: wait) {
                $0.waitingAccept = WaitingAccept(plugin: plugin, extendedData: data)
            }
        case .reject(let busy, let data):
            let text = data ?? (busy ? busyText(for: call) : nil)
            decide(call.id, user, by: plugin, .reject(busy: busy), saying: text)
        case .ring(let time?):
            ringOn(slot, index, asking: .ringingFor, for: time) {
                $0.askFrom = UInt8(clamping: next)
            }
        case .ring(nil): ringOn(slot, index)
        case .forward(let target): forward(slot, index, to: target, by: plugin)
        }
    }

    private mutating func applyDefault(
        _ what: Settings.InviteDefault, _ slot: CallSlot, _ index: Int
    ) {
        let call = calls[slot]
        switch what {
        case .ring: ringOn(slot, index)
        case .reject:
            decide(call.id, call.participants[index].user, by: "default", .reject())
        }
    }

    /// Carries out an operation that was decided for an account.
    private mutating func decide(
        _ id: CallID, _ user: UserID, by plugin: String, _ action: CallAction,
        saying text: String? = nil
    ) {
        begin(
            Asker(
                id: nil, user: user, plugin: plugin,
                operation: .call(id, action, saying: text)))
    }

    /// Lets the devices ring, telling them of the invitation if they do not know of it yet.
    private mutating func ringOn(
        _ slot: CallSlot, _ index: Int, asking: Participant.Asking = .nothing,
        for time: Milliseconds? = nil, _ change: (inout Participant) -> Void = { _ in }
    ) {
        var call = calls[slot]
        let wasVisible = call.participants[index].isVisible
        call.participants[index].asking = asking
        call.participants[index].policyAlarm = time.map { now + $0 }
        change(&call.participants[index])
        if !wasVisible { startDeliveryClock(&call.participants[index], in: call) }
        calls[slot] = call
        var records = [Record.call(call)]
        if !wasVisible { records += pushJob(.invite, for: call.participants[index], in: call) }
        effects.append(.persist(records))
        if !wasVisible {
            tellIncoming(call, index, to: addresses(of: call.participants[index].user))
        }
        rearm(slot)
    }

    /// Sends a pending participant's `call.incoming`, and what was held for it, to its devices.
    mutating func tellIncoming(_ call: Call, _ index: Int, to receivers: [Address]) {
        let participant = call.participants[index]
        let inviter = participant.invitedBy ?? call.caller
        let device = call.participant(inviter)?.device
        let event = CallEvent(
            callID: call.id, revision: call.revision, at: participant.invitedAt,
            actor: device.map { .user(inviter, $0) } ?? .policy("default"),
            kind: incoming(call, participant))
        send(to: receivers, event)
        sendHeldSignals(of: participant.user, in: call.id, to: receivers)
    }

    /// Invites `target` in the place of the participant at `index`; a loop or too many hops is
    /// no decision.
    private mutating func forward(
        _ slot: CallSlot, _ index: Int, to target: UserID, by plugin: String
    ) {
        let call = calls[slot]
        let forwarder = call.participants[index]
        let isKnown = settings.users?.contains(target) ?? true
        guard isKnown, call.index(of: target) == nil,
            Int(forwarder.hops) < settings.forwardHopsMax
        else { return applyDefault(settings.inviteDefault, slot, index) }
        var commit = Commit(call, slot: slot, actor: .policy(plugin))
        commit.move(index, to: .cancelled, .forwarded)
        admit(target, by: forwarder.user, into: &commit)
        let place = commit.call.participants.count - 1
        commit.call.participants[place].deadlineAt = forwarder.deadlineAt
        commit.call.participants[place].hops = forwarder.hops + 1
        finish(commit)
        consultAboutNewcomers(of: call.id)
    }

    // MARK: decide, wait, for

    mutating func policyAlarm(_ slot: CallSlot, _ index: Int) {
        calls[slot].participants[index].policyAlarm = nil
        let call = calls[slot]
        let participant = call.participants[index]
        switch participant.asking {
        case .nothing: break
        case .deciding, .decidingAgain:
            withdrawQuestion(of: call.id, participant.user)
            applyDefault(settings.inviteWhenLate, slot, index)
        case .waiting:
            calls[slot].participants[index].asking = .nothing
            guard let accept = participant.waitingAccept else { return }
            decide(
                call.id, participant.user, by: accept.plugin, .accept(),
                saying: accept.extendedData)
        case .ringingFor:
            calls[slot].participants[index].asking = .decidingAgain
            calls[slot].participants[index].policyAlarm =
                decideBy(for: call) + settings.decideGrace
            effects.append(.persist([.call(calls[slot])]))
            ask(slot, index, from: Int(participant.askFrom))
        }
    }

    // MARK: Withdrawing

    mutating func withdrawQuestion(of id: CallID, _ user: UserID) {
        withdraw { $0.call == id && $0.user == user }
    }

    mutating func withdrawQuestions(of id: CallID) {
        withdraw { $0.call == id }
    }

    private mutating func withdraw(where matches: (InviteQuestion) -> Bool) {
        guard !questions.isEmpty else { return }
        let open = questions.filter { matches($0.value) }.map(\.key)
        for id in open.sorted(by: { $0.value < $1.value }) {
            questions[id] = nil
            effects.append(.withdraw(id))
        }
    }
}
