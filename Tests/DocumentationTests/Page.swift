// A page of the documentation, and the parts of it that are made from the code.

import Foundation
import Testing

/// One Markdown file of the checkout.
struct Page {
    /// With `CALLAGENT_RECORD=1` the parts made from the code are written anew, and the run fails,
    /// so that nobody commits what nobody has read.
    static let isRecording = ProcessInfo.processInfo.environment["CALLAGENT_RECORD"] == "1"

    /// The top of the checkout.
    static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../..").standardizedFileURL

    let url: URL
    let text: String

    /// The page at `path`, counted from the top of the checkout.
    init(_ path: String) throws {
        url = Self.root.appending(path: path)
        text = try String(contentsOf: url, encoding: .utf8)
    }

    /// The page `name` of the catalogue of `target`.
    init(_ target: String, _ name: String) throws {
        try self.init("Sources/\(target)/\(target).docc/\(name).md")
    }

    /// Expects `lines` between `<!-- generated: NAME -->` and `<!-- end of NAME -->`; in a program
    /// these stand behind `//`.
    func expect(_ name: String, _ lines: [String]) throws {
        let place = try place(of: name)
        let part = lines.joined(separator: "\n") + "\n"
        if Self.isRecording, text[place] != part {
            let fresh = try Page(path: url)
            try fresh.replacing(name, with: part).write(
                to: url, atomically: true, encoding: .utf8)
            Issue.record("\(url.lastPathComponent): '\(name)' was written: read it, run again")
        } else {
            #expect(text[place] == part, "stale: run with CALLAGENT_RECORD=1")
        }
    }

    private init(path: URL) throws {
        url = path
        text = try String(contentsOf: path, encoding: .utf8)
    }

    private func replacing(_ name: String, with part: String) throws -> String {
        text.replacingCharacters(in: try place(of: name), with: part)
    }

    private func place(of name: String) throws -> Range<String.Index> {
        let mark = url.pathExtension == "md" ? "" : "// "
        let opening = "\(mark)<!-- generated: \(name) -->\n"
        let closing = "\(mark)<!-- end of \(name) -->"
        let start = try #require(text.range(of: opening)?.upperBound, "\(url.path): \(opening)")
        let end = try #require(
            text.range(of: closing, range: start..<text.endIndex)?.lowerBound,
            "\(url.path): \(closing)")
        return start..<end
    }

    /// The lines under the heading `title`, down to the next heading of its rank or above.
    func section(_ title: String) throws -> [Substring] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(
            lines.firstIndex { $0.hasSuffix("# \(title)") }, "\(url.path): no '\(title)'")
        let rank = lines[start].prefix { $0 == "#" }.count
        return Array(
            lines[(start + 1)...].prefix { line in
                let own = line.prefix { $0 == "#" }.count
                return own == 0 || own > rank
            })
    }

    /// The first column of the tables under the heading `title`, without its backquotes.
    func names(under title: String) throws -> [String] {
        try section(title).filter { $0.hasPrefix("| `") }.map { line in
            String(line.dropFirst(3).prefix { $0 != "`" })
        }
    }
}

/// A table as Markdown has it.
func table(_ head: [String], _ rows: [[String]]) -> [String] {
    let cells = [head, head.map { _ in "---" }] + rows
    return cells.map { cells in
        let texts = cells.map { $0.replacing("|", with: "\\|") }
        return cells[0] == "---"
            ? "|" + texts.map { "\($0)|" }.joined() : "| " + texts.joined(separator: " | ") + " |"
    }
}

/// A text as code.
func code(_ text: String) -> String { "`\(text)`" }

/// A span as people write it.
func span(_ milliseconds: Int64) -> String {
    if milliseconds >= 3_600_000, milliseconds % 3_600_000 == 0 {
        return "\(milliseconds / 3_600_000) h"
    }
    if milliseconds >= 1_000, milliseconds % 1_000 == 0 { return "\(milliseconds / 1_000) s" }
    return "\(milliseconds) ms"
}

/// A number with its thousands parted.
func grouped(_ number: Int) -> String {
    var digits = String(number)
    var place = digits.count - 3
    while place > 0 {
        digits.insert(",", at: digits.index(digits.startIndex, offsetBy: place))
        place -= 3
    }
    return digits
}
