// What the reader takes for JSON and what it refuses, document by document.

import JSON
import Testing

/// Checks `text` as a whole and returns the refusal, if any.
func refusal(of text: [UInt8], depth: Int = 64) -> JSONError? {
    text.withUnsafeBytes { bytes in
        do throws(JSONError) {
            try JSONReader.check(bytes, maximumDepth: depth)
            return nil
        } catch {
            return error
        }
    }
}

/// The error of `JSONValue(parsing:)`, if any.
func refusalOfTree(_ text: [UInt8], limits: JSONLimits = JSONLimits()) -> JSONError? {
    do throws(JSONError) {
        _ = try JSONValue(parsing: text, limits: limits)
        return nil
    } catch {
        return error
    }
}

/// Runs `body` with a reader over `text`.
func reading<T>(
    _ text: String, _ body: (inout JSONReader) throws(JSONError) -> T
) throws(JSONError) -> T {
    let bytes = Array(text.utf8)
    let result = bytes.withUnsafeBytes { input in
        Result { () throws(JSONError) -> T in
            var reader = JSONReader(input)
            return try body(&reader)
        }
    }
    return try result.get()
}

let acceptedDocuments: [String] = [
    "null", "true", "false", "0", "-0", "7", "-7", "1.5", "0.1", "1E5", "1e+5", "1e-5", "-0.0e0",
    "123456789012345678901234567890", "1e400", "\"\"", "\"a\"", " \t\r\n1 \t\r\n", "[]", "[ ]",
    "{}", "{ }", "[1]", "[1,2]", "[ 1 , [ 2 ] ]", "[[],[[]],{}]", "{\"a\":1}", "{\"\":null}",
    "{\"a\":{\"b\":[{}]}}", "{\"a\":1,\"a\":2}", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\"",
    "\"\\uD834\\uDD1E\"", "\"\\ud834\\udd1e\"", "\"\u{7F}\"", "\"é\"", "\"€\"", "\"𝄞\"",
    "\"\u{10FFFF}\"", "\"\u{2028}\"", "\"abcdefghijklmnopqrstuvwxyz é 0123456789\"",
    "[\"12345678\",\"1234567\\n\",\"123456789é\"]", "{\"\\u0061\":1}",
]

/// A refused text, the reason and the offset.
struct Refused: CustomStringConvertible {
    var text: [UInt8]
    var reason: JSONError.Reason
    var offset: Int
    var description: String { "\(String(decoding: text, as: UTF8.self)) \(reason)" }

    init(_ text: String, _ reason: JSONError.Reason, _ offset: Int) {
        self.init(Array(text.utf8), reason, offset)
    }

    init(_ text: [UInt8], _ reason: JSONError.Reason, _ offset: Int) {
        (self.text, self.reason, self.offset) = (text, reason, offset)
    }
}

private func byte(_ character: Unicode.Scalar) -> UInt8 { UInt8(ascii: character) }

