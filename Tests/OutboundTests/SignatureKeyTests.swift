// Which texts are keys, and what each key can do.

import Testing
import enum WebProtocols.Base64

@testable import Outbound

struct SignatureKeyTests {
    private let message = Array("a message".utf8)

    @Test(arguments: [
        (SignatureAlgorithm.hs256, SampleKey.secret), (.es256, SampleKey.ecPrivate),
        (.es256, SampleKey.ecTraditional), (.rs256, SampleKey.rsaPrivate),
    ])
    func aKeyBelievesWhatItSignedAndNothingElse(
        algorithm: SignatureAlgorithm, text: String
    ) throws {
        let key = try SignatureKey(algorithm, text)
        #expect(key.canSign)
        let signature = try key.sign(message)
        #expect(key.verifies(signature, of: message))
        #expect(!key.verifies(signature, of: message + [0]))
        #expect(!key.verifies([], of: message))
        #expect(!key.verifies(signature.dropLast(), of: message))
        #expect(!key.verifies(signature + [0], of: message))
        for index in signature.indices {
            var broken = signature
            broken[index] ^= 1
            #expect(!key.verifies(broken, of: message))
        }
    }

    @Test(arguments: [
        (SignatureAlgorithm.es256, SampleKey.ecPrivate, SampleKey.ecPublic),
        (.es256, SampleKey.ecPrivate, SampleKey.ecCertificate),
        (.rs256, SampleKey.rsaPrivate, SampleKey.rsaPublic),
    ])
    func aPublicKeyOrCertificateChecksAndDoesNotSign(
        algorithm: SignatureAlgorithm, own: String, known: String
    ) throws {
        let known = try SignatureKey(algorithm, known)
        #expect(!known.canSign)
        #expect(known.verifies(try SignatureKey(algorithm, own).sign(message), of: message))
        #expect(throws: KeyError.publicOnly) { try known.sign(message) }
    }

    @Test func ecdsaSignaturesAre64BytesWhateverTheirNumbers() throws {
        let key = try SignatureKey(.es256, SampleKey.ecPrivate)
        for number in 0..<200 {
            let signature = try key.sign([UInt8(number)])
            #expect(signature.count == 64)
            #expect(key.verifies(signature, of: [UInt8(number)]))
        }
    }

    /// A verifier that took r = 0 and s = 0 would believe them for every message.
    @Test func ecdsaSignaturesOfZerosAreRefused() throws {
        let key = try SignatureKey(.es256, SampleKey.ecPublic)
        let zero = [UInt8](repeating: 0, count: 32)
        let one = zero.dropLast() + [1]
        for signature in [zero + zero, zero + one, one + zero] {
            #expect(!key.verifies(signature, of: message))
        }
    }

    @Test(arguments: [
        (SignatureAlgorithm.hs256, "", KeyError.empty),
        (.hs256, "base64:", .empty),
        (.hs256, "base64:!!!!", .notBase64),
        (.hs256, SampleKey.rsaPublic, .pemAsSecret),
        (.hs256, "\n " + SampleKey.ecPublic, .pemAsSecret),
        (.es256, "", .empty),
        (.es256, "a secret", .notPEM),
        (.es256, SampleKey.p384Public, .wrongKind(.es256)),
        (.es256, SampleKey.rsaPublic, .wrongKind(.es256)),
        (.rs256, SampleKey.ecPublic, .wrongKind(.rs256)),
        (.rs256, SampleKey.rsa1024Public, .tooFewBits(1_024, least: 2_048)),
        (.es256, SampleKey.ecEncrypted, .encryptedPEM),
        (.es256, SampleKey.ecPublic.replacing("MFkw", with: "MFkx"), .unreadablePEM),
        (.rs256, String(SampleKey.rsaPrivate.prefix(400)), .unreadablePEM),
        (.es256, "-----BEGIN GARBAGE-----\n-----END GARBAGE-----", .unreadablePEM),
    ])
    func aTextThatIsNoSuchKeyIsRefusedWithTheReason(
        algorithm: SignatureAlgorithm, text: String, error: KeyError
    ) {
        #expect(throws: error) { try SignatureKey(algorithm, text) }
        #expect(!error.description.isEmpty)
    }

    @Test func theLeastLengthOfASecretCountsItsBytes() throws {
        let secret = String(repeating: "x", count: 32)
        #expect(try SignatureKey(.hs256, secret, leastSecretBytes: 32).canSign)
        #expect(throws: KeyError.tooShort(bytes: 31, least: 32)) {
            try SignatureKey(.hs256, String(secret.dropLast()), leastSecretBytes: 32)
        }
        #expect(throws: KeyError.tooShort(bytes: 3, least: 32)) {
            try SignatureKey(.hs256, "base64:AAAA", leastSecretBytes: 32)
        }
    }

    @Test func p256PointsAndNumbersAreChecked() throws {
        let pair = KeyPair.generateP256()
        let point = try #require(pair.p256Point)
        #expect(KeyPair(p256Point: point)?.p256Point == point)
        var beside = point
        beside[64] ^= 1
        #expect(KeyPair(p256Point: beside) == nil)
        #expect(KeyPair(p256Point: [4] + [UInt8](repeating: 0, count: 64)) == nil)
        #expect(KeyPair(p256Point: Array(point.dropLast())) == nil)
        #expect(KeyPair(p256Scalar: [UInt8](repeating: 0, count: 32)) == nil)
        #expect(KeyPair(p256Scalar: [UInt8](repeating: 0xFF, count: 32)) == nil)
        let known = try #require(KeyPair(p256Scalar: Self.scalar))
        #expect(known.p256Point == (try SignatureKey(.es256, SampleKey.ecPublic)).p256Point)
        #expect(pair.agree(with: known) == known.agree(with: pair))
    }

    /// `d` of RFC 7515 appendix A.3.
    private static let scalar =
        Base64.decode("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI", as: .url) ?? []
}
