// Words that a line of code does not hold.

let wordingRules: [Rule] = [
    Rule(
        "no try! anywhere",
        planted: [SourceFile("Tests/ATests/a.swift", "let a = try! f()")],
        clean: [
            SourceFile("Tests/ATests/a.swift", "let a = try f() // not try! f()"),
            SourceFile("Tests/ATests/a.swift", "if try !f() { g() }"),
        ]
    ) { file in
        zip(file.code.tokens, file.code.tokens.dropFirst()).compactMap { word, sign in
            guard word.text == "try", sign.text == "!", sign.isJoined else { return nil }
            return Finding(file, word.line, "try!: handle the error")
        }
    },
    Rule(
        "no fatalError or print outside programs",
        planted: [
            SourceFile("Sources/JSON/a.swift", "fatalError()"),
            SourceFile("Sources/Storage/a.swift", "print(\"saved\")"),
        ],
        clean: [
            SourceFile("Sources/callagent/a.swift", "print(\"saved\")"),
            SourceFile("Tests/Fuzz/a.swift", "print(\"seed\")"),
            SourceFile("Tests/ATests/a.swift", "print(\"seed\")"),
            SourceFile("Sources/JSON/a.swift", "writer.print(a)\nlet b = \"print(c)\""),
        ]
    ) { file in
        guard !file.isExecutable, file.language == .swift else { return [] }
        return
            (calls("fatalError", in: file).map { ($0, "fatalError: refuse or return an error") }
            + (file.target == nil ? [] : calls("print", in: file)).map {
                ($0, "print: log or return")
            })
            .map { Finding(file, $0, $1) }
    },
    Rule(
        "a test waits for what it wants, it does not sleep",
        planted: [
            SourceFile("Tests/ATests/a.swift", "try await Task.sleep(for: .seconds(1))"),
            SourceFile("Tests/ATests/a.swift", "usleep(1000)"),
            SourceFile("Tests/ATests/a.swift", "Thread.sleep(forTimeInterval: 1)"),
        ],
        clean: [
            SourceFile("Tests/ATests/a.swift", "let plugin = \"sleep(1)\"\nt.sleeping()"),
            SourceFile("Tests/ATests/a.swift", "policy.sleep(1)"),
        ]
    ) { file in
        guard file.testFolder?.hasSuffix("Tests") == true else { return [] }
        let named = [["Task", ".", "sleep"], ["Thread", ".", "sleep"]]
            .flatMap { file.code.lines(where: $0) }
        let plain = ["sleep", "usleep", "nanosleep"].flatMap { calls($0, in: file) }
        return (named + plain).map { Finding(file, $0, "a sleep: wait for the event itself") }
    },
    Rule(
        "paths of the management API stand in its table alone",
        planted: [SourceFile("Sources/callagent/a.swift", "ask(\"/admin/v1/calls\")")],
        clean: [
            SourceFile("Sources/callagent/a.swift", "ask(.calls) // GET /admin/v1/calls"),
            SourceFile(
                "Sources/AgentCore/Management/ManagementOperation.swift",
                "let root = \"/admin/v1\""),
        ]
    ) { file in
        guard file.language == .swift, file.target != nil,
            !file.path.hasSuffix("/ManagementOperation.swift")
        else { return [] }
        return file.lines.indices.compactMap { index in
            guard file.lines[index].contains("\"/admin/") else { return nil }
            return Finding(file, index + 1, "a path written out: ask by the operation's name")
        }
    },
    Rule(
        "nothing is left for later",
        planted: ["TO" + "DO", "FIX" + "ME", "XX" + "X"].map {
            SourceFile("Sources/A/a.swift", "// \($0): tidy up")
        },
        clean: [SourceFile("Tests/run.sh", "mktemp -d \"${TMPDIR:-/tmp}/a.XXXXXX\"")]
    ) { file in
        file.lines.enumerated().flatMap { index, line in
            words(of: line).filter { postponed.contains($0) }.map {
                Finding(file, index + 1, "\($0): do it now, or open an issue")
            }
        }
    },
]

private let postponed: Set<Substring> = ["TO" + "DO", "FIX" + "ME", "XX" + "X"]

private func words(of line: Substring) -> [Substring] {
    line.split { !($0.isLetter || $0.isNumber || $0 == "_") }
}

/// The lines that call a free function of this name.
private func calls(_ name: String, in file: SourceFile) -> [Int] {
    let tokens = file.code.tokens
    return tokens.indices.compactMap { index in
        guard tokens[index].text == name, index + 1 < tokens.count, tokens[index + 1].text == "("
        else { return nil }
        let previous = index > 0 ? tokens[index - 1].text : ""
        return previous == "." || previous == "func" ? nil : tokens[index].line
    }
}
