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
            "H88", "H89", "H90", "H91", "K107",
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
            #expect(shown.contains { $0.contains("mode \(mode.name)\n") }, "\(mode.name)")
        }
    }

    @Test func everyRuleHasAScenario() {
        #expect(Self.rules.filter { !marks.contains($0) } == [])
    }

    @Test func thereAreAtLeastAHundredAndFiftyScenarios() {
        #expect(texts.count >= 150)
    }

    /// Words of the protocol that no scenario shows, and why.
    static let unseen: [String: String] = [
        "timer decide": "the plugin decides, or `default` in its place: they are the actor",
        "timer wait": "the accept that waited is the plugin's, which is the actor",
        "timer for": "a question follows, and its answer has an actor",
        "failed accept_failed": "an accept that fails is an error, and the invitation rings on",
        "error blocked": "a plugin blocks, and what it refuses is `refused`",
        "refusal unauthenticated": "a request without a user never reaches the core",
        "refusal forbidden": "what a token allows is checked before the core",
        "refusal too_large": "sizes are checked before the core",
        "refusal unavailable": "the store of the rigs does not fail here: StoreLinkTests",
        "refusal internal": "a fault of ours, which no scenario can order",
    ]

    /// Every word of the protocol's enumerations that devices can see.
    static let words: [String] = {
        func named<Word: CaseIterable & RawRepresentable<String>>(
            _ kind: String, _: Word.Type
        ) -> [String] {
            Word.allCases.map { "\(kind) \($0.rawValue)" }
        }
        let reasons: [(Participant.State, [Participant.Reason])] = [
            (.rejected, [.declined, .busy]),
            (.cancelled, [.byInviter, .whole, .callerLost, .forwarded, .taken]),
            (.left, [.itself, .lost, .kicked, .idle, .transferred]),
            (
                .failed,
                [
                    .offline, .noAck, .expired, .callerOffline, .acceptUnacked, .dialFailed,
                    .acceptFailed,
                ]
            ),
        ]
        return named("end", EndReason.self) + named("detail", EndDetail.self)
            + named("timer", TimerName.self) + named("state", Participant.State.self)
            + named("media", Call.Media.self).filter { $0 != "media none" }
            + named("elsewhere", CallEvent.Elsewhere.self) + named("refusal", Refusal.Code.self)
            + named("error", InviteeError.Code.self) + named("push", PushJob.Kind.self)
            + Mode.all.map { "mode \($0.name)" }
            + reasons.flatMap { state, all in all.map { "\(state.rawValue) \($0.rawValue)" } }
    }()

    @Test func everyReasonIsSomeStates() {
        for reason in Participant.Reason.allCases {
            #expect(Self.words.contains { $0.hasSuffix(" \(reason.rawValue)") }, "\(reason)")
        }
    }

    /// What was seen in the scenarios, not only asked for.
    @Test func everyWordOfTheProtocolIsSeen() {
        let seen = Vocabulary(of: texts).words
        #expect(Self.words.filter { !seen.contains($0) && Self.unseen[$0] == nil } == [])
        #expect(Self.unseen.keys.filter { seen.contains($0) } == [], "it is seen after all")
        #expect(Self.unseen.keys.filter { !Self.words.contains($0) } == [], "no such word")
        let events = [
            "created", "incoming", "changed", "timed_out", "cancelled", "ended", "elsewhere",
            "transferred", "removed", "failed", "media_phase", "media_flags", "hold", "items",
            "signal",
        ]
        #expect(events.filter { !seen.contains("event \($0)") } == [])
    }
}

/// The words of the protocol that devices see in scenarios.
private struct Vocabulary {
    private(set) var words: Set<String> = []

    init(of texts: [String]) {
        for text in texts {
            // Long sights go on in the next line.
            let seen = text.replacing("\n        ", with: " ")
            for line in seen.split(separator: "\n") { read(String(line)) }
        }
    }

    private mutating func read(_ line: String) {
        guard line.hasPrefix("    ") else {
            for found in line.matches(of: /mode (\w+)/) { words.insert("mode \(found.1)") }
            return
        }
        for found in line.matches(of: /← (\w+) c\d/) { words.insert("event \(found.1)") }
        for found in line.matches(of: /← ended c\d+[^:]*: (\w+)(?:\/(\w+))?/) {
            words.insert("end \(found.1)")
            if let detail = found.2 { words.insert("detail \(detail)") }
        }
        for found in line.matches(of: /\w+ (\w+)\((\w+)\)/) {
            words.insert("\(found.1) \(found.2)")
        }
        for found in line.matches(of: /by timer (\w+)/) { words.insert("timer \(found.1)") }
        for found in line.matches(of: /media_phase c\d+[^:]*: (\w+)/) {
            words.insert("media \(found.1)")
        }
        for found in line.matches(of: /elsewhere c\d+[^:]*: (\w+)/) {
            words.insert("elsewhere \(found.1)")
        }
        for found in line.matches(of: /refused (\w+)/) { words.insert("refusal \(found.1)") }
        for found in line.matches(of: /push +← (\w+)/) { words.insert("push \(found.1)") }
        if let list = line.firstMatch(of: /; but (.*)$/) {
            for found in list.1.matches(of: /\w+ (\w+)/) { words.insert("error \(found.1)") }
        }
        for state in Participant.State.allCases where line.contains(" \(state.rawValue)") {
            words.insert("state \(state.rawValue)")
        }
    }
}
