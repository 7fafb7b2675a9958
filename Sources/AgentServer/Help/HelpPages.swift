// The documentation for operators as plain HTML: it is written in Markdown, and is in the
// executable.

import WebProtocols

/// Makes HTML of the Markdown that the documentation is written in. All text is escaped, so no page
/// holds anything that runs.
struct HelpPage {
    private var lines: ArraySlice<Substring>
    private var html = ""
    /// The titles of the pages to which `<doc:NAME>` leads.
    private let others: [String: String]

    /// The page of `markdown` as a document of its own.
    ///
    /// - Parameter others: the pages to which links lead, in their order.
    static func document(
        _ markdown: String, among others: [(name: String, title: String)]
    ) -> String {
        var page = HelpPage(
            markdown, Dictionary(others.map { ($0.name, $0.title) }) { first, _ in first })
        page.write()
        let pages = others.map { (path: "/help/\($0.name)", name: escaped($0.title)) }
        let links = (pages + [(path: SiteDesk.root + "/", name: "All documentation")])
            .map { "<a href=\"\($0.path)\">\($0.name)</a>" }.joined(separator: "\n")
        let title = escaped(title(of: markdown))
        return """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(title) – callagent help</title>
            <link rel="icon" href="data:,">
            <link rel="stylesheet" href="/console.css">
            </head>
            <body>
            <header><a href="/">callagent</a>
            <nav aria-label="Pages">
            \(links)
            </nav></header>
            <main>
            \(page.html)</main>
            </body>
            </html>

            """
    }

    /// The title of a page, which is its first line.
    static func title(of markdown: String) -> String {
        markdown.split(separator: "\n").first.map { String($0.dropFirst(2)) } ?? ""
    }

    /// What is shown in the place of the whole documentation where it is not installed.
    static func withoutSite(
        at path: String, among others: [(name: String, title: String)]
    ) -> HTTPResponse {
        let text = """
            # All documentation

            It is not on this machine. The packages of callagent bring it along. In the sources
            `sh examples/site.sh` makes it in `.build/site`, where an executable that was built
            there finds it; elsewhere it is looked for in `share/callagent/site` of a folder above
            the executable, and where `CALLAGENT_SITE` says. It is looked for when the console
            begins to listen.

            The pages for operators are in the executable: see above.
            """
        return HTTPResponse(
            path == SiteDesk.root + "/" ? 200 : 404,
            headers: ["Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache"],
            body: Array(document(text, among: others).utf8))
    }

    private init(_ markdown: String, _ others: [String: String]) {
        lines = markdown.split(separator: "\n", omittingEmptySubsequences: false)[...]
        self.others = others
    }

    private mutating func write() {
        while let line = lines.first {
            if line.isEmpty || line.hasPrefix("<!--") {
                lines.removeFirst()
            } else if line.hasPrefix("```") {
                writeCode()
            } else if line.hasPrefix("#") {
                writeHeading(line)
            } else if line.hasPrefix("|") {
                writeTable()
            } else if Self.item(line) != nil {
                writeList()
            } else {
                writeParagraph()
            }
        }
    }

    private mutating func writeCode() {
        lines.removeFirst()
        let code = lines.prefix { !$0.hasPrefix("```") }
        lines = lines.dropFirst(code.count + 1)
        html +=
            "<pre tabindex=\"0\"><code>"
            + code.map { Self.escaped($0) }.joined(separator: "\n") + "</code></pre>\n"
    }

    private mutating func writeHeading(_ line: Substring) {
        lines.removeFirst()
        let level = min(line.prefix { $0 == "#" }.count, 6)
        html += "<h\(level)>\(text(line.drop { $0 == "#" || $0 == " " }))</h\(level)>\n"
    }

    private mutating func writeTable() {
        var rows = Array(lines.prefix { $0.hasPrefix("|") }).map(Self.cells)
        lines = lines.dropFirst(rows.count)
        let head = rows.removeFirst()
        if !rows.isEmpty { rows.removeFirst() }
        html += "<table><thead><tr>"
        for cell in head {
            let name = cell.isEmpty ? "<span class=\"unseen\">About</span>" : text(cell)
            html += "<th scope=\"col\">\(name)</th>"
        }
        html += "</tr></thead><tbody>\n"
        for row in rows {
            html += "<tr>" + row.map { "<td>\(text($0))</td>" }.joined() + "</tr>\n"
        }
        html += "</tbody></table>\n"
    }

