// Why a request was not carried out.

/// The answer to a request that changed nothing.
public struct Refusal: Error, Sendable, Equatable {
    /// Every error code of the protocol.
    public enum Code: String, Sendable, CaseIterable {
        case badRequest = "bad_request"
        case unsupported
        case unauthenticated
        case forbidden
        case notFound = "not_found"
        case notInvited = "not_invited"
        case notInviter = "not_inviter"
        case alreadyAnswered = "already_answered"
        case alreadyJoined = "already_joined"
        case alreadyPrimary = "already_primary"
        case callEnded = "call_ended"
        case expired
        case cancelled
        case wrongMode = "wrong_mode"
        case wrongState = "wrong_state"
        case busy
        case selfCall = "self_call"
        case tooMany = "too_many"
        case tooLarge = "too_large"
        case keyReused = "key_reused"
        case rateLimited = "rate_limited"
        case refused
        case unavailable
        case `internal`

        /// Whether the same request may succeed later.
        public var isRetryable: Bool { self == .rateLimited || self == .unavailable }
        /// Whether a refusal with this code is kept under an idempotency key (B25).
        public var isKept: Bool {
            switch self {
            // The last two are about the form alone: it is corrected and sent again.
            case .unauthenticated, .rateLimited, .unavailable, .internal, .badRequest, .tooLarge:
                false
            case .unsupported, .forbidden, .notFound, .notInvited, .notInviter, .alreadyAnswered,
                .alreadyJoined, .alreadyPrimary, .callEnded, .expired, .cancelled, .wrongMode,
                .wrongState, .busy, .selfCall, .tooMany, .keyReused, .refused:
                true
            }
        }
    }

    /// More than the code, as the `detail` object of the error.
    public enum Detail: Sendable, Equatable {
        /// `{"field": path}`.
        case field(String)
        /// `{"code": …}`: a plugin's own word, or which rule of hold was broken.
        case code(String)
        /// `{"call_id": …}`: the call that keeps the user busy.
        case call(CallID)
        /// `{"errors": [{"user", "code"}]}`.
        case errors([InviteeError])
    }

    /// See `Code`.
    public let code: Code
    /// For a person; names what was wrong.
    public let message: String
    /// See `Detail`.
    public let detail: Detail?
    /// When to try again.
    public let retryAfter: Milliseconds?

    /// A refusal with `code`, saying `message`.
    public init(
        _ code: Code, _ message: String, detail: Detail? = nil, retryAfter: Milliseconds? = nil
    ) {
        self.code = code
        self.message = message
        self.detail = detail
        self.retryAfter = retryAfter
    }
}

/// Why one of several users was left out of an operation: an entry of `errors[]`.
public struct InviteeError: Sendable, Equatable {
    /// Every code of an entry.
    public enum Code: String, Sendable, CaseIterable {
        case unknownUser = "unknown_user"
        case alreadyInCall = "already_in_call"
        case duplicate
        case tooMany = "too_many"
        case blocked
        case itself = "self"
        case refused
        case alreadyAnswered = "already_answered"
        case notInvited = "not_invited"
        case notInviter = "not_inviter"
        case wrongState = "wrong_state"
    }

    /// Who was left out.
    public let user: UserID
    /// Why.
    public let code: Code

    /// `user` was left out for `code`.
    public init(_ user: UserID, _ code: Code) {
        self.user = user
        self.code = code
    }
}
