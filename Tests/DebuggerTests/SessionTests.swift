// A script under a debugger.

import JSON
import Testing
import WebProtocols

private let desk = """
    local cfg = config { lines = option.int(1) }
    local seen = 0

    local function sum(n)
      local total = 0
      for i = 1, n do
        total = total + i
      end
      -- nothing here
      return total
    end

    on.invite(function(call)
      seen = seen + 1
      local user = users.get(call.caller.id)
      local total = sum(3)
      log.info("asked", { total = total })
      return accept { wait = "1s" }
    end)

    test("good", function(t)
      local answer = t.invite { from = "ann", to = "bob" }
      t.expect(answer, accept { wait = "1s" })
    end)
    test("bad", function(t)
      pcall(error, "caught")
      t.expect(t.invite { from = "ann", to = "bob" }, nil)
    end)
    """

@Suite struct SessionTests {
    @Test func itStopsWhereThereIsCode() throws {
        let editor = try Editor(desk)
        editor.launch("good", stops: [["line": 9], ["line": 400], ["line": 13]])
        editor.look()
        editor.go("continue")
        editor.ask("continue")
        #expect(editor.play() == 0)
        let points = editor.answers("setBreakpoints")[0]["breakpoints"]?.array ?? []
        #expect(points.map { $0["verified"]?.bool } == [true, false, true])
        #expect(points.map { $0["line"]?.integer } == [10, nil, 13])
        // Line 13 runs where the file is loaded, for the test and for the plugin.
        #expect(editor.lines == [13, 13])
        #expect(editor.events("stopped").count == 3)
    }

    /// A breakpoint in the top level of the file comes first, and takes nothing away.
    @Test func itStopsOnEntryAlsoAfterABreakpointOfTheLoad() throws {
        let editor = try Editor(desk)
        editor.launch("good", stops: [["line": 13]], ["stopOnEntry": true])
        editor.look()
        // The call that begins in line 13 comes back to it, for the test and for the plugin.
        editor.go("continue", "continue", "continue", "continue")
        editor.play()
        #expect(editor.lines == [13, 13, 13, 13, 22])
        let reasons = editor.events("stopped").map { $0["reason"]?.string }
        #expect(reasons.last == "entry" && reasons.count == 5)
    }

    @Test func stepsFollowFunctionsAndHandlers() throws {
        let editor = try Editor(desk)
        editor.launch("good", ["stopOnEntry": true])
        editor.look()
        editor.go("next", "stepBack", "stepIn", "next", "next", "stepIn", "stepOut", "next")
        editor.go("stepOut", "continue")
        editor.play()
        let walk: [Int64] = [22, 23, 22, 14, 15, 16, 5, 17, 18, 23]
        #expect(editor.lines == walk)
        #expect(editor.output.contains("ok      p.lua:21: good"))
        #expect(editor.events("exited") == [["exitCode": 0]])
        #expect(editor.events("terminated").count == 1)
    }

    @Test func backwardsIsTheSameRunOnceMore() throws {
        let editor = try Editor(desk)
        editor.launch("good", stops: [["line": 7, "hitCondition": ">= 2"], ["line": 14]])
        editor.go("continue", "continue")
        editor.evaluate("total", "i")
        editor.go("stepBack", "stepBack")
        editor.evaluate("total", "i")
        editor.go("reverseContinue")
        editor.evaluate("seen")
        editor.go("reverseContinue")
        editor.play()
        #expect(editor.lines == [7, 7, 6, 7, 14, 22])
        #expect(editor.values == ["3", "3", "1", "2", "0"])
        #expect(editor.output == "" || !editor.output.contains("not the same"))
    }

