// The ways in which verifiers of tokens have been fooled.

import JSON
import Testing
import enum WebProtocols.Base64

@testable import Outbound

private let now: Int64 = 1_795_000_000_000
private let claims: JSONObject = ["sub": "mallory", "exp": .integer(now / 1_000 + 60)]

/// A token whose header and signature an attacker chose.
private func forge(
    _ header: JSONObject, _ payload: [UInt8] = JSONValue.object(claims).bytes,
    sign: ([UInt8]) throws -> [UInt8]
) rethrows -> String {
    let signed =
        Base64.encode(JSONValue.object(header).bytes, as: .url) + "."
        + Base64.encode(payload, as: .url)
    return signed + "." + Base64.encode(try sign(Array(signed.utf8)), as: .url)
}

struct TokenConfusionTests {
    private let rsa: TokenVerifier
    private let elliptic: TokenVerifier
    private let shared: TokenVerifier
    /// The three together, without names.
    private let open: TokenVerifier
    /// The three together: each takes only tokens that name it.
    private let mixed: TokenVerifier

    init() throws {
        let keys = [
            TrustedKey(try SignatureKey(.hs256, SampleKey.secret)),
            TrustedKey(try SignatureKey(.rs256, SampleKey.rsaPublic)),
            TrustedKey(try SignatureKey(.es256, SampleKey.ecPublic)),
        ]
        shared = TokenVerifier([keys[0]])
        rsa = TokenVerifier([keys[1]])
        elliptic = TokenVerifier([keys[2]])
        open = TokenVerifier(keys)
        mixed = TokenVerifier(
            zip(keys, ["shared", "rsa", "ec"]).map { TrustedKey($0.key, keyID: $1) })
    }

    private var all: [TokenVerifier] { [shared, rsa, elliptic, open, mixed] }

