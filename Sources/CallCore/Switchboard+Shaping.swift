// Operations that policies shape before they happen: on.extended_data, on.dial and on.join.
//
// An operation being shaped has not happened (F65): nothing is stored. It is checked before the
// policies are asked and again at its commit, because the call goes on meanwhile. Later requests of
// the same user for that call wait behind it, so that they keep their order.

import Collections
import CallModel

/// An operation that waits for a policy.
struct StagedOperation: Sendable {
    /// What is asked next; the order is that of F64.
    enum Step: Int {
        case incomingData, permission, outgoingData, done

        var next: Step { Step(rawValue: rawValue + 1) ?? .done }
    }

    let asker: Asker
    var operation: Operation
    var shaping = Shaping()
    var step = Step.incomingData
    /// Outgoing texts that the policies were asked about: each is shaped once.
    var asked: [Question.OutgoingText] = []
    var timer = TimerHandle.none
    /// Its place in `questionCounts` (G76).
    var counted: Int32 = -1

    init(_ asker: Asker) {
        self.asker = asker
        operation = asker.operation
    }

    /// The asker with what the policies made of its operation.
    var shaped: Asker { Asker(asker, operation, shaping) }
}

extension Switchboard {
    /// Lets the policies shape an operation, or commits it at once when none has to.
    mutating func shape(_ given: Asker) {
        let asker = withMembers(given)
        guard needsShaping(asker.operation) else { return commit(asker) }
        do throws(Refusal) {
            try check(asker)
            // A decision is the answer to a question that was counted before.
            if !asker.isDecision {
                let call = asker.operation.callID.flatMap { calls[$0] }
                try admit(1, of: call.map { asker.cause(in: $0) } ?? Cause(asker.user))
            }
        } catch {
            return answer(asker, .refused(error))
        }
        if let id = asker.operation.callID {
            waiting[ParticipantKey(user: asker.user, call: id)] = []
        }
        proceed(StagedOperation(asker))
    }

    /// The asker with the members of the groups that it invites, where the mode takes as many.
    private mutating func withMembers(_ asker: Asker) -> Asker {
        let invitees = asker.operation.invitees ?? []
        guard invitees.contains(where: { $0.group != nil }) else { return asker }
        var mode = asker.operation.callID.flatMap { calls[$0]?.mode }
        if case .invite(let invitation) = asker.operation { mode = row(of: invitation).mode }
        let members = settings.members(of: invitees, most: mode?.invitees ?? 0, but: asker.user)
        return Asker(asker, asker.operation.inviting(members), asker.shaping)
    }

    /// Refuses what would be refused anyway: no policy is asked for nothing.
    private mutating func check(_ asker: Asker) throws(Refusal) {
        isTrial = true
        defer { isTrial = false }
        try perform(asker)
    }

    /// The operation that `input` refuses in the name of a plugin, and whose it is. Mutating, or
    /// an object of another module that has the switchboard would copy all of it to ask.
    public mutating func refused(by input: Input) -> (user: UserID, operation: Operation)? {
        guard case .answered(let id, .refuse) = input else { return nil }
        return staged[id].map { ($0.asker.user, $0.operation) }
    }

    /// Whether an operation of `user` for `call` is being shaped.
    func isStaged(_ user: UserID, _ call: CallID) -> Bool {
        waiting[ParticipantKey(user: user, call: call)] != nil
    }

    /// Whether the policies shape an operation: it brings a text, or shows the texts of its call
    /// to somebody new.
    private func needsShaping(_ operation: Operation) -> Bool {
        let permission: Hooks = operation.isJoin ? .join : .dial
        guard !settings.hooks.isDisjoint(with: [permission, .incomingData, .outgoingData]) else {
            return false
        }
        switch operation {
        case .invite, .call(_, .add, _), .call(_, .join, _), .call(_, .forward, _),
            .call(_, .transfer, _):
            return true
        case .call, .list, .pushRegister, .pushUnregister, .userGet, .userSet:
            return operation.extendedData != nil
        }
    }

    /// Asks the next question of a staged operation, or commits it.
    private mutating func proceed(_ operation: StagedOperation) {
        var staged = operation
        while staged.step != .done {
            if let subject = subject(of: &staged) {
                let question = newQuestion(subject, by: staged.asker.cause(in: subject.call))
                staged.timer = wheel.schedule(
                    TimerKey.staged(question.id),
                    at: question.decideBy + settings.decideGrace)
                staged.counted = consult(question)
                self.staged[question.id] = staged
                return
            }
            staged.step = staged.step.next
        }
        commit(staged.shaped)
        releaseWaiting(behind: staged.asker)
    }