    private static func cells(_ line: Substring) -> [Substring] {
        var cells: [Substring] = []
        var start = line.index(after: line.startIndex)
        var isCode = false
        var place = start
        while place < line.endIndex {
            if line[place] == "`" { isCode.toggle() }
            if line[place] == "|", !isCode {
                cells.append(trimmed(line[start..<place]))
                start = line.index(after: place)
            }
            place = line.index(after: place)
        }
        return cells
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let begun = text.drop { $0 == " " }
        return begun.dropLast(begun.reversed().prefix { $0 == " " }.count)
    }

    /// What stands behind `- ` or `1. `; nil: it is no item.
    private static func item(_ line: Substring) -> (text: Substring, isNumbered: Bool)? {
        if line.hasPrefix("- ") { return (line.dropFirst(2), false) }
        let digits = line.prefix { $0.isNumber }
        guard !digits.isEmpty, line.dropFirst(digits.count).hasPrefix(". ") else { return nil }
        return (line.dropFirst(digits.count + 2), true)
    }

    private mutating func writeList() {
        let tag = lines.first.flatMap { Self.item($0) }?.isNumbered == true ? "ol" : "ul"
        html += "<\(tag)>\n"
        while let line = lines.first, let (first, _) = Self.item(line) {
            lines.removeFirst()
            let more = lines.prefix { $0.hasPrefix("  ") }
            lines = lines.dropFirst(more.count)
            let whole = ([first] + more.map { $0.drop { $0 == " " } }).joined(separator: " ")
            html += "<li>\(text(whole[...]))</li>\n"
        }
        html += "</\(tag)>\n"
    }

    private mutating func writeParagraph() {
        let part = lines.prefix { line in
            !line.isEmpty && !line.hasPrefix("```") && !line.hasPrefix("|") && !line.hasPrefix("#")
        }
        lines = lines.dropFirst(max(1, part.count))
        html += "<p>\(text(part.joined(separator: " ")[...]))</p>\n"
    }

    // MARK: Within a line

    /// Code, bold, emphasis and links; all else is escaped.
    private func text(_ line: Substring) -> String {
        var out = ""
        var rest = line
        while let next = rest.first {
            if next == "`", let (code, behind) = Self.between(rest.dropFirst(), "`") {
                out += "<code>\(Self.escaped(code))</code>"
                rest = behind
            } else if rest.hasPrefix("**"),
                let (bold, behind) = Self.between(rest.dropFirst(2), "**")
            {
                out += "<strong>\(text(bold))</strong>"
                rest = behind
            } else if next == "*", let (word, behind) = Self.between(rest.dropFirst(), "*") {
                out += "<em>\(text(word))</em>"
                rest = behind
            } else if rest.hasPrefix("<doc:"),
                let (name, behind) = Self.between(rest.dropFirst(5), ">")
            {
                out += link(to: name)
                rest = behind
            } else if next == "[", let (name, target) = Self.between(rest.dropFirst(), "]("),
                !name.contains("["), let (file, behind) = Self.between(target, ")")
            {
                out += link(to: file, named: name)
                rest = behind
            } else {
                out += Self.escaped(rest.prefix(1))
                rest = rest.dropFirst()
            }
        }
        return out
    }

    private func link(to name: Substring) -> String {
        guard let title = others[String(name)] else { return Self.escaped(name) }
        return "<a href=\"/help/\(name)\">\(Self.escaped(title))</a>"
    }

    /// A link to a page of the sources, `../../CallCore/CallCore.docc/Rules.md`: it leads to where
    /// the page is here. Others lead outside, and stay text.
    private func link(to file: Substring, named name: Substring) -> String {
        let parts = file.split(separator: "/")
        guard file.hasSuffix(".md"), let page = parts.last?.dropLast(3) else { return text(name) }
        let module = parts.last { $0.hasSuffix(".docc") }?.dropLast(5) ?? "AgentServer"
        if module == "AgentServer", others[String(page)] != nil {
            return "<a href=\"/help/\(Self.escaped(page))\">\(text(name))</a>"
        }
        let names = page == module ? [module] : [module, page]
        let path = names.map { Self.escaped($0.lowercased()) }.joined(separator: "/")
        return "<a href=\"\(SiteDesk.root)/documentation/\(path)\">\(text(name))</a>"
    }

    /// What stands before `end`, and what behind it; nil: it does not come.
    private static func between(
        _ text: Substring, _ end: String
    ) -> (inside: Substring, behind: Substring)? {
        var place = text.startIndex
        while place < text.endIndex {
            if text[place...].hasPrefix(end) {
                let inside = text[..<place]
                return inside.isEmpty ? nil : (inside, text[place...].dropFirst(end.count))
            }
            place = text.index(after: place)
        }
        return nil
    }

    private static func escaped(_ text: some StringProtocol) -> String {
        var out = ""
        for character in text {
            switch character {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            case "\"": out += "&quot;"
            default: out.append(character)
            }
        }
        return out
    }
}
