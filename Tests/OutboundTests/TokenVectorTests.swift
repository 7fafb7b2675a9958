// The examples of RFC 7515 appendix A and RFC 7519, read and checked.

import JSON
import Testing
import enum WebProtocols.Base64

@testable import Outbound

struct TokenVectorTests {
    private static let joe =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
        + "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

    static let hs256 =
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9." + joe
        + ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    static let rs256 =
        "eyJhbGciOiJSUzI1NiJ9." + joe
        + ".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7"
        + "AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4"
        + "BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K"
        + "0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqv"
        + "hJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrB"
        + "p0igcN_IoypGlUPQGe77Rw"

    static let es256 =
        "eyJhbGciOiJFUzI1NiJ9." + joe
        + ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSA"
        + "pmWQxfKTUJqPP3-Kg6NU1Q"

    /// Appendix A.5, and section 6.1 of RFC 7519: no signature at all.
    static let unsecured = "eyJhbGciOiJub25lIn0." + joe + "."

    /// When the examples were still valid.
    private static let before: Int64 = 1_300_819_379_000

    @Test(arguments: [
        (SignatureAlgorithm.hs256, SampleKey.secret, hs256),
        (.rs256, SampleKey.rsaPublic, rs256), (.es256, SampleKey.ecPublic, es256),
    ])
    func theSignaturesOfAppendixAAreRight(
        algorithm: SignatureAlgorithm, text: String, token: String
    ) throws {
        let key = try SignatureKey(algorithm, text)
        let parsed = try JSONWebToken(token)
        #expect(parsed.header["alg"]?.string == algorithm.rawValue)
        #expect(key.verifies(parsed.signature, of: parsed.signed))
        let payload = try parsed.payload()
        #expect(payload["iss"] == "joe")
        #expect(payload["exp"] == 1_300_819_380)
        #expect(payload["http://example.com/is_root"] == true)
        // The signature passes, and then the missing user is noticed.
        let verifier = TokenVerifier([TrustedKey(key, issuer: "joe")])
        #expect(throws: TokenRefusal.missing("sub")) {
            try verifier.verify(token, at: Self.before)
        }
    }

    /// HS256 and RS256 have one signature only, so ours is that of the RFC.
    @Test(arguments: [
        (SignatureAlgorithm.hs256, SampleKey.secret, hs256),
        (.rs256, SampleKey.rsaPrivate, rs256),
    ])
    func ourSignaturesAreThoseOfAppendixA(
        algorithm: SignatureAlgorithm, text: String, token: String
    ) throws {
        let parsed = try JSONWebToken(token)
        #expect(try SignatureKey(algorithm, text).sign(parsed.signed) == parsed.signature)
    }

    @Test func theUnsecuredExampleIsRefusedByEveryKindOfKey() throws {
        for (algorithm, text) in [
            (SignatureAlgorithm.hs256, SampleKey.secret), (.rs256, SampleKey.rsaPublic),
            (.es256, SampleKey.ecPublic),
        ] {
            let verifier = TokenVerifier([TrustedKey(try SignatureKey(algorithm, text))])
            #expect(throws: TokenRefusal.wrongAlgorithm("none", pinned: [algorithm])) {
                try verifier.verify(Self.unsecured, at: Self.before)
            }
        }
    }

    @Test func signingWritesTheHeaderTheClaimsAndNothingMore() throws {
        let key = try SignatureKey(.hs256, SampleKey.secret)
        let token = try TokenSigner.sign(["sub": "ann"], with: key, keyID: "k1")
        let parts = token.split(separator: ".").map { Base64.decode(String($0), as: .url) ?? [] }
        #expect(
            String(decoding: parts[0], as: UTF8.self)
                == #"{"alg":"HS256","typ":"JWT","kid":"k1"}"#)
        #expect(String(decoding: parts[1], as: UTF8.self) == #"{"sub":"ann"}"#)
        let bare = try TokenSigner.sign([:], with: key, type: nil)
        #expect(bare.hasPrefix(Base64.encode(Array(#"{"alg":"HS256"}"#.utf8), as: .url) + ".e30."))
    }
}
