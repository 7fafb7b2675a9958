// Command lines: what is understood, and what is said about the rest.

import CallModel
import JSON
import Lua
import Testing

@testable import callagent

@Suite struct ArgumentsTests {
    private static let command = Command(
        "sing", "sing a song", operands: .several("SONG"),
        options: [
            Option("--as", "ME", "who"), Option("--loud", nil, "how"),
            Option("--for", "3s", "long"), Option("--verse", "TEXT", "more", isRepeatable: true),
            Option("--check", "[MS]", "sure"),
        ]
    ) { _ in 0 }

    private func arguments(_ line: String) throws(CommandError) -> CommandArguments {
        try CommandArguments(line.split(separator: " ").map(String.init), of: Self.command)
    }

    @Test(arguments: [
        "a b --as me --loud", "--as me a --loud b", "--loud --as=me a b", "--as me --loud -- a b",
    ])
    func optionsMayStandAnywhere(_ line: String) throws {
        let arguments = try arguments(line)
        #expect(arguments.operands == ["a", "b"])
        #expect(arguments.text("--as") == "me" && arguments.has("--loud"))
        #expect(!arguments.has("--for") && !arguments.wantsHelp)
    }

    @Test func whatFollowsTwoDashesIsNoOption() throws {
        #expect(try arguments("-- --as - x").operands == ["--as", "-", "x"])
        #expect(try arguments("- --as -1").operands == ["-"])
        #expect(try arguments("- --as -1").text("--as") == "-1")
        #expect(try arguments("x --as=a=b").text("--as") == "a=b")
        #expect(try arguments("x --as=").text("--as") == "")
    }

    @Test func someMayBeGivenAgainAndSomeNeedNoValue() throws {
        #expect(try arguments("x --verse a --verse=b=c").texts("--verse") == ["a", "b=c"])
        #expect(try arguments("x").texts("--verse").isEmpty)
        #expect(try arguments("--check x").operands == ["x"])
        #expect(try arguments("--check x").text("--check") == "")
        #expect(try arguments("x --check 500").text("--check") == "500")
        #expect(try arguments("x --check=500").text("--check") == "500")
        #expect(try arguments("x --check --loud").has("--loud"))
    }

    @Test(arguments: ["--help", "-h", "--as me -h"])
    func helpNeedsNoOperands(_ line: String) throws {
        #expect(try arguments(line).wantsHelp)
    }

    @Test(arguments: [
        ("", "SONG is missing"),
        ("a --sa me", "there is no option '--sa' (did you mean '--as'?)"),
        ("a --lout", "there is no option '--lout' (did you mean '--loud'?)"),
        ("a --xyzzy", "there is no option '--xyzzy'"),
        ("a -x", "there is no option '-x'"),
        ("a --as", "--as needs a value: --as ME"),
        ("a --as --loud", "--as needs a value: --as ME"),
        ("a --loud=very", "--loud takes no value"),
        ("a --as me --as you", "--as is given twice"),
    ])
    func mistakesAreNamed(_ line: String, _ words: String) {
        #expect(throws: CommandError.usage(words)) { try arguments(line) }
    }

    @Test func operandsAreCounted() throws {
        let one = Command("x", "", operands: .one("CALL")) { _ in 0 }
        let none = Command("x", "") { _ in 0 }
        let optional = Command("x", "", operands: .optional("FILE")) { _ in 0 }
        #expect(try CommandArguments(["a"], of: one).operands == ["a"])
        #expect(try CommandArguments([], of: optional).operands == [])
        #expect(throws: CommandError.usage("CALL is missing")) { try CommandArguments([], of: one) }
        for (command, words) in [(one, ["a", "b"]), (none, ["b"]), (optional, ["a", "b"])] {
            #expect(throws: CommandError.usage("unexpected word: 'b'")) {
                try CommandArguments(words, of: command)
            }
        }
    }

    @Test func valuesAreChecked() throws {
        let given = try arguments("x --as 7 --for 90s")
        #expect(try given.number("--as", in: 7...7) == 7)
        #expect(try given.duration("--for") == 90_000)
        #expect(try given.duration("--loud") == nil)
        #expect(throws: CommandError.usage("--as takes a number from 8 to 9, not '7'")) {
            try given.number("--as", in: 8...9)
        }
        #expect(
            throws: CommandError.usage(
                "--as takes a duration such as 500ms, 30s or 2m, not '7'")
        ) { try given.duration("--as") }
        #expect(throws: CommandError.usage("--for takes busy, declined, not '90s'")) {
            try given.choice("--for", among: ["busy", "declined"])
        }
        let bussy = try arguments("x --as bussy --for {")
        #expect(
            throws: CommandError.usage(
                "--as takes busy, declined, not 'bussy' (did you mean 'busy'?)")
        ) { try bussy.choice("--as", among: ["busy", "declined"]) }
        #expect(throws: CommandError.usage("--as and --for exclude each other")) {
            try bussy.oneOf("--as", "--loud", "--for")
        }
        let error = try #require(throws: CommandError.self) { try bussy.json("--for") }
        #expect(error.message.hasPrefix("--for takes JSON: "))
    }
}

@Suite struct SpanTests {
    @Test(
        arguments: [
            ("0ms", 0), ("250ms", 250), ("3s", 3_000), ("1.5s", 1_500), ("10m", 600_000),
            ("24h", 86_400_000), ("0.5h", 1_800_000),
        ] as [(String, Milliseconds)])
    func durationsAreRead(_ text: String, _ milliseconds: Milliseconds) {
        #expect(Span.parse(text) == milliseconds)
    }

