// Invitations that are decided at once (H89).
//
// An invitation that the policies are asked about is held: nothing is stored and nobody is told
// until they have answered. Then invitation and decisions are one commit, and no device rings for
// a call that is refused. The hold ends without a decision when a handler waits for something, or
// after a few milliseconds: a slow plugin must not delay the call.

import Collections
import CallModel

/// An invitation that has not happened yet.
struct HeldInvitation: Sendable {
    /// What was decided about one invitee.
    struct Ruling: Sendable {
        let index: Int
        let decision: Decision
        /// Whose decision it is.
        let plugin: String
        /// The place in the chain after that plugin.
        let next: Int
    }

    let asker: Asker
    /// The call as it will be, with everybody who is invited.
    var call: Call
    let errors: [InviteeError]
    /// What happens to invitees about whom no plugin decides, in the settings of the moment when
    /// they were invited (G84).
    let standard: Settings.InviteDefault
    /// Questions about its invitees that are not answered.
    var open = 0
    /// In the order in which they came.
    var rulings: [Ruling] = []
    /// The open question that shapes the texts of the rulings (F65).
    var shaping: QuestionID?
    /// Its answer: the texts that single receivers see instead.
    var views: [Call.View]?

    /// What is decided about the invitee at `index`; it happens with the one commit (H89).
    mutating func rule(_ index: Int, _ decision: Decision, by plugin: String, next: Int = 0) {
        rulings.add(Ruling(index: index, decision: decision, plugin: plugin, next: next))
    }
}

/// The place of a held invitation, and when its hold ends. The place may be used again, so the
/// call's id tells whether it is still the same one.
struct HeldPlace: Sendable {
    let place: Int32
    let call: CallID
    let until: Moment
}

extension Switchboard {
    /// Makes the call of a checked invitation, at once or when the policies have answered.
    mutating func hold(
        _ asker: Asker, _ invitation: Invitation, _ selection: Selection
    ) throws(Refusal) {
        let id = asker.shaping.draftID ?? newCallID()
        var call = newCall(id, invitation)
        call.begin(by: asker.user, with: asker.device, invitation, calling: selection.usable)
        // A caller who disconnects in the hold was in the call: they can be lost to it (A20).
        call.participants[0].wasConnected = asker.isHeard || isConnected(asker.user)
        call.participants[0].policyNote = asker.plugin.map { PolicyNote(plugin: $0) }
        call.isGroup = selection.usable.count > 1
        // The policies are asked about the texts as they have shaped them.
        call.show(asker.shaping.views)
        var held = HeldInvitation(
            asker: asker, call: consume call, errors: selection.errors,
            standard: settings.inviteDefault)
        for index in 1..<held.call.participants.count { consider(index, of: &held) }
        let cause = asker.cause(in: held.call)
        guard held.open > 0 else {
            // Texts of the host, such as the busy text, are shaped like those of plugins (F65).
            let texts = textsToShape(of: held)
            try admit(texts.isEmpty ? 0 : 1, of: cause)
            return complete(consume held, isNew: true)
        }
        try admit(held.open, of: cause)
        keep(consume held, asking: 1)
    }

    /// Finds out who decides about an invitee: the policies, the host (A12) or their devices.
    private mutating func consider(_ index: Int, of held: inout HeldInvitation) {
        let user = held.call.participants[index].user
        if settings.answers(for: user) {
            held.open += 1
            startDeciding(index, of: &held.call)
        } else if isRejectedAsBusy(user, in: held.call) {
            held.rule(index, .reject(busy: true, extendedData: nil), by: "busy")
        }
    }

    /// The policies decide about the invitee at `index`; before, their devices see nothing (F57).
    private mutating func startDeciding(_ index: Int, of call: inout Call) {
        call.participants[index].asking = .deciding
        call.participants[index].policyAlarm = decideAlarm(index, in: call)
    }

    /// Whether the host rejects a new invitee because they are busy (A12).
    private mutating func isRejectedAsBusy(_ user: UserID, in call: Call) -> Bool {
        call.allows(.rejectsBusy)
            && (busyCall(of: user) != nil || meetsGlare(call.caller, [user]))
    }

