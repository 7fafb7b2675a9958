// What the chapters for other products claim is shown: by a scenario, or by a test (K109).

import CallModel
import CallSimulator
import CallWire
import Foundation
import Testing

/// One row of a table of a chapter.
struct MappedRow: Sendable, CustomTestStringConvertible {
    let page: String
    let cells: [String]
    /// What the last column names.
    let proofs: [Proof]

    var testDescription: String { "\(page): \(cells[0])" }

    /// The pages whose tables name what shows them.
    static let pages = [
        "Mapping", "MappingZIM", "MappingDemo", "MappingCometChat", "MappingSendbird",
        "MappingAgora",
    ]

    /// The name of the last column.
    static let column = "Shown by"

    /// The rows of all tables of `page`.
    static func all(of page: String) -> [MappedRow] {
        tables(of: page).flatMap { $0.dropFirst() }
    }

    /// All tables of `page`, each with its head as the first row.
    static func tables(of page: String) -> [[MappedRow]] {
        guard let text = try? Page("CallCore", page).text else { return [] }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let blocks = lines.split { !$0.hasPrefix("|") }
        return blocks.map { block in
            block.filter { !$0.hasPrefix("|-") }.map { line in
                let cells = cells(of: line)
                return MappedRow(page: page, cells: cells, proofs: proofs(in: cells.last ?? ""))
            }
        }
    }

    private static func cells(of line: Substring) -> [String] {
        line.replacing("\\|", with: "\u{1}").split(separator: "|", omittingEmptySubsequences: false)
            .dropFirst().dropLast().map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private static func proofs(in cell: String) -> [Proof] {
        cell.matches(of: /`([^`]+)`/).map { Proof(String($0.1)) }
    }

    /// The words of ours that the row is about, as they stand in backquotes.
    var words: [String] {
        // `Mapping` begins with our words, the others with theirs.
        let ours = page == "Mapping" ? cells.dropLast() : cells.dropFirst().dropLast()
        return ours.flatMap { $0.matches(of: /`([^`]+)`/).map { String($0.1) } }
    }
}

/// A scenario or a test that a row names.
enum Proof: Hashable, Sendable {
    /// A file of `Tests/CallCoreTests/Scenarios`.
    case scenario(String)
    /// A function of a file of `Tests/Interop`, written `test_push.py::test_it`.
    case python(file: String, function: String)
    /// A test of a suite, written `SuiteTests.test`.
    case swift(suite: String, function: String)

    init(_ text: String) {
        let python = text.split(separator: "::").map(String.init)
        let swift = text.split(separator: ".").map(String.init)
        if python.count == 2 {
            self = .python(file: python[0], function: python[1])
        } else if swift.count == 2, swift[0].hasSuffix("Tests") {
            self = .swift(suite: swift[0], function: swift[1])
        } else {
            self = .scenario(text)
        }
    }

    /// The scenario, or the body of the test; nil: there is no such thing.
    var text: String? {
        switch self {
        case .scenario(let name):
            return Self.file("Tests/CallCoreTests/Scenarios/\(name).call")
        case .python(let file, let function):
            return Self.file("Tests/Interop/\(file)").flatMap { Self.python(function, in: $0) }
        case .swift(let suite, let function):
            return Self.suites[suite, default: []].compactMap(Self.file).lazy.compactMap {
                Self.body(from: "func \(function)(", to: "\n    }\n", in: $0)
            }.first
        }
    }

    /// The function with its decorators and the tables of cases that they name.
    private static func python(_ function: String, in text: String) -> String? {
        guard let body = body(from: "\ndef \(function)(", to: "\n\n\n", in: text),
            let start = text.range(of: body)?.lowerBound
        else { return nil }
        let above = text[..<start]
        let decorators = above[
            (above.range(of: "\n\n\n", options: .backwards)?.upperBound
                ?? above.startIndex)...]
        let tables = decorators.matches(of: /\b[A-Z_]{3,}\b/).compactMap {
            Self.body(from: "\n\($0.0) = ", to: "\n]\n", in: text)
        }
        return ([String(decorators), body] + tables).joined(separator: "\n")
    }

    private static func file(_ path: String) -> String? {
        try? String(contentsOf: Page.root.appending(path: path), encoding: .utf8)
    }

    private static func body(from start: String, to end: String, in text: String) -> String? {
        guard let start = text.range(of: start) else { return nil }
        let end = text.range(of: end, range: start.upperBound..<text.endIndex)
        return String(text[start.lowerBound..<(end?.lowerBound ?? text.endIndex)])
    }

