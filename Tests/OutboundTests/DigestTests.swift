// Hashes and message authentication codes against published vectors.

import Testing

@testable import Outbound

struct DigestTests {
    @Test func hashesOfAbcAreThoseOfFIPS180() {
        let abc = Array("abc".utf8)
        #expect(HashFunction.sha1.hash(abc).hex == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(
            HashFunction.sha256.hash(abc).hex
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(HashFunction.sha512.hash(abc).hex.hasPrefix("ddaf35a193617abacc417349ae204131"))
        #expect(
            HashFunction.sha256.hash([]).hex
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }

    /// RFC 2202 and RFC 4231: case 2, and a key longer than a block.
    @Test func hmacGivesTheVectorsOfRFC2202AndRFC4231() {
        let message = Array("what do ya want for nothing?".utf8)
        let key = Array("Jefe".utf8)
        #expect(
            HashFunction.sha1.authenticate(message, key: key).hex
                == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")
        #expect(
            HashFunction.sha256.authenticate(message, key: key).hex
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        #expect(
            HashFunction.sha512.authenticate(message, key: key).hex.hasPrefix(
                "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"))
        let long = [UInt8](repeating: 0xAA, count: 131)
        let hashed = Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)
        #expect(
            HashFunction.sha256.authenticate(hashed, key: long).hex
                == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
    }

    @Test func anEmptyKeyAndAnEmptyMessageHaveACode() {
        #expect(
            HashFunction.sha256.authenticate([], key: []).hex
                == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test func secretsAreEqualOnlyWhenEveryByteIs() {
        #expect(ConstantTime.equal([1, 2, 3], [1, 2, 3]))
        #expect(ConstantTime.equal([], []))
        #expect(!ConstantTime.equal([1, 2, 3], [1, 2, 4]))
        #expect(!ConstantTime.equal([1, 2, 3], [1, 2]))
    }

    @Test func randomBytesDifferFromCallToCall() {
        let made = (0..<64).map { _ in RandomBytes.make(16) }
        #expect(Set(made).count == 64)
        #expect(made.allSatisfy { $0.count == 16 })
        #expect(RandomBytes.make(0).isEmpty)
    }
}
