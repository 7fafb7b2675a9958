// Reading Lua, also what is half typed or means harm.

import LuaSource
import Testing

@Suite struct ParserTests {
    private func file(_ text: String) -> LuaFile { LuaParser.file(Array(text.utf8)) }

    private func complaints(_ text: String) -> [String] {
        file(text).troubles.map { "\($0.range.lowerBound): \($0.text)" }
    }

    @Test(arguments: [
        "", "#!shebang\nreturn", "local a <const>, b <close> = 1, nil", "goto x ::x:: break;",
        "for i = 1, 2, 3 do end for k, v in pairs({}) do end",
        "local function f(a, ...) return ... end function f.a.b:c() return self end",
        "repeat local z = 1 until z == 1 while true do end do end",
        "if a then elseif b then else end return f{1, 2; 3, [4] = 5, x = 6}, f'x', f[[y]]:z'q'",
        "x, y.z, w[1] = -1 ^ 2, not a == b, #c .. ~d // 2", "f(a)(b)(c).d = 0x1p-3 + 1e+5 - .5",
        "--[==[ a ]] ]==] return [==[\nb]]]==]", "return 'a\\\nb\\z  \n c\\'d'",
    ])
    func isLua(_ text: String) { #expect(complaints(text) == []) }

    @Test(arguments: [
        ("local", "5: a name is missing"),
        ("call.", "5: a name is missing"),
        ("f(1, ", "4: a value is missing"),
        ("if a return end", "5: 'then' is missing"),
        ("on.invite(function(call)\n  call.\nend)", "33: a name is missing"),
        ("function f()", "0: 'end' is missing"),
        ("local t = { a = 1", "10: '}' is missing"),
        ("end", "0: 'end' closes nothing"),
        ("a.b", "0: this does nothing"),
        ("x = = 1", "4: a value is missing"),
        ("f(]", "2: a value is missing"),
    ])
    func whatIsMissingIsTold(_ text: String, _ first: String) {
        #expect(complaints(text).first == first)
    }

    /// The rest of a half-typed file is read all the same.
    @Test func theRestIsRead() {
        let text = "local cfg = config {}\non.invite(function(call)\n  cfg.\nend)\nlocal last = cfg"
        let read = file(text)
        #expect(read.locals.map(\.name.text) == ["cfg", "call", "last"])
        #expect(read.locals[0].reads.count == 2)
    }

    /// What stands in the next line is rarely meant to belong to what is half typed.
    @Test func aNameIsInTheLineOfItsDot() {
        let read = file("call.\ncfg.lines()\ncall:\nreturn 1")
        #expect(read.body.statements.count == 4)
        #expect(complaints("call\n  .signal\n  ('x')") == [])
    }

    @Test func aNameMeansWhatStandsNearest() {
        let read = file("local a = 1; do local a = a; a = 2 end; return a")
        #expect(read.locals.map { $0.reads.map(\.lowerBound) } == [[26, 47], []])
        #expect(read.locals.map { $0.writes.map(\.lowerBound) } == [[], [29]])
        #expect(read.locals.map(\.isReassigned) == [false, true])
    }

    private static let many = 100_000

    @Test(arguments: [
        "return " + String(repeating: "(", count: many),
        "return " + String(repeating: "{", count: many),
        "return " + String(repeating: "- ", count: many) + "1",
        "return " + String(repeating: "not ", count: many),
        "return " + String(repeating: "a..", count: many),
        "return " + String(repeating: "2^", count: many),
        "return f" + String(repeating: "[a", count: many),
        "return f" + String(repeating: "(f", count: many),
        String(repeating: "do ", count: many), String(repeating: "repeat ", count: many),
        String(repeating: "if a then ", count: many), String(repeating: "while a do ", count: many),
        String(repeating: "for i in a do ", count: many),
        String(repeating: "f(function() ", count: many),
        String(repeating: "return function() ", count: many),
    ])
    func whatIsNestedTooDeeplyIsTold(_ text: String) {
        let read = file(text)
        #expect(!read.isWhole)
        #expect(read.troubles.contains { $0.text == "this is nested too deeply" })
        #expect(read.nodes.expressions.count < 1_000_000)
    }

    @Test(arguments: [
        "x = f" + String(repeating: ".a", count: many), "f" + String(repeating: "()", count: many),
        "x = 1" + String(repeating: " + 1", count: many),
        "x = a" + String(repeating: " or a", count: many),
    ])
    func aLongChainIsNotFollowed(_ text: String) {
        let read = file(text)
        #expect(read.troubles.isEmpty && !read.isWhole)
    }

    /// The same bytes for ever: every prefix of a script, and every script with a hole.
    @Test func anythingIsRead() {
        let text = Array(
            """
            local cfg = config { a = option.int(1, { help = "x" }) } -- c
            on.invite(function(call, ...) for k, v in pairs(call.vars) do if k == 'x' then
            return reject("busy", { extended_data = { [1] = [[y]] } }) end end end)
            """.utf8)
        for place in text.indices {
            _ = LuaParser.file(Array(text[..<place])).nodes
            _ = LuaParser.file(Array(text[..<place] + text[(place + 1)...])).nodes
            var odd = text
            odd[place] = UInt8(truncatingIfNeeded: place &* 37)
            _ = LuaParser.file(odd).nodes
        }
    }

    @Test func placesAreThoseOfEditors() {
        let text = Array("a\r\nä😀b\n".utf8)
        let lines = LineMap(text)
        #expect(lines.count == 3)
        #expect(lines.spot(9) == LineMap.Spot(line: 1, column: 3))
        #expect(lines.place(LineMap.Spot(line: 1, column: 3)) == 9)
        #expect(lines.place(LineMap.Spot(line: 0, column: 99)) == 1)
        #expect(lines.place(LineMap.Spot(line: 99, column: 0)) == text.count)
        #expect(lines.place(LineMap.Spot(line: -1, column: 0)) == 0)
        #expect(lines.line(of: 4) == 2)
    }
}
