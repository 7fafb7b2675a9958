// The operator's file: whatever is in it, it is judged the same twice, and a refusal says where.

import Configuration
import Lua

extension Fuzzer {
    static let configuration = Fuzzer(
        name: "configuration",
        property: "a file is judged the same twice, and a refusal names the file"
    ) { (random) throws(FuzzFailure) in
        try ConfigurationTrial(&random).judge { $0 }
    }

    static let configurationCanary = Fuzzer(
        name: "configuration-canary", property: "finds a reader that loses the last line",
        mustFail: true
    ) { (random) throws(FuzzFailure) in
        try ConfigurationTrial(&random).judge { text in
            Array(text.prefix(upTo: text.lastIndex(of: 0x0A) ?? text.endIndex))
        }
    }
}

/// One file, and what became of it.
private struct ConfigurationTrial {
    private enum Verdict: Equatable {
        case configuration(Configuration)
        case problems(String)
    }

    private static let names = ConfigurationField.all.map(\.name)
    private static let values = [
        "1", "0", "-1", "65536", "1e9", "true", "false", "nil", "{}", "{ \"a\", \"b\" }",
        "\"x\"", "\"127.0.0.1:7600\"", "\"3s\"", "\"64KB\"", "\"ring\"", "\"UTC\"", "\"*\"",
        "{ { alg = \"HS256\", key = \"0123456789012345678901234567890123\" } }",
        "secret \"env:KEY\"", "secret \"file:/nowhere\"", "secret \"x\"", "function() end",
        "{ [1] = { 2 } }", "string.rep(\"x\", 99)", "1 / 0", "{ n = { n = { n = 1 } } }",
    ]
    private static let words = [
        "\n", "=", "{", "}", "\"", "[[", "]]", "--", "local ", "end", " .. ", "\u{0}", "\u{1B}Lua",
        "os.exit()", "error \"x\"", "setmetatable(_G, {})", "goto x", "é", "limits.message = 1",
        "plugins = { \"a\" }", "_ENV = {}", "return 1",
    ]

    private let text: [UInt8]

    init(_ random: inout FuzzGenerator) {
        var lines: [String] = []
        for _ in 0..<random.pick(1...6) {
            lines.append(Self.line(random.pick(Self.names), random.pick(Self.values)))
        }
        text = random.damage(Array(lines.joined(separator: "\n").utf8), dictionary: Self.words)
    }

    private static func line(_ name: String, _ value: String) -> String {
        let parts = name.split(separator: ".")
        return parts.count == 2 ? "\(parts[0]) = { \(parts[1]) = \(value) }" : "\(name) = \(value)"
    }

    /// Judges the file twice, the second time as `seen` by the reader.
    func judge(_ seen: ([UInt8]) -> [UInt8]) throws(FuzzFailure) {
        let first = Self.verdict(text)
        try expect(Self.verdict(seen(text)) == first, "another judgement", text)
        if case .problems(let words) = first {
            try expect(words.contains("fuzz.lua"), "a refusal without a place: \(words)", text)
        }
    }

    private static func verdict(_ text: [UInt8]) -> Verdict {
        do throws(ScriptProblems) {
            let file = SourceFile(name: "fuzz.lua", text: text)
            return .configuration(
                try Configuration.read(file) { $0 == "KEY" ? "the key of the environment" : nil })
        } catch {
            return .problems(error.description)
        }
    }
}