    /// The files of each suite, by its name.
    private static let suites: [String: [String]] = {
        let top = Page.root.appending(path: "Tests")
        let found = FileManager.default.enumerator(at: top, includingPropertiesForKeys: nil)
        var suites: [String: [String]] = [:]
        for case let url as URL in found ?? .init() where url.pathExtension == "swift" {
            let text = (try? String(contentsOf: url, encoding: .utf8)) ?? ""
            let path = String(url.path.dropFirst(Page.root.path.count))
            for name in text.matches(of: /(?m)^(?:@Suite.* )?(?:struct|class) (\w+Tests)\b/) {
                suites[String(name.1), default: []].append(path)
            }
        }
        return suites
    }()
}

@Suite struct ShownByTests {
    static let rows = MappedRow.pages.flatMap { MappedRow.all(of: $0) }

    static let scenarios: [String] = {
        let names = rows.flatMap(\.proofs).compactMap { proof in
            if case .scenario(let name) = proof { name } else { nil }
        }
        return Set(names).sorted()
    }()

    @Test func everyRowNamesWhatShowsIt() {
        for page in MappedRow.pages {
            let heads = MappedRow.tables(of: page).compactMap(\.first)
            #expect(!heads.isEmpty, "\(page)")
            for head in heads { #expect(head.cells.last == MappedRow.column, "\(head)") }
        }
        for row in Self.rows {
            #expect(!row.proofs.isEmpty, "\(row.testDescription): nothing shows it")
            for proof in row.proofs where proof.text == nil {
                Issue.record("\(row.testDescription): there is no \(proof)")
            }
        }
    }

    /// A row about an operation, event, state, reason or error names something that has it.
    @Test func whatShowsARowHasItsWords() {
        for row in Self.rows {
            let shown = row.proofs.compactMap(\.text).joined(separator: "\n")
            let lacking = row.words.filter { word in
                guard let forms = Self.forms[word] else { return false }
                return !forms.contains { shown.contains($0) }
            }
            #expect(lacking == [], "\(row.testDescription)")
        }
    }

    @Test(arguments: scenarios) func whatARowNamesIsSeen(_ name: String) throws {
        let scenario = try Scenario(named: name, try #require(Proof.scenario(name).text))
        var rig = CoreRig()
        let outcome = scenario.run(on: &rig)
        #expect(outcome.lacking == nil)
        for problem in outcome.problems { Issue.record("\(problem)") }
    }

    /// How the words of the protocol look in scenarios and tests.
    private static let forms: [String: [String]] = {
        var forms: [String: [String]] = [:]
        for name in OperationName.allCases {
            forms[name.rawValue, default: []] += [name.rawValue] + verbs(name)
        }
        for name in EventName.allCases {
            let event = "← " + name.rawValue.dropFirst("call.".count) + " "
            forms[name.rawValue, default: []] += [name.rawValue, event]
        }
        let words =
            Participant.State.allCases.map(\.rawValue) + EndReason.allCases.map(\.rawValue)
            + Participant.Reason.allCases.map(\.rawValue) + EndDetail.allCases.map(\.rawValue)
            + Refusal.Code.allCases.map(\.rawValue) + InviteeError.Code.allCases.map(\.rawValue)
            + Call.Media.allCases.map(\.rawValue) + Mode.all.map(\.name)
        for word in words { forms[word, default: []].append(word) }
        // A time says it, too: "90s left".
        forms["left"] = ["left(", "\"left\""]
        return forms
    }()

    /// What a line of a scenario has that shows the operation.
    private static func verbs(_ name: OperationName) -> [String] {
        switch name {
        case .hello: ["with "]
        case .bye: [" says bye"]
        default: OperationDescriptor.of(name).phrases.map { " \($0.prefix { $0 != " " }) " }
        }
    }
}

@Suite struct StatusTests {
    /// A row of README's table of products names the chapter that has the proofs.
    @Test func everyProductOfReadmeHasItsChapter() throws {
        let rows = try Page("README.md").section("What it replaces").filter { $0.hasPrefix("| ") }
        #expect(rows.count == 6)
        for row in rows.dropFirst() {
            let pages = row.matches(of: /\((Sources\/CallCore\/CallCore\.docc\/(Mapping\w+)\.md)\)/)
            #expect(!pages.isEmpty, "\(row)")
            for page in pages { #expect(throws: Never.self) { try Page(String(page.1)) } }
        }
    }

    @Test func readmeStaysShort() throws {
        let lines = try Page("README.md").text.split(
            separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count - 1 <= 150)
    }
}
