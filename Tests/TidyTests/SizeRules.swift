// How long and how deep code may be.

private let columnLimit = 100
private let functionLimit = 70
private let fileLimit = 600
private let folderLimit = 25
private let coreLimit = 4_500
private let parameterLimit = 5
private let nestingLimit = 3

/// Files that may be longer than the limit, each with the reason.
private let longFiles: [String: String] = [:]

let sizeRules: [Rule] = [
    Rule(
        "a line has at most 100 columns",
        planted: [SourceFile("a.lua", "-- " + String(repeating: "x", count: 98))],
        clean: [SourceFile("a.lua", "-- " + String(repeating: "ü", count: 97))]
    ) { file in
        guard isProgramText(file) else { return [] }
        return file.lines.enumerated().compactMap { index, line in
            let columns = line.unicodeScalars.count
            guard columns > columnLimit else { return nil }
            return Finding(file, index + 1, "\(columns) columns")
        }
    },
    Rule(
        "a function has at most 70 lines",
        planted: [
            SourceFile("a.swift", "func f() {\n" + String(repeating: "g()\n", count: 69) + "}\n"),
            SourceFile("a.c", "int f(void)\n{\n" + String(repeating: "g();\n", count: 69) + "}\n"),
        ],
        clean: [
            SourceFile("a.swift", "func f() {\n" + String(repeating: "g()\n", count: 68) + "}\n")
        ]
    ) { file in
        functions(of: file).compactMap { function in
            let length = function.lines.count
            guard length > functionLimit else { return nil }
            return Finding(file, function.lines.lowerBound, "a function of \(length) lines")
        }
    },
    Rule(
        "a file has at most 600 lines",
        planted: [SourceFile("Sources/A/a.swift", String(repeating: "\n", count: 601))],
        clean: [SourceFile("Sources/A/a.swift", String(repeating: "\n", count: 600))]
    ) { file in
        guard isProgramText(file), longFiles[file.path] == nil, file.lines.count > fileLimit
        else { return [] }
        return [Finding(file, nil, "\(file.lines.count) lines: split it by concept")]
    },
    Rule(
        "a folder of sources has at most 25 files",
        planted: [Checkout((1...26).map { SourceFile("Sources/A/f\($0).swift", "\n") })],
        clean: [
            Checkout(
                (1...25).map { SourceFile("Sources/A/f\($0).swift", "\n") }
                    + [SourceFile("Sources/A/B/a.swift", "\n")])
        ],
        checkout: { checkout in
            let files = checkout.files(in: .swift, .c).filter { $0.path.hasPrefix("Sources/") }
            let folders = Dictionary(grouping: files) { file in
                file.path.split(separator: "/").dropLast().joined(separator: "/")
            }
            return folders.sorted { $0.key < $1.key }.compactMap { folder, files in
                guard files.count > folderLimit else { return nil }
                return Finding(path: folder, what: "\(files.count) files: split it by concept")
            }
        }),
    Rule(
        "CallCore has at most 4,500 lines in all",
        planted: [
            Checkout([
                SourceFile("Sources/CallCore/a.swift", String(repeating: "\n", count: 4_499)),
                SourceFile("Sources/CallCore/b.swift", "\n\n"),
            ])
        ],
        clean: [
            Checkout([
                SourceFile("Sources/CallCore/a.swift", String(repeating: "\n", count: 4_500)),
                SourceFile("Sources/CallWire/b.swift", "\n\n"),
            ])
        ],
        checkout: { checkout in
            let core = checkout.files(in: .swift).filter { $0.target == "CallCore" }
            let total = core.reduce(0) { $0 + $1.lines.count }
            guard total > coreLimit else { return [] }
            return [Finding(path: "Sources/CallCore", what: "\(total) lines in all")]
        }),
    Rule(
        "a function has at most 5 parameters",
        planted: [
            SourceFile("a.swift", "func f(a: Int, b: Int, c: Int, d: Int, e: Int, f: Int) {}")
        ],
        clean: [
            SourceFile("a.swift", "func f(a: [A: B], b: (C, D), c: E<F, G>, d: Int, e: Int) {}"),
            SourceFile("a.swift", "init(a: Int, b: Int, c: Int, d: Int, e: Int, f: Int) {}"),
        ]
    ) { file in
        functions(of: file).compactMap { function in
            guard function.keyword == "func", function.parameters > parameterLimit
            else { return nil }
            let count = function.parameters
            return Finding(file, function.lines.lowerBound, "\(count) parameters: make a struct")
        }
    },
    Rule(
        "control flow nests at most 3 deep",
        planted: [
            SourceFile("a.swift", "func f() { if a { for b in c { while d { if e { } } } } }")
        ],
        clean: [
            SourceFile("a.swift", "func f() { if a { for b in c { if d { } else if e { } } } }"),
            SourceFile("a.swift", "func f() { if a { b { c { d { if g(h { i }) { } } } } } }"),
            SourceFile("a.swift", "func f() { if a { for b in c { do { if d {} } } } }"),
            SourceFile("a.swift", "func f() { if a { for b in c { if d { guard e else {} } } } }"),
        ]
    ) { file in
        functions(of: file).compactMap { function in
            guard let line = function.lineNestedTooDeep(nestingLimit) else { return nil }
            return Finding(file, line, "control flow nested deeper than \(nestingLimit)")
        }
    },
]

