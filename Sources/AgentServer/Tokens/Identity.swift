// Who a client is, told by its token.

import AgentCore
import CallModel
import Outbound

extension UserID {
    /// With which of the beginnings that are no user's it begins (K112); nil: with none.
    var reservedBeginning: String? { TokenClaims.reservedBeginning(of: text) }
}

/// Checks tokens. Used by the loop's thread.
public protocol TokenChecker: Sendable {
    /// The identity in `token` at the wall clock moment `now`, in milliseconds.
    ///
    /// - Throws: `unauthenticated`, saying for the log what was wrong.
    func identity(in token: String, at now: Int64) throws(Refusal) -> Identity
    /// Whether one of the keys in use has signed `token`, which may have run out or be for others:
    /// whoever has it did not guess it.
    func hasSigned(_ token: String) -> Bool
    /// Whether a token that was good when its bearer came would be believed today, its time apart:
    /// a reload may have taken its key away.
    func stillTrusts(_ identity: Identity) -> Bool
}

extension TokenChecker {
    /// Who has no keys has signed nothing.
    public func hasSigned(_ token: String) -> Bool { false }

    /// Who does not change its mind trusts whom it trusted.
    public func stillTrusts(_ identity: Identity) -> Bool { true }
}

/// Accepts `dev:USER` from anybody: only for a server that nobody else can reach.
public struct DevelopmentTokens: TokenChecker {
    /// A checker without keys.
    public init() {}

    public func identity(in token: String, at now: Int64) throws(Refusal) -> Identity {
        guard token.hasPrefix("dev:") else {
            throw Refusal(.unauthenticated, "no keys are configured: use the token dev:USER")
        }
        let name = token.dropFirst(4)
        guard let user = UserID(checking: String(name)) else {
            throw Refusal(
                .unauthenticated, "a user is 1-64 bytes of printable ASCII without space")
        }
        if let beginning = user.reservedBeginning {
            throw Refusal(.unauthenticated, "no user begins with \(beginning)")
        }
        var identity = Identity(user: user)
        identity.isRateLimited = false
        return identity
    }

    public func stillTrusts(_ identity: Identity) -> Bool { identity.signer == nil }
}
