// Who asks, and for what.

import Collections
import CallModel

/// An operation on its way, with who asks for it: a user with a device, or a policy for an
/// account. Immutable and shared, because it is handed on at every step.
final class Asker: Sendable {
    /// Nil: the switchboard itself, carrying out a policy's decision.
    let id: RequestID?
    let user: UserID
    let device: DeviceID?
    let plugin: String?
    let key: IdempotencyKey?
    let operation: Operation
    /// When the user was heard by it, over a connection or with a token of its own; nil: was not
    /// (A20).
    let heardAt: Moment?
    /// What the handler of a plugin that asks counts for.
    let begunBy: Cause
    /// What the policies made of the operation.
    let shaping: Shaping
    /// The question that a forward answers.
    let answered: AnsweredQuestion?

    @inline(__always)
    init(
        _ id: RequestID?, _ user: UserID, device: DeviceID? = nil, plugin: String? = nil,
        key: IdempotencyKey? = nil, _ operation: Operation, heardAt: Moment? = nil,
        by cause: Cause = .nobody, shaping: Shaping = Shaping(),
        answered: AnsweredQuestion? = nil
    ) {
        (self.id, self.user, self.device, self.plugin) = (id, user, device, plugin)
        (self.key, self.operation, self.heardAt) = (key, operation, heardAt)
        (begunBy, self.shaping, self.answered) = (cause, shaping, answered)
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
        var answered: AnsweredQuestion?
        if case .call(_, .forward, _) = decision { answered = AnsweredQuestion(question: question) }
        self.init(
            nil, question.invitee.user, plugin: plugin, decision, by: cause, answered: answered)
    }

    /// The same asker with what the policies made of its operation.
    convenience init(_ asker: Asker, _ operation: Operation, _ shaping: Shaping) {
        self.init(
            asker.id, asker.user, device: asker.device, plugin: asker.plugin, key: asker.key,
            operation, heardAt: asker.heardAt, by: asker.begunBy, shaping: shaping,
            answered: asker.answered)
    }

    /// Whether the switchboard carries out what a policy decided about an invitation.
    var isDecision: Bool { id == nil }
    /// See `heardAt`.
    var isHeard: Bool { heardAt != nil }
    /// The extended data that comes with the operation.
    var text: String? { operation.extendedData }

    /// Whom what follows counts for (G71). What a policy does for its account in a call is the
    /// doing of who made the call.
    func cause(in call: Call) -> Cause {
        guard plugin != nil else { return Cause(user, caller: call.caller) }
        return begunBy.isNobody ? Cause(call.caller) : begunBy
    }

    var actor: Actor {
        if let plugin { return .policy(plugin) }
        guard let device else { return .policy("default") }
        return .user(user, device)
    }
}

/// The question that a decision answers. Boxed, because few askers have one.
final class AnsweredQuestion: Sendable {
    let question: InviteQuestion

    init(question: InviteQuestion) { self.question = question }
}

/// What the policies made of an operation.
struct Shaping: Sendable {
    /// Invitees that a policy left out.
    var refused: [UserID] = []
    /// What single receivers see instead of a text.
    var views: [Call.View] = []
    /// The id that the policies saw for a call that is still to be made.
    var draftID: CallID?
}
