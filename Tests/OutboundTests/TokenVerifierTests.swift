// What an honest token must say, to the edge of every rule.

import JSON
import Testing
import enum WebProtocols.Base64

@testable import Outbound

/// Moments of these tests are milliseconds since 1970; claims are seconds.
private let now: Int64 = 1_795_000_000_000
private let secret = String(repeating: "s", count: 32)

private func token(_ claims: JSONObject, kid: String? = nil) throws -> String {
    var all: JSONObject = ["sub": "ann", "exp": .integer(now / 1_000 + 60)]
    for member in claims.members {
        all[member.key] = member.value.isNull ? JSONValue?.none : member.value
    }
    return try TokenSigner.sign(all, with: SignatureKey(.hs256, secret), keyID: kid)
}

private func verifier(
    keyID: String? = nil, issuer: String? = nil, audience: String? = nil
) throws -> TokenVerifier {
    let key = try SignatureKey(.hs256, secret, leastSecretBytes: TrustedKey.leastSecretBytes)
    return TokenVerifier([
        TrustedKey(key, keyID: keyID, issuer: issuer, audience: audience)
    ])
}

struct TokenVerifierTests {
    @Test func allClaimsOfAFullTokenAreRead() throws {
        let claims = try verifier(issuer: "shop", audience: "callagent").verify(
            try token([
                "dev": "phone-1", "caps": ["call.invite", "call.accept"], "iss": "shop",
                "aud": "callagent", "iat": .integer(now / 1_000), "jti": "t1", "role": "user",
                "nbf": .integer(now / 1_000), "meta": ["a": 1],
            ]), at: now)
        #expect(claims.user == "ann")
        #expect(claims.device == "phone-1")
        #expect(claims.capabilities == ["call.invite", "call.accept"])
        #expect(claims.issuer == "shop")
        #expect(claims.tokenID == "t1")
        #expect(claims.issuedAt == now)
        #expect(claims.expiresAt == now + 60_000)
        #expect(!claims.isServer)
        #expect(claims.allows("call.accept") && !claims.allows("call.end"))
    }

    @Test func capabilitiesMayEndWithAStar() throws {
        let claims = try verifier().verify(try token(["caps": ["call.*", "bye"]]), at: now)
        #expect(claims.allows("call.invite") && claims.allows("bye"))
        #expect(!claims.allows("device.push_register") && !claims.allows("call"))
        let none = try verifier().verify(try token(["caps": []]), at: now)
        #expect(!none.allows("bye"))
        let all = try verifier().verify(try token([:]), at: now)
        #expect(all.allows("device.push_register"))
    }

    @Test func aServersTokenNeedsNoUser() throws {
        let claims = try verifier().verify(try token(["sub": .null, "role": "server"]), at: now)
        #expect(claims.isServer && claims.user == nil)
    }

