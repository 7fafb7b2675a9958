// A scenario: who does what, and what every device then sees.
//
//     # Every device rings; the first accept wins.
//     with alice, bob, bob/laptop
//
//     alice invites bob as c1
//         alice      ← ok c1 ringing: alice joined, bob inviting
//         bob        ← incoming c1 from alice, 90s left: alice joined, bob inviting
//         bob/laptop ← incoming c1 from alice, 90s left: alice joined, bob inviting
//
// A line without indentation is a step; `bob` alone is bob's `phone`. The lines under it are all
// that anybody sees because of it, in order for each observer; a line with eight columns of
// indentation goes on with the one before. A line that begins with `#` is a comment.

/// A conversation that any rig can play.
public struct Scenario: Sendable {
    /// The file's name without its ending: the situation.
    public let name: String
    var parts: [Part] = []

    /// A comment, an empty line or a step.
    enum Part: Sendable {
        case text(String)
        case step(Step)
    }

    /// Somebody does something.
    struct Step: Sendable {
        let line: Int
        var text: String
        var expected: [Expectation] = []
    }

    /// Somebody sees something.
    struct Expectation: Sendable, Equatable {
        let observer: String
        var text: String
    }

    /// The scenario `name` as it is written in `text`; throws what is wrong with which line.
    public init(named name: String, _ text: String) throws(ScenarioError) {
        self.name = name
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last == "" { lines.removeLast() }
        for (index, line) in lines.enumerated() { try read(line, number: index + 1) }
    }

    private mutating func read(_ line: Substring, number: Int) throws(ScenarioError) {
        let indentation = line.prefix { $0 == " " }.count
        let content = line.dropFirst(indentation)
        if content.isEmpty || line.hasPrefix("#") {
            parts.append(.text(String(line)))
        } else if indentation == 0 {
            parts.append(.step(Step(line: number, text: String(content))))
        } else {
            guard let last = parts.indices.last, case .step(var step) = parts[last] else {
                throw ScenarioError(line: number, "nothing to see before the first step")
            }
            try step.read(content, indentation, number)
            parts[last] = .step(step)
        }
    }

    /// The steps.
    var steps: [Step] {
        parts.compactMap { part in
            if case .step(let step) = part { step } else { nil }
        }
    }

    /// The scenario as a file.
    public var text: String {
        parts.map { part in
            switch part {
            case .text(let line): line + "\n"
            case .step(let step): step.written
            }
        }.joined()
    }
}

extension Scenario.Step {
    private static let arrow = "←"

    fileprivate mutating func read(
        _ content: Substring, _ indentation: Int, _ number: Int
    ) throws(ScenarioError) {
        if indentation >= 8 {
            if expected.isEmpty {
                text += " " + content
            } else {
                expected[expected.count - 1].text += " " + content
            }
            return
        }
        guard let arrow = content.firstIndex(of: "←") else {
            throw ScenarioError(line: number, "expected `SOMEBODY ← WHAT THEY SEE`")
        }
        let seen = content[content.index(after: arrow)...]
        expected.append(
            Scenario.Expectation(
                observer: String(content[..<arrow].trimmed), text: String(seen.trimmed)))
    }

    fileprivate var written: String {
        let width = expected.map(\.observer.count).max() ?? 0
        var lines = wrapped(text, first: "", next: "        ")
        for expectation in expected {
            let padding = String(repeating: " ", count: width - expectation.observer.count)
            let start = "    \(expectation.observer)\(padding) ← "
            lines += wrapped(expectation.text, first: start, next: "        ")
        }
        return lines
    }

    /// `text` broken between words into lines of at most 100 columns.
    private func wrapped(_ text: String, first: String, next: String) -> String {
        var lines = ""
        var line = first
        var isFresh = true
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            if !isFresh, line.count + 1 + word.count > 100 {
                lines += line + "\n"
                (line, isFresh) = (next, true)
            }
            line += (isFresh ? "" : " ") + word
            isFresh = false
        }
        return lines + line + "\n"
    }
}

extension Substring {
    /// Without spaces at its ends.
    var trimmed: Substring {
        let start = drop { $0 == " " }
        guard let last = start.lastIndex(where: { $0 != " " }) else { return "" }
        return start[...last]
    }
}

/// What is wrong with a scenario's text.
public struct ScenarioError: Error, Sendable, CustomStringConvertible {
    /// The line, from 1.
    public let line: Int
    /// What is wrong with it.
    public let problem: String

    init(line: Int, _ problem: String) {
        self.line = line
        self.problem = problem
    }

    /// The line with what is wrong.
    public var description: String { "line \(line): \(problem)" }
}
