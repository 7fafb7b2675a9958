// Who asks, and for what.

import CallModel

/// An operation on its way and who asks for it: a user with a device, or a policy for an account.
/// An object that never changes, because copying a struct of this size at every step is slow.
final class Asker: Sendable {
    /// Nil: the switchboard itself, carrying out a policy's decision.
    let id: RequestID?
    let user: UserID
    let device: DeviceID?
    let plugin: String?
    let key: IdempotencyKey?
    let operation: Operation
    /// When the user was heard by this request, over a connection or with a token of their own;
    /// nil: not heard, as with the key of a server (A20).
    let heardAt: Moment?
    /// Nobody, or the cause for which the handler of a plugin runs that asks (G71).
    let handlerCause: Cause
    /// What the policies changed in the operation (F64, F65).
    let shaping: Shaping
    /// The question that a forward answers.
    let answered: InviteQuestion?

    @inline(__always)
    init(
        _ id: RequestID?, _ user: UserID, device: DeviceID? = nil, plugin: String? = nil,
        key: IdempotencyKey? = nil, _ operation: Operation, heardAt: Moment? = nil,
        by cause: Cause = .nobody, shaping: Shaping = Shaping(),
        answered: InviteQuestion? = nil
    ) {
        (self.id, self.user, self.device, self.plugin) = (id, user, device, plugin)
        (self.key, self.operation, self.heardAt) = (key, operation, heardAt)
        (handlerCause, self.shaping, self.answered) = (cause, shaping, answered)
    }

    /// The user who makes `request`.
    convenience init(_ request: Request, heardAt: Moment?) {
        let isReading = request.key == nil || request.operation.isReading
        self.init(
            request.id, request.user, device: request.device, key: isReading ? nil : request.key,
            request.operation, heardAt: heardAt)
    }

    /// The switchboard carries out what `plugin` decided when it was asked `question`.
    convenience init(
        _ question: InviteQuestion, by plugin: String, _ decision: Operation, for cause: Cause
    ) {
        self.init(
            nil, question.invitee.user, plugin: plugin, decision, by: cause, answered: question)
    }

    /// The same asker, with its operation as the policies have shaped it.
    convenience init(_ asker: Asker, _ operation: Operation, _ shaping: Shaping) {
        self.init(
            asker.id, asker.user, device: asker.device, plugin: asker.plugin, key: asker.key,
            operation, heardAt: asker.heardAt, by: asker.handlerCause, shaping: shaping,
            answered: asker.answered)
    }

    /// Whether the switchboard carries out what a policy decided about an invitation.
    var isDecision: Bool { id == nil }
    var isHeard: Bool { heardAt != nil }
    /// The extended data that comes with the operation.
    var text: String? { operation.extendedData }

    /// The cause of what follows from the operation (G71). A policy acts for an account that was
    /// called, so what it does counts for the caller too.
    func cause(in call: Call) -> Cause {
        guard plugin != nil else { return Cause(user, caller: call.caller) }
        return handlerCause.isNobody ? Cause(call.caller) : handlerCause
    }

    var actor: Actor {
        if let plugin { return .policy(plugin) }
        guard let device else { return .policy("default") }
        return .user(user, device)
    }
}

/// What the policies changed in an operation.
struct Shaping: Sendable {
    /// Invitees that a policy left out.
    var refused: [UserID] = []
    /// The texts that single receivers see instead of the original.
    var views: [Call.View] = []
    /// The id under which the policies have seen a call that is not made yet.
    var draftID: CallID?
}
