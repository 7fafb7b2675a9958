// The language server without its streams: messages in, messages out.

import JSON
import LanguageServer
import PolicyHost
import Testing
import WebProtocols

/// A session whose messages are written and read as values.
private final class Session {
    let server: LanguageServer
    private(set) var pressed: [String] = []
    private var lastID: Int64 = 0

    init() throws {
        var note: (String) -> Void = { _ in }
        server = try LanguageServer { _, name, _ in
            note(name)
            return PressedTest(hasPassed: name != "bad", text: "\(name): done")
        }
        note = { [weak self] in self?.pressed.append($0) }
    }

    private static func read(_ frames: [[UInt8]]) -> [JSONValue] {
        var stream = MessageFrames(limit: 1 << 30)
        return frames.flatMap { stream.take($0) }.compactMap { frame in
            guard case .message(let body) = frame else { return nil }
            return try? JSONValue(parsing: body, limits: JSONLimits(bytes: 1 << 30))
        }
    }

    func send(_ message: JSONValue) -> [JSONValue] { Self.read(server.take(message.bytes)) }
    func settle() -> [JSONValue] { Self.read(server.settle()) }

    func notify(_ method: String, _ parameters: JSONValue = [:]) {
        _ = send(["jsonrpc": "2.0", "method": .string(method), "params": parameters])
    }

    func ask(_ method: String, _ parameters: JSONValue = [:]) -> JSONObject {
        lastID += 1
        let answers = send([
            "jsonrpc": "2.0", "id": .integer(lastID), "method": .string(method),
            "params": parameters,
        ])
        return answers.last { $0.object?["id"] != nil }?.object ?? JSONObject()
    }

    func begin(_ text: String, uri: String = "file:///p/plugins/p.lua") {
        _ = ask("initialize")
        notify("initialized")
        open(text, uri: uri)
    }

    func open(_ text: String, uri: String) {
        notify(
            "textDocument/didOpen",
            ["textDocument": ["uri": .string(uri), "version": 1, "text": .string(text)]])
    }

    /// What is said now, as `LINE:COLUMN text`.
    func found() -> [String] {
        settle().flatMap { $0.object?["params"]?.object?["diagnostics"]?.array ?? [] }.map { one in
            let start = one.object?["range"]?.object?["start"]?.object
            let (line, column) = (start?["line"]?.integer ?? -1, start?["character"]?.integer ?? -1)
            return "\(line):\(column) \(one.object?["message"]?.string ?? "")"
        }
    }

    func at(_ line: Int64, _ column: Int64, uri: String = "file:///p/plugins/p.lua") -> JSONValue {
        [
            "textDocument": ["uri": .string(uri)],
            "position": ["line": .integer(line), "character": .integer(column)],
            "context": ["includeDeclaration": true],
        ]
    }

    func labels(_ line: Int64, _ column: Int64) -> [String] {
        let items = ask("textDocument/completion", at(line, column))["result"]?.array ?? []
        return items.compactMap { $0.object?["label"]?.string }
    }
}

@Suite struct ServerTests {
    private static let script = """
        local cfg = config { lines = option.int(1, { help = "calls at once" }) }
        timer("remind", function(data, call) end)
        on.invite(function(call)
          if call.callee.calls > cfg.lines then return reject "busy" end
          later("5m", "remind")
          return accept { wait = "3s" }
        end)
        test("one", function(t) t.expect(t.invite {}, nil) end)
        """