    /// Returns its place, which whoever looks for it has to compare with the id of its call.
    private mutating func insertHeld(_ invitation: consuming HeldInvitation) -> Int32 {
        if heldUsers.isKept { heldUsers.add(invitation.call) }
        let (id, place) = (invitation.call.id, held.insert(consume invitation))
        while heldCalls.count <= Int(place) { heldCalls.append(id) }
        heldCalls[Int(place)] = id
        return place
    }

    private mutating func removeHeld(at place: Int32) -> HeldInvitation? {
        guard let invitation = held.remove(at: place) else { return nil }
        heldCalls[Int(place)] = CallID(high: 0, low: 0)
        if heldUsers.isKept { heldUsers.remove(invitation.call) }
        if !delayed.isEmpty { freed += HeldUsers.parts(of: invitation.call) }
        return invitation
    }

    /// Holds an invitation and asks about its invitees from `first` on. `again`: the place at which
    /// it was held a moment ago, which its open questions name.
    private mutating func keep(
        _ invitation: consuming HeldInvitation, asking first: Int, again before: Int32? = nil
    ) {
        let call = invitation.call
        let push = invitation.asker.operation.pushOfInvitation
        let cause = invitation.asker.cause(in: call)
        let place = insertHeld(consume invitation)
        // A slab gives out the place that was freed last.
        assert(before == nil || before == place, "\(call.id) is held at another place")
        for index in first..<call.participants.count
        where call.participants[index].asking == .deciding {
            ask(call, index, push: push, held: place, by: cause)
        }
        if first == 1 { scheduleRelease(call.id, at: place) }
    }

    /// Notes when the hold at `place` ends. All holds last equally long, so a queue is enough.
    private mutating func scheduleRelease(_ id: CallID, at place: Int32) {
        holding.append(HeldPlace(place: place, call: id, until: now + settings.heldWithin))
    }

    /// Whether the call `id` stands at `place` and is held.
    mutating func isHeld(_ id: CallID, at place: Int32) -> Bool {
        place >= 0 && place < heldCalls.count && heldCalls[Int(place)] == id
    }

    // MARK: Deciding

    /// The policies answered a question about a held invitation.
    mutating func heldAnswered(_ question: InviteQuestion, _ answer: Answer) {
        guard var invitation = removeHeld(at: question.held),
            let index = invitation.call.index(of: question.invitee.user)
        else { return }
        invitation.open -= 1
        let known = invitation.call.participants.count
        take(answer, about: index, of: &invitation)
        guard invitation.open > 0 else { return complete(consume invitation) }
        keep(consume invitation, asking: known, again: question.held)
    }

    /// A `forward` of which nothing can come is no decision: the default applies (F62).
    private mutating func take(_ answer: Answer, about index: Int, of held: inout HeldInvitation) {
        let user = held.call.participants[index].user
        guard case .invite(let decision, let plugin, let next) = answer else {
            return applyDefault(to: index, user, of: &held)
        }
        switch decision {
        case .forward(let targets, _):
            guard targets.contains(where: { mayForward(to: $0, index, in: held.call) }) else {
                return applyDefault(to: index, user, of: &held)
            }
            held.rule(index, decision, by: plugin)
            guard !forwardsLater, !decision.isFork else { return }
            forward(index, to: targets[0], by: plugin, &held)
        case .accept, .reject, .ring: held.rule(index, decision, by: plugin, next: next)
        }
    }

    /// Whether policies are asked before somebody is forwarded to (F64, F65).
    private var forwardsLater: Bool { !settings.hooks.isDisjoint(with: [.dial, .outgoingData]) }

    /// As if no plugin were there: rejected as busy, or what `invite_default` says (A12).
    private mutating func applyDefault(to index: Int, _ user: UserID, of held: inout HeldInvitation)
    {
        let isBusy = isRejectedAsBusy(user, in: held.call)
        let (decision, plugin) = ownDecision(held.standard, isBusy: isBusy)
        held.rule(index, decision, by: plugin)
    }