    /// What a staged operation asks at its step; nil: nothing.
    private mutating func subject(of staged: inout StagedOperation) -> Question.Subject? {
        let asker = staged.shaped
        switch staged.step {
        case .incomingData:
            guard settings.hooks.contains(.incomingData), asker.device != nil,
                let data = asker.text, let call = draft(of: &staged)
            else { return nil }
            return .incomingData(call, user: asker.user, data: data)
        case .permission:
            let hook: Hooks = asker.operation.isJoin ? .join : .dial
            guard settings.hooks.contains(hook), let call = draft(of: &staged) else { return nil }
            let user = asker.user
            if hook == .join { return call.isOpen(to: user) ? nil : .join(call, user: user) }
            return asker.operation.invitees.map { .dial(call, user: user, invitees: $0) }
        case .outgoingData:
            guard settings.hooks.contains(.outgoingData), let call = draft(of: &staged) else {
                return nil
            }
            let texts = asker.operation.textsShown(
                by: asker.user, in: call, call.mode
            ).filter { !staged.asked.contains($0) }
            staged.asked += texts
            return texts.isEmpty ? nil : .outgoingData(call, texts)
        case .done: return nil
        }
    }

    /// The call as the policies see it: the one that exists, or a draft of the one to be made. The
    /// draft keeps its id, so that plugins find the same call later.
    private mutating func draft(of staged: inout StagedOperation) -> Call? {
        guard case .invite(let invitation) = staged.operation else {
            return staged.operation.callID.flatMap { call($0) }
        }
        let id = staged.shaping.draftID ?? newCallID()
        staged.shaping.draftID = id
        return draftCall(id, staged.asker, invitation)
    }

    /// Takes the answer to a question of a staged operation; false: `id` is another question.
    mutating func shapingAnswered(_ id: QuestionID, _ answer: Answer) -> Bool {
        guard !staged.isEmpty, let operation = staged.removeValue(forKey: id) else {
            return false
        }
        wheel.cancel(operation.timer)
        questionCounts.remove(at: operation.counted)
        resume(operation, with: answer)
        return true
    }

    /// The policies did not answer in time: the operation goes on unchanged (F60), unless a guard
    /// was to be asked, which refuses.
    mutating func stagedIsLate(_ id: QuestionID) {
        if tokenRequests[id] != nil {
            tokenRequests[id]?.timer = .none
            effects.append(.withdraw(id))
            _ = tokenAnswered(id, .none)
            return
        }
        guard let operation = staged.removeValue(forKey: id) else { return }
        questionCounts.remove(at: operation.counted)
        effects.append(.withdraw(id))
        let user = operation.asker.user
        let refusing = settings.dialGuards(of: user).first { $0.isAsked(about: user) }?.plugin
        if operation.step == .permission,
            let by = operation.operation.isJoin ? "on.join" : refusing
        {
            return resume(operation, with: .refuse(code: "refused", by: by))
        }
        resume(operation, with: .none)
    }

    /// An answer that does not fit the question is none: the operation goes on as it was (F60).
    private mutating func resume(_ operation: StagedOperation, with answer: Answer) {
        var staged = operation
        switch answer {
        case .data(let data) where staged.step == .incomingData:
            staged.operation.extendedData = data
        case .allow(let allowance) where staged.step == .permission:
            apply(allowance, to: &staged)
        case .refuse(let code, let plugin) where staged.step == .permission:
            let text = "\(plugin) refused the call: \(code)"
            self.answer(staged.asker, .refused(Refusal(.refused, text, detail: .code(code))))
            return releaseWaiting(behind: staged.asker)
        case .tooLarge(let plugin) where staged.step == .incomingData:
            let text = "\(plugin) made the extended data too large"
            self.answer(staged.asker, .refused(Refusal(.tooLarge, text)))
            return releaseWaiting(behind: staged.asker)
        case .views(let views) where staged.step == .outgoingData:
            staged.shaping.views += views
        case .data, .allow, .refuse, .views, .token, .invite, .tooLarge, .none: break
        }
        if staged.step != .outgoingData { staged.step = staged.step.next }
        proceed(staged)
    }

    private func apply(_ allowance: Allowance, to staged: inout StagedOperation) {
        if let kept = allowance.invitees, let invitees = staged.operation.invitees {
            let chosen = settings.choose(kept, of: invitees, but: staged.asker.user)
            staged.shaping.refused = chosen.refused
            staged.operation = staged.operation.inviting(chosen.called)
        }
        guard case .invite(var invitation) = staged.operation else { return }
        if let timeout = allowance.timeout { invitation.timeout = timeout }
        if let data = allowance.extendedData { invitation.extendedData = data }
        staged.operation = .invite(invitation)
    }

    /// Each of them is shaped in its turn, and the ones behind it wait again.
    private mutating func releaseWaiting(behind asker: Asker) {
        guard let id = asker.operation.callID,
            let askers = waiting.removeValue(forKey: ParticipantKey(user: asker.user, call: id))
        else { return }
        for asker in askers { begin(asker) }
    }
}
