// What Lua does not mind, and nobody means.

import CallModel
import Configuration
import Foundation
import Lua
import LuaSource
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct MistakeTests {
    private func mistakes(_ text: String) throws -> [String] {
        try Rig.generation([("p", text)]).mistakes.map(\.description)
    }

    /// What is found in a plugin of one file.
    static func found(in types: TypeFinder) -> [Mistake] {
        let source = PluginSource(name: "p", main: SourceFile(name: "p.lua", text: []))
        return MistakeFinder.mistakes(in: types, DeclaredNames([types], of: source))
    }

    private static let config = "local cfg = config { lines = option.int(1) }\n"

    @Test(arguments: [
        (
            "on.invite(function(call) if cfg.linse > 1 then return reject 'busy' end end)",
            "p.lua:2: no option 'linse' is declared (did you mean 'lines'?)"
        ),
        (
            "on.invite(function(call)\nlocal x = cfg['linse'] end)",
            "p.lua:3: no option 'linse' is declared (did you mean 'lines'?)"
        ),
        (
            "on.invite(function(call)\n\ncall:finnish() end)",
            "p.lua:4: a call has no method 'finnish' (did you mean 'finish'?)"
        ),
        (
            "on.accepted(function(c, who) detach(function() c:hangup() end) end)",
            "p.lua:2: a call has no method 'hangup'"
        ),
        (
            "local function done(c) c:finnish() end on.ended(function(call) done(call) end)",
            "p.lua:2: a call has no method 'finnish' (did you mean 'finish'?)"
        ),
        (
            "on.invite(function(call) local list = kv.get('list', {}) end)",
            "p.lua:2: kv.get takes at most 1 value, and is given 2"
        ),
        (
            "on.invite(function(call) call:leave('now', 1) end)",
            "p.lua:2: call:leave takes at most 0 values, and is given 2"
        ),
        (
            "on.push(function(push) log.info(push.user.id) end)",
            "p.lua:2: a text has no field 'id'"
        ),
        (
            "on.invite(function(call) log.info(call.id:uper()) end)",
            "p.lua:2: a text has no method 'uper' (did you mean 'upper'?)"
        ),
        (
            "timer('t', function(data, call) call:finnish() end)",
            "p.lua:2: a call has no method 'finnish' (did you mean 'finish'?)"
        ),
        (
            "on.ended(function(call) call.caller:call() end)",
            "p.lua:2: a user object has no method 'call'"
        ),
        (
            "on.invite(function(call) return 'busy' end)",
            "p.lua:2: on.invite returns a text, which is no decision "
                + "(write 'return reject \"busy\"')"
        ),
        (
            "local function decide(call)\nif call.group then return 'a' .. 'b' end end "
                + "on.dial(decide)",
            "p.lua:3: on.dial returns a text, which is no decision "
                + "(write 'return refuse \"blocked\"')"
        ),
        (
            "on.push(function(push) return push.kind == 'voip' and 'no' end)",
            "p.lua:2: on.push returns a text, which is no table"
        ),
        (
            "on.invite(function(call) if call.caller == 'ann' then return reject 'x' end end)",
            "p.lua:2: a user object never equals a text: compare its 'id'"
        ),
        (
            "on.rejected(function(call, who) local it = who if 'ann' ~= it then end end)",
            "p.lua:2: a user object never equals a text: compare its 'id'"
        ),
        (
            "on.timeout(function(call, users) for _, one in ipairs(users) do\n"
                + "if one == 'ann' then end end end)",
            "p.lua:3: a user object never equals a text: compare its 'id'"
        ),
        (
            "on.invite(function(call) local me = call.caller.id if me == call.callee then end end)",
            "p.lua:2: a user object never equals a text: compare its 'id'"
        ),
        (
            "on.invite(function(call) if call.invitees[1] == 'ann' then end end)",
            "p.lua:2: a user object never equals a text: compare its 'id'"
        ),
        (
            "on.invite(function(call)\nlocal no = reject 'busy' end)",
            "p.lua:3: the decision in 'no' is not returned: it decides nothing"
        ),
    ])
    func isFound(_ text: String, _ expected: String) throws {
        #expect(try mistakes(Self.config + text) == [expected])
    }

    @Test(arguments: [
        "on.invite(function(call) if call.caller.id == 'ann' then return reject 'x' end end)",
        "on.invite(function(call) if call.caller == call.callee then return end end)",
        "on.invite(function(call) local other = call.inviter or '' "
            + "if call.caller == other then return end end)",
        "on.invite(function(call) if cfg.lines > 1 then return reject 'busy' end end)",
        "on.invite(function(call) call = call.vars call:finnish() end)",
        "local function f(c) return c == 'x' end f('x') "
            + "on.ended(function(call) f(call.caller) end)",
        "local function f(c) c:sing() end local kept = { f } on.ended(function(call) f(call) end)",
        "local cfg = { } function cfg.f() return cfg.anything end on.start(cfg.f)",
        "on.extended_data(function(data, call, dir) return 'text' end)",
        "on.invite(function(call) local f = function() return 'x' end log.info(f()) end)",
        "on.ended(function(call) return 'whatever' end)",
        "on.invite(function(call) local d = reject 'busy' return d end)",
        "on.invite(function(call) local d d = reject 'busy' return d end)",
        "on.invite(function(call) local reject = log.info reject 'x' return nil end)",
        "on.invite(function(call) call:finish('x') call:later('1s', 't') end) "
            + "timer('t', function(data, call) if call then call:leave() end end)",
        "-- [[ 'quotes\non.invite(function(call) --[==[ ' ]] ]==]\nlocal x <const> = 0x1p-3 "
            + "goto done ::done:: print([[\n'a]] .. 1e+5, x // 2, ~3, #'a', -x ^ 2) end)",
        "on.invite(function(call) for i = 1, 2 do repeat local z = i until z > 0 end "
            + "while false do break end if call then elseif cfg then else end do end "
            + "return nil; end)",
        "local t = { [1] = 'a', b = 2; 'c', f = function(...) return ... end } on.start(t.f)",
    ])
    func isNotFound(_ text: String) throws {
        #expect(try mistakes(Self.config + text).isEmpty, "\(text)")
    }

    @Test(arguments: [" or x", ".x", " + x", "()", " .. x"]) func ofAVeryLongChainNothingIsSaid(
        _ link: String
    ) throws {
        let chain = String(repeating: link, count: 100_000)
        let text = "local x = state.x on.start(function() local y = x\(chain) end)"
        let file = LuaParser.file(Array(text.utf8))
        #expect(!file.isWhole)
        #expect(Self.found(in: TypeFinder(file)).isEmpty)
    }

    /// Values that come from far away are followed a while, and no further.
    @Test func aVeryLongWayEnds() {
        let way = String(repeating: "local x = x\n", count: 100_000)
        let text = "local x = 'a'\n\(way)on.start(function() return x + 1 end)"
        let file = LuaParser.file(Array(text.utf8))
        #expect(file.isWhole)
        #expect(Self.found(in: TypeFinder(file)).count <= 1)
    }

    /// Nothing of the operator's file is run for it.
    @Test(arguments: [
        ("listn = '127.0.0.1:1'", 0..<5, "unknown name 'listn' (did you mean 'listen'?)"),
        ("invite = { defualt = 'ring' }", 11..<18, "unknown field 'defualt'"),
        ("invite.decide = '2s'", 7..<13, "unknown field 'decide'"),
        ("modes = { clinic = { ringtime = '3s' } }", 21..<29, "unknown field 'ringtime'"),
        ("limits = { mesage = '1MB' }", 11..<17, "(did you mean 'message'?)"),
    ])
    func ofTheOperatorsFileNamesAreKnown(_ text: String, _ range: Range<Int>, _ said: String) {
        let found = OperatorNames.mistakes(in: LuaParser.file(Array(text.utf8)))
        #expect(found.map(\.range) == [range])
        #expect(found.first?.text.contains(said) == true, "\(found)")
    }

    @Test(arguments: [
        "local port = 7600 listen = '127.0.0.1:' .. port options['a b'] = { any = 1 }",
        "override = { p = { on_error = 'skip' } } groups = { any = { 'ann' } } names['x'] = 'y'",
        "modes['lobby'] = { like = 'common', join = true } auth = { { alg = 'HS256' } }",
        "for _, name in ipairs { 'a' } do options[name] = {} end",
    ])
    func ofAGoodFileNothingIsSaid(_ text: String) {
        #expect(OperatorNames.mistakes(in: LuaParser.file(Array(text.utf8))) == [])
    }

    /// What stands behind a `return`, a `break` or a loop without end, and nothing else.
    @Test func whatIsNeverReachedIsKnown() {
        let found: [(String, String?)] = [
            ("while true do f() end g()", "g()"), ("do return end g()", "g()"),
            ("if a then return 1 else return 2 end g() h()", "g()"),
            ("for i = 1, 2 do do break end g() end", "g()"),
            ("if a then return 1 elseif b then return 2 end g()", nil),
            ("while true do if a then break end end g()", nil),
            ("while true do if a then goto out end end ::out:: g()", nil),
            ("while a do return end g()", nil), ("repeat do break end until a g()", nil),
            ("local f = function() return 1 end g()", nil),
            ("while true do local f = function() while a do break end end end g()", "g()"),
            ("for i = 1, 2 do if a then goto next end g() ::next:: end g()", nil),
            ("do return end ; g()", "g()"), ("do return end ::here:: g()", nil),
        ]
        for (text, wanted) in found {
            let bytes = Array("on.start(function(a, b, f, g, h) \(text) end)".utf8)
            let ranges = LuaParser.file(bytes).unreached
            #expect(
                ranges.map { String(decoding: bytes[$0], as: UTF8.self) }
                    == [wanted].compactMap { $0 },
                "\(text)")
        }
    }

    /// Lua takes the square of the time for some texts: they are refused in good time.
    @Test(arguments: ["or x", "and x"]) func whatTakesForEverToCompileIsRefused(_ link: String) {
        let chain = String(repeating: " \(link)", count: 50_000)
        let text = "on.start(function(x)\nlocal y = x\n\(chain) end)"
        let clock = ContinuousClock()
        let start = clock.now
        let problem = Rig.problem(text)
        #expect(problem.hasPrefix("p.lua:3: compiling takes over 200 ms"), "\(problem)")
        // A second on a quiet machine; under a sanitizer beside other tests some seconds.
        #expect(clock.now - start < .seconds(30))
    }

    @Test func everyPlantedMistakeIsNamedAtItsPlace() throws {
        let names = try NameFinder()
        let all = try PlantedMistake.all(in: "planted.txt")
        #expect(all.count >= 60)
        for one in all {
            let text = Array(one.text.utf8)
            let types = TypeFinder(LuaParser.file(text))
            let found = Self.found(in: types) + names.mistakes(in: types)
            #expect(found.map(\.text) == [one.expected], "\(one.name)")
            if let first = found.first { one.expectPlace(of: first, in: text) }
        }
    }

    /// `check` says the same, although the run of the top level would end at the first one.
    @Test func checkNamesEveryPlantedMistake() throws {
        for one in try PlantedMistake.all(in: "planted.txt") {
            var plan = GenerationPlan()
            let source = PluginSource(
                name: "p", main: SourceFile(name: "p.lua", text: Array(one.text.utf8)))
            var setting = PluginSetting()
            setting.standsIn = true
            setting.grants = source.needs
            plan.plugins = [(source, setting)]
            plan.isWhole = false
            var said: [ScriptProblem] = []
            do throws(ScriptProblems) {
                said = try Generation(plan, seed: 0).mistakes
            } catch {
                said = error.all
            }
            #expect(said.contains { $0.line == one.line }, "\(one.name): \(said)")
        }
    }

    /// Every script of the checkout that is meant to be good is understood, and good.
    @Test func nothingIsFoundInGoodScripts() throws {
        var root = URL(filePath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        let folders = ["plugins", "examples", "Tests/PolicyHostTests/Scripts", "Tests/Plugins"]
        var count = 0
        for folder in folders {
            let place = root.appending(path: folder)
            let found = FileManager.default.enumerator(at: place, includingPropertiesForKeys: nil)
            while let file = found?.nextObject() as? URL {
                guard file.pathExtension == "lua" else { continue }
                let text = [UInt8](try Data(contentsOf: file))
                let source = SourceFile(name: file.lastPathComponent, text: text)
                let read = LuaParser.file(text)
                #expect(read.troubles.isEmpty && read.isWhole, "\(file.path) was not understood")
                let plugin = PluginSource(name: "p", main: source)
                let found = MistakeFinder.findings(in: plugin)
                #expect(found.mistakes.map(\.text) == [], "\(file.path)")
                #expect(found.changes.map(\.description) == [], "\(file.path)")
                count += 1
            }
        }
        #expect(count > 12)
    }

    @Test func inThePlaceOfUsersTheOperatorMayNameNobody() throws {
        func asked(_ answerFor: [String], users: [String]?) throws -> [String] {
            var plan = GenerationPlan()
            var setting = PluginSetting()
            setting.users = users.map { Accounts($0) }
            let text = Array("on.invite(function() end)".utf8)
            plan.plugins = [
                (PluginSource(name: "p", main: SourceFile(name: "p.lua", text: text)), setting)
            ]
            plan.answerFor = Accounts(answerFor)
            return try Generation(plan, seed: 0).neverAsked.map(\.description)
        }
        #expect(
            try asked([], users: nil)
                == ["p.lua: on.invite is never asked: answer_for names no account"])
        let none = ["p.lua: on.invite is never asked: answer_for names none of its users"]
        #expect(try asked(["support", "desk-*"], users: ["sales", "de"]) == none)
        #expect(try asked(["support"], users: ["sales-*"]) == none)
        for users in [["*"], ["desk-7"], ["support", "x"], ["desk-1*"], ["d*"], ["s*"]] {
            #expect(try asked(["support", "desk-*"], users: users).isEmpty, "\(users)")
        }
        #expect(try asked(["*"], users: ["sales"]).isEmpty)
        #expect(try asked(["desk-1"], users: ["desk-*"]).isEmpty)
    }
}
