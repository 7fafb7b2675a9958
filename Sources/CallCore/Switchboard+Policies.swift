// Asking the policies about invitations, and carrying out what they decide.

import Collections
import CallModel

extension Switchboard {
    /// When a question about an invitation must be answered: at most a quarter of the ring time
    /// goes to the policies, so that the devices have the rest.
    func decideBy(_ deadline: Moment?, in call: Call) -> Moment {
        let remaining = deadline.map { max(0, $0 - now) } ?? call.ringTime
        return now + min(settings.decideWithin, remaining / 4)
    }

    /// Decides about the invitees of `id` who wait for it: the policies are asked about accounts of
    /// `answer_for`; of the others the host rejects the busy ones where the mode says so (A12).
    mutating func consult(_ id: CallID, push: PushText? = nil) {
        guard let slot = calls.find(id) else { return }
        for index in calls[slot].participants.indices {
            // The decision about one invitee may have ended the call, or forwarded another one.
            guard let slot = calls.find(id), calls[slot].isLive,
                calls[slot].participants[index].asking.isInQuestion
            else { continue }
            let user = calls[slot].participants[index].user
            let invitee = ParticipantKey(user: user, call: id)
            // The question is open, or its decision is being shaped (F65): not a second time.
            guard questions[invitee] == nil, !isStaged(user, id) else { continue }
            let push = push ?? calls[slot].participants[index].policyNote?.push
            if settings.answers(for: user) {
                ask(calls[slot], index, push: push)
            } else {
                apply(.ring, InviteQuestion(invitee: invitee, push: push), slot, index)
            }
        }
    }

    /// Asks about the participant at `index`; `held`: the place of a held invitation (H89).
    mutating func ask(
        _ call: Call, _ index: Int, push: PushText?, held: Int32 = -1, by cause: Cause? = nil
    ) {
        let invitee = ParticipantKey(user: call.participants[index].user, call: call.id)
        let from = Int(call.participants[index].askFrom)
        // A caller with a short ring time must not keep the invitees waiting for the policies.
        let decideBy = decideBy(call.participants[index].deadlineAt, in: call)
        var question = Question(
            id: newQuestionID(), decideBy: decideBy,
            subject: .invite(call, callee: invitee.user, from: from),
            facts: facts(of: call),
            cause: cause ?? call.cause(of: index),
            hold: held < 0
                ? nil
                : Question.Hold(
                    since: now, until: now + settings.heldWithin,
                    ringsByDefault: settings.inviteDefault == .ring))
        // Time that a short ring time took is not held against the plugin (G74).
        question.isCutShort = decideBy - now < settings.decideWithin
        let about = InviteQuestion(
            invitee: invitee, push: push, held: held, counted: consult(question),
            standard: settings.inviteDefault, whenLate: settings.inviteWhenLate)
        questions.open(question.id, about)
    }

    /// A question about `subject` with the usual time for an answer.
    mutating func newQuestion(_ subject: Question.Subject, by cause: Cause) -> Question {
        Question(
            id: newQuestionID(), decideBy: now + settings.decideWithin, subject: subject,
            facts: facts(of: subject.call, and: subject.asker), cause: cause)
    }

    /// Asks the policies and counts the question; returns its place in `questionCounts`.
    mutating func consult(_ question: Question) -> Int32 {
        effects.append(.consult(question))
        return questionCounts.add(question.cause)
    }

    /// Refuses an operation that needs `count` questions when too many of its cause wait (G76).
    mutating func admit(_ count: Int, of cause: Cause) throws(Refusal) {
        // The total is looked at first: mostly it is small, and no cause has to be found.
        guard count > 0, questionCounts.total + count > settings.questionsPerCause,
            questionCounts.count(of: cause) + count > settings.questionsPerCause
        else { return }
        throw Refusal(.rateLimited, "too many questions to the plugins wait", retryAfter: 1_000)
    }

    /// Asks the open questions of a restored call again with fresh time: the answers to the old
    /// questions went with the process that asked them.
    mutating func reask(_ id: CallID) {
        guard let slot = calls.find(id), calls[slot].participants.contains(where: \.isInQuestion)
        else { return }
        for index in calls[slot].participants.indices
        where calls[slot].participants[index].asking.isInQuestion {
            calls[slot].participants[index].policyAlarm = decideAlarm(index, in: calls[slot])
        }
        effects.append(.persist([.call(calls[slot])]))
        consult(id)
        if calls[slot].isLive { rearm(slot) }
    }

