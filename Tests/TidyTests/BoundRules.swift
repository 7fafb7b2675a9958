// What is bounded stands in the table of bounds, and what attacks it too.

private let page = "Sources/AgentServer/AgentServer.docc/Bounds.md"
private let attackFolder = "Tests/Attacks/"

/// Targets that are no part of a running server.
private let outside: Set<String> = [
    "callagent", "CallClient", "CallClientCore", "CallSimulator", "Debugger", "LanguageServer",
    "LuaSource",
]

/// Types that are answers or plans, not what the server is bounded by.
private let limitTypes = ["Limits", "Quotas", "Quota"]

let boundRules: [Rule] = [
    Rule(
        "a bound has its line in the table of bounds",
        planted: [
            bounded("| a | `ServerLimits.one` | `x` |", limits: "var one: Int\nvar two = 2_000"),
            bounded("| a | `Hub.Limits.one` | | | `x` |", limits: "var one = 1"),
            Checkout([
                SourceFile(page, "| a | `Hub.least` | b | c | `x` |"),
                SourceFile("Sources/A/a.swift", "enum Hub { private static let roomsMax = 7 }"),
            ]),
            // A generic type has no stored statics.
            Checkout([
                SourceFile(page, "| a | `Hub.least` | b | c | `x` |"),
                SourceFile(
                    "Sources/A/a.swift",
                    "struct Hub<A> {\nstatic var roomsMax: Int {\n4_096\n}\n}"),
            ]),
            Checkout([
                SourceFile(page, ""),
                SourceFile("Sources/CallModel/a.swift", "struct Settings { var b: Int }"),
            ]),
        ],
        clean: [
            bounded(
                "| a | `ServerLimits.one`, `limits.two_more` | b | c | `x` |",
                limits: "var one: Int\nvar sum: Int { one }\nvar more = Other()\nfunc f() {}"),
            Checkout([
                SourceFile(page, "| a | `Hub.roomsMax` | b | c | `x` |"),
                SourceFile(
                    "Sources/A/a.swift",
                    "enum Hub { static let roomsMax = 7; static var pathMax: Int { cuv() } }"),
            ]),
            Checkout([
                SourceFile(page, "| a | `limits.two_more` | b | c | `x` |"),
                SourceFile(
                    "Sources/A/a.swift",
                    "struct Configuration { struct Limits { var twoMore = 2 } }"),
            ]),
            Checkout([SourceFile("Sources/A/a.swift", "struct ServerLimits { var one = 1 }")]),
        ],
        checkout: { checkout in
            guard let table = checkout.files.first(where: { $0.path == page }) else { return [] }
            let named = Set(table.lines.flatMap { codeWords(in: $0) })
            return checkout.files(in: .swift).filter(isOfTheServer).flatMap { file in
                bounds(in: file).filter { !named.contains($0.name) }.map {
                    Finding(file, $0.line, "'\($0.name)' has no line in \(page)")
                }
            }
        }),
    Rule(
        "the table of bounds names nothing that is gone",
        planted: [bounded("| a | `ServerLimits.gone` | b | c | `x` |", limits: "var one: Int")],
        clean: [
            bounded(
                "| a | `ServerLimits.one`, `limits.x`, `Hub.Limits.one` |", limits: "var one: Int")
        ],
        checkout: { checkout in
            guard let table = checkout.files.first(where: { $0.path == page }) else { return [] }
            let declared = Set(
                checkout.files(in: .swift).filter(isOfTheServer).flatMap(declaredNames))
            return table.lines.enumerated().flatMap { index, line in
                codeWords(in: line).filter { word in
                    guard word.first?.isUppercase == true, word.contains(".") else { return false }
                    return word.split(separator: ".").last.map { !declared.contains($0) } ?? false
                }.map { Finding(table, index + 1, "'\($0)' is declared nowhere") }
            }
        }),
    Rule(
        "the table of bounds names every attack, and none that there is not",
        planted: [
            Checkout([
                SourceFile(page, "| a | b | c | d | `flood`, `gone` |"),
                SourceFile("Tests/Attacks/peers/flood.py", ""),
            ]),
            Checkout([
                SourceFile(page, "| a | b | c | d | `flood` |"),
                SourceFile("Tests/Attacks/peers/flood.py", ""),
                SourceFile("Tests/Attacks/peers/storm.py", ""),
            ]),
        ],
        clean: [
            Checkout([
                SourceFile(page, "| a | b | c | d | `flood` |\n| `other` | why |"),
                SourceFile("Tests/Attacks/peers/flood.py", ""),
                SourceFile("Tests/Attacks/registry.py", ""),
            ])
        ],
        checkout: { checkout in
            guard let table = checkout.files.first(where: { $0.path == page }) else { return [] }
            let attacks = checkout.files(in: .python).compactMap(attackName)
            var named: Set<Substring> = []
            var findings: [Finding] = []
            for (index, line) in table.lines.enumerated() {
                let cells = line.split(separator: "|")
                guard cells.count == 5 else { continue }
                for name in codeWords(in: cells[4]).map({ Substring($0) }) {
                    named.insert(name)
                    if !attacks.contains(name) {
                        findings.append(Finding(table, index + 1, "there is no attack '\(name)'"))
                    }
                }
            }
            return findings
                + attacks.filter { !named.contains($0) }.map {
                    Finding(table, nil, "the attack '\($0)' stands in no line")
                }
        }),
]

