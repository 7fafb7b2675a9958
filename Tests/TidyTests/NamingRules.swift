// One meaning for a name in the whole house, and few places that know an operation by name.

/// A new operation is described once: so many files name it beside its Lua binding.
private let operationFilesMax = 6

/// Operations whose names stand for nothing else, so that files that name them can be counted.
private let countedOperations: Set<Substring> = ["transfer", "acceptAck"]

/// The operations of a call; a switch that lists more than half of them is one over all of them.
private let operations: Set<Substring> = [
    "invite", "add", "ringing", "accept", "acceptAck", "reject", "cancel", "join", "leave", "end",
    "transfer", "remove", "report", "media", "hold", "items", "signal", "get", "token", "forward",
    "finish",
]
private let switchLimit = 12

/// Words that made readers stop, and what to write instead.
private let riddles: [Substring: String] = [
    "isDawdling": "isMessageOverdue",
    "like_it": "left_out",
    "keepHouse": "runHousekeeping",
    "storeSurely": "store",
    "heardAlone": "heardWithoutConnection",
    "cameLost": "joinedAfterLoss",
    "letGoInTime": "scheduleRelease",
    "inTheWay": "blocker",
    "mended": "fixed",
    "whither": "where",
    "hither": "here",
    "thence": "from there",
    "forthwith": "at once",
    "lest": "so that … not",
]

let namingRules: [Rule] = [
    Rule(
        "a type's name means one thing in the whole house",
        planted: [
            Checkout([
                SourceFile("Sources/A/a.swift", "public struct Request {}"),
                SourceFile("Sources/B/b.swift", "final class Request {}"),
            ]),
            Checkout([
                SourceFile("Sources/A/a.swift", "private enum Part { case one }"),
                SourceFile("Sources/A/b.swift", "private struct Part { let a = 1 }"),
            ]),
        ],
        clean: [
            Checkout([
                SourceFile("Sources/A/a.swift", "struct A { enum State {} }\nextension B {}"),
                SourceFile("Sources/B/b.swift", "struct B { enum State {} }\nextension A {}"),
                SourceFile("Tests/ATests/a.swift", "struct A {}"),
            ])
        ],
        checkout: { checkout in
            var first: [Substring: SourceFile] = [:]
            var findings: [Finding] = []
            for file in checkout.files(in: .swift) where file.target != nil {
                for name in typesAtTheTop(of: file.code) {
                    if let other = first[name.text] {
                        let what = "'\(name.text)' is also a type of \(other.path)"
                        findings.append(Finding(file, name.line, what))
                    } else {
                        first[name.text] = file
                    }
                }
            }
            return findings
        }),
    Rule(
        "words that made readers stop do not come back",
        planted: [
            SourceFile("Sources/A/a.swift", "func isDawdling() -> Bool { true }"),
            SourceFile("Sources/A/A.docc/a.md", "A file that was mended is read again."),
        ],
        clean: [
            SourceFile("Sources/A/a.swift", "func isMessageOverdue() -> Bool { true }"),
            SourceFile("Tests/ATests/a.swift", "let word = \"mended\""),
        ]
    ) { file in
        guard file.target != nil else { return [] }
        return file.lines.enumerated().flatMap { index, line in
            line.split { !($0.isLetter || $0.isNumber || $0 == "_") }.compactMap { word in
                riddles[word].map { Finding(file, index + 1, "'\(word)': write '\($0)'") }
            }
        }
    },
    Rule(
        "a function that is named like a question answers it",
        planted: [
            SourceFile("Sources/A/a.swift", "func isKnown(_ a: A) { f() }"),
            SourceFile("Sources/A/a.swift", "func wasTold()\nfunc f() -> B"),
            SourceFile("Sources/A/a.swift", "func hasLeft(_ a: (A) -> B) throws(E) { f() }"),
        ],
        clean: [
            SourceFile("Sources/A/a.swift", "func isKnown(_ a: A) throws(E) -> Bool { true }"),
            SourceFile("Sources/A/a.swift", "func issue(_ a: A) { f() }"),
            SourceFile("Tests/ATests/a.swift", "func isKnown() {}"),
        ]
    ) { file in
        guard file.target != nil else { return [] }
        let tokens = file.code.tokens
        return tokens.indices.compactMap { index in
            guard tokens[index].text == "func", index + 2 < tokens.count,
                isQuestion(tokens[index + 1].text), answersNothing(index + 2, in: file.code)
            else { return nil }
            let name = tokens[index + 1]
            return Finding(file, name.line, "'\(name.text)' returns nothing: say what it does")
        }
    },
    Rule(
        "only the core and the descriptors switch over all operations",
        planted: [
            SourceFile(
                "Sources/CallWire/a.swift",
                "switch action {\ncase .add, .accept, .reject: f()\ncase .cancel(let a): g()\n"
                    + "case .join, .leave, .end, .hold: h()\n"
                    + "case .media, .items, .signal, .get: i()\n}")
        ],
        clean: [
            SourceFile(
                "Sources/CallWire/a.swift",
                "switch event {\ncase .hold, .items, .signal: f(.add, .accept, .reject, .join)\n"
                    + "case .ended: g(.cancel, .leave, .end)\n}"),
            SourceFile(
                "Sources/CallModel/Descriptors/a.swift",
                "switch action {\ncase .add, .accept, .reject, .cancel, .join, .leave: f()\n"
                    + "case .end, .hold, .media, .items, .signal, .get: g()\n}"),
        ]
    ) { file in
        guard let target = file.target, target != "CallCore",
            !file.path.hasPrefix("Sources/CallModel/Descriptors/")
        else { return [] }
        let tokens = file.code.tokens
        return tokens.indices.compactMap { index in
            guard tokens[index].text == "switch", index == 0 || tokens[index - 1].text != "."
            else { return nil }
            let count = operationCases(of: index, in: file.code).count
            guard count >= switchLimit else { return nil }
            return Finding(
                file, tokens[index].line, "\(count) operations: say it in their descriptors")
        }
    },
    Rule(
        "at most six files name an operation, beside its Lua binding",
        planted: [
            Checkout(
                (1...7).map {
                    SourceFile("Sources/A/f\($0).swift", "f(.transfer(to: user))")
                })
        ],
        clean: [
            Checkout(
                (1...6).map {
                    SourceFile("Sources/A/f\($0).swift", "case .call(_, .transfer, _): f()")
                } + [
                    SourceFile("Sources/A/g.swift", "call.transfer(to: user)\nshow(.transfer, 1)"),
                    SourceFile("Sources/B/Bindings/a.swift", "f(.transfer(to: user))"),
                ])
        ],
        checkout: { checkout in
            let files = checkout.files(in: .swift).filter {
                $0.target != nil && !$0.parts.contains("Bindings")
            }
            return countedOperations.sorted().compactMap { name in
                let naming = files.filter { names(name, in: $0.code) }.map(\.path)
                guard naming.count > operationFilesMax else { return nil }
                let what = "'\(name)' is named in \(naming.count) files: \(naming)"
                return Finding(path: "Sources", what: what)
            }
        }),
]

