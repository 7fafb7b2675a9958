// What a journal is told that is no value of the core.

import CallModel

/// One plugin's part of a decision, for the journal.
public struct JournalAnswer: Sendable {
    /// The hook, without `on.`.
    public var hook: String
    /// The account that it was about.
    public var user: UserID
    /// Who was asked.
    public var plugin: String
    /// The generation of the plugin.
    public var generation: String
    /// `accept`, `reject`, …, or what became of the question.
    public var decision: String
    /// More of the decision, for a person.
    public var detail: String?
    /// Processor time of its runs, in nanoseconds.
    public var processor: UInt64
    /// From when it was asked to its answer.
    public var wall: Milliseconds
    /// How the plugin failed; nil: it did not.
    public var failure: String?

    /// `plugin` was asked at `hook` about `user`, and said `decision`.
    public init(hook: String, user: UserID, plugin: String, generation: String, decision: String) {
        (self.hook, self.user, self.plugin) = (hook, user, plugin)
        (self.generation, self.decision) = (generation, decision)
        (processor, wall) = (0, 0)
    }
}

/// Something that was sent out because of a call.
public struct JournalDelivery: Sendable {
    /// The user whom a push wakes; nil: it is a webhook.
    public var address: (user: UserID, device: DeviceID?)?
    /// The type of an event, such as `call.created`; nil: a push.
    public var event: String?
    /// The provider or receiver.
    public var target: String
    /// `sent`, `failed`, `unreached`, …
    public var state: String
    /// What was said about it.
    public var status: String?
    /// How long it took.
    public var took: Milliseconds
    /// The trace of what caused it.
    public var trace: TraceParent?

    /// Something was sent to `target`, and became `state`.
    public init(
        to address: (user: UserID, device: DeviceID?)? = nil, _ target: String, _ state: String,
        status: String? = nil, took: Milliseconds = 0
    ) {
        (self.address, self.target, self.state) = (address, target, state)
        (self.status, self.took) = (status, took)
    }
}
