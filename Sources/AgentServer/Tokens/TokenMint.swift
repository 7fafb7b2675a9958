// Development tokens, minted with a key of the operator's file.

import Configuration
import EventLoop
import JSON
import Outbound

/// The claims of a minted token.
public struct MintedToken: Sendable {
    /// `sub`.
    public var user: String
    /// `dev`; nil: any device.
    public var device: String?
    /// `caps`; nil: all.
    public var capabilities: [String]?
    /// `role`; nil: a user's token.
    public var role: Configuration.Key.Role?
    /// `name`, how others see the user; nil: none.
    public var name: String?
    /// `jti`; nil: a random one.
    public var tokenID: String?
    /// How long it is good, in milliseconds.
    public var lifetime: Int64 = 3_600_000
    /// Which key signs, by its `kid`; nil: the first that can.
    public var keyID: String?

    /// A token of `user`.
    public init(user: String) { self.user = user }

    /// The token, signed by a key of `configuration`; without keys, the development token.
    ///
    /// - Throws: `configuration`, when no key can sign, or no server would take the token.
    public func token(by configuration: Configuration) throws(AgentError) -> String {
        if let beginning = TokenClaims.reservedBeginning(of: user) {
            throw .configuration("'\(user)' is no user: none begins with \(beginning)")
        }
        guard !configuration.auth.isEmpty else {
            guard role == nil else {
                throw .configuration("without auth there are no roles: configure a key with roles")
            }
            guard name == nil else {
                throw .configuration("without auth a token has no name: configure a key")
            }
            return "dev:\(user)"
        }
        let named = configuration.auth.filter { keyID == nil || $0.id == keyID }
        guard !named.isEmpty else {
            throw .configuration("auth has no key with the kid '\(keyID ?? "")'")
        }
        let fitting = named.filter { entry in role.map { entry.roles.contains($0) } ?? true }
        guard !fitting.isEmpty else {
            let role = role?.rawValue ?? ""
            throw .configuration(
                "no key of auth gives the role '\(role)' (write roles = { \"\(role)\" })")
        }
        for entry in fitting {
            guard let algorithm = SignatureAlgorithm(rawValue: entry.algorithm),
                let key = try? SignatureKey(algorithm, entry.key.text), key.canSign,
                let token = try? TokenSigner.sign(claims(for: entry), with: key, keyID: entry.id)
            else { continue }
            return token
        }
        throw .configuration(
            "no key of auth can sign: an HS256 secret or a private key in PEM is needed")
    }

    private func claims(for entry: Configuration.Key) -> JSONObject {
        let now = Clock.wallMilliseconds()
        var dice = SystemRandomNumberGenerator()
        var claims: JSONObject = ["sub": .string(user)]
        if let device { claims["dev"] = .string(device) }
        if let capabilities { claims["caps"] = .array(capabilities.map { .string($0) }) }
        if let role { claims["role"] = .string(role.rawValue) }
        if let name { claims["name"] = .string(name) }
        if let issuer = entry.issuer { claims["iss"] = .string(issuer) }
        if let audience = entry.audience {
            let isForConsole = role == .operator || role == .viewer
            claims["aud"] = .string(isForConsole ? TrustedKey.consoleAudience : audience)
        }
        claims["iat"] = .integer(now / 1_000)
        claims["exp"] = .integer((now + lifetime) / 1_000)
        claims["jti"] = .string(tokenID ?? String(dice.next() as UInt64, radix: 36))
        return claims
    }
}
