// Whom an operation concerns of those whom it names.

/// The users that an operation can be carried out for, and why it cannot for the others.
package struct Selection {
    package var usable: [UserID]
    package var errors: [InviteeError] = []

    /// All of `usable`, until errors are found.
    package init(usable: [UserID]) { self.usable = usable }

    /// Leaves out those whom a policy refused.
    package mutating func leaveOut(_ refused: [UserID]) {
        guard !refused.isEmpty else { return }
        errors += usable.filter(refused.contains).map { InviteeError($0, .refused) }
        usable.removeAll { refused.contains($0) }
    }

    /// Throws the refusal of an invitation in which nobody can be invited (D39).
    package func refuse(in row: ModeRow) throws(Refusal) {
        if row.mode.invitees == 1, errors.contains(where: { $0.code == .tooMany }) {
            throw .tooMany(errors)
        }
        guard usable.isEmpty else { return }
        func all(_ code: InviteeError.Code) -> Bool { errors.allSatisfy { $0.code == code } }
        if all(.itself) {
            throw Refusal(.selfCall, "nobody can call themselves", detail: .errors(errors))
        }
        if all(.tooMany) { throw .tooMany(errors) }
        if all(.unknownUser) {
            throw Refusal(.notFound, "none of the invitees is known", detail: .errors(errors))
        }
        if all(.refused) {
            throw Refusal(.refused, "every invitee was refused", detail: .errors(errors))
        }
        throw Refusal(.badRequest, "none of the invitees can be called", detail: .errors(errors))
    }
}

extension Call {
    /// The places of those of `users` whom nothing is in the way of, and why the others are left
    /// out. If nobody is left it throws, saying that the first cannot be `done`.
    package func choose(
        _ users: [UserID], for done: String, obstacle: (Participant) -> InviteeError.Code?
    ) throws(Refusal) -> (chosen: [Int], errors: [InviteeError]) {
        var (chosen, errors): ([Int], [InviteeError]) = ([], [])
        for user in users {
            let index = index(of: user)
            if let code = index.map({ obstacle(participants[$0]) }) ?? .notInvited {
                errors.append(InviteeError(user, code))
            } else if let index, !chosen.contains(index) {
                chosen.append(index)
            }
        }
        if chosen.isEmpty, let first = errors.first {
            throw Refusal(
                Refusal.Code(rawValue: first.code.rawValue) ?? .badRequest,
                "\(first.user) cannot be \(done)", detail: .errors(errors))
        }
        return (chosen, errors)
    }
}

extension Participant {
    /// Why an invitation cannot be withdrawn any more; nil: it can.
    package var obstacleToCancel: InviteeError.Code? {
        switch state {
        case .inviting, .undelivered, .ringing, .accepting: nil
        case .joined, .rejected: .alreadyAnswered
        case .cancelled, .timedOut, .left, .failed: .wrongState
        }
    }
}
