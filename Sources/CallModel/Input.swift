// Every input of a switchboard, grouped by its sender.

/// Something that happened outside the switchboard.
public enum Input: Sendable, Equatable {
    // From a device, through its session.

    /// A device asks for something.
    case request(Request)
    /// A device said `hello`: it gets `Effect.welcome`, and unless `resumed` every pending
    /// invitation again.
    case deviceConnected(RequestID, UserID, DeviceID, resumed: Bool)
    /// A device's connection has ended; its session may still be resumed. `heard`: when its last
    /// frame came, `ended`: when it ended; nil: now. A connection that the server ends for silence
    /// ended at its last frame (A20).
    case deviceDisconnected(UserID, DeviceID, heard: Moment? = nil, ended: Moment? = nil)
    /// A device said `bye`, or its session can no longer be resumed.
    case deviceGone(UserID, DeviceID, bye: Bool)

    // From the policies.

    /// The policies answered a question.
    case answered(QuestionID, Answer)
    /// A handler waits for something: its answer comes later.
    case thinking(QuestionID)
    /// A policy asks for something for its account. The cause is that of the handler that asks; if
    /// that is nobody, the caller.
    case policyRequest(RequestID, UserID, plugin: String, Operation, Cause = .nobody)

    // From the shell.

    /// `nextDeadline` has come.
    case deadlineReached
    /// The answer to `Effect.recall`: the stored call or nil.
    case recalled(CallID, Call?)
    /// The answer to `Effect.recallKey`: what is stored under the key, or nil.
    case recalledKey(UserID, key: String, KeptReply?)
    /// The store cannot be read: every request that waits for `Effect.recall` or `Effect.recallKey`
    /// gets `unavailable`.
    case recallFailed(CallID)
    case recallKeyFailed(UserID, key: String)
    /// Live calls from before the start; `more`: others follow.
    case loaded([Call], more: Bool)
    /// The settings have changed by a reload. If requests are read differently now, those that wait
    /// for the store are refused, and clients send them again.
    indirect case configured(Settings, readsAlike: Bool = true)
}

/// A request of a device.
public struct Request: Sendable, Equatable {
    /// Named by the shell.
    public let id: RequestID
    /// Who asks.
    public let user: UserID
    /// With which device.
    public let device: DeviceID
    /// Idempotency key and a hash of `op` and `data`, or nil.
    public let key: IdempotencyKey?
    /// What is asked.
    public let operation: Operation
    /// It came without a connection, with the user's own token: it counts as a frame on a
    /// connection that ended then (A20).
    public var standsAlone = false
    /// The trace to which it belongs, for whoever looks at what it caused.
    public var trace: TraceParent?

    /// The request `id` of `user`.
    public init(
        id: RequestID, user: UserID, device: DeviceID, key: IdempotencyKey? = nil,
        operation: Operation
    ) {
        self.id = id
        self.user = user
        self.device = device
        self.key = key
        self.operation = operation
    }
}

/// A client's promise that two requests with the same text are one.
public struct IdempotencyKey: Sendable, Equatable {
    /// At most 64 bytes.
    public let text: String
    /// Hash of the request's `op` and `data` as JSON values.
    public let bodyHash: UInt64

    /// The key `text` of a request whose body hashes to `bodyHash`.
    public init(_ text: String, bodyHash: UInt64) {
        self.text = text
        self.bodyHash = bodyHash
    }
}

/// What is stored under an idempotency key.
public struct KeptReply: Sendable, Equatable {
    /// Hash of the first request's body.
    public let bodyHash: UInt64
    /// The first reply as it was sent, without its `re`.
    public let reply: [UInt8]

    /// The reply to a request whose body hashed to `bodyHash`.
    public init(bodyHash: UInt64, reply: [UInt8]) {
        self.bodyHash = bodyHash
        self.reply = reply
    }
}

/// What a start restores from the store.
public struct Restored: Sendable {
    /// Every live call; none, if they come as `Input.loaded`.
    public var calls: [Call] = []
    /// The last call that comes as `Input.loaded`; nil: none does.
    public var lastCall: CallID?
    /// Every kept idempotency key, oldest first.
    public var keys: [KeyMark] = []

    /// A start from nothing.
    public init() {}
}

/// A kept idempotency key, as the core remembers it.
public struct KeyMark: Sendable, Equatable {
    /// Whose key.
    public let user: UserID
    /// The key.
    public let key: String
    /// Hash of the request's body that was made under it.
    public let bodyHash: UInt64
    /// When it was first used.
    public let at: Moment

    /// The key `key` of `user`, first used at `at`.
    public init(user: UserID, key: String, bodyHash: UInt64, at: Moment) {
        self.user = user
        self.key = key
        self.bodyHash = bodyHash
        self.at = at
    }
}