let refusedDocuments: [Refused] = [
    Refused("", .endOfInput, 0), Refused("  ", .endOfInput, 2),
    Refused("[1,]", .unexpected(byte("]"), wanted: .value), 3),
    Refused("[,1]", .unexpected(byte(","), wanted: .value), 1),
    Refused("[1,,2]", .unexpected(byte(","), wanted: .value), 3),
    Refused("[1 2]", .unexpected(byte("2"), wanted: .commaOrBracket), 3),
    Refused("[1}", .unexpected(byte("}"), wanted: .commaOrBracket), 2),
    Refused("[1", .endOfInput, 2), Refused("[", .endOfInput, 1), Refused("[1,", .endOfInput, 3),
    Refused("]", .unexpected(byte("]"), wanted: .value), 0),
    Refused("{\"a\":1,}", .unexpected(byte("}"), wanted: .key), 7),
    Refused("{,}", .unexpected(byte(","), wanted: .key), 1),
    Refused("{a:1}", .unexpected(byte("a"), wanted: .key), 1),
    Refused("{1:1}", .unexpected(byte("1"), wanted: .key), 1),
    Refused("{\"a\" 1}", .unexpected(byte("1"), wanted: .colon), 5),
    Refused("{\"a\"}", .unexpected(byte("}"), wanted: .colon), 4),
    Refused("{\"a\":}", .unexpected(byte("}"), wanted: .value), 5),
    Refused("{\"a\":1 \"b\":2}", .unexpected(byte("\""), wanted: .commaOrBrace), 7),
    Refused("{\"a\":1]", .unexpected(byte("]"), wanted: .commaOrBrace), 6),
    Refused("{", .endOfInput, 1), Refused("{\"a\"", .endOfInput, 4),
    Refused("{\"a\":", .endOfInput, 5), Refused("{\"a\":1,", .endOfInput, 7),
    Refused("1 2", .unexpected(byte("2"), wanted: .end), 2),
    Refused("{}{}", .unexpected(byte("{"), wanted: .end), 2),
    Refused("01", .leadingZero, 0), Refused("-01", .leadingZero, 1), Refused("00", .leadingZero, 0),
    Refused("-", .endOfInput, 1), Refused("1.", .endOfInput, 2), Refused("1e", .endOfInput, 2),
    Refused("1e+", .endOfInput, 3), Refused("-a", .unexpected(byte("a"), wanted: .digit), 1),
    Refused("1.e5", .unexpected(byte("e"), wanted: .digit), 2),
    Refused("+1", .unexpected(byte("+"), wanted: .value), 0),
    Refused(".5", .unexpected(byte("."), wanted: .value), 0),
    Refused("0x10", .unexpected(byte("x"), wanted: .end), 1),
    Refused("1_000", .unexpected(byte("_"), wanted: .end), 1),
    Refused("NaN", .unexpected(byte("N"), wanted: .value), 0),
    Refused("Infinity", .unexpected(byte("I"), wanted: .value), 0),
    Refused("tru", .endOfInput, 3), Refused("truE", .unexpected(byte("E"), wanted: .literal), 3),
    Refused("nul", .endOfInput, 3), Refused("nil", .unexpected(byte("i"), wanted: .literal), 1),
    Refused("falsy", .unexpected(byte("y"), wanted: .literal), 4),
    Refused("nullx", .unexpected(byte("x"), wanted: .end), 4),
    Refused("'a'", .unexpected(byte("'"), wanted: .value), 0),
    Refused("// a\n1", .unexpected(byte("/"), wanted: .value), 0),
    Refused("\u{FEFF}1", .unexpected(0xEF, wanted: .value), 0),
    Refused("\u{A0}1", .unexpected(0xC2, wanted: .value), 0),
    Refused("\u{0C}1", .unexpected(0x0C, wanted: .value), 0),
    Refused("\"a", .endOfInput, 2), Refused("\"\\", .endOfInput, 2),
    Refused("\"\\u12", .endOfInput, 5),
    Refused("\"a\nb\"", .controlCharacter(0x0A), 2), Refused("\"\u{0}\"", .controlCharacter(0), 1),
    Refused("\"12345678\u{1F}\"", .controlCharacter(0x1F), 9),
    Refused("\"\\x41\"", .invalidEscape, 1), Refused("\"\\u12G4\"", .invalidEscape, 1),
    Refused("\"\\U0041\"", .invalidEscape, 1), Refused("\"\\'\"", .invalidEscape, 1),
    Refused("\"\\ud834\"", .loneSurrogate, 1), Refused("\"\\udd1e\"", .loneSurrogate, 1),
    Refused("\"\\ud834x\"", .loneSurrogate, 1), Refused("\"\\ud834\\n\"", .loneSurrogate, 1),
    Refused("\"\\ud834\\ud834\"", .loneSurrogate, 1),
    Refused("\"\\ud834\\u0041\"", .loneSurrogate, 1),
    Refused("{\"\\udd1e\":1}", .loneSurrogate, 2),
]

let refusedEncodings: [Refused] = [
    [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2, 0x20], [0xE0, 0x9F, 0xBF],
    [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xE2, 0x82, 0x20], [0xF0, 0x8F, 0xBF, 0xBF],
    [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xFE], [0xF0, 0x9D, 0x84, 0x41],
].map { (bytes: [UInt8]) in Refused([0x22] + bytes + [0x22], .invalidUTF8, 1) }

