// Events on their way to other systems, as values.

/// Somebody who is told what happens.
public struct WebhookEndpoint: Sendable {
    /// Its name in the configuration and in the outbox.
    public var name: String
    /// Where events are posted.
    public var url: HTTPURL
    /// What they are signed with; several while one is being changed.
    public var secrets: [WebhookSecret]
    /// Which addresses the host may have.
    public var addresses: AddressGuard

    /// An endpoint.
    public init(
        _ name: String, _ url: HTTPURL, secrets: [WebhookSecret],
        addresses: AddressGuard = .publicOnly
    ) {
        self.name = name
        self.url = url
        self.secrets = secrets
        self.addresses = addresses
    }
}

/// One event for one endpoint, from the outbox.
public struct WebhookPost: Sendable, Equatable {
    /// The event's id, the same for every attempt.
    public var id: String
    /// The endpoint's name.
    public var endpoint: String
    /// Events with the same one, a call's id, arrive in the order in which they were added; nil: no
    /// order.
    public var order: String?
    /// The JSON to post.
    public var body: [UInt8]
    /// How often it was tried already.
    public var attempts: Int
    /// Not to be tried before, in milliseconds since 1970.
    public var notBefore: Int64
    /// Who caused it; nil: that is not known.
    public var cause: SendingCause?
    /// The `traceparent` of what caused it; nil: it has none.
    public var trace: String?

    /// An event.
    public init(
        id: String, endpoint: String, order: String?, body: [UInt8], attempts: Int = 0,
        notBefore: Int64 = 0
    ) {
        self.id = id
        self.endpoint = endpoint
        self.order = order
        self.body = body
        self.attempts = attempts
        self.notBefore = notBefore
    }
}

/// News of one event.
public struct WebhookOutcome: Sendable, Equatable {
    /// What happened.
    public enum Result: Sendable, Equatable {
        /// The receiver has it: take it out of the outbox.
        case delivered
        /// Not yet: note the attempts and the moment (milliseconds since 1970) in the outbox. The
        /// sender keeps the job.
        case postponed(attempts: Int, until: Int64, reason: String)
        /// Every attempt was in vain: out of the outbox, or to where it can be replayed from.
        case gaveUp(reason: String)
        /// The receiver wants nothing any more (410): disable the endpoint. The sender has
        /// forgotten all of its jobs and takes no more.
        case endpointGone
        /// The sender did not take it: it has no room, or the endpoint is unknown or gone.
        case noRoom
    }

    /// The event.
    public let id: String
    /// The endpoint's name.
    public let endpoint: String
    /// What happened.
    public let result: Result
    /// How often it was tried, where it is over.
    public var attempts = 0
}
