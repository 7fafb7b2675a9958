// What a check has found, in a report and over the wire.

import AgentServer
import JSON
import Testing

@Suite struct FindingTests {
    @Test func anotherProcessReadsWhatOneHasFound() throws {
        let found = try #require(
            Finding(["grade": "trouble", "text": "no keys", "advice": "make one"]))
        #expect(found == .trouble("no keys", "make one"))
        #expect(found.line == "FAIL  no keys → make one")
        #expect(Finding(["grade": "good", "text": "it runs"])?.line == "ok    it runs")
    }

    @Test func aGradeOfALaterVersionIsAWarning() throws {
        let found = try #require(Finding(["grade": "hint", "text": "old", "advice": "new"]))
        #expect(found == .warning("old", "new") && found.line == "warn  old → new")
        #expect(Finding(["grade": "good"]) == nil && Finding("good") == nil)
    }
}
