// The core and wire rings read no clock, roll no dice, start no task and leave no case open.

/// A run of tokens that is not wanted, and what to do instead.
private struct Unwanted {
    let pattern: [String]
    let instead: String

    init(_ pattern: String, _ instead: String) {
        self.pattern = pattern.split(separator: " ").map(String.init)
        self.instead = instead
    }
}

private let time = "time arrives as a parameter"
private let dice = "randomness arrives as a parameter"
private let order = "its value differs from run to run"
private let suspension = "the inner rings never suspend"

private let unwantedInside: [Unwanted] = [
    Unwanted("Date (", time), Unwanted("Date . now", time), Unwanted("ContinuousClock", time),
    Unwanted("SuspendingClock", time), Unwanted("clock_gettime", time),
    Unwanted("DispatchTime", time), Unwanted("( . now", time), Unwanted(": . now", time),
    Unwanted("= . now", time),
    Unwanted("UUID (", dice), Unwanted("SystemRandomNumberGenerator", dice),
    Unwanted(". hashValue", order), Unwanted("Hasher (", order),
    Unwanted("Task {", suspension), Unwanted("Task (", suspension), Unwanted("Task .", suspension),
    Unwanted("await", suspension), Unwanted("async", suspension), Unwanted("Thread", suspension),
]

private let rolls: Set<Substring> = ["random", "randomElement", "shuffled", "shuffle"]

let purityRules: [Rule] = [
    Rule(
        "no clock, dice, task or per-process hash in the core and wire rings",
        planted: [
            SourceFile("Sources/CallCore/a.swift", "let a = Date()"),
            SourceFile("Sources/CallWire/a.swift", "arm(at: .now)"),
            SourceFile("Sources/JSON/a.swift", "Task { f() }"),
            SourceFile("Sources/WebProtocols/a.swift", "let a = Int.random(in: 0..<9)"),
            SourceFile("Sources/CallCore/a.swift", "let a = names.shuffled()"),
            SourceFile("Sources/CallCore/a.swift", "let a = user.hashValue"),
        ],
        clean: [
            SourceFile("Sources/CallCore/a.swift", "let a = input.now // Date()"),
            SourceFile("Sources/CallCore/a.swift", "let a = Int.random(in: 0..<9, using: &dice)"),
            SourceFile("Sources/AgentServer/a.swift", "let a = Int.random(in: 0..<9)"),
        ]
    ) { file in
        guard let target = file.target, pureTargets.contains(target) else { return [] }
        return unwantedInside.flatMap { unwanted in
            file.code.lines(where: unwanted.pattern).map {
                let what = unwanted.pattern.joined()
                return Finding(file, $0, "\(what) in \(target): \(unwanted.instead)")
            }
        } + unseededRolls(file)
    },
    Rule(
        "a switch in the core lists its cases",
        planted: [
            SourceFile("Sources/CallCore/a.swift", "switch state {\ncase .a: f()\ndefault: g()\n}"),
            SourceFile(
                "Sources/CallCore/a.swift", "switch s {\ndefault:  // external:\n    break\n}"),
        ],
        clean: [
            SourceFile(
                "Sources/CallCore/a.swift",
                "switch byte {\ncase 48...57: f()\ndefault: g()  // external: a byte\n}"),
            SourceFile("Sources/CallWire/a.swift", "switch op {\ndefault: f()\n}"),
            SourceFile("Sources/CallCore/a.swift", "kept[user, default: 0] += 1"),
        ]
    ) { file in
        guard ["CallModel", "CallCore"].contains(file.target) else { return [] }
        return openCases(file.code).compactMap { line in
            guard !hasReason(file.code, line) else { return nil }
            return Finding(
                file, line, "list the cases, or say `// external: what the subject is` beside it")
        }
    },
]

/// The lines with a `default:` of a switch; that of a subscript is no case.
private func openCases(_ code: CodeText) -> [Int] {
    code.tokens.indices.dropLast().compactMap { index in
        guard code.tokens[index].text == "default", code.tokens[index + 1].text == ":",
            index > 0, ![",", "("].contains(code.tokens[index - 1].text)
        else { return nil }
        return code.tokens[index].line
    }
}

/// The way to allow a `default:`: its subject is no enumeration of ours, and the line says so.
private func hasReason(_ code: CodeText, _ line: Int) -> Bool {
    code.comments.contains { comment in
        guard comment.line == line, let mark = comment.text.firstRange(of: "external:")
        else { return false }
        return comment.text[mark.upperBound...].contains { $0.isLetter }
    }
}

/// `.random(…)` and its kin without `using:`.
private func unseededRolls(_ file: SourceFile) -> [Finding] {
    let tokens = file.code.tokens
    return tokens.indices.compactMap { index in
        guard index > 0, index + 1 < tokens.count, rolls.contains(tokens[index].text),
            tokens[index - 1].text == ".", tokens[index + 1].text == "("
        else { return nil }
        let call = tokens[index...file.code.closing(index + 1)]
        guard !call.contains(where: { $0.text == "using" }) else { return nil }
        return Finding(file, tokens[index].line, ".\(tokens[index].text)() without `using:`")
    }
}
