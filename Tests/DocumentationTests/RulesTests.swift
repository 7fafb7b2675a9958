// The rules that comments name by their numbers stand on the page of the rules.

import Foundation
import Testing

@Suite struct RulesTests {
    /// The numbers that the page defines, such as `A6`.
    private let defined: Set<String>

    init() throws {
        let page = try Page("CallCore", "Rules")
        defined = Set(page.text.matches(of: /- term ([A-KR]\d+):/).map { String($0.1) })
    }

    @Test func everyRuleIsFoundByItsNumber() throws {
        #expect(defined.count > 80)
        for file in try Self.files(below: "Sources", "Tests") {
            let unknown = Self.named(in: file).subtracting(defined)
            #expect(unknown == [], "\(file.path)")
        }
    }

    @Test func rangesAndListsNameEachRule() {
        let text = "// Who is told what (A1-A3, D48).\n/// Kept for a while (B25). (Z3) is no rule."
        #expect(Self.rules(inSwift: text) == ["A1", "A2", "A3", "D48", "B25"])
        #expect(Self.rules(inScenario: "# ZA-18 R3 A6 Bob B1 accepts.\n") == ["R3", "A6"])
    }

    private static func named(in file: URL) -> Set<String> {
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        return file.pathExtension == "call" ? rules(inScenario: text) : rules(inSwift: text)
    }

    /// The rules that comments name in brackets.
    private static func rules(inSwift text: String) -> Set<String> {
        let comments = text.split(separator: "\n").compactMap { line in
            line.range(of: "//").map { line[$0.upperBound...] }
        }
        let lists = comments.joined(separator: " ")
            .matches(of: /\(((?:[A-KR]\d{1,3})(?:(?:-|, |; )[A-KR]\d{1,3})*)\)/)
        return lists.reduce(into: []) { rules, list in
            for part in list.1.split(whereSeparator: { ",; ".contains($0) }) {
                rules.formUnion(range(part))
            }
        }
    }

    /// The rules that stand before the words of a scenario's first line.
    private static func rules(inScenario text: String) -> Set<String> {
        let words = text.prefix { $0 != "\n" }.dropFirst(2).split(separator: " ")
        let marks = words.prefix { $0.wholeMatch(of: /[A-Z]+-?\d+b?/) != nil }
        return Set(marks.filter { !$0.contains("-") }.map(String.init))
    }

    /// `A1-A3` is A1, A2 and A3.
    private static func range(_ text: Substring) -> Set<String> {
        let ends = text.split(separator: "-")
        guard ends.count == 2, let first = Int(ends[0].dropFirst()),
            let last = Int(ends[1].dropFirst()), first <= last
        else { return [String(text)] }
        return Set((first...last).map { "\(ends[0].prefix(1))\($0)" })
    }

    private static func files(below folders: String...) throws -> [URL] {
        try folders.flatMap { folder in
            let top = Page.root.appending(path: folder)
            let found = FileManager.default.enumerator(at: top, includingPropertiesForKeys: nil)
            return try #require(found).compactMap { $0 as? URL }
                .filter { ["swift", "call"].contains($0.pathExtension) }
        }
    }
}
