// What others sent neither breaks a line of the log nor looks like a field of its own.

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
}
