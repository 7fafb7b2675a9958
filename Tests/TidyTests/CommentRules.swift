// Files say what they are for, and comments are prose.

let commentRules: [Rule] = [
    Rule(
        "a file begins with its purpose",
        planted: [
            SourceFile("Sources/A/a.swift", "import B\n"),
            SourceFile("Sources/A/a.swift", "// No full stop\n"),
            SourceFile("Tests/a.sh", "#!/bin/sh\nset -eu\n"),
            SourceFile("Tests/a.py", "import os\n"),
            SourceFile("plugins/a.lua", "on.invite(f)\n"),
        ],
        clean: [
            SourceFile("Sources/A/a.swift", "// Splits a call in two.\n"),
            SourceFile("Sources/A/a.swift", "// Splits a call\n// in two. Joins it again\n"),
            SourceFile("Sources/A/a.h", "/* Lua's macros as functions. */\n"),
            SourceFile("Tests/a.sh", "#!/bin/sh\n# Runs it all.\n"),
            SourceFile("Tests/a.py", "\"\"\"Plays a caller.\"\"\"\n"),
            SourceFile("plugins/a.lua", "-- plugins/a.lua: refuses everybody\n"),
            SourceFile("Package.swift", "// swift-tools-version: 6.2\n"),
        ]
    ) { file in
        purposeIsMissing(file) ? [Finding(file, 1, "begin with `// Purpose in one sentence.`")] : []
    },
    Rule(
        "no commented-out code",
        planted: [
            "// let a = f()", "// if ready {", "// return state.calls(of: user)", "// }",
            "// import Glibc", "// state.count += 1", "// func f() -> Int",
        ].map { SourceFile("Sources/A/a.swift", $0) },
        clean: [
            "// Let a call that nobody answered end by itself.", "// if the caller is lost (35 s),",
            "// see handle(_:at:)", "/// let a = f()", "// return early: the rest is only prose",
            "let a = 1  // n = 0 means the default",
        ].map { SourceFile("Sources/A/a.swift", $0) }
    ) { file in
        file.code.comments.filter { !$0.isDocumentation && !$0.trailsCode }
            .filter { isCode($0.text) }
            .map { Finding(file, $0.line, "commented-out code:\($0.text)") }
    },
    Rule(
        "a comment names only documents that are here",
        planted: [
            Checkout([SourceFile("Sources/A/a.swift", "// The call (protocol.md, section 4).")])
        ],
        clean: [
            Checkout([
                SourceFile("Sources/A/a.swift", "/// See `Modes.md`.\nlet a = \"gone.md\""),
                SourceFile("Sources/A/A.docc/Modes.md", "# Modes"),
            ])
        ],
        checkout: { checkout in
            let pages = Set(checkout.files(in: .markdown).compactMap(\.parts.last))
            return checkout.files.flatMap { file in
                file.code.comments.flatMap { comment in
                    comment.text.matches(of: /[\w-]+\.md/).filter { !pages.contains($0.output) }
                        .map { Finding(file, comment.line, "'\($0.output)' is not here") }
                }
            }
        }),
]

private func purposeIsMissing(_ file: SourceFile) -> Bool {
    guard !file.isManifest else { return false }
    let body = file.lines.drop { $0.hasPrefix("#!") }
    let first = body.first ?? ""
    switch file.language {
    case .swift: return !(first.hasPrefix("// ") && hasSentence(body.prefix { $0.hasPrefix("//") }))
    case .c: return !(first.hasPrefix("// ") || first.hasPrefix("/* "))
    case .python: return !(first.hasPrefix("\"\"\"") || first.hasPrefix("# "))
    case .shell: return !first.hasPrefix("# ")
    case .lua: return !first.hasPrefix("--")
    case .markdown, .other: return false
    }
}

private func hasSentence(_ lines: ArraySlice<Substring>) -> Bool {
    lines.contains { $0.hasSuffix(".") || $0.contains(". ") }
}

/// Whether a remark is Swift rather than English. Errs towards English.
private func isCode(_ comment: Substring) -> Bool {
    let code = CodeText(String(comment), characterLiterals: false).tokens
    guard let first = code.first?.text, let last = code.last?.text else { return false }
    if last == "{" || (first == "}" && code.allSatisfy { !$0.isWord }) { return true }
    switch first {
    case "let", "var": return code.count > 3 && ["=", ":"].contains(code[2].text)
    case "import": return code.count == 2
    case "func": return code.count > 2 && code[2].text == "("
    case "return", "try", "await": return isCallChain(code.dropFirst())
    default: return isCallChain(code[...]) || isAssignment(code)
    }
}

/// `a.b(c, d: e)`, but not the name of a method, as in `handle(_:at:)`.
private func isCallChain(_ tokens: ArraySlice<Token>) -> Bool {
    guard let open = tokens.firstIndex(where: { $0.text == "(" }), open > tokens.startIndex,
        tokens.last?.text == ")"
    else { return false }
    let callee = tokens[tokens.startIndex..<open]
    let isPath = callee.enumerated().allSatisfy { index, token in
        index.isMultiple(of: 2) ? token.isWord : token.text == "."
    }
    return isPath && tokens.dropLast().last?.text != ":"
}

/// `a.b = c`, `a += 1`: a path, a sign and a single word.
private func isAssignment(_ tokens: [Token]) -> Bool {
    guard let sign = tokens.firstIndex(where: { $0.text == "=" }), sign > 0 else { return false }
    let isCompound = ["+", "-", "*", "|"].contains(tokens[sign - 1].text)
    let path = tokens[..<(isCompound ? sign - 1 : sign)]
    let isPath = path.enumerated().allSatisfy { index, token in
        index.isMultiple(of: 2) ? token.isWord : token.text == "."
    }
    return isPath && tokens.count == sign + 2
}