    @Test func aMistakeIsToldAndTakenBack() throws {
        let session = try Session()
        session.begin("on.invite(function(call)\n  call:finnish()\nend)")
        #expect(
            session.found()
                == ["1:7 a call has no method 'finnish' (did you mean 'finish'?)"])
        session.notify(
            "textDocument/didChange",
            [
                "textDocument": ["uri": "file:///p/plugins/p.lua", "version": 2],
                "contentChanges": [
                    [
                        "range": [
                            "start": ["line": 1, "character": 9],
                            "end": ["line": 1, "character": 10],
                        ], "text": "",
                    ]
                ],
            ])
        #expect(session.found() == [])
        #expect(session.settle().isEmpty)
    }

    @Test(arguments: [
        ("on.invite(function(call)\n  call.\nend)", "2:0 <name> expected near 'end'"),
        ("on.invite(function(call)\n  if call.group\nend)", "2:0 'then' expected near 'end'"),
        ("local x = 'abc\nreturn x", "0:0 unfinished string near ''abc'"),
    ])
    func whatIsHalfTypedIsOneMistake(_ text: String, _ expected: String) throws {
        let session = try Session()
        session.begin(text)
        #expect(session.found() == [expected])
    }

    @Test func whatCanBeWrittenIsOffered() throws {
        let session = try Session()
        session.begin(
            Self.script + "\non.ended(function(call, summary)\n  call.\n  call:\n  summary.\nend)")
        #expect(session.labels(9, 7).contains("caller") && !session.labels(9, 7).contains("leave"))
        #expect(session.labels(10, 7).contains("leave") && !session.labels(10, 7).contains("id"))
        #expect(
            session.labels(11, 10).sorted() == [
                "answered", "by", "detail", "duration", "extended_raw", "reason",
            ])
        #expect(session.labels(3, 29) == ["lines"])
        #expect(session.labels(4, 17) == ["remind"])
        #expect(session.labels(5, 18).contains("extended_data"))
        let names = session.labels(9, 2)
        #expect(["call", "cfg", "reject", "string", "return"].allSatisfy(names.contains))
        #expect(!names.contains("t"))
        #expect(session.labels(2, 3) == Hook.allCases.map(\.rawValue))
    }

    @Test func nothingIsOfferedInTexts() throws {
        let session = try Session()
        session.begin("log.info('call.') -- call.")
        #expect(session.labels(0, 15) == [] && session.labels(0, 26) == [])
    }

    @Test func whatIsKnownIsShown() throws {
        let session = try Session()
        session.begin(Self.script)
        func note(_ line: Int64, _ column: Int64) -> String {
            let result = session.ask("textDocument/hover", session.at(line, column))["result"]
            return result?.object?["contents"]?.object?["value"]?.string ?? ""
        }
        #expect(note(3, 30) == "```lua\ncfg.lines: integer\n```\n\ncalls at once")
        #expect(note(3, 12).contains("callee: User"))
        #expect(note(3, 49).contains("function reject(reason: string"))
        #expect(note(5, 19).contains("accept { wait }: Duration"))
        #expect(note(2, 20) == "```lua\nlocal call: Call\n```")
        #expect(note(2, 4).contains("on.invite"))
        #expect(note(7, 200) == "")
    }

    @Test func whereItIsDeclaredAndUsed() throws {
        let session = try Session()
        session.begin(Self.script)
        func lines(_ method: String, _ line: Int64, _ column: Int64) -> [Int64] {
            let result = session.ask("textDocument/\(method)", session.at(line, column))["result"]
            return (result?.array ?? []).compactMap {
                $0.object?["range"]?.object?["start"]?.object?["line"]?.integer
            }
        }
        #expect(lines("definition", 3, 30) == [0])
        #expect(lines("references", 0, 22) == [0, 3])
        #expect(lines("definition", 4, 17) == [1])
        #expect(lines("references", 1, 8) == [1, 4])
        #expect(lines("definition", 3, 6) == [2])
        #expect(lines("references", 3, 6) == [2, 3])
        #expect(lines("definition", 3, 49) == [])
    }

    @Test func aLensRunsItsTestAndNothingElse() throws {
        let session = try Session()
        session.begin(Self.script)
        let document: JSONValue = ["textDocument": ["uri": "file:///p/plugins/p.lua"]]
        let lenses = session.ask("textDocument/codeLens", document)["result"]?.array ?? []
        #expect(lenses.count == 1)
        _ = session.found()
        #expect(session.pressed == [])
        let command = lenses.first?.object?["command"]?.object ?? JSONObject()
        let parameters: JSONValue = [
            "command": command["command"] ?? .null, "arguments": command["arguments"] ?? .null,
        ]
        let answer = session.ask("workspace/executeCommand", parameters)
        #expect(answer["result"]?.object?["passed"]?.bool == true)
        #expect(session.pressed == ["one"])
        let other: JSONValue = [
            "command": "callagent.runTest", "arguments": ["file:///p/plugins/p.lua", "two"],
        ]
        #expect(session.ask("workspace/executeCommand", other)["error"] != nil)
        #expect(session.pressed == ["one"])
    }

    @Test func orderIsKept() throws {
        let session = try Session()
        func code(_ answer: JSONObject) -> Int64? { answer["error"]?.object?["code"]?.integer }
        #expect(code(session.ask("textDocument/hover")) == -32_002)
        #expect(code(session.ask("initialize")) == nil)
        #expect(code(session.ask("initialize")) == -32_600)
        #expect(code(session.ask("textDocument/rename")) == -32_601)
        #expect(session.ask("textDocument/hover", session.at(0, 0))["result"] == .null)
        #expect(session.send(["jsonrpc": "2.0", "id": 7, "result": 1]).isEmpty)
        #expect(code(session.send([1]).first?.object ?? JSONObject()) == -32_600)
        #expect(session.ask("shutdown")["result"] == .null)
        #expect(code(session.ask("textDocument/hover")) == -32_600)
        #expect(session.server.exitCode == nil)
        session.notify("exit")
        #expect(session.server.exitCode == 0)
    }

    @Test(arguments: ["{", "nonsense", "\u{0}", "[]", "null", "{\"id\":{}}", "{\"method\":7}"])
    func rubbishIsAnsweredAndForgotten(_ text: String) throws {
        let session = try Session()
        session.begin("call:finnish()")
        _ = session.server.take(Array(text.utf8))
        #expect(session.found().count == 1)
    }

    @Test func placesOutsideOfTheFileAreItsEnd() throws {
        let session = try Session()
        session.begin("x")
        for (line, column) in [(-1, 0), (0, -5), (9, 9), (Int64.max, Int64.max)] {
            _ = session.ask("textDocument/completion", session.at(Int64(line), Int64(column)))
            session.notify(
                "textDocument/didChange",
                [
                    "textDocument": ["uri": "file:///p/plugins/p.lua", "version": 2],
                    "contentChanges": [
                        [
                            "range": [
                                "start": ["line": .integer(Int64(line)), "character": 3],
                                "end": ["line": 0, "character": .integer(Int64(column))],
                            ], "text": "y",
                        ]
                    ],
                ])
        }
        #expect(session.found().count >= 1)
    }

    @Test func aFileThatNoServerLoadsIsNotRead() throws {
        let session = try Session()
        session.begin(String(repeating: "call:finnish() ", count: 700_000))
        let said = "0:0 this file has over 1048576 bytes: no plugin is that large"
        #expect(session.found() == [said])
        #expect(session.labels(0, 4) == [])
    }

    @Test func theOperatorsFileAndTheTypesAreNoPlugins() throws {
        let session = try Session()
        session.begin("plugins = { 'busy' }", uri: "file:///p/callagent.lua")
        #expect(session.found() == [])
        session.open(MetaFile.text, uri: "file:///p/callagent.meta.lua")
        #expect(session.found() == [])
        session.open("plugins = {", uri: "file:///p/callagent.lua")
        #expect(session.found().count == 1)
    }
}

