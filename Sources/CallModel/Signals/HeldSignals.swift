// Signals for pending participants whose devices do not know of the call yet.

/// Signals that wait until their addressees' devices know of the call, within bounds for each
/// addressee and for each sender (G80).
package struct HeldSignals: Sendable {
    private struct Waiting {
        var events: [CallEvent] = []
        var bytes = 0
    }

    private var waiting: [ParticipantKey: Waiting] = [:]
    /// What waits of each sender, over all calls.
    private var bytesOf: [UserID: Int] = [:]

    /// Nothing waits.
    package init() {}

    /// Whether nothing waits.
    package var isEmpty: Bool { waiting.isEmpty }

    /// Keeps a signal for `addressee`; false: there is no room for it.
    package mutating func hold(
        _ event: CallEvent, for addressee: ParticipantKey, within settings: Settings
    ) -> Bool {
        guard case .signal(let sender, let data) = event.kind else { return false }
        let before = waiting[addressee] ?? Waiting()
        let sent = bytesOf[sender] ?? 0
        guard before.events.count < settings.heldSignalsMax,
            before.bytes + data.count <= settings.heldSignalBytesMax,
            sent + data.count <= settings.heldSignalBytesOfSenderMax
        else { return false }
        waiting[addressee, default: Waiting()].events.append(event)
        waiting[addressee]?.bytes += data.count
        bytesOf[sender] = sent + data.count
        return true
    }

    /// Takes out what waits for `addressee`.
    package mutating func take(_ addressee: ParticipantKey) -> [CallEvent] {
        guard let taken = waiting.removeValue(forKey: addressee) else { return [] }
        for event in taken.events {
            guard case .signal(let sender, let data) = event.kind else { continue }
            let left = (bytesOf[sender] ?? 0) - data.count
            bytesOf[sender] = left > 0 ? left : nil
        }
        return taken.events
    }
}

/// A user's part in a call, as a key.
package struct ParticipantKey: Hashable, Sendable {
    /// The user.
    package let user: UserID
    /// The call.
    package let call: CallID

    /// The part of `user` in `call`.
    package init(user: UserID, call: CallID) { (self.user, self.call) = (user, call) }
}