/// Whether a name reads as an assertion, as `isOpen` does.
private func isQuestion(_ name: Substring) -> Bool {
    ["is", "was", "has", "may", "can"].contains { word in
        name.hasPrefix(word) && name.dropFirst(word.count).first?.isUppercase == true
    }
}

/// Whether the function whose parameters or generic ones begin at `start` has no result.
private func answersNothing(_ start: Int, in code: CodeText) -> Bool {
    let tokens = code.tokens
    guard let open = tokens[start...].firstIndex(where: { $0.text == "(" }) else { return false }
    var next = code.closing(open) + 1
    while next < tokens.count, ["throws", "rethrows", "async", "("].contains(tokens[next].text) {
        next = tokens[next].text == "(" ? code.closing(next) + 1 : next + 1
    }
    return next == tokens.count || tokens[next].text != "->"
}

/// The names of types that are declared outside of all braces.
private func typesAtTheTop(of code: CodeText) -> [Token] {
    let kinds: Set<Substring> = ["struct", "class", "enum", "actor", "protocol", "typealias"]
    var depth = 0
    var found: [Token] = []
    for (token, name) in zip(code.tokens, code.tokens.dropFirst()) {
        switch token.text {
        case "{", "(", "[": depth += 1
        case "}", ")", "]": depth -= 1
        default:
            guard depth == 0, kinds.contains(token.text), name.isWord else { continue }
            found.append(name)
        }
    }
    return found
}

/// The operations in the patterns of the switch that begins at `start`, not in its bodies.
private func operationCases(of start: Int, in code: CodeText) -> Set<Substring> {
    guard let open = code.tokens[start...].firstIndex(where: { $0.text == "{" }) else { return [] }
    var found: Set<Substring> = []
    var isPattern = false
    for index in (open + 1)..<code.closing(open) {
        switch code.tokens[index].text {
        case "case": isPattern = true
        case ":" where code.tokens[index - 1].isWord || code.tokens[index - 1].text == ")":
            isPattern = false
        case let text where isPattern && code.tokens[index - 1].text == ".":
            if operations.contains(text) { found.insert(text) }
        default: continue
        }
    }
    return found
}

/// Whether the code makes or takes apart the operation `name`: `.name(…)` of nothing before it, or
/// `.call(_, .name, _)`.
private func names(_ name: Substring, in code: CodeText) -> Bool {
    let tokens = code.tokens
    return tokens.indices.contains { index in
        guard index > 1, index + 1 < tokens.count, tokens[index].text == name,
            tokens[index - 1].text == "."
        else { return false }
        let before = tokens[index - 2]
        if tokens[index + 1].text == "(" {
            return !before.isWord && ![")", "]", "?", "!"].contains(before.text)
                || before.text == "case" || before.text == "return"
        }
        return index > 2 && before.text == "," && tokens[index - 3].text == "_"
    }
}
