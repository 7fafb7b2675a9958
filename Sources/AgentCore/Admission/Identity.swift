// Who asks, as far as that was checked.

import CallModel
import Collections

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
        indirect case plugin(String, Cause)
        /// Somebody who looks after the server.
        indirect case `operator`(ManagementIdentity)
    }

    /// The user; for a server the one for whom it acts by default.
    public let user: UserID
    /// See `Kind`.
    public var kind = Kind.user
    /// The only device that may use the token; nil: any.
    public var device: DeviceID?
    /// Operations that the token allows; nil: all.
    public var capabilities: [String]?
    /// What else a signed token says; nil: a development token, or none.
    public var token: SignedToken?
    /// Whether the token says who that is: a server's need not.
    public var namesUser = true
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

/// What a signed token says besides who asks. An object: development tokens and plugins have none,
/// and every connection keeps who asks.
public final class SignedToken: Sendable, Equatable {
    /// When the token runs out, by the wall clock in milliseconds; nil: never.
    public let expiresAt: Int64?
    /// `jti` of the token, `iss`, and `iat` in milliseconds by the wall clock: by these a token is
    /// taken back.
    public let id: String?
    /// `iss`; nil: it names none.
    public let issuer: String?
    /// `iat`, in milliseconds by the wall clock; nil: it does not say.
    public let issuedAt: Int64?
    /// A mark of the key that signed the token; nil: no key that is known did.
    public let signer: UInt64?
    /// What the user is called.
    public let name: PersonName?
    /// The trace of requests that name none.
    public let trace: TraceParent?

    /// What a token says; a parameter that is left out means that it does not say that.
    public init(
        expiresAt: Int64? = nil, id: String? = nil, issuer: String? = nil,
        issuedAt: Int64? = nil, signer: UInt64? = nil, name: PersonName? = nil,
        trace: TraceParent? = nil
    ) {
        self.expiresAt = expiresAt
        self.id = id
        self.issuer = issuer
        self.issuedAt = issuedAt
        self.signer = signer
        self.name = name
        self.trace = trace
    }

    /// Whether both say the same.
    public static func == (left: SignedToken, right: SignedToken) -> Bool {
        left.expiresAt == right.expiresAt && left.id == right.id
            && left.issuer == right.issuer && left.issuedAt == right.issuedAt
            && left.signer == right.signer && left.name == right.name
            && left.trace == right.trace
    }
}

/// The user and device for which somebody may ask, and who that is. An object, because a line hands
/// it on with each of its requests.
public final class AdmittedAddress: Sendable {
    /// Who asks.
    public let identity: Identity
    /// For which user and device it asks.
    public let address: Address
    /// The trace that a request names itself.
    private let ownTrace: Boxed<TraceParent>?

    /// `identity` asks in the name of `address`.
    public init(_ identity: Identity, for address: Address, trace: TraceParent? = nil) {
        self.identity = identity
        self.address = address
        ownTrace = trace.map(Boxed.init)
    }

    /// The trace that a request names, or its token.
    public var trace: TraceParent? { ownTrace?.value ?? identity.token?.trace }
}
