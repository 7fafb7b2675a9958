// Who asks, as far as that was checked.

import CallModel

/// Who asks for operations. Whoever lets requests in has checked it: for clients it is what a good
/// token says.
public struct Identity: Sendable, Equatable {
    /// What stands behind a request.
    public enum Kind: Sendable, Equatable {
        /// A client with a token of its user.
        case user
        /// A server, which may act for any user, over HTTP only.
        case server
        /// A plugin that acts for an account it answers for; what follows counts for the cause.
        case plugin(String, Cause)
        /// Somebody who looks after the server.
        case `operator`(ManagementIdentity)
    }

    /// The user; for a server the one it acts for by default.
    public let user: UserID
    /// See `Kind`.
    public var kind = Kind.user
    /// Whether the token says who that is: a server's need not.
    public var namesUser = true
    /// The only device that may use the token; nil: any.
    public var device: DeviceID?
    /// Operations that the token allows; nil: all.
    public var capabilities: [String]?
    /// When the token runs out, by the wall clock in milliseconds; nil: never.
    public var expiresAt: Int64?
    /// `jti` of the token, `iss`, and `iat` in milliseconds by the wall clock: by these a token is
    /// taken back.
    public var tokenID: String?
    public var issuer: String?
    public var issuedAt: Int64?
    /// A mark of the key that signed the token; nil: a development token.
    public var signer: UInt64?
    /// What the token says that the user is called.
    public var name: PersonName?
    /// The trace that the token names: that of requests which name none.
    public var trace: TraceParent?
    /// Whether requests are counted (B28): not for development tokens.
    public var isRateLimited = true

    /// A token of `user`.
    public init(user: UserID) { self.user = user }

    /// The plugin `name`, acting for `account`.
    public static func plugin(
        _ name: String, for account: UserID, _ cause: Cause = .nobody
    ) -> Identity {
        var identity = Identity(user: account)
        identity.kind = .plugin(name, cause)
        identity.isRateLimited = false
        return identity
    }

    /// Somebody who looks after the server and takes no part in calls.
    public static func `operator`(_ person: ManagementIdentity) -> Identity {
        var identity = Identity(user: UserID("operator"))
        identity.kind = .operator(person)
        identity.isRateLimited = false
        return identity
    }

    /// Whether it may act for any user.
    public var isServer: Bool { kind == .server }

    /// Whether it is a client's or a server's: those wait when the server is behind.
    var isOutside: Bool {
        switch kind {
        case .user, .server: true
        case .plugin, .operator: false
        }
    }

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

/// The user and device for which somebody may ask, and who that is. An object, because a line hands
/// it on with each of its requests.
public final class AdmittedAddress: Sendable {
    public let identity: Identity
    public let address: Address
    /// The trace that a request names, or its token.
    public let trace: TraceParent?

    /// `identity` asks in the name of `address`.
    public init(_ identity: Identity, for address: Address, trace: TraceParent? = nil) {
        self.trace = trace ?? identity.trace
        self.identity = identity
        self.address = address
    }
}
