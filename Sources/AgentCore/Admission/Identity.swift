// Who asks, as far as that was checked.

import CallModel

/// What a good token says. Whoever lets requests in has checked it.
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

    /// Whether the token allows an operation. A capability may end with `*`, as in `call.*`.
    public func allows(_ name: String) -> Bool {
        capabilities?.contains { capability in
            capability.hasSuffix("*")
                ? name.hasPrefix(capability.dropLast()) : name == capability
        } ?? true
    }

    /// Who pays for what is asked; nil: nothing is counted.
    public var payer: UserID? { isRateLimited ? user : nil }
}

/// Who asks, and for which user and device.
public struct Asker: Sendable {
    public let identity: Identity
    public let address: Address

    /// `identity` asks in the name of `address`.
    public init(_ identity: Identity, for address: Address) {
        self.identity = identity
        self.address = address
    }
}