    @Test func allThatAFunctionSeesIsShown() throws {
        let editor = try Editor(desk)
        editor.launch("good", stops: [["line": 17]])
        editor.look()
        editor.open("Locals")
        editor.open("Upvalues")
        editor.open("Waits")
        editor.open("call")
        editor.open("Globals")
        editor.play()
        let shown = editor.answers("variables").map { answer in
            (answer["variables"]?.array ?? []).map {
                "\($0["name"]?.string ?? "") = \($0["value"]?.string ?? "")"
            }
        }
        #expect(shown[0] == ["call = call", "user = user ann", "total = 6"])
        #expect(shown[1].contains("seen = 1") && shown[1].contains("sum = function p.lua:4"))
        #expect(shown[2] == ["users.get(\"ann\") = user ann"])
        #expect(shown[3].contains("caller = user ann") && shown[3].contains("alive = true"))
        #expect(shown[4].contains("state = kept table: empty"))
        #expect(!shown[4].contains { $0.hasPrefix("(metatable)") })
    }

    @Test func whatSomebodyWritesIsCompleted() throws {
        let editor = try Editor(desk)
        editor.launch("good", stops: [["line": 17]])
        let texts: [(String, Int64)] = [
            ("to", 3), ("1 + call.caller.i", 18), ("call.call + 1", 10), ("se", 3), ("x.y", 4),
            ("call.caller[", 13), ("log.in", 7), ("ü .. tot", 9), ("to", 1),
        ]
        for (text, column) in texts {
            editor.ask("completions", ["text": .string(text), "column": .integer(column)])
        }
        editor.ask("completions", ["text": "to"])
        editor.play()
        let found = editor.answers("completions").map { answer in
            (answer["targets"]?.array ?? []).map {
                "\($0["label"]?.string ?? "") \($0["start"]?.integer ?? 0)"
                    + " \($0["length"]?.integer ?? 0)"
            }
        }
        #expect(found[0].contains("tonumber 1 2") && found[0].contains("total 1 2"))
        #expect(found[1] == ["id 17 1"])
        #expect(found[2] == ["callee 6 4", "caller 6 4"])
        #expect(found[3].contains("seen 1 2") && !found[3].contains("total 1 2"))
        #expect(found[4] == [] && found[5].count > 20)
        #expect(found[6] == ["info 5 2"])
        #expect(found[7] == ["total 6 3"])
        #expect(found[8].contains("seen 1 0") && found[8].contains("call 1 0"))
    }

    @Test func conditionsHitsAndMessagesAreFollowed() throws {
        let editor = try Editor(desk)
        editor.launch(
            "good",
            stops: [
                ["line": 7, "condition": "i == 3"], ["line": 10, "logMessage": "is {total} {x}"],
                ["line": 14, "hitCondition": "often"],
                ["line": 18, "condition": "total == nobody"],
            ])
        editor.look()
        editor.evaluate("i")
        editor.go("continue")
        editor.ask("continue")
        editor.play()
        #expect(editor.lines == [7, 18])
        #expect(editor.values == ["3"])
        let problem = editor.answers("setBreakpoints")[0]["breakpoints"]?[2]?["message"]?.string
        #expect(problem?.contains("'often' counts no hits") == true)
        #expect(editor.output.contains("is 6 {x: there is no 'x' in this function}\n"))
        // What cannot be worked out stops, and says why.
        #expect(editor.output.contains("condition 'total == nobody': there is no 'nobody'"))
    }

    @Test func handlersStopByName() throws {
        let editor = try Editor(desk)
        editor.ask("initialize")
        editor.ask("launch", ["plugin": .string(editor.path), "test": "good"])
        editor.ask("setFunctionBreakpoints", ["breakpoints": [["name": "on.invite"]]])
        editor.ask("configurationDone")
        editor.look()
        editor.play()
        #expect(editor.lines == [14])
        #expect(editor.events("stopped")[0]["reason"]?.string == "function breakpoint")
    }

