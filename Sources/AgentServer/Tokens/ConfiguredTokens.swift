// Tokens signed with the operator's keys.

import AgentCore
import CallModel
import Configuration
import Outbound

/// Accepts tokens that one of the configured keys has signed.
struct ConfiguredTokens: TokenChecker {
    private let verifier: TokenVerifier
    /// A mark that identifies each key of the configuration without revealing it.
    private let marks: [UInt64]
    private let log: Log

    /// A checker with the keys of a configuration.
    ///
    /// - Throws: `configuration`, naming the key that cannot be used.
    init(_ configuration: Configuration) throws(AgentError) {
        var keys: [TrustedKey] = []
        marks = configuration.auth.map { Self.mark(of: $0) }
        for (place, entry) in configuration.auth.enumerated() {
            let line = configuration.lines["auth"].map { ":\($0)" } ?? ""
            let name = "\(configuration.file ?? "callagent.lua")\(line): auth[\(place + 1)]"
            guard let algorithm = SignatureAlgorithm(rawValue: entry.algorithm) else {
                throw .configuration("\(name): unknown algorithm \(entry.algorithm)")
            }
            do throws(KeyError) {
                let key = try SignatureKey(
                    algorithm, entry.key.text, leastSecretBytes: TrustedKey.leastSecretBytes)
                var trusted = TrustedKey(
                    key, keyID: entry.id, issuer: entry.issuer, audience: entry.audience)
                trusted.roles = Set(
                    entry.roles.compactMap { TokenClaims.Role(rawValue: $0.rawValue) })
                keys.append(trusted)
            } catch {
                throw .configuration("\(name): \(error)")
            }
        }
        var limits = TokenVerifier.Limits()
        limits.leeway = configuration.limits.tokenLeeway
        limits.lifetime = configuration.limits.tokenLifetime
        verifier = TokenVerifier(keys, limits: limits)
        log = Log(configuration)
    }

    func manager(
        in token: String, at now: Int64
    ) throws(Refusal) -> (Identity, ManagementIdentity.Role) {
        let claims = try claims(in: token, at: now)
        guard claims.role?.isForConsole == true else {
            throw Refusal(.forbidden, "the token has neither the role operator nor viewer")
        }
        return (try identity(of: claims), claims.role == .operator ? .operator : .viewer)
    }

    func identity(in token: String, at now: Int64) throws(Refusal) -> Identity {
        let claims = try claims(in: token, at: now)
        if claims.role?.isForConsole == true {
            throw Refusal(
                .forbidden, "tokens of operators and viewers are not for clients")
        }
        return try identity(of: claims)
    }

    private func claims(in token: String, at now: Int64) throws(Refusal) -> TokenClaims {
        do throws(TokenRefusal) {
            return try verifier.verify(token, at: now)
        } catch {
            // Most reasons would help a forger of tokens: they go to the log only.
            log.info("token refused", ("reason", error.description))
            let reason = error.reasonForClients
            throw Refusal(
                .unauthenticated, reason?.message ?? "the token is not good",
                detail: reason?.code.map { .code($0) })
        }
    }

    private func identity(of claims: TokenClaims) throws(Refusal) -> Identity {
        // A server's token acts for the user of `X-User`; without a `sub` it cannot act otherwise.
        guard let user = UserID(checking: claims.user ?? (claims.isServer ? "server" : "")) else {
            throw Refusal(
                .unauthenticated, "sub must be 1-64 bytes of printable ASCII without space")
        }
        var identity = Identity(user: user)
        identity.namesUser = claims.user != nil
        if let device = claims.device {
            guard let device = DeviceID(checking: device) else {
                throw Refusal(.unauthenticated, "dev is not a device")
            }
            identity.device = device
        }
        identity.capabilities = claims.capabilities
        identity.kind = claims.isServer ? .server : .user
        identity.token = SignedToken(
            expiresAt: claims.expiresAt, id: claims.tokenID, issuer: claims.issuer,
            issuedAt: claims.issuedAt, signer: marks[claims.signer],
            name: claims.name.flatMap { PersonName(checking: $0) },
            trace: claims.trace.flatMap { TraceParent($0) })
        return identity
    }

    func hasSigned(_ token: String) -> Bool { verifier.hasSigned(token) }

    func stillTrusts(_ identity: Identity) -> Bool {
        identity.token?.signer.map { marks.contains($0) } ?? false
    }

    private static func mark(of key: Configuration.Key) -> UInt64 {
        let hash = HashFunction.sha256.hash(Array("\(key.algorithm) \(key.key.text)".utf8))
        return hash.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
