// What others sent neither breaks a line of the log nor looks like a field of its own.

import JSON
import Testing

@testable import AgentServer

@Suite struct PlainTextTests {
    @Test(arguments: [
        ("a\nb", "a b"), ("a\u{1B}[31mb", "a [31mb"), ("a\u{9B}31mb", "a 31mb"),
        ("a\u{85}b", "a b"), ("a\u{202E}b", "a b"), ("a\u{2028}b", "a b"), ("grün", "grün"),
    ])
    func whatPaintsOrBreaksBecomesASpace(text: String, shown: String) {
        #expect(text.onOneLine == shown)
    }

    @Test(arguments: [
        ("plain", "plain"), ("", "\"\""), ("two words", "\"two words\""),
        ("x\"  plugin=trusted", "\"x\\\"  plugin=trusted\""), ("a\\", "\"a\\\\\""),
        ("a=b", "\"a=b\""),
    ])
    func aValueShowsWhereItEnds(text: String, shown: String) {
        #expect(text.asFieldValue == shown)
    }

    @Test(arguments: [
        ("a\u{9B}31m", "a\\u009b31m"), ("\u{7F}", "\\u007f"), ("\u{202E}b", "\\u202eb"),
        ("\u{E0001}", "\\udb40\\udc01"), ("grün 🙂", "grün 🙂"), ("\u{1B}[31m", "\\u001b[31m"),
    ])
    func jsonHoldsNothingThatATerminalObeysAndIsTheSameText(text: String, written: String) throws {
        var writer = JSONWriter()
        writer.object { $0.field("message", text) }
        let line = writer.bytes.escapingUnshown
        #expect(String(decoding: line, as: UTF8.self) == "{\"message\":\"\(written)\"}")
        #expect(try JSONValue(parsing: line)["message"]?.string == text)
    }
}
