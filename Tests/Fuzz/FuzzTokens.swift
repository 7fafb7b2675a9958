// Tokens: an honest one is believed, and one that was changed anywhere is not.

import JSON
import Outbound

extension Fuzzer {
    static let tokens = Fuzzer(
        name: "tokens", property: "an honest token is believed, a changed one is not"
    ) { (random) throws(FuzzFailure) in
        try TokenTrial(&random).judge { $0 }
    }

    static let tokensCanary = Fuzzer(
        name: "tokens-canary", property: "finds a verifier that passes over what is no base64",
        mustFail: true
    ) { (random) throws(FuzzFailure) in
        try TokenTrial(&random).judge { token in
            token.filter { $0 == 0x2E || $0 == 0x2D || $0 == 0x5F || isLetterOrDigit($0) }
        }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x61...0x7A).contains(byte)
    }
}

/// One token, and what became of it.
private struct TokenTrial {
    private static let now: Int64 = 1_795_000_000_000
    private static let secret = [UInt8](repeating: 0x73, count: 32)
    private static let words = [
        "none", "HS256", "RS256", "eyJhbGciOiJub25lIn0", ".", "..", "=", "A", "_", "-", "\u{0}",
        "eyJzdWIiOiJhIn0", " ", "\n", "+", "/", "é",
    ]

    private let honest: [UInt8]
    private let claims: JSONObject
    private let changed: [UInt8]
    private let verifier: TokenVerifier

    init(_ random: inout FuzzGenerator) throws(FuzzFailure) {
        var claims: JSONObject = ["sub": .string(random.pick(["ann", "bob", "x-1"]))]
        claims["exp"] = .integer(Self.now / 1_000 + Int64(random.pick(1...3_600)))
        if random.once(in: 2) { claims["dev"] = "phone" }
        if random.once(in: 3) { claims["caps"] = ["call.get", "call.*"] }
        if random.once(in: 4) { claims["role"] = random.pick(["server", "other"]) }
        if random.once(in: 3) { claims["aud"] = random.pick(["us", ["us", "them"]]) }
        if random.once(in: 3) { claims["jti"] = .string("\(random.pick(1...999))") }
        self.claims = claims
        do throws(KeyError) {
            let key = try SignatureKey(secret: Self.secret)
            verifier = TokenVerifier([
                TrustedKey(try SignatureKey(secret: Self.secret.reversed() + [1])),
                TrustedKey(key, keyID: random.once(in: 2) ? "k" : nil),
            ])
            honest = Array(try TokenSigner.sign(claims, with: key, keyID: "k").utf8)
        } catch {
            throw FuzzFailure(what: "no token was made: \(error)", input: [])
        }
        changed = random.damage(honest, dictionary: Self.words)
    }

    /// Judges the honest and the changed token, each as `seen` by the verifier.
    func judge(_ seen: ([UInt8]) -> [UInt8]) throws(FuzzFailure) {
        let found = verdict(seen(honest))
        try expect(found?.user == claims["sub"]?.string, "an honest token is refused", honest)
        try expect(found?.signer == 1, "another key is told", honest)
        let text = Array(String(decoding: changed, as: UTF8.self).utf8)
        guard text != honest else { return }
        try expect(verdict(seen(text)) == nil, "a changed token is believed", text)
    }

    private func verdict(_ token: [UInt8]) -> TokenClaims? {
        try? verifier.verify(String(decoding: token, as: UTF8.self), at: Self.now)
    }
}