    @Test(arguments: [
        "", "3", "s", "3 s", "-3s", "3sec", ".5s", "5.s", "1.2.3s", "25h", "1e3s", "٣s",
    ])
    func otherTextsAreNone(_ text: String) {
        #expect(Span.parse(text) == nil)
    }

    @Test(
        arguments: [
            (0, "0 ms", "0.000"), (16, "16 ms", "0.016"), (100, "0.1 s", "0.100"),
            (1_000, "1 s", "1.000"), (9_999, "10 s", "9.999"), (12_400, "12 s", "12.400"),
            (200_000, "3 min 20 s", "200.000"), (7_500_000, "2 h 5 min", "7500.000"),
        ] as [(Milliseconds, String, String)])
    func lengthsAreShown(_ span: Milliseconds, _ words: String, _ seconds: String) {
        #expect(Span.words(span) == words)
        #expect(Span.seconds(span) == seconds)
    }
}

@Suite struct ToolTests {
    @Test func everyCommandExplainsItself() {
        let overview = Help.overview(of: Command.all)
        for command in Command.all {
            #expect(overview.contains("  \(command.name)"))
            let text = Help.text(of: command)
            #expect(text.hasPrefix("usage: callagent \(command.name)"))
            for option in command.options { #expect(text.contains("  \(option.name)")) }
            #expect(Set(command.options.map(\.name)).count == command.options.count)
            #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(text)")
            #expect(Tool.run([command.name, "--help"]) == ExitCode.success)
            #expect(Tool.run(["help", command.name]) == ExitCode.success)
        }
        #expect(overview.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test(arguments: [
        [], ["cal"], ["--verbose"], ["help", "cal"], ["call"], ["call", "bob"], ["phone", "x"],
        ["call", "bob", "--as", "a", "--mode", "advance"], ["call", "b b", "--as", "a"],
        ["call", "bob", "--as", "a", "--timeout", "30"],
        ["call", "bob", "--as", "a", "--data", "{"],
        ["call", "bob", "--as", "a", "--push-payload", "{"],
        ["call", "bob", "--as", "a", "--item", "lang"],
        ["call", "bob", "--as", "a", "--item", "=x"],
        ["call", "bob", "--as", "a", "--item", "a=b", "--item", "a=c"],
        ["call", "bob", "--as", "a", "--push-titel", "x"],
        ["call", "bob", "--as", "a", "--delivery-check", "999"],
        ["call", "bob", "--as", "a", "--delivery-check=30001"],
        ["call", "bob", "--as", "a", "--delivery-check=soon"],
        ["call", "bob", "--as", "a", "--video", "--kind", "tea"],
        ["call", "bob", "--as", "a", "--server", "ftp://x"], ["call", "bob", "--as", "a b"],
        ["call", "bob", "--as", "a", "--token", "t"], ["call", "bob", "--as", "a", "--device", ""],
        ["call", "bob", "--as", "a", "--leave-after", "1s", "--hang-up-after", "1s"],
        ["phone", "--as", "a", "--accept", "--ring"], ["phone", "--as", "a", "--reject", "lazy"],
        ["calls", "--limit", "0"], ["calls", "--limit", "101"], ["calls", "--server", "x:1"],
        ["get"], ["get", "x"], ["rollback", "../x"], ["rollback", "a", "b"], ["reload", "now"],
    ])
    func wrongUseEndsWithTwo(_ words: [String]) {
        #expect(Tool.run(words) == ExitCode.usage)
    }

    @Test func theVersionIsThatOfTheServer() {
        #expect(Tool.run(["version"]) == ExitCode.success)
        #expect(Tool.run(["--version"]) == ExitCode.success)
    }

    @Test(
        arguments: [
            ("cal", ["call", "calls"], "call"), ("clal", ["call"], "call"),
            ("reaload", ["reload"], "reload"),
            ("roll", ["rollback"], "rollback"), ("x", ["call"], nil), ("", ["a"], "a"),
            ("", ["call"], nil),
        ] as [(String, [String], String?)])
    func suggestionsAreNear(_ wrong: String, _ words: [String], _ meant: String?) {
        #expect(Suggestion.word(for: wrong, among: words) == meant)
    }
}

@Suite struct MisuseTests {
    /// What a command says to words that make no sense, without a server and without a file.
    private func complaint(_ command: Command, _ words: String) throws -> String {
        let words = words.split(separator: " ").map(String.init)
        let error = try #require(throws: CommandError.self) {
            try command.run(CommandArguments(words, of: command))
        }
        #expect(error.code == ExitCode.usage)
        return error.message
    }

    @Test(arguments: [
        ("list crm", "list does not take 'crm'"), ("events crm", "events does not take 'crm'"),
        ("replay a b", "replay does not take 'b'"),
        ("enable", "enable needs the NAME of a receiver"),
        ("enable a b", "enable does not take 'b'"),
        (
            "lst",
            "ACTION is one of list, events, replay, enable, not 'lst' (did you mean 'list'?)"
        ),
    ])
    func wordsOfWebhooks(_ words: String, _ expected: String) throws {
        #expect(try complaint(.webhooks, words) == expected)
    }

    @Test func aTokenIsGoodForAWhile() throws {
        let text = try complaint(.token, "ann --for 0s")
        #expect(text == "--for 0 would make a token that is never good")
    }
}
