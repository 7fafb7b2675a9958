// Decides whether a token is accepted (RFC 7519, RFC 8725).

import JSON

/// A key with which tokens are checked, and the claims that they must have.
public struct TrustedKey: Sendable {
    /// A shorter secret could be guessed (RFC 7518 section 3.2).
    public static let leastSecretBytes = 32

    /// The key with its one algorithm.
    public var key: SignatureKey
    /// `kid`: only tokens that name it are checked with this key (H95). Nil: any token is.
    public var keyID: String?
    /// `iss` that tokens must have; nil: not looked at.
    public var issuer: String?
    /// `aud` that tokens must contain; nil: not looked at.
    public var audience: String?
    /// The roles that its tokens may have.
    public var roles: Set<TokenClaims.Role> = [.server]
    /// `aud` of tokens for the operator's tools, where an audience is required.
    public static let consoleAudience = "callagent-admin"

    /// A trusted key of these parts.
    public init(
        _ key: SignatureKey, keyID: String? = nil, issuer: String? = nil, audience: String? = nil
    ) {
        self.key = key
        self.keyID = keyID
        self.issuer = issuer
        self.audience = audience
    }
}

/// Checks tokens against a list of trusted keys.
///
/// The header of a token chooses among them and does nothing else: `alg` must be the one that the
/// key is pinned to, so there is no `none` and no public key taken for a secret; a key with a `kid`
/// is left out unless the header names it; `jku`, `x5u`, `jwk` and `x5c` are ignored, `crit` is
/// refused. The payload is read only after the signature was right.
public struct TokenVerifier: Sendable {
    /// Limits of a verifier.
    public struct Limits: Sendable {
        /// The longest token in bytes.
        public var tokenBytes = 8_192
        /// How far clocks may differ, in milliseconds.
        public var leeway: Int64 = 5_000
        /// The longest life that a token may have left, in milliseconds; nil: any.
        public var lifetime: Int64?

        /// The defaults.
        public init() {}
    }

    private let keys: [TrustedKey]
    private let limits: Limits

    /// A verifier with `keys`, tried in their order.
    public init(_ keys: [TrustedKey], limits: Limits = Limits()) {
        self.keys = keys
        self.limits = limits
    }

    /// The claims of `token`, if it is valid.
    ///
    /// - Parameter now: the wall clock, in milliseconds since 1970 UTC.
    public func verify(_ token: String, at now: Int64) throws(TokenRefusal) -> TokenClaims {
        let (parsed, signers) = try signers(of: token)
        let payload = try parsed.payload()
        var claims = try TokenClaims(payload)
        try checkTime(claims, payload, now)
        claims.signer = try checkAddressees(payload, claims.role, signers)
        return claims
    }

    /// Whether one of the keys has signed `token`, whatever it says.
    public func hasSigned(_ token: String) -> Bool { (try? signers(of: token)) != nil }

    /// The token's parts, and the places of the keys that have signed it.
    private func signers(
        of token: String
    ) throws(TokenRefusal) -> (token: JSONWebToken, places: [Int]) {
        let size = token.utf8.count
        guard size <= limits.tokenBytes else {
            throw .tooLong(bytes: size, limit: limits.tokenBytes)
        }
        let parsed = try JSONWebToken(token)
        let signers = try candidates(for: parsed.header).filter {
            keys[$0].key.verifies(parsed.signature, of: parsed.signed)
        }
        guard !signers.isEmpty else { throw .wrongSignature }
        return (parsed, signers)
    }

    /// The places of the keys that the header admits.
    private func candidates(for header: JSONObject) throws(TokenRefusal) -> [Int] {
        guard header["crit"] == nil else { throw .criticalExtension }
        guard let algorithm = try TokenClaims.text("alg", header) else { throw .missing("alg") }
        let keyID = try TokenClaims.text("kid", header)
        let named = keys.indices.filter { place in
            guard let wanted = keys[place].keyID else { return true }
            return keyID.map { wanted.utf8.elementsEqual($0.utf8) } ?? false
        }
        if named.isEmpty {
            if let keyID { throw .unknownKey(keyID) }
            if !keys.isEmpty { throw .missing("kid") }
        }
        let pinned = named.filter { keys[$0].key.algorithm.rawValue == algorithm }
        guard !pinned.isEmpty else {
            throw .wrongAlgorithm(algorithm, pinned: named.map { keys[$0].key.algorithm })
        }
        return pinned
    }

    private func checkTime(
        _ claims: TokenClaims, _ payload: JSONObject, _ now: Int64
    ) throws(TokenRefusal) {
        guard now < claims.expiresAt + limits.leeway else {
            throw .expired(at: claims.expiresAt, now: now)
        }
        if let longest = limits.lifetime, claims.expiresAt - now > longest + limits.leeway {
            throw .livesTooLong(claims.expiresAt - now, longest: longest)
        }
        if let start = try TokenClaims.moment("nbf", payload), now + limits.leeway < start {
            throw .notYetValid(until: start, now: now)
        }
    }

    /// One secret may serve several issuers or audiences: the first that fits.
    private func checkAddressees(
        _ payload: JSONObject, _ role: TokenClaims.Role?, _ signers: [Int]
    ) throws(TokenRefusal) -> Int {
        var refusal = TokenRefusal.wrongSignature
        for signer in signers {
            do throws(TokenRefusal) {
                try Self.checkAddressee(payload, role, keys[signer])
                return signer
            } catch {
                refusal = error
            }
        }
        throw refusal
    }

    private static func checkAddressee(
        _ payload: JSONObject, _ role: TokenClaims.Role?, _ signer: TrustedKey
    ) throws(TokenRefusal) {
        if let role, !signer.roles.contains(role) { throw .wrongRole(role.rawValue) }
        let issuer = try TokenClaims.text("iss", payload)
        if let wanted = signer.issuer, issuer.map({ $0.utf8.elementsEqual(wanted.utf8) }) != true {
            throw .wrongIssuer(found: issuer, wanted: wanted)
        }
        guard var wanted = signer.audience else { return }
        if role?.isForConsole == true { wanted = TrustedKey.consoleAudience }
        let audiences = try TokenClaims.audiences(payload)
        guard audiences.contains(where: { $0.utf8.elementsEqual(wanted.utf8) }) else {
            throw .wrongAudience(found: audiences, wanted: wanted)
        }
    }
}
