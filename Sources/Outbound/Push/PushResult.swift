// What came of a push, and what that means for the device's registration.

/// Why a push did not reach its provider's queue.
public struct PushFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The closed list of causes.
    public enum Cause: String, Sendable, CaseIterable {
        /// The token is no longer one: remove the registration.
        case deadToken = "dead_token"
        /// The token was declared dead before the device registered it again: nothing is known
        /// against it since.
        case outdated
        /// The provider calls the tokens of many users dead, so it is itself in trouble.
        case doubted
        /// A token of Apple's other environment, or none at all: Apple does not tell them apart.
        case wrongEnvironment = "wrong_environment"
        /// A token of another app or sender than ours.
        case wrongApp = "wrong_app"
        /// Our credentials or settings are wrong; it concerns every push of the provider.
        case misconfigured
        /// The push cannot be sent as it is: too large, or against a rule.
        case invalid
        /// There was no time left.
        case expired
        /// The provider could not be reached or had no room while it still mattered.
        case unavailable
        /// Too many pushes wait already.
        case overloaded
    }

    /// What becomes of a registration.
    public enum Advice: String, Sendable {
        /// Nothing: the registration is not to blame.
        case keep
        /// Leave it alone for a day: it may be a mistake on our side.
        case pause
        /// Remove it.
        case remove
    }

    /// Why.
    public var cause: Cause
    /// The provider's word, or ours.
    public var reason: String

    /// A failure.
    public init(_ cause: Cause, _ reason: String) {
        self.cause = cause
        self.reason = reason
    }

    /// What to do with the registration.
    public var advice: Advice {
        switch cause {
        case .deadToken: .remove
        case .wrongEnvironment, .wrongApp: .pause
        case .outdated, .doubted, .misconfigured, .invalid, .expired, .unavailable, .overloaded:
            .keep
        }
    }

    /// One line for the log and for `on.push_failed`.
    public var description: String { "\(cause.rawValue): \(reason)" }
}

/// The end of one push.
public struct PushResult: Sendable, Equatable {
    /// What happened.
    public enum Result: Sendable, Equatable {
        /// The provider took it; the text is its name for it, if it gave one.
        case delivered(String?)
        /// It did not.
        case failed(PushFailure)
    }

    /// The push, as it was sent.
    public let notice: PushNotice
    /// What happened.
    public let result: Result
    /// How often it was tried.
    public let attempts: Int
}

/// How a provider's answer is understood.
enum PushVerdict: Equatable {
    /// It took the push.
    case delivered(String?)
    /// Try again: after so many milliseconds, or by the usual plan.
    case again(String, after: Int64?)
    /// Our access has expired: get a new one and try again, once.
    case accessExpired(String)
    /// Never mind.
    case failed(PushFailure)

    /// What is the same everywhere: too many requests, and servers in trouble.
    static func temporary(_ response: OutboundResponse, _ reason: String, at now: Int64)
        -> PushVerdict
    {
        .again(reason, after: response.retryAfter(at: now))
    }
}

extension OutboundResponse {
    /// The characters of a word that are kept: reasons go into the log, the store and to plugins.
    private static let wordMax = 100

    /// The reason for the log: the status, and a word from the body if there is one. Words are
    /// ASCII; whatever else a service writes there could paint what shows it.
    func reason(_ word: String?) -> String {
        guard let word else { return "\(status)" }
        let kept = word.unicodeScalars.prefix(Self.wordMax).map {
            (" "..."~").contains($0) ? Character($0) : " "
        }
        return "\(status) \(String(kept))"
    }

    /// `Retry-After` in milliseconds from now, if the server asked for time (RFC 9110 section
    /// 10.2.3): seconds or a date; a day at most.
    func retryAfter(at now: Int64) -> Int64? {
        guard let value = header("retry-after") else { return nil }
        let day: Int64 = 86_400_000
        if let seconds = Int64(value) { return min(max(seconds, 0), day / 1_000) * 1_000 }
        return HTTPDate.milliseconds(value).map { min(max($0 - now, 0), day) }
    }
}