    /// When the question about the participant at `index` is given up. The grace is for an answer
    /// that is on its way: the host keeps `decideBy` by itself.
    mutating func decideAlarm(_ index: Int, in call: Call) -> Moment {
        decideBy(call.participants[index].deadlineAt, in: call) + settings.decideGrace
    }

    /// What is known of a call's participants, and of one user more: the policies see nothing else.
    public func facts(of call: Call, and other: UserID? = nil) -> [UserFacts] {
        let slot = calls.find(call.id)
        var known: [UserFacts] = []
        known.reserveCapacity(call.participants.count)
        for index in call.participants.indices {
            known.append(facts(of: call.participants[index].user, but: slot))
        }
        if let other, call.index(of: other) == nil { known.append(facts(of: other, but: slot)) }
        return known
    }

    /// What is known of a user; `call` does not count among their calls.
    public func facts(of user: UserID, besides call: CallID? = nil) -> UserFacts {
        facts(of: user, but: call.flatMap { calls.find($0) })
    }

    private func facts(of user: UserID, but slot: CallSlot?) -> UserFacts {
        guard let place = users.find(user) else { return UserFacts(user, calls: 0, devices: 0) }
        return UserFacts(
            user, calls: busyCount(of: place, besides: slot),
            devices: users[place].connectedCount)
    }

    // MARK: Answers

    /// Takes the answer to any question; one that was withdrawn or is late finds nothing here.
    mutating func answered(_ id: QuestionID, _ answer: Answer) {
        if shapingAnswered(id, answer) || tokenAnswered(id, answer)
            || heldTextsAnswered(id, answer)
        {
            return
        }
        guard let question = questions.close(id) else { return }
        questionCounts.remove(at: question.counted)
        if isHeld(question.invitee.call, at: question.held) {
            return heldAnswered(question, answer)
        }
        guard let slot = calls.find(question.invitee.call), calls[slot].isLive,
            let index = calls[slot].index(of: question.invitee.user),
            calls[slot].participants[index].asking.isInQuestion
        else { return }
        if case .invite(let decision, let plugin, let next) = answer {
            carryOut(decision, by: plugin, next: next, question, at: (slot, index))
        } else {
            apply(question.standard ?? settings.inviteDefault, question, slot, index)
        }
    }

    private mutating func carryOut(
        _ decision: Decision, by plugin: String, next: Int, _ question: InviteQuestion,
        at place: (slot: CallSlot, index: Int)
    ) {
        if let (action, text) = decision.action(in: calls[place.slot]) {
            decide(question, by: plugin, action, saying: text)
        } else {
            ringOn(place, decision, by: plugin, next: next, question.push)
        }
    }

    private mutating func apply(
        _ outcome: Settings.InviteDefault, _ question: InviteQuestion, _ slot: CallSlot,
        _ index: Int
    ) {
        let (decision, plugin) = ownDecision(outcome, isBusy: isRejectedAsBusy(slot, index))
        carryOut(decision, by: plugin, next: 0, question, at: (slot, index))
    }

    /// What the host decides where no plugin does.
    func ownDecision(_ outcome: Settings.InviteDefault, isBusy: Bool) -> (Decision, String) {
        if isBusy { return (.reject(busy: true, extendedData: nil), "busy") }
        let isRing = outcome == .ring
        return (isRing ? .ring(for: nil) : .reject(busy: false, extendedData: nil), "default")
    }

    /// Whether the host rejects an invitation, which no device knows of yet, because the invitee is
    /// busy (A12).
    private mutating func isRejectedAsBusy(_ slot: CallSlot, _ index: Int) -> Bool {
        let participant = calls[slot].participants[index]
        return !participant.isVisible && calls[slot].allows(.rejectsBusy)
            && busyCall(of: participant.user, besides: slot) != nil
    }

    /// Carries out what was decided for an account as an operation of it, so that a decision goes
    /// through the same checks and shaping as a request.
    private mutating func decide(
        _ question: InviteQuestion, by plugin: String, _ action: CallAction,
        saying text: String? = nil
    ) {
        let who = question.invitee
        let cause = calls.find(who.call).flatMap { slot in
            calls[slot].index(of: who.user).map { calls[slot].cause(of: $0) }
        }
        begin(
            Asker(
                question, by: plugin, .call(who.call, action, saying: text),
                for: cause ?? .nobody))
    }