private func isProgramText(_ file: SourceFile) -> Bool {
    switch file.language {
    case .swift, .c, .python, .shell, .lua: true
    case .markdown, .other: false
    }
}

/// A function with a body.
private struct Function {
    let keyword: Substring
    let parameters: Int
    let body: ArraySlice<Token>
    let lines: ClosedRange<Int>

    /// The first line on which decisions and loops are nested deeper than `limit`. A `do` and the
    /// way out of a guard are no level of their own.
    func lineNestedTooDeep(_ limit: Int) -> Int? {
        var braces: [Bool] = []
        var parentheses = 0
        var pendingAt: Int?
        var exits = false
        var previous: Substring = ""
        for token in body {
            switch token.text {
            case "guard": exits = true
            case "if", "for", "while", "repeat", "switch", "catch", "else":
                if exits {
                    exits = token.text != "else"
                } else if previous != "." && previous != "#" {
                    pendingAt = pendingAt ?? parentheses
                }
            case "(", "[": parentheses += 1
            case ")", "]": parentheses -= 1
            case "{":
                let isControl = pendingAt == parentheses
                if isControl { pendingAt = nil }
                braces.append(isControl)
                if isControl && braces.count(where: { $0 }) > limit { return token.line }
            case "}": _ = braces.popLast()
            default: break
            }
            previous = token.text
        }
        return nil
    }
}

private func functions(of file: SourceFile) -> [Function] {
    switch file.language {
    case .swift: swiftFunctions(file.code)
    case .c: cFunctions(file.code)
    case .python, .shell, .lua, .markdown, .other: []
    }
}

private func swiftFunctions(_ code: CodeText) -> [Function] {
    code.tokens.indices.compactMap { index in
        guard isDeclaration(code.tokens, index), let open = bodyStart(code, after: index)
        else { return nil }
        let close = code.closing(open)
        return Function(
            keyword: code.tokens[index].text,
            parameters: parameterCount(code, from: index, to: open),
            body: code.tokens[(open + 1)..<close],
            lines: code.tokens[index].line...code.tokens[close].line)
    }
}

private func isDeclaration(_ tokens: [Token], _ index: Int) -> Bool {
    let previous = index > 0 ? tokens[index - 1].text : ""
    let next = index + 1 < tokens.count ? tokens[index + 1].text : ""
    switch tokens[index].text {
    case "func": return previous != "."
    case "init", "subscript": return previous != "." && ["(", "<", "?", "!"].contains(next)
    case "deinit": return next == "{"
    default: return false
    }
}

/// The `{` of a declaration's body; nil for a requirement of a protocol.
private func bodyStart(_ code: CodeText, after declaration: Int) -> Int? {
    let goesOn: Set<Substring> = ["{", "->", "where", "throws", "rethrows", "async", ">", "("]
    var index = declaration + 1
    while index < code.tokens.count {
        let token = code.tokens[index]
        let previous = code.tokens[index - 1]
        let isNewLine = token.line > previous.line
        if isNewLine, !goesOn.contains(token.text),
            !["->", ",", ":", "&", "."].contains(previous.text)
        {
            return nil
        }
        switch token.text {
        case "{": return index
        case "}", ";": return nil
        case "(", "[": index = code.closing(index) + 1
        default: index += 1
        }
    }
    return nil
}

private func parameterCount(_ code: CodeText, from declaration: Int, to body: Int) -> Int {
    guard let open = (declaration..<body).first(where: { code.tokens[$0].text == "(" })
    else { return 0 }
    let inside = code.tokens[(open + 1)..<code.closing(open)]
    var depth = 0
    var commas = 0
    for token in inside {
        switch token.text {
        case "(", "[", "{", "<": depth += 1
        case ")", "]", "}", ">": depth -= 1
        case "," where depth == 0: commas += 1
        default: break
        }
    }
    return inside.isEmpty ? 0 : commas + 1
}

/// In C a body is a `{` at the outermost level, after the `)` of the parameters.
private func cFunctions(_ code: CodeText) -> [Function] {
    var found: [Function] = []
    var index = 1
    while index < code.tokens.count {
        guard code.tokens[index].text == "{" else {
            index += 1
            continue
        }
        let close = code.closing(index)
        if code.tokens[index - 1].text == ")" {
            found.append(
                Function(
                    keyword: "", parameters: 0, body: code.tokens[(index + 1)..<close],
                    lines: code.tokens[index - 1].line...code.tokens[close].line))
        }
        index = close + 1
    }
    return found
}
