// call.transfer and call.remove.

import CallModel

extension Switchboard {
    // MARK: call.transfer

    /// Invites `target` in the name of the asker, who leaves when `target` has joined (K103, K104).
    mutating func transfer(
        _ asker: Asker, _ id: CallID, to target: UserID, push: PushText?
    ) throws(Refusal) {
        let place = try locateJoined(asker, id, needs: .transfer)
        try checkTransfer(from: asker.user, to: target, in: calls[place.slot])
        // `on.dial` left the target out: here that is the whole operation (F64).
        if !asker.shaping.refused.isEmpty {
            throw Refusal(.refused, "\(target) was refused", detail: .code("refused"))
        }
        guard !isTrial else { return }
        try admit(settings.answers(for: target) ? 1 : 0, of: asker.cause(in: calls[place.slot]))
        var commit = change(place.slot, by: asker, .call)
        commit.push = push
        commit.call.transfers.append(
            Call.Transfer(to: target, by: asker.user, extendedData: asker.text))
        admit(target, by: asker.user, into: &commit)
        finish(&commit)
        consult(id, push: push)
    }

    private func checkTransfer(
        from user: UserID, to target: UserID, in call: Call
    ) throws(Refusal) {
        switch obstacle(to: target, by: user, in: call) {
        case .itself: throw Refusal(.selfCall, "nobody can transfer a call to themselves")
        case .unknownUser: throw Refusal(.notFound, "\(target) is not known")
        case .alreadyInCall: throw Refusal(.alreadyJoined, "\(target) is in the call")
        case let code?: throw Refusal(.badRequest, "\(target): \(code.rawValue)")
        case nil: break
        }
        if let open = call.transfers.first(where: { $0.isPending && $0.by == user }) {
            throw .wrongState("\(open.to) has yet to answer the transfer before")
        }
        guard call.transfers.count < settings.transfersMax else {
            throw Refusal(.tooMany, "the call had \(settings.transfersMax) transfers")
        }
    }

    /// The transferor leaves in the commit in which the target joins (K104). A transfer is over
    /// when one of the two is gone; a pending invitation goes on as an ordinary one (K105).
    func settleTransfers(_ commit: inout Commit) {
        for index in commit.call.transfers.indices where commit.call.transfers[index].isPending {
            let transfer = commit.call.transfers[index]
            let from = commit.call.index(of: transfer.by).flatMap {
                commit.call.participants[$0].state == .joined ? $0 : nil
            }
            let state = commit.call.participant(transfer.to)?.state
            if from != nil, state?.isPending == true { continue }
            commit.call.close(transfer: index)
            guard let from, state == .joined else { continue }
            commit.move(from, to: .left, .transferred)
            commit.notify(.devices(of: transfer.by), .transferred(to: transfer.to))
            connectAnew(&commit)
        }
    }

    /// Everybody reports media anew where the mode has it (C37, K104): who joins has none yet.
    func connectAnew(_ commit: inout Commit) {
        guard commit.call.state == .active,
            let limit = commit.call.mode.connectWithin
        else { return }
        commit.call.connectAnew(until: now + limit)
        commit.notify(.joinedPrimaries(except: nil), .mediaPhase(.establishing))
    }

    // MARK: call.remove

    /// Removes `users` from the call. They are noted, because they may not `call.join` before
    /// somebody invites them (K111).
    mutating func remove(_ asker: Asker, _ id: CallID, _ users: [UserID]) throws(Refusal) {
        // Form is checked before state (D49).
        if users.isEmpty {
            throw Refusal(.badRequest, "nobody to remove", detail: .field("users"))
        }
        let place = try locateJoined(asker, id, needs: .remove)
        let (chosen, errors) = try calls[place.slot].choose(users, for: "removed") {
            if $0.user == asker.user { return .itself }
            return $0.state == .joined ? nil : $0.obstacleToCancel
        }
        var commit = change(place.slot, by: asker, .callWithErrors(errors))
        for index in chosen {
            let user = commit.call.participants[index].user
            commit.call.removed.append(user)
            if commit.call.participants[index].state == .joined {
                commit.move(index, to: .left, .kicked)
                commit.notify(.devices(of: user), .removed(by: asker.user))
            } else {
                commit.move(index, to: .cancelled, .byInviter)
            }
        }
        finish(&commit)
    }
}
