// What is found wrong with plugins before they run.

import CallModel
import Configuration
import JSON
import Lua
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct CheckTests {
    @Test func testsAreNotKeptInProduction() throws {
        let rig = try Rig("test('x', function(t) end)")
        #expect(rig.host.generation.plugins[0].tests.isEmpty)
    }

    @Test(arguments: [
        (
            "local f = function()\n  return rejct 'x'\nend", 2,
            "unknown name 'rejct' (did you mean 'reject'?)"
        ),
        ("\n\non.invte(print)", 3, "unknown event 'on.invte' (did you mean 'on.invite'?)"),
        (
            "local o = option.itn(1)", 1,
            "unknown kind of option 'option.itn' (did you mean 'option.int'?)"
        ),
        ("log.wran 'x'", 1, "unknown name 'log.wran' (did you mean 'log.warn'?)"),
        (
            "local x = string.fromat", 1,
            "unknown name 'string.fromat' (did you mean 'string.format'?)"
        ),
        (
            "function helper() end", 1,
            "assignment to undeclared global 'helper' (write 'local helper')"
        ),
        ("on.invite = nil", 1, "'on.invite' cannot be changed"),
        ("os.exit()", 1, "unknown name 'os' (there are time.now and time.format)"),
        ("config { a = option.choice('u') }", 1, "a: write option.choice("),
        ("plugin { nmae = 'x' }", 1, "unknown field 'plugin.nmae' (did you mean 'name'?)"),
        (
            "plugin { on_error = 'rejct' }", 1,
            "on_error: 'rejct' is none of skip, default, reject, accept, unchanged"
        ),
        ("plugin {}\nplugin {}", 2, "'plugin' is called twice"),
        (
            "plugin { needs = 'htp:x.y' }", 1,
            "needs: unknown capability 'htp:x.y' (did you mean 'http'?)"
        ),
        ("plugin { needs = { 'x.y' } }", 1, "needs: 'x.y' is no capability"),
        ("plugin { needs = { 'http:x.y:80' } }", 1, "needs: 'http:x.y:80' names no host"),
        ("plugin { after = 'blocklist' }", 1, #"after = "blocklist": no such plugin is listed"#),
        ("on.invite(print)\non.invite(print)", 2, "'on.invite' is declared twice"),
        ("on.invite(1)", 1, "bad argument #1 to 'on.invite' (function expected, got number)"),
        ("every('10x', 'n', print)", 1, "bad duration '10x'"),
        ("every('1ms', 'n', print)", 1, "at least \"1s\""),
        ("at('9 am', 'n', print)", 1, "bad time of day '9 am'"),
        ("timer('n', print) timer('n', print)", 1, "the timer 'n' is declared twice"),
        ("later('1s', 'x')", 1, "'later' cannot be used while a plugin is loaded"),
        ("config { a = 1 }", 1, "a: write option.int(…), option.text(…)"),
        ("config { a = option.int('x') }", 1, "a: an integer expected, got string"),
        ("config { a = option.int(9, { max = 5 }) }", 1, "a: at most 5, not 9"),
        (
            "config { a = option.int(9, { maxi = 5 }) }", 1,
            "unknown field 'maxi' of option.int (did you mean 'max'?)"
        ),
        (
            "config { a = option.text(nil, { required = true }) }", 1,
            #"options["p"]: a: this option must be set"#
        ),
        ("config { a = option.duration('61s', { max = '1m' }) }", 1, "a: at most 1m, not 61s"),
        ("config { a = option.duration('1s', { min = 2 }) }", 1, "a: at least 2s, not 1s"),
        (
            "config { a = option.duration('1s', { max = '1x' }) }", 1,
            "a: max is a duration (\"60s\") or a number of seconds"
        ),
        ("config { a = option.bool(true, { min = 1 }) }", 1, "a: option.bool has no min"),
        (
            "config { a = option.int(1, { required = 'yes' }) }", 1,
            "a: required is true or false, not a string"
        ),
        ("config { a = option.int(1, { help = 5 }) }", 1, "a: help is a string, not a number"),
        ("config { a = option.int(1, { max = '5' }) }", 1, "a: max is a number, not a string"),
        ("config { a = option.int(1, { min = 3, max = 2 }) }", 1, "a: min 3 is above max 2"),
        ("config { a = option.users { 'x y' } }", 1, "a: 'x y' is no user id and no pattern"),
        ("config { a = option.hours('mo 9') }", 1, "a: bad hours 'mo 9'"),
        (
            "config { a = option.hours('mon-fry 09:00-18:00') }", 1,
            "a: unknown day 'fry' (did you mean 'fri'?)"
        ),
        ("local x = ", 1, "unexpected symbol near <eof>"),
        ("local a\nif a != 1 then a = 2 end", 2, "'then' expected near '!' (Lua writes '~=')"),
        ("local a = !1", 1, "unexpected symbol near '!' (Lua writes 'not')"),
        ("local a = 1\na += 1", 2, "near '+' (Lua writes x = x + …)"),
        ("local a = 1\na++", 2, "near '+' (Lua writes x = x + 1)"),
        ("local a = 1 && 2", 1, "near '&' (Lua writes 'and')"),
        ("local a = 1 || 2", 1, "near '|' (Lua writes 'or')"),
        ("// all", 1, "near '//' (a comment begins with '--')"),
        ("return { for = 1 }", 1, "near 'for' (a field of this name is ['for'] = …)"),
        ("return { 1, for 2 }", 1, "unexpected symbol near 'for'"),
        ("on.invite(function() return null end)", 1, "unknown name 'null' (Lua writes 'nil')"),
        ("while true do end", 1, "over the processor budget of 200 ms"),
        ("error 'broken'", 1, "broken"),
        ("local problem = {}\nerror(problem)", 2, "error object is a table"),
        ("error()", 1, "error object is nil"),
        ("require 'other'", 1, "module 'other' is not a file of the plugin 'p'"),
    ])
    func aFaultHasItsLineAndASuggestion(_ text: String, _ line: Int, _ expected: String) {
        let problem = Rig.problem(text)
        #expect(problem.hasPrefix("p.lua:\(line): "), "\(problem)")
        #expect(problem.contains(expected), "\(problem)")
    }

    @Test func everyUndefinedNameIsFoundAtOnce() {
        let problem = Rig.problem("on.invite(function()\n  fo()\n  if x then bar() end\nend)")
        #expect(
            problem.split(separator: "\n").map { $0.prefix(29) } == [
                "p.lua:2: unknown name 'fo'", "p.lua:3: unknown name 'x'",
                "p.lua:3: unknown name 'bar'",
            ])
    }

    @Test func longFilesKeepTheirLines() {
        let lines = Array(repeating: "local _ = 1 + 1", count: 150).joined(separator: "\n")
        let gap = String(repeating: "\n", count: 300)
        #expect(Rig.problem("do \(lines) end\(gap)fo()") == "p.lua:450: unknown name 'fo'")
    }

    @Test func theOrderOfTheListIsChecked() {
        func problem(_ names: [String]) -> String {
            do {
                _ = try Rig.generation(
                    names.map { ($0, $0 == "b" ? "\nplugin { after = { \"a\" } }" : "") })
                return "no problem"
            } catch {
                return "\(error)"
            }
        }
        #expect(problem(["a", "b"]) == "no problem")
        #expect(problem(["b", "a"]) == "b.lua:2: must come after \"a\" in the list of plugins")
    }

    @Test func optionsOfTheOperator() throws {
        func problem(_ options: JSONObject, _ text: String) -> String {
            Rig.problem(text) { $0.plugins[0].setting.options = options }
        }
        let text = "config { lines = option.int(1, { min = 1 }), who = option.users({ 'a' }) }"
        #expect(problem(["lines": 2, "who": ["x", "desk-*"]], text) == "no problem")
        #expect(
            problem(["lnes": 2], text)
                == #"p.lua:1: options["p"]: unknown option 'lnes' (did you mean 'lines'?)"#)
        #expect(problem(["lines": 0], text).hasSuffix("lines: at least 1, not 0"))
        #expect(problem(["lines": "2"], text).hasSuffix("lines: an integer expected, got string"))
        #expect(problem(["who": [1]], text).hasSuffix("who: a list of strings expected, got table"))
        #expect(problem(["x": 1], "") == #"options["p"].x: this plugin has no options"#)
    }

    @Test(arguments: [
        (
            "options[\"p\"] = { lnes = 2 }", "callagent.lua:2",
            #"options["p"]: unknown option 'lnes' (did you mean 'lines'?)"#
        ),
        (
            "\noptions.p = { key = 'k', lines = 0 }", "callagent.lua:3",
            #"options["p"]: lines: at least 1, not 0"#
        ),
        ("", "callagent.lua:1", #"options["p"]: key: this option must be set"#),
    ])
    func wrongOptionsAreToldAtTheOperatorsLine(
        _ options: String, _ place: String, _ text: String
    ) throws {
        let file = SourceFile(
            name: "callagent.lua", text: Array("plugins = { \"p\" }\n\(options)".utf8))
        var configuration = try Configuration.read(file) { _ in nil }
        configuration.file = "callagent.lua"
        let main = SourceFile(
            name: "p.lua",
            text: Array(
                """
                config { lines = option.int(1, { min = 1 }),
                  key = option.text(nil, { required = true }) }
                """.utf8))
        let plan = try PluginLibrary(keeping: [PluginSource(name: "p", main: main)])
            .plan(for: configuration)
        do {
            _ = try Generation(plan, seed: 1)
            Issue.record("it was loaded")
        } catch {
            #expect("\(error)" == "\(place): \(text)")
        }
    }

    @Test func usersAreAListThatCanBeAsked() throws {
        let rig = try Rig(
            """
            local cfg = config { who = option.users { "ann", "desk-*" }, none = option.users {} }
            on.invite(function(call)
              local seen = {}
              for index, id in ipairs(cfg.who) do seen[#seen + 1] = index .. id end
              log.info(table.concat(seen, " "), { count = #cfg.who + #cfg.none })
              log.info(tostring(cfg.who[0]) .. tostring(cfg.who[3]) .. tostring(cfg.none[1]))
              log.info(tostring(pcall(function() return cfg.who.hsa end)))
            end)
            """)
        #expect(rig.ask(rig.call()).said == ["1ann 2desk-*", "nilnilnil", "false"])
    }

    @Test func valuesOfOptionsAsThePluginSeesThem() throws {
        let rig = try Rig(
            """
            local cfg = config {
              a = option.int(1), b = option.number(1.5), c = option.bool(true),
              d = option.text("x"), e = option.choice("u", { "u", "v" }), f = option.list { "l" },
              g = option.user("ann"), h = option.users { "ann", "desk-*" },
              i = option.duration "3s", j = option.url "https://x.y/",
              k = option.secret "s", l = option.timezone "UTC",
              m = option.text(nil),
            }
            on.invite(function(call)
              log.info(table.concat({
                cfg.a, cfg.b, tostring(cfg.c), cfg.d, cfg.e, cfg.f[1], cfg.g, cfg.i, cfg.j, cfg.k,
                cfg.l, tostring(cfg.m), tostring(cfg.h:has(call.caller)),
                tostring(cfg.h:has "desk-1"), tostring(cfg.h:has "eve"),
              }, " "))
            end)
            """)
        #expect(
            rig.ask(rig.call()).said == [
                "1 1.5 true x u l ann 3s https://x.y/ s UTC nil true true false"
            ])
    }

    @Test func anOptionThatWasNotDeclaredIsAnError() throws {
        let rig = try Rig(
            """
            local cfg = config { lines = option.int(1), note = option.text() }
            on.invite(function()
              log.info(tostring(cfg.note))
              log.info(select(2, pcall(function() return cfg.linse end)))
              log.info(select(2, pcall(function() cfg.more = 1 end)))
              for name in pairs(cfg) do log.info(name) end
            end)
            """)
        #expect(
            rig.ask(rig.call()).said == [
                "nil", "p.lua:4: unknown option 'linse' (did you mean 'lines'?)",
                "p.lua:5: unknown option 'more': options are set by the operator", "lines",
            ])
    }

    @Test func aFolderRequiresItsOwnFiles() throws {
        let main = SourceFile(
            name: "p/init.lua",
            text: Array(
                """
                local u = require "util"
                assert(require "util" == u)
                on.invite(function() return u.no() end)
                """.utf8))
        let util = SourceFile(
            name: "p/util.lua",
            text: Array("return { no = function() return reject 'busy' end }".utf8))
        let rig = try Rig([("p", "")]) {
            $0.plugins[0].source = PluginSource(name: "p", main: main, modules: ["util": util])
        }
        #expect(rig.invite() == .decided(.reject(busy: true, extendedData: nil)))
    }

    @Test(arguments: [
        // A module that failed is not there the next time either.
        (
            "local a = pcall(require, 'bad') local b, e = pcall(require, 'bad') "
                + "log.info(tostring(a) .. tostring(b) .. ' ' .. e)",
            "falsefalse p/bad.lua:1: boom"
        ),
        ("local _, e = pcall(require, 'a') log.info(e)", "module 'a' requires itself"),
        (
            "local _, e = pcall(require, 'none') local _, f = pcall(require, 'none') log.info(f)",
            "module 'none' is not a file of the plugin 'p'"
        ),
        ("log.info(tostring(require 'nothing') .. tostring(require 'nothing'))", "truetrue"),
    ])
    func whatRequireGives(_ text: String, _ expected: String) throws {
        func file(_ name: String, _ text: String) -> SourceFile {
            SourceFile(name: "p/\(name).lua", text: Array(text.utf8))
        }
        let modules = [
            "bad": file("bad", "error 'boom'"), "a": file("a", "return { b = require 'b' }"),
            "b": file("b", "return { a = require 'a' }"), "nothing": file("nothing", ""),
        ]
        let generation = try Rig.generation([("p", "")]) {
            $0.plugins[0].source = PluginSource(
                name: "p", main: file("init", text + " on.invite(function() end)"),
                modules: modules)
        }
        let lines = generation.services.effects.compactMap { effect in
            if case .log(let line) = effect { line.text } else { nil }
        }
        #expect(lines.first?.contains(expected) == true, "\(lines)")
    }

    @Test func pluginsAreFoundOnDisk() throws {
        let root = HostileTests.folder.dropLast("/Tests/PolicyHostTests/Hostile".count)
        let library = PluginLibrary(folders: ["/nowhere", "\(root)/plugins"])
        var configuration = Configuration()
        configuration.plugins = [.init(name: "busy"), .init(name: "desk-hour")]
        #expect(throws: ScriptProblems.self) { try library.plan(for: configuration) }
        do {
            _ = try library.plan(for: configuration)
        } catch {
            #expect("\(error)" == "plugin 'desk-hour' not found (did you mean 'desk-hours'?)")
        }
        configuration.plugins[1].name = "desk-hours"
        let plan = try library.plan(for: configuration)
        #expect(plan.name.utf8.count == 12)
        #expect(try library.plan(for: configuration).name == plan.name)
        configuration.options["bussy"] = [:]
        #expect(throws: ScriptProblems.self) { try library.plan(for: configuration) }
    }
}
