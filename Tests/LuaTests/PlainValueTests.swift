// Durations, and values in the form in which they cross into Lua.

import Testing

@testable import Lua

@Suite struct PlainValueTests {
    @Test(arguments: [
        ("250ms", 250), ("3s", 3_000), ("1.5s", 1_500), ("10m", 600_000), ("2h", 7_200_000),
        ("7d", 604_800_000),
    ])
    func durationsAreRead(_ text: String, _ span: Int64) { #expect(Duration.parse(text) == span) }

    @Test(arguments: ["", "3", "s", "3 s", "-3s", ".5s", "3.s", "3sec", "99999999999999999s"])
    func otherTextsAreNoDurations(_ text: String) { #expect(Duration.parse(text) == nil) }

    @Test func valuesOfEveryKindGoThereAndBack() throws {
        let value = LuaValue.table([
            .init(key: .integer(-1), value: .bool(false)),
            .init(key: .text("a"), value: .list([.integer(.max), .number(-0.5), .text("é")])),
            .init(key: .text("b"), value: .bytes([0xFF, 0])),
            .init(key: .text("c"), value: .table([])),
        ])
        let writer = PlainWriter()
        writer.value(value)
        var reader = PlainReader(writer.written)
        #expect(reader.value() == value)
        #expect(reader.isAtEnd)
    }
}
