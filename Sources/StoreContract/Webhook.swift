// The outbox of webhooks: at least once, in order per endpoint and call, kept for replay.

import CallModel

/// One message to one endpoint.
public struct WebhookJob: Sendable, Equatable {
    /// Also the message's `webhook-id`: the same at every attempt.
    public let id: JobID
    /// The endpoint's name in the configuration.
    public let endpoint: String
    /// The call; messages of one call to one endpoint go out in order.
    public let callID: CallID
    /// The event's type.
    public let type: String
    /// When it happened.
    public let at: Moment
    /// The body as it is signed and sent.
    public let body: [UInt8]
    /// Who caused it (G71).
    public var cause = Cause.nobody
    /// The trace of the request that led to it; nil: it named none.
    public var trace: TraceParent?

    /// Who made the call; `Cause.noCaller`: nobody.
    public var caller: UserID { cause.caller ?? Cause.noCaller }

    /// The message `id` to `endpoint`.
    public init(
        _ id: JobID, endpoint: String, call: CallID, type: String, at: Moment, body: [UInt8]
    ) {
        self.id = id
        self.endpoint = endpoint
        callID = call
        self.type = type
        self.at = at
        self.body = body
    }
}

extension Cause {
    /// Stands for nobody where makers of calls are named.
    public static let noCaller = UserID("")
}

/// How far a message is.
public struct WebhookProgress: Sendable, Equatable {
    /// Where a message stands.
    public enum State: String, Sendable, CaseIterable {
        /// To be sent.
        case open
        /// The endpoint took it.
        case delivered
        /// Given up.
        case failed
    }

    /// See `State`.
    public var state: State
    /// Attempts made.
    public var attempts: Int
    /// When to try next; meaningless unless open.
    public var dueAt: Moment
    /// What the last attempt met, or nil.
    public var lastError: String?

    /// `lastError` of what was given up without an attempt.
    public static let neverTried = "not tried in time"

    /// A progress of these parts.
    public init(
        _ state: State = .open, attempts: Int = 0, dueAt: Moment, lastError: String? = nil
    ) {
        self.state = state
        self.attempts = attempts
        self.dueAt = dueAt
        self.lastError = lastError
    }
}

/// A change of the webhook outbox.
public enum WebhookChange: Sendable, Equatable {
    /// A message is to be sent.
    case add(WebhookJob)
    /// An attempt was made, or an operator asked for a replay.
    case update(JobID, WebhookProgress)
    /// Nobody may read it any more.
    case remove(JobID)
}

/// A stored message.
public struct StoredWebhook: Sendable, Equatable {
    /// The message.
    public let job: WebhookJob
    /// How far it is.
    public var progress: WebhookProgress

    /// The message `job`, as far as `progress` tells.
    public init(job: WebhookJob, progress: WebhookProgress) {
        self.job = job
        self.progress = progress
    }
}
