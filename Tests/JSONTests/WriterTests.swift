// What the writer appends.

import JSON
import Testing

@Suite struct WriterTests {
    private func written(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        body(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func writesNestedObjectsAndArrays() {
        let text = written {
            $0.object {
                $0.field("id", 3)
                $0.field("name", "Ann")
                $0.field("role", literal: "caller")
                $0.object("empty") { _ in }
                $0.array("list") {
                    $0.value(1)
                    $0.object { $0.null("x") }
                    $0.array { _ in }
                    $0.null()
                }
                $0.field("on", true)
                $0.field("none", nil as String?)
                $0.field("moment", nil as Int64?)
                $0.field("some", "x" as String?)
                $0.field("raw", raw: Array(#"{ "a" : 1 }"#.utf8))
                $0.field("half", 0.5)
            }
        }
        #expect(
            text == #"{"id":3,"name":"Ann","role":"caller","empty":{},"#
                + #""list":[1,{"x":null},[],null],"on":true,"none":null,"moment":null,"#
                + #""some":"x","raw":{ "a" : 1 },"half":0.5}"#)
    }

    @Test func escapesWhatMustBeEscapedAndNothingElse() {
        for code in 0...0x7F {
            let scalar = Unicode.Scalar(UInt8(code))
            for prefix in ["", "1234567", "12345678", "é"] {
                let text = prefix + String(scalar) + "tail"
                let json = written { $0.value(text) }
                #expect(json.contains("\\") == (code < 0x20 || code == 0x22 || code == 0x5C))
                #expect((try? JSONValue(parsing: json))?.string == text)
            }
        }
        for count in [1, 7, 8, 9, 255, 256, 257, 2_000] {
            let text = String(repeating: "\u{1}", count: count) + "tail"
            #expect((try? JSONValue(parsing: written { $0.value(text) }))?.string == text)
        }
        #expect(written { $0.value("\u{1}\u{1F}\n\"\\/") } == #""\u0001\u001f\n\"\\/""#)
        #expect(written { $0.value("€𝄞\u{2028}") } == "\"€𝄞\u{2028}\"")
    }

    @Test func escapesNamesFromOutside() {
        #expect(
            written {
                $0.object {
                    $0.key(text: "a\"b")
                    $0.value(1)
                    $0.key(text: "c")
                    $0.array { _ in }
                }
            } == #"{"a\"b":1,"c":[]}"#)
    }

    @Test func writesIntegersOfEveryLength() {
        var value: Int64 = 1
        for _ in 0..<19 {
            for near in [value - 1, value, value + 1, -value, -value - 1] {
                #expect(written { $0.value(near) } == String(near))
            }
            value = value.multipliedReportingOverflow(by: 10).partialValue
        }
        #expect(written { $0.value(Int64.min) } == "-9223372036854775808")
        #expect(written { $0.value(Int64.max) } == "9223372036854775807")
    }

    @Test(arguments: [
        (0.1, "0.1"), (-0.0, "-0.0"), (1e16, "1e+16"), (100, "100.0"),
        (.leastNonzeroMagnitude, "5e-324"),
        (.infinity, "null"), (-.infinity, "null"), (.nan, "null"),
    ])
    func writesDoublesInTheShortestForm(_ value: Double, _ text: String) {
        #expect(written { $0.value(value) } == text)
    }

    @Test func writesTextsOneAfterAnotherIntoOneBuffer() {
        var writer = JSONWriter()
        writer.append(0x21)
        writer.object { $0.field("a", 1) }
        writer.startText()
        writer.object { $0.field("b", 2) }
        #expect(String(decoding: writer.bytes, as: UTF8.self) == #"!{"a":1}{"b":2}"#)
        writer.removeAll()
        writer.value(true)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "true")
    }

    @Test func writesTextsOfEveryLengthIntoARoomThatGrows() {
        let source = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        for length in 0...source.count {
            let text = String(source.prefix(length))
            var writer = JSONWriter(capacity: 0)
            writer.array {
                $0.value(text)
                $0.value(raw: Array("\"\(text)\"".utf8))
            }
            writer.append(text.utf8)
            let written = String(decoding: writer.written, as: UTF8.self)
            #expect(written == "[\"\(text)\",\"\(text)\"]\(text)")
            #expect(writer.count == written.utf8.count)
        }
    }

    @Test func writesTheDigitsOf128Bits() {
        let text = written { $0.value(hex: 0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210) }
        #expect(text == "\"0123456789abcdeffedcba9876543210\"")
        for nibble in 0..<UInt64(16) {
            let word = nibble &* 0x1111_1111_1111_1111
            let digits = String(repeating: String(nibble, radix: 16), count: 16)
            #expect(written { $0.value(hex: word, ~word) }.hasPrefix("\"\(digits)"))
        }
    }

    @Test func writesMomentsThatComeAgain() {
        var writer = JSONWriter(capacity: 16)
        let moments: [Int64] = [1_800_000_000_000, 1_800_000_000_000, 7, 7, 1_800_000_000_000, -1]
        for _ in 0..<2 {
            writer.removeAll()
            writer.object { for moment in moments { $0.field("at", moment: moment) } }
            let members = moments.map { "\"at\":\($0)" }.joined(separator: ",")
            #expect(String(decoding: writer.bytes, as: UTF8.self) == "{\(members)}")
        }
        writer.removeAll()
        writer.field("at", moment: 7)
        writer.cut(to: 0)
        writer.startText()
        writer.field("until", moment: 7)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == #""until":7"#)
    }

    @Test func takesBackTheLastElements() {
        let text = written {
            $0.array {
                $0.value(1)
                let before = $0.count
                $0.value(2)
                $0.object { $0.field("a", 3) }
                $0.cut(to: before)
                $0.value(4)
            }
        }
        #expect(text == "[1,4]")
    }

    @Test func passesOnTheErrorOfTheBody() {
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            var writer = JSONWriter()
            try writer.object { (_) throws(Stop) in throw Stop() }
        }
    }
}