@Suite struct FrameTests {
    @Test func piecesAreMessages() {
        let stream = [[1, 2], [], [3]].flatMap { MessageFrames.frame($0) }
        for size in 1...stream.count {
            var frames = MessageFrames(limit: 2)
            var found: [MessageFrames.Frame] = []
            for start in stride(from: 0, to: stream.count, by: size) {
                found += frames.take(stream[start..<min(start + size, stream.count)])
            }
            #expect(found == [.message([1, 2]), .message([]), .message([3])], "\(size)")
        }
    }

    @Test func whatIsTooLargeIsLeftOut() {
        var frames = MessageFrames(limit: 2)
        let stream = MessageFrames.frame([1, 2, 3]) + MessageFrames.frame([4])
        #expect(frames.take(stream[..<22]) == [.tooLarge(3)])
        #expect(frames.take(stream[22...]) == [.message([4])])
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "Content-Length: -1\r\n\r\n",
        "Content-Length: x\r\n\r\n", "Content-Length: 99999999999999999999\r\n\r\n", "\r\n\r\n",
        String(repeating: "x", count: 9_000),
    ])
    func rubbishIsTheEnd(_ text: String) {
        var frames = MessageFrames(limit: 2)
        let found = frames.take(Array(text.utf8))
        #expect(found.count == 1)
        if case .broken? = found.first {} else { Issue.record("\(found)") }
        #expect(frames.take(MessageFrames.frame([1])) == [])
    }
}
