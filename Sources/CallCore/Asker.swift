// Who asks, and for what.

import Bookkeeping
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

    init(_ request: Request, heardAt: Moment?) {
        id = request.id
        user = request.user
        device = request.device
        plugin = nil
        key = request.operation.isReading ? nil : request.key
        operation = request.operation
        begunBy = .nobody
        self.heardAt = heardAt
        shaping = Shaping()
        answered = nil
    }

    init(
        id: RequestID, user: UserID, plugin: String, operation: Operation,
        by cause: Cause = .nobody
    ) {
        begunBy = cause
        self.id = id
        self.user = user
        self.plugin = plugin
        self.operation = operation
        device = nil
        key = nil
        heardAt = nil
        shaping = Shaping()
        answered = nil
    }

    /// The switchboard carries out what `plugin` decided when it was asked `question`.
    init(_ question: InviteQuestion, by plugin: String, _ decision: Operation, for cause: Cause) {
        begunBy = cause
        id = nil
        user = question.invitee.user
        self.plugin = plugin
        operation = decision
        device = nil
        key = nil
        heardAt = nil
        shaping = Shaping()
        if case .call(_, .forward, _) = decision {
            answered = AnsweredQuestion(question: question)
        } else {
            answered = nil
        }
    }

    /// The same asker with what the policies made of its operation.
    init(_ asker: Asker, _ operation: Operation, _ shaping: Shaping) {
        id = asker.id
        user = asker.user
        device = asker.device
        plugin = asker.plugin
        key = asker.key
        begunBy = asker.begunBy
        heardAt = asker.heardAt
        answered = asker.answered
        self.operation = operation
        self.shaping = shaping
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

extension Call {
    /// Whom questions and decisions about the invitation at `index` count for: who began it (G71).
    func cause(of index: Int) -> Cause {
        let place = Int(participants[index].begunBy)
        return Cause(place < participants.count ? participants[place].user : caller, caller: caller)
    }
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