    @Test(arguments: [(-5_000, false), (-4_999, true), (0, true), (1, true)])
    func expHoldsForFiveMoreSeconds(left: Int64, isValid: Bool) throws {
        let expiry = JSONValue.number(Double(now + left) / 1_000)
        let text = try token(["exp": expiry])
        if isValid {
            #expect(try verifier().verify(text, at: now).expiresAt == now + left)
        } else {
            #expect(throws: TokenRefusal.expired(at: now + left, now: now)) {
                try verifier().verify(text, at: now)
            }
        }
    }

    @Test(arguments: [(5_001, false), (5_000, true), (0, true), (-60_000, true)])
    func nbfMayBeFiveSecondsAhead(ahead: Int64, isValid: Bool) throws {
        let text = try token(["nbf": .number(Double(now + ahead) / 1_000)])
        if isValid {
            #expect(try verifier().verify(text, at: now).user == "ann")
        } else {
            #expect(throws: TokenRefusal.notYetValid(until: now + ahead, now: now)) {
                try verifier().verify(text, at: now)
            }
        }
    }

    @Test func aTokenMayNotLiveLongerThanTheLimitLeewayApart() throws {
        var limits = TokenVerifier.Limits()
        limits.lifetime = 60_000
        let strict = TokenVerifier(
            [TrustedKey(try SignatureKey(.hs256, secret))], limits: limits)
        let text = try token(["exp": .integer(now / 1_000 + 65)])
        #expect(try strict.verify(text, at: now).user == "ann")
        #expect(throws: TokenRefusal.livesTooLong(65_001, longest: 60_000)) {
            try strict.verify(text, at: now - 1)
        }
    }

    @Test func theKeyThatSignedIsTold() throws {
        let other = try SignatureKey(.hs256, String(repeating: "o", count: 32))
        let right = try SignatureKey(.hs256, secret)
        let verifier = TokenVerifier([
            TrustedKey(other), TrustedKey(right, audience: "them"),
            TrustedKey(right, audience: "us"),
        ])
        #expect(try verifier.verify(token(["aud": "us"]), at: now).signer == 2)
        #expect(try verifier.verify(token(["aud": "them"]), at: now).signer == 1)
    }

    @Test func leewayIsAParameter() throws {
        var limits = TokenVerifier.Limits()
        limits.leeway = 0
        let strict = TokenVerifier(
            [TrustedKey(try SignatureKey(.hs256, secret))], limits: limits)
        let text = try token(["exp": .integer(now / 1_000)])
        #expect(throws: TokenRefusal.expired(at: now, now: now)) {
            try strict.verify(text, at: now)
        }
        #expect(try strict.verify(text, at: now - 1).user == "ann")
    }

    @Test func aClaimThatIsNullIsNotThere() throws {
        let text = """
            {"sub":"ann","exp":2000,"iss":null,"aud":null,"dev":null,"caps":null,"role":null,
            "iat":null,"jti":null,"nbf":null}
            """
        let payload = try #require(try JSONValue(parsing: text).object)
        let claims = try TokenClaims(payload)
        #expect(claims.user == "ann" && claims.issuer == nil && claims.device == nil)
        #expect(claims.capabilities == nil && claims.issuedAt == nil && !claims.isServer)
        #expect(try TokenClaims.audiences(payload) == [])
        #expect(try TokenClaims.moment("nbf", payload) == nil)
    }

    @Test(
        arguments: [
            (["exp": .null], .missing("exp")),
            (["exp": "tomorrow"], .malformed("exp")),
            (["exp": 1e300], .malformed("exp")),
            (["exp": true], .malformed("exp")),
            (["nbf": "now"], .malformed("nbf")),
            (["iat": []], .malformed("iat")),
            (["sub": .null], .missing("sub")),
            (["sub": 7], .malformed("sub")),
            (["sub": ""], .malformed("sub")),
            (["sub": "two words"], .malformed("sub")),
            (["sub": "größe"], .malformed("sub")),
            (["sub": .string(String(repeating: "a", count: 65))], .malformed("sub")),
            (["dev": 1], .malformed("dev")),
            (["dev": "a\nb"], .malformed("dev")),
            (["caps": "call.invite"], .malformed("caps")),
            (["caps": ["call.invite", 3]], .malformed("caps")),
            (["role": ["server"]], .malformed("role")),
            (["sub": .null, "role": "Server"], .missing("sub")),
            (["jti": 3], .malformed("jti")),
            (["iss": 3], .malformed("iss")),
        ] as [(JSONObject, TokenRefusal)])
    func aClaimOfTheWrongFormIsNamed(claims: JSONObject, refusal: TokenRefusal) throws {
        let text = try token(claims)
        #expect(throws: refusal) { try verifier().verify(text, at: now) }
        #expect(!refusal.description.isEmpty)
    }

    @Test func aUserIdOf64BytesPasses() throws {
        let user = String(repeating: "~", count: 64)
        #expect(try verifier().verify(token(["sub": .string(user)]), at: now).user == user)
    }

    @Test(
        arguments: [
            ("callagent", true), (["other", "callagent"], true), ("Callagent", false),
            (["other"], false), ([], false), (nil, false), ("callagent2", false),
        ] as [(JSONValue, Bool)])
    func audMustNameUsWhenTheKeySaysSo(audience: JSONValue, isValid: Bool) throws {
        let text = try token(["aud": audience])
        let result = Result { try verifier(audience: "callagent").verify(text, at: now) }
        #expect(((try? result.get()) != nil) == isValid)
        #expect(try verifier().verify(text, at: now).user == "ann")
    }

    @Test func audOfAnotherTypeIsRefused() throws {
        let text = try token(["aud": 3])
        #expect(throws: TokenRefusal.malformed("aud")) {
            try verifier(audience: "callagent").verify(text, at: now)
        }
    }

    @Test func issMustBeTheKeysByteForByte() throws {
        let composed = "caf\u{E9}"
        let decomposed = "cafe\u{301}"
        let text = try token(["iss": .string(composed)])
        #expect(try verifier(issuer: composed).verify(text, at: now).issuer == composed)
        #expect(throws: TokenRefusal.wrongIssuer(found: composed, wanted: decomposed)) {
            try verifier(issuer: decomposed).verify(text, at: now)
        }
        #expect(throws: TokenRefusal.wrongIssuer(found: nil, wanted: "shop")) {
            try verifier(issuer: "shop").verify(token([:]), at: now)
        }
    }

    @Test func oneSecretMayServeTwoAudiences() throws {
        let key = try SignatureKey(.hs256, secret)
        let both = TokenVerifier([
            TrustedKey(key, audience: "a"), TrustedKey(key, audience: "b"),
        ])
        #expect(try both.verify(token(["aud": "b"]), at: now).user == "ann")
        #expect(throws: TokenRefusal.wrongAudience(found: ["c"], wanted: "b")) {
            try both.verify(token(["aud": "c"]), at: now)
        }
    }

    @Test func aRotatedKeyServesBesideTheNewOne() throws {
        let older = try SignatureKey(.hs256, secret)
        let newer = try SignatureKey(.hs256, String(repeating: "n", count: 32))
        let both = TokenVerifier([
            TrustedKey(newer, keyID: "2026"), TrustedKey(older, keyID: "2025"),
        ])
        #expect(try both.verify(token([:], kid: "2025"), at: now).user == "ann")
        #expect(throws: TokenRefusal.wrongSignature) {
            try both.verify(token([:], kid: "2026"), at: now)
        }
        #expect(throws: TokenRefusal.unknownKey("2024")) {
            try both.verify(token([:], kid: "2024"), at: now)
        }
        #expect(try verifier().verify(token([:], kid: "2024"), at: now).user == "ann")
    }

    /// (H95)
    @Test func aKeyWithAKidTakesOnlyTokensThatNameIt() throws {
        let named = try verifier(keyID: "2026")
        #expect(try named.verify(token([:], kid: "2026"), at: now).user == "ann")
        #expect(throws: TokenRefusal.missing("kid")) { try named.verify(token([:]), at: now) }
        let key = try SignatureKey(.hs256, secret)
        let beside = TokenVerifier([
            TrustedKey(key, keyID: "2026", audience: "a"), TrustedKey(key, audience: "b"),
        ])
        #expect(try beside.verify(token(["aud": "b"]), at: now).signer == 1)
        #expect(throws: TokenRefusal.wrongAudience(found: ["a"], wanted: "b")) {
            try beside.verify(token(["aud": "a"]), at: now)
        }
    }

    @Test func theLongestTokenIsALimit() throws {
        let text = try token(["meta": .string(String(repeating: "m", count: 200))])
        var limits = TokenVerifier.Limits()
        limits.tokenBytes = text.utf8.count
        let keys = [TrustedKey(try SignatureKey(.hs256, secret))]
        #expect(try TokenVerifier(keys, limits: limits).verify(text, at: now).user == "ann")
        limits.tokenBytes -= 1
        #expect(
            throws: TokenRefusal.tooLong(bytes: text.utf8.count, limit: limits.tokenBytes)
        ) { try TokenVerifier(keys, limits: limits).verify(text, at: now) }
    }

    @Test func ofAClaimWrittenTwiceTheLastOneCountsEverywhere() throws {
        let key = try SignatureKey(.hs256, secret)
        let payload = #"{"sub":"bob","exp":1,"sub":"ann","exp":\#(now / 1_000 + 9)}"#
        let signed =
            Base64.encode(Array(#"{"alg":"HS256"}"#.utf8), as: .url) + "."
            + Base64.encode(Array(payload.utf8), as: .url)
        let signature = Base64.encode(try key.sign(Array(signed.utf8)), as: .url)
        let claims = try verifier().verify(signed + "." + signature, at: now)
        #expect(claims.user == "ann")
    }
}
