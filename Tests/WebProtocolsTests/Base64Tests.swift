// Base64 against the vectors of its specification, and against what no encoder writes.

import Testing
import WebProtocols

struct Base64Tests {
    /// RFC 4648 section 10.
    static let pairs = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ]

    @Test(arguments: pairs)
    func theVectorsOfRFC4648GoBothWays(plain: String, text: String) {
        let bytes = Array(plain.utf8)
        #expect(Base64.encode(bytes) == text)
        #expect(Base64.decode(text) == bytes)
        let short = String(text.prefix { $0 != "=" })
        #expect(Base64.encode(bytes, as: .url) == short)
        #expect(Base64.decode(short, as: .url) == bytes)
    }

    @Test func everyByteSurvivesBothAlphabetsAtEveryLength() {
        for count in 0..<260 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            for alphabet in [Base64.Alphabet.standard, .url] {
                #expect(Base64.decode(Base64.encode(bytes, as: alphabet), as: alphabet) == bytes)
            }
        }
        #expect(Base64.encode([0xFB, 0xFF], as: .url) == "-_8")
        #expect(Base64.encode([0xFB, 0xFF]) == "+/8=")
        #expect(Base64.encode([0xFF, 0xEF, 0xFE], as: .url) == "_-_-")
    }

    @Test(arguments: [
        "Zg==", "Zm8=", "Zm9vYg", "Zm9v\n", "Zm 9v", "Zh", "Zm9", "Z", "+/8", "Zm9vYüM",
    ])
    func whatNoEncoderWritesIsRefusedAsBase64url(text: String) {
        let isWellFormed = text == "Zm9vYg"
        #expect((Base64.decode(text, as: .url) != nil) == isWellFormed)
    }

    @Test(arguments: [
        "Z", "Zg", "Zg=", "Zg===", "Z===", "Zh==", "Zm9=", "====", "-_8=", "Zm-_", "Zg==Zg==",
        " Zg=", "Zm 9", "=Zm9",
    ])
    func whatNoEncoderWritesIsRefusedAsBase64(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test(arguments: ["+/8=", "-_8", "-_8=", "+/8"])
    func aPastedKeyMayHaveEitherAlphabetAndNoPadding(text: String) {
        #expect(Base64.decodeEither(text) == [0xFB, 0xFF])
    }

    @Test(arguments: [("Zm9vYmE=", "fooba"), ("Zm9vYg", "foob"), ("Zm9vYmFy", "foobar")])
    func eitherAlphabetHasTheDigitsOfBoth(text: String, plain: String) {
        #expect(Base64.decodeEither(text) == Array(plain.utf8))
    }

    @Test(arguments: ["A", "Zm9*"])
    func whatStandsForNoBytesIsRefusedInEitherAlphabet(text: String) {
        #expect(Base64.decodeEither(text) == nil)
    }
}
