// The claims of a checked token.

import JSON

/// The claims of a checked token.
public struct TokenClaims: Sendable, Equatable {
    /// `sub`: the user. Nil only for a server's token, which names the user in each request.
    public var user: String?
    /// `dev`: the only device that the token is for; nil: any.
    public var device: String?
    /// `caps`: the operations that are allowed; nil: all.
    public var capabilities: [String]?
    /// `role`, as far as it is known; nil: a user's token.
    public var role: Role?
    /// `role` is `server`: the token may act for any user over HTTP.
    public var isServer: Bool { role == .server }

    /// The roles of tokens that are not a user's.
    public enum Role: String, Sendable, CaseIterable {
        /// Acts for any user, over HTTP.
        case server
        /// May read and change, on the operator's listener.
        case `operator`
        /// May read, on the operator's listener.
        case viewer

        /// Whether it is only for the operator's tools.
        public var isForConsole: Bool { self != .server }
    }
    /// `name`: what the user is called, as it was written.
    public var name: String?
    /// `traceparent`: the trace of what is asked for with it, as it was written.
    public var trace: String?
    /// `exp`, in milliseconds since 1970 UTC, without leeway.
    public var expiresAt: Int64
    /// `iat`, in milliseconds since 1970 UTC.
    public var issuedAt: Int64?
    /// `iss`.
    public var issuer: String?
    /// `jti`, by which one token can be revoked.
    public var tokenID: String?
    /// The place of the verifier's key that has signed it.
    public var signer = 0

    /// Whether the operation `name`, such as `call.invite`, is allowed. A capability may end with
    /// `*`, as in `call.*`.
    public func allows(_ name: String) -> Bool {
        guard let capabilities else { return true }
        return capabilities.contains { capability in
            guard capability.utf8.last == UInt8(ascii: "*") else {
                return capability.utf8.elementsEqual(name.utf8)
            }
            return name.utf8.starts(with: capability.utf8.dropLast())
        }
    }
}

extension TokenClaims {
    /// Prefixes that no user's name has.
    private static let reserved = ["group:", "deleted:"]

    /// The reserved prefix with which `name` begins: that of groups or of deleted users (K112);
    /// nil: none.
    public static func reservedBeginning(of name: some StringProtocol) -> String? {
        reserved.first { name.utf8.starts(with: $0.utf8) }
    }

    /// The longest user and device id in bytes.
    private static let longestID = 64

    /// Reads the claims of `payload`. `exp` is required, and `sub` except for a server.
    init(_ payload: JSONObject) throws(TokenRefusal) {
        role = try Self.text("role", payload).flatMap { Role(rawValue: $0) }
        user = try Self.identifier("sub", payload)
        guard user != nil || role == .server else { throw .missing("sub") }
        if let user, Self.reservedBeginning(of: user) != nil { throw .malformed("sub") }
        device = try Self.identifier("dev", payload)
        // Others than we make tokens: what cannot be a name keeps nobody out.
        name = payload["name"]?.string
        trace = payload["traceparent"]?.string
        capabilities = try Self.texts("caps", payload)
        guard let expiresAt = try Self.moment("exp", payload) else { throw .missing("exp") }
        self.expiresAt = expiresAt
        issuedAt = try Self.moment("iat", payload)
        issuer = try Self.text("iss", payload)
        tokenID = try Self.text("jti", payload)
    }

    /// A claim that is null counts as absent.
    private static func given(_ name: String, _ payload: JSONObject) -> JSONValue? {
        guard let value = payload[name], !value.isNull else { return nil }
        return value
    }

    static func text(_ name: String, _ payload: JSONObject) throws(TokenRefusal) -> String? {
        guard let value = given(name, payload) else { return nil }
        guard let text = value.string else { throw .malformed(name) }
        return text
    }

    /// One text or an array of texts (RFC 7519 section 4.1.3).
    static func audiences(_ payload: JSONObject) throws(TokenRefusal) -> [String] {
        guard let value = given("aud", payload) else { return [] }
        if let text = value.string { return [text] }
        return try texts("aud", payload) ?? []
    }

    /// NumericDate (RFC 7519 section 2): seconds, also with a fraction, as milliseconds.
    static func moment(_ name: String, _ payload: JSONObject) throws(TokenRefusal) -> Int64? {
        guard let value = given(name, payload) else { return nil }
        guard let seconds = value.double, abs(seconds) < 1e12 else { throw .malformed(name) }
        return Int64(seconds * 1_000)
    }

    private static func texts(
        _ name: String, _ payload: JSONObject
    ) throws(TokenRefusal) -> [String]? {
        guard let value = given(name, payload) else { return nil }
        guard let elements = value.array else { throw .malformed(name) }
        let texts = elements.compactMap(\.string)
        guard texts.count == elements.count else { throw .malformed(name) }
        return texts
    }

    /// Ids are printable ASCII without space, at most 64 bytes.
    private static func identifier(
        _ name: String, _ payload: JSONObject
    ) throws(TokenRefusal) -> String? {
        guard let text = try text(name, payload) else { return nil }
        let isVisible = text.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
        guard isVisible, (1...longestID).contains(text.utf8.count) else { throw .malformed(name) }
        return text
    }
}
