// How callers pull values out of a text, and what they learn when it is not what they wanted.

import JSON
import Testing

@Suite struct ReaderTests {
    @Test func pullsTheFieldsOfARequest() throws {
        let text = #" {"id": 7, "op": "call.invite", "x": [1, {"y": null}], "data": { "a" : 1 } } "#
        try reading(text) { (reader) throws(JSONError) in
            var (id, op, data): (Int64, String, String) = (0, "", "")
            try reader.beginObject()
            while let key = try reader.nextKey() {
                switch key {
                case "id": id = try reader.readInteger()
                case "op": op = try reader.readString()
                case "data": data = String(decoding: try reader.readRaw(), as: UTF8.self)
                default: try reader.skip()
                }
            }
            try reader.expectEnd()
            #expect((id, op, data) == (7, "call.invite", #"{ "a" : 1 }"#))
            #expect(reader.offset == text.utf8.count)
        }
    }

    @Test func readsEveryKindOfElement() throws {
        try reading(#"[null, true, false, 1, 2.5, "s", [], {}]"#) { (reader) throws(JSONError) in
            var kinds: [JSONKind] = []
            try reader.beginArray()
            while try reader.nextElement() {
                kinds.append(try reader.peek())
                try reader.skip()
            }
            try reader.expectEnd()
            #expect(kinds == [.null, .bool, .bool, .number, .number, .string, .array, .object])
        }
    }

    @Test func comparesNamesWithEscapesByTheirMeaning() throws {
        try reading(#"{"\u0069\u0064":1,"\ud834\udd1e":2,"a\/b":3}"#) {
            (reader) throws(JSONError) in
            try reader.beginObject()
            let first = try reader.nextKey()!
            #expect(first.hasEscapes && first == "id" && !(first == "ic") && first.utf8Count == 2)
            try reader.skip()
            let second = try reader.nextKey()!
            #expect(second == "𝄞" && second.string == "𝄞" && second.utf8Count == 4)
            try reader.skip()
            let third = try reader.nextKey()!
            #expect(third == "a/b" && third.string == "a/b")
        }
    }

    @Test(arguments: [
        "", "a", "ab", "xb", "ax", "abc", "axc", "abx", "abcd", "abcdef", "xbcdef", "abcdex",
        "abcdefg", "abcdefgh", "xbcdefgh", "abcdefgx", "abcdefghi", "abcdefghijklmnopq",
        "abcdefghijklmnopx", "abcdefgxijklmnopq",
    ])
    func comparesTextsOfEveryLength(_ text: String) throws {
        try reading("\"\(text)\"") { (reader) throws(JSONError) in
            let read = try reader.readText()
            #expect(read.string == text)
            #expect((read == "abcdefgh") == (text == "abcdefgh"))
            #expect((read == "abcdefghijklmnopq") == (text == "abcdefghijklmnopq"))
            #expect((read == "a") == (text == "a"))
            #expect((read == "ab") == (text == "ab"))
            #expect((read == "abc") == (text == "abc"))
            #expect((read == "abcdef") == (text == "abcdef"))
        }
    }

    @Test func resolvesEveryEscape() throws {
        let text = try reading(#""\"\\\/\b\f\n\r\t\u00e9\u20AC\ud834\udd1e\u0000x""#) {
            (reader) throws(JSONError) in try reader.readString()
        }
        #expect(text == "\"\\/\u{8}\u{C}\n\r\té€𝄞\0x")
    }

