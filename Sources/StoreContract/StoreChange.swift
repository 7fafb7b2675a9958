// Everything that can be stored, as one list of changes.

import CallModel

/// One change of the store. A batch of them is committed wholly or not at all.
public enum StoreChange: Sendable, Equatable {
    /// A call as it is now; an ended one moves to history. Of several in one batch only the last
    /// version of a call is written.
    case call(Call)
    /// A reply under an idempotency key.
    indirect case key(KeyEntry)
    /// A device's push registration, as of the moment of the commit; nil: removed.
    indirect case registration(Address, provider: String, PushRegistration?)
    /// A registration whose token is dead: removed, unless the device has registered since.
    indirect case deadRegistration(Registration)
    /// The push outbox.
    indirect case push(PushChange)
    /// The webhook outbox.
    indirect case webhook(WebhookChange)
    /// The named timers of plugins.
    indirect case timer(TimerChange)
    /// The `kv` of plugins. Names of plugins that begin with `@` belong to the host.
    indirect case value(ValueChange)
    /// The plugin generations.
    indirect case generation(GenerationChange)
    /// A user missed a call.
    case missed(UserID, CallID, at: Moment)
    /// A user saw all missed calls up to this moment.
    case seen(UserID, upTo: Moment)
    /// What a user is called; nil: forgotten. A token's name changes no other one.
    indirect case name(UserID, PersonName?, from: NameOrigin)
    /// An ended call as it may be kept without this user: takes the place of the kept one, if there
    /// is one. Its push outcomes are the substitute's, and the user has not missed it.
    indirect case forgotten(Forgotten, in: Call)
    /// The registrations, kept replies, name and missed calls of a user go.
    case forget(UserID)

    /// The new id that it brings, if it starts a job or timer.
    public var jobID: JobID? {
        switch self {
        case .push(.add(let id, _)): id
        case .webhook(.add(let job)): job.id
        case .timer(.set(let timer)): timer.id
        case .call, .key, .registration, .deadRegistration, .push, .webhook, .timer, .value,
            .generation, .missed, .seen, .name, .forgotten, .forget:
            nil
        }
    }
}

/// A reply to keep under an idempotency key (B25).
public struct KeyEntry: Sendable, Equatable {
    /// Whose key.
    public let user: UserID
    /// At most 64 bytes.
    public let key: String
    /// When it was first used.
    public let at: Moment
    /// The reply as it was sent, without its `re`, and the hash of the request's body.
    public let kept: KeptReply

    /// The reply `kept` for `user` under `key`, first used at `at`.
    public init(user: UserID, key: String, at: Moment, kept: KeptReply) {
        self.user = user
        self.key = key
        self.at = at
        self.kept = kept
    }
}

/// A job of an outbox: chosen by the shell, growing, never used twice. The high 32 bits are the
/// epoch of the term in which it was given: owners who do not know of each other give no id twice.
public struct JobID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// At most `Int64.max`.
    public let value: Int64

    /// The job `value`.
    public init(_ value: Int64) { self.value = value }

    /// In the order in which they were made.
    public static func < (left: JobID, right: JobID) -> Bool { left.value < right.value }
    /// The number.
    public var description: String { String(value) }
}

/// A change of the push outbox.
public enum PushChange: Sendable, Equatable {
    /// A user has to be woken.
    case add(JobID, PushJob)
    /// The outcome at one device; a later one for the same device replaces it.
    case outcome(PushOutcome)
    /// The job is done.
    case finish(JobID)
}

/// The outcome of one push to one device: part of the call's history.
public struct PushOutcome: Sendable, Equatable {
    /// The job.
    public let job: JobID
    /// The call.
    public let callID: CallID
    /// The user and device.
    public let address: Address
    /// `apns`, `fcm`, …
    public let provider: String
    /// Why the user was woken.
    public let kind: PushJob.Kind
    /// When the outcome was known.
    public let at: Moment
    /// `sent`, or why it was not sent, in the provider's or the host's word.
    public let result: String

    /// The `result` of `job` at one device.
    public init(
        job: JobID, call: CallID, address: Address, provider: String, kind: PushJob.Kind,
        at: Moment, result: String
    ) {
        self.job = job
        callID = call
        self.address = address
        self.provider = provider
        self.kind = kind
        self.at = at
        self.result = result
    }
}

/// A pending `later` of a plugin: plain data, so that the active generation's function runs it.
public struct NamedTimer: Sendable, Equatable {
    /// Chosen by the shell, growing, never used twice.
    public let id: JobID
    /// Whose.
    public let plugin: String
    /// The declared name.
    public let name: String
    /// The call with whose end it is removed, or nil.
    public let callID: CallID?
    /// When it fires.
    public let dueAt: Moment
    /// One JSON value.
    public let data: [UInt8]

    /// The timer `name` of `plugin`, due at `dueAt`.
    public init(
        _ id: JobID, plugin: String, name: String, dueAt: Moment, call: CallID? = nil,
        data: [UInt8] = []
    ) {
        self.id = id
        self.plugin = plugin
        self.name = name
        self.dueAt = dueAt
        callID = call
        self.data = data
    }
}

/// A change of the named timers.
public enum TimerChange: Sendable, Equatable {
    /// Started, or moved if it is there.
    case set(NamedTimer)
    /// Fired or cancelled.
    case remove(JobID)
}

/// A change of a plugin's `kv`.
public enum ValueChange: Sendable, Equatable {
    /// Sets the value, one JSON value, until `expiresAt` or for ever.
    case set(plugin: String, key: String, value: [UInt8], expiresAt: Moment?)
    /// Adds to an integer; `CommitResult.counters` tells the sum. A value that is not there counts
    /// as 0 and gets `expiresAt`; one that is there keeps its own.
    case increment(plugin: String, key: String, by: Int64, expiresAt: Moment?)
    /// Removes the value.
    case remove(plugin: String, key: String)
}