    /// Invites `target` in the place of the invitee at `index`.
    private mutating func forward(
        _ index: Int, to target: UserID, by plugin: String, _ held: inout HeldInvitation
    ) {
        let forwarder = held.call.participants[index]
        held.call.participants[index].policyNote = PolicyNote(plugin: plugin)
        // A plugin that forwards back to this user must be found out as a loop (F62).
        held.call.participants[index].reason = .forwarded
        var newcomer = Participant(target, invitedBy: forwarder.user, to: held.call, at: now)
        newcomer.deadlineAt = forwarder.deadlineAt
        newcomer.hops = forwarder.hops + 1
        held.call.participants.append(newcomer)
        consider(held.call.participants.count - 1, of: &held)
    }

    /// Everything is decided: asks the policies to shape the texts if they have to, else commits.
    /// `isNew`: the invitation was not held before.
    private mutating func complete(_ invitation: consuming HeldInvitation, isNew: Bool = false) {
        let texts = textsToShape(of: invitation)
        guard !texts.isEmpty else { return commit(consume invitation) }
        let call = invitation.call
        let cause = invitation.asker.cause(in: call)
        let question = newQuestion(.outgoingData(call, texts), by: cause)
        invitation.shaping = question.id
        let place = insertHeld(consume invitation)
        heldTexts[question.id] = (place, consult(question))
        if isNew { scheduleRelease(call.id, at: place) }
    }

    /// The texts of the rulings, for each receiver who would see them for the first time (F65).
    private mutating func textsToShape(of held: HeldInvitation) -> [Question.OutgoingText] {
        guard settings.hooks.contains(.outgoingData), held.views == nil else { return [] }
        return held.rulings.flatMap { ruling -> [Question.OutgoingText] in
            guard !ruling.decision.isForward, let asker = ruling.asker(in: held.call)
            else { return [] }
            return asker.operation.textsShown(by: asker.user, in: held.call, held.call.mode)
        }
    }

    /// Takes the answer to a question about the texts of rulings; false: `id` is another question.
    mutating func heldTextsAnswered(_ id: QuestionID, _ answer: Answer) -> Bool {
        guard !heldTexts.isEmpty, let (place, counted) = heldTexts.removeValue(forKey: id) else {
            return false
        }
        questionCounts.remove(at: counted)
        guard var invitation = removeHeld(at: place) else { return true }
        invitation.shaping = nil
        if case .views(let views) = answer { invitation.views = views }
        commit(invitation)
        return true
    }

    // MARK: Going on undecided

    /// A handler waits for something: the call must not wait with it, so its hold ends.
    mutating func thinking(_ id: QuestionID) {
        if let place = heldTexts[id]?.place { return release(place) }
        guard let question = questions[id], isHeld(question.invitee.call, at: question.held)
        else { return }
        release(question.held)
    }

    /// Ends the holds that have lasted long enough.
    mutating func releaseOverdue() {
        while let first = firstHold, first.until <= now {
            _ = holding.removeFirst()
            release(first.place)
        }
    }

    /// The hold that ends next; entries before it, whose holds have ended, are dropped.
    var firstHold: HeldPlace? {
        mutating get {
            while let first = holding.first, !isHeld(first.call, at: first.place) {
                _ = holding.removeFirst()
            }
            return holding.first
        }
    }

    /// Ends a hold: commits what is decided so far. A ruling whose text nobody has shaped yet must
    /// not be seen (F65), so it is carried out later as an operation of its own.
    private mutating func release(_ place: Int32) {
        guard var invitation = removeHeld(at: place) else { return }
        var later: [HeldInvitation.Ruling] = []
        if let id = invitation.shaping {
            if let counted = heldTexts.removeValue(forKey: id)?.counted {
                questionCounts.remove(at: counted)
            }
            effects.append(.withdraw(id))
        }
        if !textsToShape(of: invitation).isEmpty {
            later = invitation.rulings.filter { $0.asker(in: invitation.call) != nil }
            invitation.rulings.removeAll { $0.asker(in: invitation.call) != nil }
            for ruling in later { startDeciding(ruling.index, of: &invitation.call) }
        }
        commit(consume invitation, deciding: later)
    }

