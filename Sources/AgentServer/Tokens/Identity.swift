// Who a client is, told by its token.

import CallModel
import Outbound

/// What a good token says.
public struct Identity: Sendable, Equatable {
    /// The user; for a server the one it acts for by default.
    public let user: UserID
    /// Whether the token says who that is: a server's need not.
    public var namesUser = true
    /// The only device that may use the token; nil: any.
    public var device: DeviceID?
    /// Operations that the token allows; nil: all.
    public var capabilities: [String]?
    /// Whether it may act for any user, over HTTP only.
    public var isServer = false
    /// When the token runs out, by the wall clock in milliseconds; nil: never.
    public var expiresAt: Int64?
    /// `jti` of the token, `iss`, and `iat` in milliseconds by the wall clock: by these a token is
    /// taken back.
    public var tokenID: String?
    public var issuer: String?
    public var issuedAt: Int64?
    /// A mark of the key that signed the token; nil: a development token.
    public var signer: UInt64?
    /// Whether requests are counted (B28): not for development tokens.
    public var isRateLimited = true

    /// A token of `user`.
    public init(user: UserID) { self.user = user }
}

extension UserID {
    /// With which of the beginnings that are no user's it begins (K112); nil: with none.
    var reservedBeginning: String? { TokenClaims.reservedBeginning(of: text) }
}

extension Identity {
    /// Whether the token allows an operation. A capability may end with `*`, as in `call.*`.
    func allows(_ name: String) -> Bool {
        capabilities?.contains { capability in
            capability.hasSuffix("*")
                ? name.hasPrefix(capability.dropLast()) : name == capability
        } ?? true
    }
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