    @Test(arguments: [(["uncaught"], 1), (["uncaught", "caught"], 2), ([], 0)])
    func errorsStopWhereTheyAre(filters: [String], stops: Int) throws {
        let editor = try Editor(desk)
        editor.launch("bad", errors: filters.map { .string($0) })
        for _ in 0..<stops {
            editor.look()
            editor.ask("exceptionInfo") { ["threadId": $0.thread] }
            editor.ask("continue")
        }
        editor.play()
        let reasons = editor.events("stopped").compactMap { $0["reason"]?.string }
        #expect(reasons == Array(repeating: "exception", count: stops))
        let told = editor.answers("exceptionInfo")
        if stops > 0 {
            #expect(told.last?["breakMode"]?.string == "unhandled")
            #expect(told.last?["description"]?.string?.contains("p.lua:27: ") == true)
        }
        if stops > 1 { #expect(told[0]["breakMode"]?.string == "always") }
        #expect(editor.output.contains("FAILED"))
        #expect(editor.events("exited") == [["exitCode": 1]])
    }

    @Test func anErrorIsGoneBackFrom() throws {
        let editor = try Editor(desk)
        editor.launch("bad")
        editor.look()
        editor.go("stepBack", "stepBack")
        editor.play()
        #expect(editor.lines == [27, 27, 26])
    }

    @Test func valuesAreSet() throws {
        let editor = try Editor(desk)
        editor.launch("good", stops: [["line": 17]])
        editor.look()
        for (scope, name, value) in [
            ("Locals", "total", "total * 7"), ("Upvalues", "seen", "'a' .. 1"),
            ("Locals", "nobody", "1"), ("call", "id", "1"), ("Locals", "total", "sum(1)"),
            ("Upvalues", "seen", "call"),
        ] {
            editor.open(scope)
            editor.ask("setVariable") {
                let scopes = $0.answers("scopes").last?["scopes"]?.array ?? []
                let found = scopes.first { $0["name"]?.string == scope }
                return [
                    "variablesReference": found?["variablesReference"] ?? 0,
                    "name": .string(name), "value": .string(value),
                ]
            }
        }
        editor.evaluate("total", "seen.caller.id")
        editor.go("stepBack")
        editor.evaluate("total")
        editor.play()
        let set = editor.answers("setVariable").map { $0["value"]?.string ?? $0.string ?? "?" }
        #expect(
            set == [
                "42", "\"a1\"", "'nobody' cannot be changed", "a call cannot be changed",
                "functions are not called here: to look changes nothing", "call",
            ])
        #expect(editor.values == ["42", "\"ann\"", "there is no 'total' in this function"])
        #expect(editor.output.contains("values that were set"))
    }

    @Test func whatIsLookedAtIsSet() throws {
        let text = """
            local seen = { list = { 1, 2 }, ["two words"] = 0 }
            on.invite(function(call)
              local n = 1
              seen.list[1] = n
              return seen.list[1] > 0 and accept {} or nil
            end)
            test("one", function(t) t.invite { from = "ann", to = "bob" } end)
            """
        let editor = try Editor(text)
        editor.launch("one", stops: [["line": 5]])
        editor.look()
        for (expression, value) in [
            ("n", "n + 6"), (" seen.list[n - 6] ", "'x'"), ("seen['two words']", "2"),
            ("seen.list", "call"), ("seen", "nil"), ("call.id", "1"), ("nobody", "1"),
            ("n + 1", "1"), ("call.nothing.x", "1"),
        ] {
            editor.ask("setExpression") {
                [
                    "expression": .string(expression), "value": .string(value),
                    "frameId": $0.frame,
                ]
            }
            if expression != "seen.list" {
                editor.evaluate("n")
            } else {
                editor.evaluate("seen.list.mode")
            }
        }
        editor.play()
        let set = editor.answers("setExpression").map { $0["value"]?.string ?? $0.string ?? "?" }
        #expect(
            set == [
                "7", "\"x\"", "2", "call", "nil", "a call cannot be changed",
                "there is no variable 'nobody' in this function",
                "'n + 1' is nothing that can be set", "unknown field 'nothing' of call",
            ])
        #expect(editor.values.first == "7" && editor.values[3] == "\"advanced\"")
        #expect(editor.answers("initialize")[0]["supportsSetExpression"] == true)
    }
}