    // MARK: The one commit

    /// The call begins with what was decided about it: created, told and stored once (H89).
    /// A decision that needs more questions is carried out later, as an operation of its account.
    private mutating func commit(
        _ invitation: consuming HeldInvitation, deciding later: [HeldInvitation.Ruling] = []
    ) {
        let (asker, standard, views) = (invitation.asker, invitation.standard, invitation.views)
        let isLater = { [waits = forwardsLater] (ruling: HeldInvitation.Ruling) in
            waits ? ruling.decision.isForward : ruling.decision.isFork
        }
        var later = later
        if invitation.rulings.contains(where: isLater) {
            later += invitation.rulings.filter(isLater)
            invitation.rulings.removeAll(where: isLater)
        }
        let slot = calls.open(invitation.call.id)
        var commit = Commit(
            invitation.call, slot, by: asker, .invited(invitation.errors), isFirst: true)
        commit.rulings = invitation.rulings
        // The only reference to the call: changing it must not copy it.
        _ = consume invitation
        commit.push = asker.operation.pushOfInvitation
        commit.changes.reserveCapacity(commit.call.participants.count)
        for index in commit.call.participants.indices {
            commit.changes.append(Commit.Change(index: index, from: nil, wasVisible: false))
        }
        for ruling in commit.rulings { carryOut(ruling, in: &commit) }
        if let views { commit.call.show(views) }
        let alarm = commit.call.deliveryAlarm(at: now)
        for index in commit.call.participants.indices {
            if commit.call.participants[index].asking == .deciding {
                commit.call.participants[index].keep(push: commit.push)
            } else if commit.call.participants[index].state == .inviting {
                commit.call.participants[index].deliveryAlarm = alarm
            }
        }
        finish(&commit)
        followUp(slot, commit.rulings)
        for ruling in later {
            let call = calls[slot]
            let user = call.participants[ruling.index].user
            let invitee = ParticipantKey(user: user, call: call.id)
            var question = InviteQuestion(
                invitee: invitee, push: asker.operation.pushOfInvitation)
            question.standard = standard
            if let asker = ruling.asker(in: call, answering: question) { begin(asker) }
        }
    }

    private mutating func carryOut(_ ruling: HeldInvitation.Ruling, in commit: inout Commit) {
        let index = ruling.index
        commit.call.participants[index].keep(
            ruling.decision, by: ruling.plugin, next: ruling.next, push: commit.push, at: now)
        switch ruling.decision {
        case .accept(let wait, let data) where wait <= 0:
            applyAccept(index, &commit)
            commit.join(index, device: nil, saying: data, Acceptance(), at: now)
        case .accept:
            // It counts as delivered: a policy answers for it (A22).
            commit.call.markDelivered(index, at: now)
        case .reject(let busy, _):
            commit.move(index, to: .rejected, busy ? .busy : .declined)
            commit.say(ruling.decision.action(in: commit.call)?.text, index)
            commit.call.participants[index].answeredAt = now
        case .ring: break
        case .forward: commit.move(index, to: .cancelled, .forwarded)
        }
    }

    /// An accept ends the user's other calls of modes with hold (A13), also a decided one.
    private mutating func followUp(_ slot: CallSlot, _ rulings: [HeldInvitation.Ruling]) {
        guard calls[slot].allows(.hold) else { return }
        for ruling in rulings where ruling.decision.isAccept {
            guard let asker = ruling.asker(in: calls[slot]) else { continue }
            settleOtherCalls(of: asker, but: slot, holding: false)
        }
    }
}

extension HeldInvitation.Ruling {
    /// The decision as an operation; nil: it changes nothing at once.
    fileprivate func asker(in call: Call, answering question: InviteQuestion? = nil) -> Asker? {
        guard let (action, text) = decision.action(in: call) else { return nil }
        let invitee = ParticipantKey(user: call.participants[index].user, call: call.id)
        return Asker(
            question ?? InviteQuestion(invitee: invitee, push: nil), by: plugin,
            .call(call.id, action, saying: text), for: call.cause(of: index))
    }
}
