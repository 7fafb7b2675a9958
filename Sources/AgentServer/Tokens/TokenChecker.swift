// Who a client or an operator is, from a token.

import AgentCore
import CallModel
import Outbound

extension UserID {
    /// The reserved prefix with which it begins (K112); nil: none.
    var reservedBeginning: String? { TokenClaims.reservedBeginning(of: text) }
}

/// Checks tokens. Used by the loop's thread.
public protocol TokenChecker: Sendable {
    /// The identity in `token` at the wall clock moment `now`, in milliseconds.
    ///
    /// - Throws: `unauthenticated`, saying for the log what was wrong.
    func identity(in token: String, at now: Int64) throws(Refusal) -> Identity
    /// The identity and the role in a token of those who look after the server.
    ///
    /// - Throws: `unauthenticated`, or `forbidden` for the token of a client.
    func manager(
        in token: String, at now: Int64
    ) throws(Refusal) -> (Identity, ManagementIdentity.Role)
    /// Whether one of the keys in use has signed `token`, which may have expired or be for another
    /// audience: whoever has it did not guess it.
    func hasSigned(_ token: String) -> Bool
    /// Whether a token that was valid when its client connected would be accepted now, apart from
    /// its time: a reload may have removed its key.
    func stillTrusts(_ identity: Identity) -> Bool
}

extension TokenChecker {
    /// Without keys nothing is signed.
    public func hasSigned(_ token: String) -> Bool { false }

    /// Without keys nobody has a role.
    public func manager(
        in token: String, at now: Int64
    ) throws(Refusal) -> (Identity, ManagementIdentity.Role) {
        throw Refusal(.unauthenticated, "no keys are configured")
    }

    /// A checker that never changes accepts what it accepted before.
    public func stillTrusts(_ identity: Identity) -> Bool { true }
}

/// Accepts `dev:USER` from anybody: only for a server that nobody else can reach.
public struct DevelopmentTokens: TokenChecker {
    /// A checker without keys.
    public init() {}

    /// The user that `dev:USER` names, without limits of rates.
    ///
    /// - Throws: `unauthenticated`, when it is no such token or names no user.
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

    /// Whether no key has signed for it: without keys none is trusted.
    public func stillTrusts(_ identity: Identity) -> Bool { identity.token?.signer == nil }
}
