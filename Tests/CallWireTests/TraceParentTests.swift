// The trace that a message names: taken as it is, or ignored.

import CallModel
import Testing

@testable import CallWire

@Suite struct TraceParentTests {
    private static let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    private let decoder = WireDecoder()

    private func trace(_ json: String) throws -> TraceParent? {
        var trace: TraceParent?
        let message = Array(#"{"op":"call.list","id":1,"trace":\#(json)}"#.utf8)
        let decoded = try message.withUnsafeBytes { try decoder.message($0, trace: &trace) }
        #expect(decoded == .request(.integer(1), key: nil, .list(ListQuery())))
        return trace
    }

    @Test(arguments: [
        text, "00-00000000000000000000000000000001-0000000000000001-00",
        "fe-ffffffffffffffffffffffffffffffff-ffffffffffffffff-ff",
    ])
    func aTraceIsHandedOnAsItCame(_ text: String) throws {
        #expect(TraceParent(text)?.description == text)
        #expect(try trace("\"\(text)\"")?.description == text)
        #expect(TraceParent.length == text.utf8.count)
    }

    /// Each place of the text with each kind of wrong sign.
    @Test func oneWrongSignMakesItMalformed() {
        for place in Self.text.utf8.indices {
            for wrong in ["g", "A", " ", "_", ":", "/", "`", "\u{7F}", "\u{0}"] {
                var text = Self.text
                text.replaceSubrange(place...place, with: wrong)
                #expect(TraceParent(text) == nil, "\(text)")
            }
        }
    }

    @Test(arguments: [
        "", String(text.dropLast()), text + "0", text + "-x", "ff" + text.dropFirst(2),
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        String(repeating: "é", count: 27) + "x",
    ])
    func whatIsMalformedIsIgnored(_ text: String) throws {
        #expect(TraceParent(text) == nil)
        #expect(try trace("\"\(text)\"") == nil)
    }

    @Test(arguments: ["null", "1", "[]", "{\"a\":1}", "true", "\"\\u0030\(text.dropFirst())\""])
    func whatIsNoTextIsIgnored(_ json: String) throws {
        #expect(try trace(json) == nil)
    }

    @Test func itTakesNoMoreRoomThanItsNumbers() {
        #expect(MemoryLayout<TraceParent>.size <= 26)
    }
}