/// A made-up checkout with one type of limits and one line of the table.
private func bounded(_ row: String, limits: String) -> Checkout {
    Checkout([
        SourceFile(page, row),
        SourceFile("Sources/A/a.swift", "struct ServerLimits {\n\(limits)\n}"),
    ])
}

private func isOfTheServer(_ file: SourceFile) -> Bool {
    guard let target = file.target else { return false }
    return !outside.contains(target) && !file.parts.contains("Testing")
}

/// `NAME` of `Tests/Attacks/FOLDER/NAME.py`.
private func attackName(_ file: SourceFile) -> Substring? {
    guard file.path.hasPrefix(attackFolder), file.parts.count == 4 else { return nil }
    return file.parts[3].dropLast(3)
}

/// What stands between backquotes.
private func codeWords(in line: Substring) -> [String] {
    line.split(separator: "`", omittingEmptySubsequences: false).enumerated()
        .filter { $0.offset % 2 == 1 }.map { String($0.element) }
}

/// What follows `let` and `var`.
private func declaredNames(in file: SourceFile) -> [Substring] {
    let tokens = file.code.tokens
    return tokens.indices.dropLast().filter { ["let", "var"].contains(tokens[$0].text) }
        .map { tokens[$0 + 1].text }
}

private struct Bound {
    let name: String
    let line: Int
}

/// The bounds that a file declares: numbers among the properties of a type of limits, and constants
/// whose name says that they bound something.
private func bounds(in file: SourceFile) -> [Bound] {
    let tokens = file.code.tokens
    var found: [Bound] = []
    // The names of the types around, nil for every other brace.
    var scopes: [String?] = []
    var pending: String?
    for (index, token) in tokens.enumerated() {
        switch token.text {
        case "struct", "class", "enum", "actor", "extension":
            if index == 0 || tokens[index - 1].text != "." {
                pending = typeName(after: index, in: tokens) ?? pending
            }
        case "{":
            scopes.append(pending)
            pending = nil
        case "}": _ = scopes.popLast()
        case "let", "var":
            guard let type = scopes.last ?? nil, index + 1 < tokens.count else { continue }
            let name = String(tokens[index + 1].text)
            let isConstant = index > 0 && tokens[index - 1].text == "static"
            let counts = isConstant ? isBound(name) : isLimitType(type, file)
            guard counts, isNumber(index + 2, in: tokens, isConstant) else { continue }
            let scope = scopes.compactMap { $0 }.joined(separator: ".")
            found.append(Bound(name: tableName(scope, name), line: token.line))
        default: continue
        }
    }
    return found
}

/// `A.B` of `struct A.B: C {`; nil when no name follows.
private func typeName(after index: Int, in tokens: [Token]) -> String? {
    guard index + 1 < tokens.count, tokens[index + 1].text.first?.isUppercase == true
    else { return nil }
    var name = String(tokens[index + 1].text)
    var next = index + 2
    while next + 1 < tokens.count, tokens[next].text == ".", tokens[next].isJoined {
        name += "." + tokens[next + 1].text
        next += 2
    }
    return name
}

private func isLimitType(_ type: String, _ file: SourceFile) -> Bool {
    let last = type.split(separator: ".").last ?? ""
    return limitTypes.contains { last.hasSuffix($0) }
        || (last == "Settings" && file.target == "CallModel")
}

private func isBound(_ name: String) -> Bool {
    name == "most" || name.hasPrefix("longest") || name.hasSuffix("Max") || name.hasSuffix("Limit")
}

/// Whether a stored number is declared: `: Int`, `: Milliseconds = 5`, `= 1 << 20`; or a constant
/// one of a generic type, which is computed: `: Int { 5 }`.
private func isNumber(_ index: Int, in tokens: [Token], _ isConstant: Bool) -> Bool {
    guard index + 1 < tokens.count else { return false }
    if tokens[index].text == "=" { return tokens[index + 1].text.first?.isNumber == true }
    guard tokens[index].text == ":" else { return false }
    let kinds: Set<Substring> = ["Int", "Int32", "Int64", "UInt64", "Milliseconds", "ClosedRange"]
    guard kinds.contains(tokens[index + 1].text) else { return false }
    // A brace right behind the type begins a computed property, for constants with the number.
    var next = index + 2
    while next < tokens.count, ["?", "<", ">", "Milliseconds", "Int"].contains(tokens[next].text) {
        next += 1
    }
    guard next < tokens.count, tokens[next].text == "{" else { return true }
    return isConstant && next + 1 < tokens.count && tokens[next + 1].text.first?.isNumber == true
}

/// How the table calls it: the name in the operator's file where it is one.
private func tableName(_ scope: String, _ name: String) -> String {
    guard scope == "Configuration.Limits" else { return "\(scope).\(name)" }
    let words = name.map { $0.isUppercase ? "_" + $0.lowercased() : String($0) }.joined()
    return "limits.\(words)"
}