    private func expectRefused(
        _ token: String, by verifiers: [TokenVerifier]? = nil,
        at location: SourceLocation = #_sourceLocation
    ) {
        for verifier in verifiers ?? all {
            #expect(throws: TokenRefusal.self, sourceLocation: location) {
                try verifier.verify(token, at: now)
            }
        }
    }

    @Test(arguments: ["none", "None", "NONE", "nOnE", "", "HS256 ", "hs256", "HS384", "ES512"])
    func anotherAlgIsRefusedWhateverTheSignature(algorithm: String) throws {
        let header: JSONObject = ["alg": .string(algorithm)]
        let secret = try SignatureKey(.hs256, SampleKey.secret)
        expectRefused(forge(header) { _ in [] })
        expectRefused(try forge(header) { try secret.sign($0) })
    }

    /// The public key is known to everybody; taken as a secret it would let everybody in.
    @Test(arguments: [SampleKey.rsaPublic, SampleKey.ecPublic])
    func aPublicKeyIsNeverASecret(pem: String) throws {
        for text in [pem, pem + "\n", pem.replacing("\n", with: "")] {
            let secret = try SignatureKey(secret: Array(text.utf8))
            for kid in [nil, "rsa", "ec", "shared"] {
                var header: JSONObject = ["alg": "HS256"]
                header["kid"] = kid.map { .string($0) }
                expectRefused(try forge(header) { try secret.sign($0) })
            }
        }
    }

    @Test func anHonestSignatureUnderAnotherAlgIsRefused() throws {
        let rsaKey = try SignatureKey(.rs256, SampleKey.rsaPrivate)
        let ecKey = try SignatureKey(.es256, SampleKey.ecPrivate)
        for algorithm in ["HS256", "ES256", "RS384", "PS256", "none"] {
            let header: JSONObject = ["alg": .string(algorithm)]
            expectRefused(try forge(header) { try rsaKey.sign($0) })
        }
        for algorithm in ["HS256", "RS256", "ES256K", "ES384", "none"] {
            let header: JSONObject = ["alg": .string(algorithm)]
            expectRefused(try forge(header) { try ecKey.sign($0) })
        }
    }

    @Test func theHonestOnesPassWithTheKeyThatTheirKidNames() throws {
        let honest = [
            (SignatureAlgorithm.hs256, SampleKey.secret, "shared"),
            (.rs256, SampleKey.rsaPrivate, "rsa"), (.es256, SampleKey.ecPrivate, "ec"),
        ]
        for (algorithm, text, kid) in honest {
            let key = try SignatureKey(algorithm, text)
            let token = try TokenSigner.sign(claims, with: key, keyID: kid)
            #expect(try mixed.verify(token, at: now).user == "mallory")
            #expect(try open.verify(token, at: now).user == "mallory")
            let nameless = try TokenSigner.sign(claims, with: key)
            #expect(try open.verify(nameless, at: now).user == "mallory")
            expectRefused(nameless, by: [mixed])
            for other in ["shared", "rsa", "ec"] where other != kid {
                let named = try TokenSigner.sign(claims, with: key, keyID: other)
                expectRefused(named, by: [mixed])
            }
        }
    }

    /// Keys and places of keys that the token brings along.
    @Test func keysInsideOrNamedByTheHeaderAreIgnored() throws {
        let own = SignatureKey(p256: .generateP256())
        let point = try #require(own.p256Point)
        let jwk: JSONValue = [
            "kty": "EC", "crv": "P-256",
            "x": .string(Base64.encode(point[1...32], as: .url)),
            "y": .string(Base64.encode(point[33...], as: .url)),
        ]
        let extras: [JSONObject] = [
            ["jwk": jwk], ["jku": "https://attacker.example/keys.json"],
            ["x5u": "https://attacker.example/chain.pem"], ["x5c": ["MIIB"]],
            ["jwk": jwk, "kid": "ec"],
        ]
        for extra in extras {
            var header: JSONObject = ["alg": "ES256"]
            for member in extra.members { header[member.key] = member.value }
            expectRefused(try forge(header) { try own.sign($0) })
        }
        let honest = try SignatureKey(.es256, SampleKey.ecPrivate)
        let token = try forge(["alg": "ES256", "jku": "https://attacker.example/"]) {
            try honest.sign($0)
        }
        #expect(try elliptic.verify(token, at: now).user == "mallory")
    }

    @Test(arguments: [
        "../../../../dev/null", "shared' OR 1=1 --", "", "shared\u{0}", "Shared", "/etc/passwd",
    ])
    func aKidOnlyChoosesAmongTheConfiguredKeys(kid: String) throws {
        let empty = try SignatureKey(secret: [0])
        let token = try forge(["alg": "HS256", "kid": .string(kid)]) { try empty.sign($0) }
        #expect(throws: TokenRefusal.unknownKey(kid)) { try mixed.verify(token, at: now) }
        let log = TokenRefusal.unknownKey(kid).description
        #expect(log.unicodeScalars.allSatisfy { (0x20..<0x7F).contains($0.value) })
    }

    @Test func whatMustBeUnderstoodAndIsNotIsRefused() throws {
        let secret = try SignatureKey(.hs256, SampleKey.secret)
        for critical in [["exp"], ["b64"], []] as [JSONValue] {
            let token = try forge(["alg": "HS256", "crit": critical, "b64": false]) {
                try secret.sign($0)
            }
            #expect(throws: TokenRefusal.criticalExtension) { try shared.verify(token, at: now) }
        }
    }

    @Test func anEllipticSignatureInDERIsRefused() throws {
        let key = try SignatureKey(.es256, SampleKey.ecPrivate)
        let token = try forge(["alg": "ES256"]) { signed in
            try #require(ECDSASignature.der(fromRaw: try key.sign(signed)))
        }
        #expect(throws: TokenRefusal.wrongSignature) { try elliptic.verify(token, at: now) }
    }

    @Test func anEllipticSignatureOfZerosIsRefused() throws {
        let token = forge(["alg": "ES256"]) { _ in [UInt8](repeating: 0, count: 64) }
        #expect(throws: TokenRefusal.wrongSignature) { try elliptic.verify(token, at: now) }
    }

    @Test func everyChangedCharacterBreaksTheToken() throws {
        let key = try SignatureKey(.es256, SampleKey.ecPrivate)
        let token = Array(try TokenSigner.sign(claims, with: key).utf8)
        for index in token.indices {
            var changed = token
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : 0x41
            expectRefused(String(decoding: changed, as: UTF8.self), by: [elliptic])
        }
    }

    @Test func partsThatAreMissingDoubledOrNotBase64urlAreNamed() throws {
        let token = try TokenSigner.sign(
            claims, with: SignatureKey(.hs256, SampleKey.secret))
        let parts = token.split(separator: ".").map(String.init)
        let cases: [(String, TokenRefusal)] = [
            ("", .notThreeParts(found: 1)), (".", .notThreeParts(found: 2)),
            (parts[0] + "." + parts[1], .notThreeParts(found: 2)),
            (token + ".", .notThreeParts(found: 4)),
            ("..", .notJSON(.header, JSONError(.endOfInput, at: 0))),
            (token + "=", .notBase64(.signature)), (" " + token, .notBase64(.header)),
            (token + "\n", .notBase64(.signature)),
            (parts[0] + "." + parts[1] + ".", .wrongSignature),
            (parts[0] + ".." + parts[2], .wrongSignature),
            ("." + parts[1] + "." + parts[2], .notJSON(.header, JSONError(.endOfInput, at: 0))),
            ("W10." + parts[1] + "." + parts[2], .notAnObject(.header)),
            ("e30." + parts[1] + "." + parts[2], .missing("alg")),
        ]
        for (text, refusal) in cases {
            #expect(throws: refusal, "\(text)") { try shared.verify(text, at: now) }
        }
    }

    @Test func aSignedPayloadThatIsNoObjectIsRefused() throws {
        let key = try SignatureKey(.hs256, SampleKey.secret)
        for payload in ["[]", "null", "\"sub\"", "{", "", "eyJ9"] {
            let token = try forge(["alg": "HS256"], Array(payload.utf8)) { try key.sign($0) }
            expectRefused(token, by: [shared])
        }
    }

    @Test func withoutKeysNobodyGetsIn() throws {
        let token = try TokenSigner.sign(
            claims, with: SignatureKey(.hs256, SampleKey.secret))
        expectRefused(token, by: [TokenVerifier([])])
        expectRefused(TokenVectorTests.unsecured, by: [TokenVerifier([])])
    }
}
