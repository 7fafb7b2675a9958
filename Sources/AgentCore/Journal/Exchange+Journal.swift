// What the exchange enters into journals.

import CallCore
import CallModel

extension Exchange {
    /// Enters what came in, with why it was refused, if it was.
    ///
    /// - Parameter refused: the operation that this answer of a plugin refuses.
    func enter(
        _ input: Input, _ effects: [Effect], _ refused: (user: UserID, operation: Operation)?,
        into journal: Journal
    ) {
        if let refused, let refusal = refusal(in: effects) {
            journal.noteRefused(refused.operation, by: refused.user, refusal, at: now())
        }
        switch input {
        case .request(let request): enter(request, effects, into: journal)
        case .deviceConnected(_, let user, let device, _):
            journal.connection(
                of: Address(user, device), isThere: true, nil,
                in: callsToTell(of: user), at: now())
        case .deviceDisconnected(let user, let device, _, _):
            journal.connection(
                of: Address(user, device), isThere: false, nil,
                in: callsToTell(of: user), at: now())
        case .deviceGone(let user, let device, let bye):
            journal.connection(
                of: Address(user, device), isThere: false, bye ? "bye" : "gone",
                in: callsToTell(of: user), at: now())
        case .answered, .thinking, .policyRequest, .deadlineReached, .recalled, .recalledKey,
            .recallFailed, .recallKeyFailed, .loaded, .configured:
            break
        }
    }

    /// The calls in whose journals a connection of `user` is entered.
    private func callsToTell(of user: UserID) -> [CallID] {
        switchboard.callIDs(of: user, atMost: Journal.connectionCallsMax)
    }

    private func enter(_ request: Request, _ effects: [Effect], into journal: Journal) {
        guard !request.operation.isReading else { return }
        let refusal = refusal(in: effects)
        let call: CallID?
        if case .call(let id, let action, _) = request.operation {
            // Signals are counted when they are told, and strangers leave no mark.
            if case .signal = action { return }
            guard switchboard.call(id)?.participant(request.user) != nil else { return }
            call = id
        } else {
            call = newCall(in: effects)
        }
        guard let call else {
            if let refusal {
                journal.noteRefused(request.operation, by: request.user, refusal, at: now())
            }
            return
        }
        journal.asks(request, refusal?.code, in: call, at: now())
    }

    private func refusal(in effects: [Effect]) -> Refusal? {
        for place in effects.indices {
            if case .reply(_, .refused(let refusal)) = effects[place] { return refusal }
        }
        return nil
    }

    private func call(in records: [Record]) -> CallID? {
        for place in records.indices {
            if case .call(let call) = records[place] { return call.id }
        }
        return nil
    }

    /// The call that is made or asked about.
    private func newCall(in effects: [Effect]) -> CallID? {
        for place in effects.indices {
            switch effects[place] {
            case .persist(let records):
                if let call = self.call(in: records) { return call }
            case .consult(let question): return question.subject.call.id
            default: continue
            }
        }
        return nil
    }
}

extension Input {
    /// Whose doing it is, for a journal.
    var actor: (name: String, device: String?) {
        switch self {
        case .request(let request): (request.user.text, request.device.text)
        case .policyRequest(_, _, let plugin, _, _): (plugin, nil)
        case .answered: ("policy", nil)
        case .deadlineReached: ("timer", nil)
        case .deviceConnected(_, let user, let device, _): (user.text, device.text)
        case .deviceDisconnected(let user, let device, _, _): (user.text, device.text)
        case .deviceGone(let user, let device, _): (user.text, device.text)
        case .thinking, .recalled, .recalledKey, .recallFailed, .recallKeyFailed, .loaded,
            .configured:
            ("server", nil)
        }
    }
}