    @Test func standsBeforeAValueOfAnotherType() throws {
        try reading(#"["text", 1.5, 99999999999999999999, 1e400, 3]"#) {
            (reader) throws(JSONError) in
            try reader.beginArray()
            _ = try reader.nextElement()
            expectRefusal(.mismatch(wanted: .number, found: .string)) {
                () throws(JSONError) in _ = try reader.readInteger()
            }
            #expect(try reader.readString() == "text")
            _ = try reader.nextElement()
            expectRefusal(.notAnInteger) { () throws(JSONError) in _ = try reader.readInteger() }
            #expect(try reader.readDouble() == 1.5)
            _ = try reader.nextElement()
            expectRefusal(.integerOutOfRange) { () throws(JSONError) in
                _ = try reader.readInteger()
            }
            #expect(try reader.readNumber() == .double(1e20))
            _ = try reader.nextElement()
            expectRefusal(.numberOutOfRange) { () throws(JSONError) in
                _ = try reader.readDouble()
            }
            try reader.skip()
            _ = try reader.nextElement()
            expectRefusal(.mismatch(wanted: .bool, found: .number)) {
                () throws(JSONError) in _ = try reader.readBool()
            }
            expectRefusal(.mismatch(wanted: .object, found: .number)) {
                () throws(JSONError) in try reader.beginObject()
            }
            #expect(try reader.readNullIfPresent() == false)
            #expect(try reader.readInteger() == 3)
            #expect(try reader.nextElement() == false)
        }
    }

    private func expectRefusal(
        _ reason: JSONError.Reason, _ body: () throws(JSONError) -> Void
    ) {
        do throws(JSONError) {
            try body()
            Issue.record("accepted instead of \(reason)")
        } catch {
            #expect(error.reason == reason)
            #expect(!error.isSyntax)
        }
    }

    @Test func aCopyIsAMarkToComeBackTo() throws {
        try reading(#"{"data": {"op": "x"}, "op": "hello"}"#) { (reader) throws(JSONError) in
            let mark = reader
            try reader.skip()
            reader = mark
            try reader.beginObject()
            #expect(try reader.nextKey()! == "data")
        }
    }

    @Test(arguments: [
        ("0", Int64(0)), ("-0", 0), ("9223372036854775807", .max), ("-9223372036854775808", .min),
    ])
    func readsIntegersUpToTheEdge(_ text: String, _ value: Int64) throws {
        let read = try reading(text) { (reader) throws(JSONError) in try reader.readInteger() }
        #expect(read == value)
    }

    @Test(arguments: ["9223372036854775808", "-9223372036854775809", "100000000000000000000000"])
    func refusesIntegersBeyondTheEdge(_ text: String) {
        #expect(throws: JSONError(.integerOutOfRange, at: 0)) {
            try reading(text) { (reader) throws(JSONError) in try reader.readInteger() }
        }
    }

    @Test(arguments: [
        ("0.1", JSONNumber.double(0.1)), ("1E5", .double(1e5)), ("-0", .double(-0.0)),
        ("1.0", .double(1)), ("12", .integer(12)), ("5e-324", .double(.leastNonzeroMagnitude)),
        ("1e-400", .double(0)), ("1.7976931348623157e308", .double(.greatestFiniteMagnitude)),
        ("9223372036854775808", .double(9_223_372_036_854_775_808)),
        ("0.30000000000000004", .double(0.1 + 0.2)),
    ])
    func readsNumbersExactly(_ text: String, _ number: JSONNumber) throws {
        let read = try reading(text) { (reader) throws(JSONError) in try reader.readNumber() }
        #expect(read == number)
    }

    @Test func keepsTheSignOfZero() throws {
        let zero = try reading("-0") { (reader) throws(JSONError) in try reader.readDouble() }
        #expect(zero == 0 && zero.sign == .minus)
    }

    /// Misuse is an error or nonsense, never a crash.
    @Test func survivesCallsInTheWrongOrder() {
        for text in ["{\"a\":[1]}", "[1]", "\"a\"", "1", "", "]"] {
            #expect(throws: JSONError.self) {
                try reading(text) { (reader) throws(JSONError) in
                    _ = try reader.nextElement()
                    _ = try reader.nextKey()
                    _ = try reader.nextKey()
                    _ = try reader.nextElement()
                }
            }
        }
    }
}
