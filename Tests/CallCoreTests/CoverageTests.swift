// The scenarios together: every situation of the conformance list, every word of the protocol.

import CallModel
import Foundation
import Testing

@Suite struct CoverageTests {
    /// The situations that the behaviour of the four products was condensed into.
    static let situations: [String: [String]] = [
        "Z": [
            "01", "02", "03", "05", "07", "08", "10", "11", "12", "13", "14", "16", "17", "18",
            "19", "21", "22", "25", "26", "27", "28",
        ],
        "ZA": [
            "01", "02", "04", "05", "07", "08", "10", "12", "14", "15", "18", "19", "20", "21",
            "22", "23",
        ],
        "D": ["01", "03", "05", "06", "07", "08"],
        "C": ["01", "02", "03", "05", "07", "09", "10", "11", "13", "14", "15"],
        "B": ["02", "03", "04", "05", "07", "08", "10", "11b", "12", "13", "14", "15"],
        "AG": ["01", "04", "05", "06", "07", "08", "11", "12", "14"],
        "X": ["01", "04"],
    ]

    /// Situations that no scenario of the core can show, and who shows them.
    static let elsewhere: [String: String] = [
        "Z-23": "sizes are checked before the core: CallWireTests",
        "C-16": "page sizes are checked before the core: CallWireTests",
        "AG-10": "sizes are checked before the core: CallWireTests",
        "AG-13": "a request without a session never reaches the core: CallWireTests",
        "X-05": "a property of every run: InvariantTests",
        "X-06": "the mapping chapter: MappingTests",
        "X-08": "a script that fails: PolicyHostTests",
    ]

    /// Rules of races, and clarifications about calls, that some scenario must name.
    static let rules: [String] = {
        var rules = [
            "C37", "C38", "D39", "D40", "D41", "D43", "D44", "D45", "D46", "D47", "D48", "B25",
            "B30", "B31", "B32", "F57", "F58", "F61", "F62", "F64", "F65", "F68",
        ]
        for number in 1...13 { rules.append("R\(number)") }
        for number in 4...22 where number != 18 { rules.append("A\(number)") }
        return rules
    }()

    let texts: [String]
    let marks: Set<String>

    init() throws {
        texts = try ScenarioFile.all.map { try String(contentsOf: $0.url, encoding: .utf8) }
        let comments = texts.flatMap { $0.split(separator: "\n").filter { $0.hasPrefix("#") } }
        marks = Set(comments.flatMap { $0.split(separator: " ").map(String.init) })
    }

    @Test func everySituationHasAScenario() {
        let missing = Self.situations.flatMap { group, numbers in
            numbers.map { "\(group)-\($0)" }.filter { !marks.contains($0) }
        }
        #expect(missing.sorted() == [])
        #expect(Self.elsewhere.keys.filter { marks.contains($0) }.sorted() == [])
    }

    /// Two users who call each other at once are shown in every mode.
    @Test func glareIsShownInEveryMode() {
        let shown = texts.filter { $0.hasPrefix("# X-04") }
        for mode in Mode.all {
            let word = mode == Mode.all[0] ? "as c1\n" : "mode \(mode.name)\n"
            #expect(shown.contains { $0.contains(word) }, "\(mode.name)")
        }
    }

    @Test func everyRuleHasAScenario() {
        #expect(Self.rules.filter { !marks.contains($0) } == [])
    }

    @Test func thereAreAtLeastAHundredAndFiftyScenarios() {
        #expect(texts.count >= 150)
    }

    @Test func everyWordOfTheProtocolIsSeen() {
        let all = texts.joined()
        func missing(_ words: [String], _ shown: (String) -> String) -> [String] {
            words.filter { !all.contains(shown($0)) }
        }
        #expect(
            missing(EndReason.allCases.map(\.rawValue)) { ": \($0)" } == [
                "dial_failed", "policy",
            ])
        #expect(missing(EndDetail.allCases.map(\.rawValue)) { "/\($0)" } == [])
        #expect(
            missing(TimerName.allCases.map(\.rawValue)) { "timer \($0)" }
                == ["decide", "wait", "for"])
        #expect(missing(Participant.State.allCases.map(\.rawValue)) { " \($0)" } == [])
        #expect(
            missing(Participant.Reason.allCases.map(\.rawValue)) { "(\($0))" }
                == ["lost", "kicked", "dial_failed", "accept_failed"])
        #expect(missing(Call.Media.allCases.map(\.rawValue)) { $0 } == [])
        #expect(missing(Mode.all.map(\.name)) { "mode \($0)" } == [])
        let outside: Set<Refusal.Code> = [
            .unauthenticated, .forbidden, .tooLarge, .rateLimited, .unavailable, .internal,
        ]
        let codes = Refusal.Code.allCases.filter { !outside.contains($0) }.map(\.rawValue)
        #expect(missing(codes) { "refused \($0)" } == [])
        let events = [
            "created", "incoming", "changed", "timed_out", "cancelled", "ended", "elsewhere",
            "failed", "media_phase", "media_flags", "hold", "items", "signal",
        ]
        #expect(missing(events) { "← \($0) c" } == [])
    }
}