    /// Leaves the invitation to the devices, which are told of it if they do not know it yet
    /// (F57). An accept that waits makes it ring at once (A22).
    private mutating func ringOn(
        _ place: (slot: CallSlot, index: Int), _ decision: Decision, by plugin: String, next: Int,
        _ push: PushText?
    ) {
        let (slot, index) = place
        let isNews = !calls[slot].participants[index].isVisible
        if case .accept = decision, calls[slot].participants[index].state != .ringing {
            arrive(slot, index, by: .policy(plugin))
        }
        var participant = calls[slot].participants[index]
        participant.keep(decision, by: plugin, next: next, push: push, at: now)
        if isNews, participant.state == .inviting {
            participant.deliveryAlarm = calls[slot].deliveryAlarm(at: now)
        }
        calls[slot].participants[index] = participant
        let call = calls[slot]
        var records = [Record.call(call)]
        if isNews {
            let cause = call.cause(of: index)
            let job = pushJob(.invite, for: participant, in: call, push, by: cause)
            if let job { records.append(job) }
        }
        effects.append(.persist(records))
        if isNews { tellIncoming(call, index, to: addresses(of: participant.user)) }
        rearm(slot)
    }

    /// A policy will accept the invitation, so it counts as delivered and rings (A22).
    private mutating func arrive(_ slot: CallSlot, _ index: Int, by actor: Actor) {
        var commit = self.change(slot, by: actor)
        commit.move(index, to: .ringing)
        commit.call.markDelivered(index, at: now)
        finish(&commit)
    }

    /// Sends a pending participant's `call.incoming` to their devices, and then the signals that
    /// were held until the devices know the call (G80).
    mutating func tellIncoming(_ call: Call, _ index: Int, to receivers: [Address]) {
        let participant = call.participants[index]
        let inviter = participant.invitedBy ?? call.caller
        let host = call.participant(inviter)
        let event = CallEvent(
            callID: call.id, revision: call.revision, at: participant.invitedAt,
            actor: host?.policyNote?.plugin.map { .policy($0) }
                ?? host?.device.map { .user(inviter, $0) } ?? .policy("default"),
            kind: incoming(call, participant))
        send(to: receivers, event)
        sendHeldSignals(of: participant.user, in: call.id, to: receivers)
    }

    // MARK: forward

    /// Invites `targets` in the place of the asker (F62). If none of them can be invited, it is no
    /// decision, and the default applies.
    mutating func forward(
        _ asker: Asker, _ id: CallID, to targets: [UserID], each: Milliseconds?
    ) throws(Refusal) {
        guard !isTrial else { return }
        let place = try locate(asker, id)
        let forwarder = self[place]
        guard calls[place.slot].isLive, forwarder.state.mayAnswer else { throw .callEnded }
        let who = ParticipantKey(user: asker.user, call: id)
        let question = asker.answered ?? InviteQuestion(invitee: who, push: nil)
        let members = forwardable(targets, place.index, each, in: calls[place.slot])
        guard !members.isEmpty else {
            let standard = question.standard ?? settings.inviteDefault
            return apply(standard, question, place.slot, place.index)
        }
        var commit = change(place.slot, by: asker, .done)
        commit.push = question.push
        commit.move(place.index, to: .cancelled, .forwarded)
        if !commit.call.transfers.isEmpty {
            commit.call.hand(transferTo: forwarder.user, on: members[0])
        }
        if targets.count > 1 || each != nil {
            commit.call.fork(by: forwarder.user, among: members, each: each, at: now)
        }
        commit.call.participants[place.index].policyNote = asker.plugin.map {
            PolicyNote(plugin: $0)
        }
        for member in each == nil ? members : [] {
            let index = admit(member, by: forwarder.user, into: &commit)
            commit.call.participants[index].begunBy = forwarder.begunBy
            commit.call.participants[index].deadlineAt = forwarder.deadlineAt
            commit.call.participants[index].hops = forwarder.hops + 1
        }
        commit.goesOn = true
        finish(&commit)
    }

    /// Those of `targets` who can be called in the place of the participant at `index`. At once it
    /// is not more than the mode takes, and one where two are in a call or a place is handed over.
    private mutating func forwardable(
        _ targets: [UserID], _ index: Int, _ each: Milliseconds?, in call: Call
    ) -> [UserID] {
        let members = targets.filter { mayForward(to: $0, index, in: call) }
        guard each == nil else { return members.contains { isFree($0, in: call) } ? members : [] }
        let isHandedOver = call.transfer(to: call.participants[index].user) != nil
        let room = call.mode.participants - call.placeCount + 1
        return Array(members.prefix(isHandedOver ? 1 : max(1, room)))
    }

