// What a script, or an editor, could do to a debugger.

import JSON
import Testing
import WebProtocols

@Suite struct BoundTests {
    private static let odd = """
        local ran = 0
        local function trap() ran = ran + 1 return "ran" end
        local t = setmetatable({ a = 1 }, {
          __index = trap, __pairs = trap, __tostring = trap, __len = trap, __eq = trap,
          __name = "user", __concat = trap, __lt = trap,
        })
        local function deep(n)
          if n == 0 then
            return t
          end
          return (deep(n - 1))
        end
        on.invite(function(call)
          local big = {}
          for i = 1, 5000 do big[i] = i end
          local names = {}
          for i = 1, 700 do names["k" .. i] = i end
          local long = string.rep("é", 100000)
          local knot = {}
          knot.knot = knot
          if call.kind == "video" then
            while true do
              ran = ran + 1
            end
          end
          local got = deep(5000)
          return accept {}
        end)
        test("odd", function(t) t.invite { from = "ann", to = "bob" } end)
        test("loop", function(t) t.invite { from = "ann", to = "bob", kind = "video" } end)
        test("pattern", function(t)
          local text = string.rep("a", 30000)
          string.find(text, ".-.-.-.-b")
        end)
        """

    @Test func toLookRunsNothing() throws {
        let editor = try Editor(Self.odd)
        editor.launch("odd", stops: [["line": 9]])
        editor.look()
        editor.evaluate("t", "t.a", "t.missing", "#t", "t == t", "t < t", "t .. 'a'", "ran")
        editor.ask("variables") { editor in
            let told = editor.answers("evaluate").first
            return ["variablesReference": told?["variablesReference"] ?? 0]
        }
        editor.open("Upvalues")
        editor.evaluate("ran")
        editor.play()
        let upvalues = editor.variables
        #expect(upvalues.contains("t = table: 1 named"))
        // Only the names that the function uses are there.
        #expect(
            editor.values == [
                "table: 1 named", "1", "nil", "0", "true", "a table and a table have no order",
                "a table value cannot be joined", "there is no 'ran' in this function",
                "there is no 'ran' in this function",
            ])
        let rows = editor.answers("variables")[0]["variables"]?.array ?? []
        #expect(rows.map { $0["name"]?.string } == ["(metatable)", "a"])
    }

    @Test func trapsHaveNotRunAfterwards() throws {
        let editor = try Editor(Self.odd)
        editor.launch("odd", stops: [["line": 9], ["line": 27, "condition": "got.x == nil"]])
        editor.look()
        editor.evaluate("t.x", "#t")
        editor.go("continue")
        editor.open("Locals")
        editor.evaluate("ran")
        editor.play()
        #expect(editor.lines.count == 2)
        #expect(editor.values.suffix(1) == ["0"])
    }

    @Test func muchIsShownInPieces() throws {
        let editor = try Editor(Self.odd)
        editor.launch(
            "odd", stops: [["line": 26]], ["limits": ["members": 100, "text": 10, "frames": 20]])
        editor.look()
        editor.evaluate("big", "names", "long", "#long", "knot.knot.knot == knot", "big[5000]")
        editor.ask("variables") { editor in
            let told = editor.answers("evaluate")[0]
            return [
                "variablesReference": told["variablesReference"] ?? 0, "filter": "indexed",
                "start": 4_950, "count": 1_000,
            ]
        }
        editor.ask("variables") { editor in
            ["variablesReference": editor.answers("evaluate")[1]["variablesReference"] ?? 0]
        }
        for _ in 0..<8 {
            editor.ask("variables") { editor in
                let rows = editor.answers("variables").last?["variables"]?.array ?? []
                return ["variablesReference": rows.last?["variablesReference"] ?? 0]
            }
        }
        editor.play()
        #expect(editor.answers("evaluate")[0]["indexedVariables"] == 5_000)
        #expect(editor.values[1] == "table: 101 named")
        #expect(editor.values[2].hasPrefix("\"ééééé\"… (200000 bytes)"))
        #expect(editor.values.suffix(3) == ["200000", "true", "5000"])
        let pages = editor.answers("variables").map { $0["variables"]?.array ?? [] }
        #expect(pages[0].count == 50 && pages[0][0]["name"]?.string == "[4951]")
        let named = pages.dropFirst().joined().compactMap { $0["name"]?.string }
        #expect(Set(named.filter { $0.hasPrefix("k") }).count == 700)
    }

    @Test func deepCallsAreShownInPieces() throws {
        let editor = try Editor(Self.odd)
        editor.launch("odd", stops: [["line": 9]])
        editor.look()
        editor.ask("stackTrace") { ["threadId": $0.thread, "startFrame": 4_990, "levels": 100] }
        editor.go("stepOut")
        editor.play()
        let told = editor.answers("stackTrace")
        #expect(told[0]["totalFrames"] == 5_002)
        #expect(told[0]["stackFrames"]?.array?.count == 200)
        #expect(told[1]["stackFrames"]?.array?.count == 12)
    }

    @Test func aLoopIsPaused() throws {
        let editor = try Editor(Self.odd)
        editor.launch("loop", stops: [["line": 23, "hitCondition": "3"]])
        editor.ask("continue")
        editor.askMeanwhile("next")
        editor.askMeanwhile("nobody")
        editor.askMeanwhile("pause")
        editor.look()
        editor.ask("terminate")
        editor.play()
        #expect(editor.answers("next") == ["the script does not stand"])
        #expect(editor.answers("nobody") == ["there is no command 'nobody'"])
        #expect([22, 23].contains(editor.lines[0]))
        #expect(editor.events("stopped")[1]["reason"]?.string == "pause")
        #expect(editor.events("terminated").count == 1)
    }

    @Test func aPatternWithoutEndIsLeft() throws {
        let editor = try Editor(Self.odd)
        editor.launch("pattern")
        editor.askMeanwhile("terminate")
        editor.play()
        #expect(editor.events("terminated").count == 1)
    }

    @Test func anEditorThatGoesLeavesNothingRunning() throws {
        let editor = try Editor(Self.odd)
        editor.launch("loop")
        editor.askMeanwhile("disconnect")
        #expect(editor.play() == 0)
    }

    @Test func oddMessagesAreAnswered() throws {
        let editor = try Editor(Self.odd)
        for text in [
            "{", "[1]", "{}", "{\"type\":\"request\"}", "{\"type\":\"request\",\"seq\":1}",
        ] {
            editor.send(.message(Array(text.utf8)))
        }
        editor.send(.tooLarge(9))
        editor.ask("launch", ["plugin": "p"])
        editor.ask("initialize")
        editor.ask("initialize")
        editor.ask("configurationDone")
        editor.ask("attach")
        editor.ask("launch")
        editor.ask("launch", ["plugin": .string(editor.path), "test": "nobody"])
        editor.ask("launch", ["plugin": .string(editor.path), "limits": ["text": 0]])
        editor.ask("setBreakpoints", ["source": 1])
        editor.ask("setBreakpoints", ["source": [:], "breakpoints": [["line": "x"]]])
        editor.ask("next")
        editor.ask("pause")
        editor.ask("stackTrace")
        editor.ask("source", ["sourceReference": 77])
        editor.ask("breakpointLocations", ["line": 1e300])
        editor.ask("threads")
        editor.ask("terminate")
        editor.ask("disconnect")
        #expect(editor.play() == 0)
        let answers = editor.told.filter { $0["type"]?.string == "response" }
        #expect(answers.count == 24)
        let good = answers.filter { $0["success"]?.bool == true }
            .compactMap { $0["command"]?.string }
        #expect(good == ["initialize", "threads", "terminate", "disconnect"])
        #expect(answers.allSatisfy { $0["success"]?.bool == true || $0["message"] != nil })
    }

    @Test func oddRequestsAtAStopAreAnswered() throws {
        let editor = try Editor(Self.odd)
        editor.launch("odd", stops: [["line": 9]])
        editor.ask("stackTrace", ["threadId": 99])
        editor.ask("stackTrace", ["threadId": -1])
        editor.look()
        editor.ask("scopes", ["frameId": 12_345])
        editor.ask("variables", ["variablesReference": -3])
        editor.ask("variables", ["variablesReference": 1e300])
        editor.ask("setVariable", ["variablesReference": 1])
        editor.ask("exceptionInfo", ["threadId": 1])
        editor.ask("evaluate")
        editor.ask("launch", ["plugin": .string(editor.path)])
        editor.ask("configurationDone")
        editor.evaluate(
            "", "1 +", "return 1", "((", "1; 2", "t.a.b.c", "'a' + 1", "1 // 0", "-{}", "nil.x",
            String(repeating: "(", count: 5_000), "9223372036854775807 + 1", "7 // -2", "-7 % 3")
        editor.play()
        for command in ["scopes", "setVariable", "exceptionInfo", "configurationDone"] {
            #expect(editor.answers(command).last?.string != nil, "\(command)")
        }
        #expect(
            editor.values.suffix(3) == ["-9223372036854775808", "-4", "2"])
        #expect(editor.events("stopped").count == 1)
    }
}
