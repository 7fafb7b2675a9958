// Where files lie, how they are named, and that links lead somewhere.

private let topLevelNames: Set<String> = [
    "Package.swift", "Sources", "Tests", "plugins", "examples", "README.md",
]

/// Names that say nothing of what is inside.
private let emptyNames = ["utils", "util", "helpers", "helper", "common", "manager", "misc"]

let layoutRules: [Rule] = [
    Rule(
        "the top level holds only the agreed names",
        planted: [Checkout([SourceFile("docs/a.md", "")]), Checkout([SourceFile("Makefile", "")])],
        clean: [
            Checkout([
                SourceFile("Package.swift", ""), SourceFile(".ci/run", ""),
                SourceFile("Tests/a.sh", ""),
            ])
        ],
        checkout: { checkout in
            checkout.topLevel.filter { !topLevelNames.contains($0) && !$0.hasPrefix(".") }
                .map { Finding(path: $0, what: "not one of the names of the top level") }
        }),
    Rule(
        "files and folders are named for a concept",
        planted: [
            SourceFile("Sources/A/StringUtils.swift", ""),
            SourceFile("Sources/A/CallManager.swift", ""),
            SourceFile("Tests/Common/a.py", ""), SourceFile("Tests/a_helpers.py", ""),
        ],
        clean: [
            SourceFile("Sources/A/Management.swift", ""),
            SourceFile("Tests/common-mode.call", ""), SourceFile("plugins/busy.lua", ""),
        ]
    ) { file in
        emptyName(in: file).map { [Finding(file, nil, "'\($0)' says nothing: name the concept")] }
            ?? []
    },
    Rule(
        "links of Markdown lead somewhere",
        planted: [
            SourceFile("README.md", "see [this](Sources/Gone.swift)"),
            SourceFile("plugins/README.md", "see [this](README.txt)"),
        ].map { Checkout([$0, SourceFile("Sources/A/a.swift", "")]) },
        clean: [
            Checkout([
                SourceFile("README.md", "[a](Sources/A), [b](https://b.example/c), [d](#usage)"),
                SourceFile("plugins/README.md", "[a](../Sources/A/a.swift#L1)"),
                SourceFile("Sources/A/a.swift", ""),
            ])
        ],
        checkout: { checkout in
            checkout.files(in: .markdown).flatMap { file in
                links(in: file).compactMap { link, line in
                    guard let path = resolve(link, from: file), !checkout.holds(path)
                    else { return nil }
                    return Finding(file, line, "'\(link)' leads nowhere")
                }
            }
        }),
]

/// A name is empty when one of its words is, and when that word ends it: `CommonMode` is a concept.
private func emptyName(in file: SourceFile) -> Substring? {
    file.parts.first { part in
        let stem = part.prefix { $0 != "." }
        let words = stem.split { $0 == "-" || $0 == "_" || $0 == "+" }
        return words.last.map { word in
            let lower = word.lowercased()
            return emptyNames.contains { name in
                lower == name || (lower.hasSuffix(name) && endsWithCapitalised(word, name))
            }
        } ?? false
    }
}

/// `StringUtils` ends with the word `Utils`; `Butils` does not.
private func endsWithCapitalised(_ word: Substring, _ name: String) -> Bool {
    word.suffix(name.count).first?.isUppercase == true
}

private func links(in file: SourceFile) -> [(link: Substring, line: Int)] {
    file.lines.enumerated().flatMap { index, line in
        line.ranges(of: "](").compactMap { range in
            let rest = line[range.upperBound...]
            return rest.firstIndex(of: ")").map { (rest[..<$0], index + 1) }
        }
    }
}

/// The path from the top that a link means; nil when it leads outside or within the page.
private func resolve(_ link: Substring, from file: SourceFile) -> String? {
    let target = link.prefix { $0 != "#" && $0 != " " }
    guard !target.isEmpty, !target.contains("://"), !target.hasPrefix("mailto:") else { return nil }
    var parts = file.parts.dropLast().map(String.init)
    for part in target.split(separator: "/") {
        switch part {
        case ".": continue
        case "..": _ = parts.popLast()
        default: parts.append(String(part))
        }
    }
    return parts.joined(separator: "/")
}