    /// Somebody of a fork accepted: nobody else of it is called. When nobody is called any more,
    /// the next one is called who is neither busy nor lost, until none is left.
    mutating func settleForks(_ commit: inout Commit) {
        for fork in commit.call.forks.indices.reversed() {
            let by = commit.call.forks[fork].by
            let isOver = commit.settleRace { index, call in call.descends(index, from: by) }
            if isOver || !(commit.call.isCalling(for: by) || callNext(of: fork, &commit)) {
                commit.call.forks.remove(at: fork)
            }
        }
    }

    private mutating func callNext(of fork: Int, _ commit: inout Commit) -> Bool {
        let (by, until) = (commit.call.forks[fork].by, commit.call.forks[fork].until)
        guard let each = commit.call.forks[fork].each, until > now,
            let host = commit.call.index(of: by)
        else { return false }
        while let next = commit.call.takeNext(of: fork) {
            guard mayForward(to: next, host, in: commit.call), isFree(next, in: commit.call) else {
                continue
            }
            let note = commit.call.participants[host].policyNote
            let index = admit(next, by: by, into: &commit)
            commit.call.participants[host].policyNote = note
            commit.call.participants[index].hops = commit.call.participants[host].hops + 1
            if commit.call.participants[index].deadlineAt != nil {
                commit.call.participants[index].deadlineAt = min(now + each, until)
            }
            commit.goesOn = true
            return true
        }
        return false
    }

    /// Whether `user` is in no other call, and not lost in one; plugins take any number (A12).
    private mutating func isFree(_ user: UserID, in call: Call) -> Bool {
        if settings.answers(for: user) { return true }
        guard let place = users.find(user) else { return true }
        return !users[place].isLost && busyCall(of: user, besides: calls.find(call.id)) == nil
    }

    /// Whether `target` may be invited in the place of the participant at `index`.
    func mayForward(to target: UserID, _ index: Int, in call: Call) -> Bool {
        let isKnown = settings.users?.contains(target) ?? true
        // A user whose part is over may be invited again, but not one who forwarded: a loop.
        let member = call.participant(target)
        let isFree =
            member.map { !$0.state.isLive && $0.reason != .forwarded } ?? call.hasRoom(for: target)
        return isKnown && isFree && target.group == nil
            && Int(call.participants[index].hops) < Settings.forwardHopsMax
    }

    // MARK: decide, wait, for

    mutating func policyAlarm(_ slot: CallSlot, _ index: Int) {
        calls[slot].participants[index].policyAlarm = nil
        let participant = calls[slot].participants[index]
        let invitee = ParticipantKey(user: participant.user, call: calls[slot].id)
        switch participant.asking {
        case .nothing: break
        case .deciding, .decidingAgain:
            let question = questions[invitee] ?? InviteQuestion(invitee: invitee, push: nil)
            withdrawQuestion(invitee)
            // A guard that does not answer refuses: else a slow plugin would let everybody in.
            let isGuarded = settings.inviteGuards(of: participant.user).contains {
                $0.isAsked(about: participant.user, from: Int(participant.askFrom))
            }
            let whenLate = question.whenLate ?? settings.inviteWhenLate
            apply(isGuarded ? .reject : whenLate, question, slot, index)
        case .waiting:
            calls[slot].participants[index].asking = .nothing
            guard let accept = participant.policyNote, let plugin = accept.plugin else { return }
            let question = InviteQuestion(invitee: invitee, push: nil)
            decide(question, by: plugin, .accept(), saying: accept.extendedData)
        case .ringingFor:
            calls[slot].participants[index].asking = .decidingAgain
            calls[slot].participants[index].policyAlarm = decideAlarm(index, in: calls[slot])
            effects.append(.persist([.call(calls[slot])]))
            ask(calls[slot], index, push: participant.policyNote?.push)
        }
    }

    /// Takes the open question of an invitation back.
    mutating func withdrawQuestion(_ invitee: ParticipantKey) {
        guard let (id, question) = questions.close(about: invitee) else { return }
        questionCounts.remove(at: question.counted)
        effects.append(.withdraw(id))
    }
}