@Suite struct GrammarTests {
    @Test(arguments: acceptedDocuments)
    func acceptsTheDocument(_ text: String) {
        #expect(refusal(of: Array(text.utf8)) == nil)
    }

    @Test(arguments: refusedDocuments + refusedEncodings)
    func refusesTheDocumentWithReasonAndPlace(_ refused: Refused) {
        let expected = JSONError(refused.reason, at: refused.offset)
        #expect(refusal(of: refused.text) == expected)
        #expect(refusalOfTree(refused.text) == expected)
        #expect(expected.isSyntax)
    }

    @Test(arguments: refusedDocuments + refusedEncodings)
    func refusesTheSameInsideAnArrayThatIsSkipped(_ refused: Refused) {
        #expect(refusal(of: Array("[0,".utf8) + refused.text + Array("]".utf8)) != nil)
    }

    /// A document cut anywhere is refused, except that a number may end anywhere after a digit.
    @Test func refusesEveryTruncation() {
        for text in acceptedDocuments.map({ "[" + $0 + "]" }) {
            let bytes = Array(text.utf8)
            for end in bytes.indices {
                #expect(refusal(of: Array(bytes[..<end])) != nil, "\(text) cut at \(end)")
                #expect(refusalOfTree(Array(bytes[..<end])) != nil, "\(text) cut at \(end)")
            }
        }
    }

    /// Reader and tree agree about every document with one byte replaced, and none crashes.
    @Test func agreesAboutEveryReplacedByte() {
        let replacements: [UInt8] = [
            0, 9, 0x1F, 0x20, 0x22, 0x2C, 0x30, 0x5C, 0x5D, 0x7D, 0x80, 0xFF,
        ]
        for text in acceptedDocuments {
            for index in 0..<text.utf8.count {
                for replacement in replacements {
                    var bytes = Array(text.utf8)
                    bytes[index] = replacement
                    let error = refusal(of: bytes)
                    let treeError = refusalOfTree(bytes)
                    #expect(error == treeError || treeError?.reason == .numberOutOfRange)
                }
            }
        }
    }

    @Test func nestingIsAllowedUpToTheLimitAndNotBeyond() {
        func nested(_ depth: Int) -> [UInt8] {
            Array(String(repeating: "[", count: depth).utf8)
                + Array(String(repeating: "]", count: depth).utf8)
        }
        #expect(refusal(of: nested(64)) == nil)
        #expect(refusal(of: nested(65)) == JSONError(.tooDeep(limit: 64), at: 64))
        #expect(refusal(of: nested(3), depth: 3) == nil)
        #expect(refusal(of: nested(4), depth: 3) == JSONError(.tooDeep(limit: 3), at: 3))
        #expect(refusal(of: nested(1), depth: 0) == JSONError(.tooDeep(limit: 0), at: 0))
        #expect(refusal(of: Array("1".utf8), depth: 0) == nil)
        #expect(refusal(of: Array("[[],[],{},{}]".utf8), depth: 2) == nil)
        let highest = JSONReader.highestDepth
        #expect(refusal(of: nested(highest), depth: .max) == nil)
        #expect(
            refusal(of: nested(highest + 1), depth: .max)
                == JSONError(.tooDeep(limit: highest), at: highest))
        #expect(refusal(of: nested(200_000), depth: .max) != nil)
    }

    @Test func theTreeRefusesTextsBeyondItsByteLimit() {
        #expect(refusalOfTree(Array("1234".utf8), limits: JSONLimits(bytes: 4)) == nil)
        let error = refusalOfTree(Array("12345".utf8), limits: JSONLimits(bytes: 4))
        #expect(error == JSONError(.tooLarge(limit: 4), at: 4))
    }

    @Test func saysWhatIsWrongInWords() {
        let errors = ["{\"a\" 1}", "[\"\u{1}\"]", "[1,]"].map { refusal(of: Array($0.utf8))! }
        #expect(
            errors.map(\.description) == [
                "expected ':' but found '1' at byte 5",
                "a string holds the raw control character 0x01 at byte 2",
                "expected a value but found ']' at byte 3",
            ])
    }
}
