// Who asks, and for what.

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
    /// What the policies made of the operation.
    let shaping: Shaping

    init(_ request: Request) {
        id = request.id
        user = request.user
        device = request.device
        plugin = nil
        key = request.operation.isReading ? nil : request.key
        operation = request.operation
        shaping = Shaping()
    }

    init(id: RequestID?, user: UserID, plugin: String, operation: Operation) {
        self.id = id
        self.user = user
        self.plugin = plugin
        self.operation = operation
        device = nil
        key = nil
        shaping = Shaping()
    }

    /// The same asker with what the policies made of its operation.
    init(_ asker: Asker, _ operation: Operation, _ shaping: Shaping) {
        id = asker.id
        user = asker.user
        device = asker.device
        plugin = asker.plugin
        key = asker.key
        self.operation = operation
        self.shaping = shaping
    }

    /// Whether the switchboard carries out what a policy decided about an invitation.
    var isDecision: Bool { id == nil }
    /// The extended data that comes with the operation.
    var text: String? { operation.extendedData }

    var actor: Actor {
        if let plugin { return .policy(plugin) }
        guard let device else { return .policy("default") }
        return .user(user, device)
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
