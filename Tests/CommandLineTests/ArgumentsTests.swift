import Testing
@testable import callagent
@Suite struct ParserTests { @Test func a() { #expect(Span.parse("3s") == 3_000) } }
