// Handlers that change locals of the file, and those that only seem to.

import Foundation
import Lua
import LuaSource
import Testing

@testable import PolicyHost

@Suite struct ChangedLocalsTests {
    private func text(_ name: String) -> String {
        "a handler changes '\(name)', a local of the file: reload, replay and debug begin without "
            + "it (state.\(name) is kept)"
    }

    @Test func everyPlantedChangeIsNamedAtItsPlace() throws {
        let all = try PlantedMistake.all(in: "changed.txt")
        #expect(all.count >= 30)
        for one in all {
            let text = Array(one.text.utf8)
            let types = TypeFinder(LuaParser.file(text))
            let source = PluginSource(name: "p", main: SourceFile(name: "p.lua", text: text))
            #expect(MistakeTests.found(in: types) == [], "\(one.name)")
            let found = ChangeFinder.changes(in: [types], of: source)[0]
            #expect(found.map(\.text) == [self.text(one.expected)], "\(one.name)")
            if let first = found.first { one.expectPlace(of: first, in: text) }
        }
    }

    /// What belongs to one handler, is done while the file is loaded, or is seen by nobody.
    @Test(arguments: [
        "local count = 0 on.invite(function() local count = 1 count = count + 1 end)",
        "local count = 0 on.invite(function(count) count = count.vars end)",
        "local seen = {} on.invite(function(call) local seen = {} seen[call.id] = true end)",
        "local names = {} for _, n in ipairs { 'a' } do names[n] = true end "
            + "on.invite(function(call) if names[call.caller.id] then return reject 'x' end end)",
        "local n = 0 local function add() n = n + 1 return n end local a = add() add() "
            + "on.invite(function(call) if a > n then return reject 'x' end end)",
        "local all = {} local function add(x) table.insert(all, x) end add 'a' add 'b' "
            + "table.sort(all) on.invite(function(call) log.info(all[1]) end)",
        "local total = 0 local function each(f) return f(1) end "
            + "local one = each(function(x) total = total + x return total end) "
            + "on.ended(function() log.info('x', { n = one + total }) end)",
        "local count = 0 migrate(function(old) count = count + 1 return old end) "
            + "on.invite(function() end)",
        "local count = 0 on.invite(function() end) "
            + "test('x', function(t) count = count + 1 end)",
        "on.invite(function(call) state.count = (state.count or 0) + 1 "
            + "state.seen = state.seen or {} table.insert(state.seen, call.id) end)",
        "local kept = state on.invite(function(call) kept.count = 1 end)",
        "local by = { all = state } on.invite(function(call) by.all.count = 1 end)",
        "on.invite(function(call) local vars = call.vars vars.asked = true end)",
        "local function list(call) local all = {} for _, u in ipairs(call.users) do "
            + "all[#all + 1] = u.id end table.sort(all) return all end "
            + "on.invite(function(call) log.info(list(call)[1]) end)",
        "local function add(list, x) list[#list + 1] = x end "
            + "on.invite(function(call) local list = {} add(list, call.id) end)",
        "local Desk = {} Desk.__index = Desk function Desk:add() self.n = self.n + 1 end "
            + "local function new() return setmetatable({ n = 0 }, Desk) end "
            + "on.invite(function(call) local desk = new() desk:add() end)",
        "local function counter() local n = 0 return function() n = n + 1 return n end end "
            + "on.invite(function(call) local next = counter() next() next() end)",
        "local unused = 0 local function add() unused = unused + 1 end "
            + "on.invite(function() end)",
        "on.push(function(push) push.title = 'x' return push end)",
        // There are more ways from one to the other than anybody can follow.
        "on.invite(function() local a, b = 1, 2 a, b = b, a a, b = b, a log.info(a) end)",
        // What follows from the key alone may be kept.
        "local kept = {} local function key(id) if not kept[id] then "
            + "kept[id] = id:lower():gsub('%s', '') end return kept[id] end "
            + "on.invite(function(call) log.info(key(call.caller.id)) end)",
        "local kept = {} local function key(id) local k = kept[id] if k then return k end "
            + "k = id:lower() kept[id] = k return k end "
            + "on.invite(function(call) log.info(key(call.caller.id)) end)",
        "local kept, n = {}, 3 local function pad(id) kept[id] = kept[id] or ('x'):rep(n) .. id "
            + "return kept[id] end on.invite(function(call) log.info(pad(call.id)) end)",
        "local function memoise(f) local kept = {} return function(x) local y = kept[x] "
            + "if y == nil then y = f(x) kept[x] = y end return y end end "
            + "local fold = memoise(function(x) return x:lower() end) "
            + "on.invite(function(call) log.info(fold(call.caller.id)) end)",
        "local kept = { 1, 1 } local function fib(n) if kept[n] then return kept[n] end "
            + "local v = fib(n - 1) + fib(n - 2) kept[n] = v return v end "
            + "on.invite(function(call) log.info(fib(#call.id)) end)",
        "local all local function list() all = all or json.decode('[1]') return all end "
            + "on.invite(function(call) log.info(#list()) end)",
        "local kept = {} local function key(id) if not kept[id] then kept[id] = #id + 1 end "
            + "return kept[id] end every('1h', 'sweep', function() end) "
            + "on.invite(function(call) log.info(key(call.id)) end) "
            + "on.ended(function() end)",
    ])
    func isNoChange(_ text: String) {
        #expect(changes([text])[0] == [], "\(text)")
    }

    private func changes(_ texts: [String], modules: [String] = []) -> [[String]] {
        let files = texts.map { SourceFile(name: "p.lua", text: Array($0.utf8)) }
        let source = PluginSource(
            name: "p", main: files[0],
            modules: Dictionary(uniqueKeysWithValues: zip(modules, files.dropFirst())))
        let types = files.map { TypeFinder(LuaParser.file($0.text)) }
        return ChangeFinder.changes(in: types, of: source).map { $0.map(\.text) }
    }

    @Test func modulesAreFollowed() {
        let main = "local counter = require 'counter' on.invite(function() counter.add() end)"
        let module = "local n, M = 0, {} function M.add() n = n + 1 end return M"
        #expect(changes([main, module], modules: ["counter"]) == [[], [text("n")]])
        let idle = "local counter = require 'counter' counter.add() on.invite(function() end)"
        #expect(changes([idle, module], modules: ["counter"]) == [[], []])
        let direct = "local shared = require 'shared' on.invite(function() shared.n = 1 end)"
        #expect(changes([direct, "return {}"], modules: ["shared"]) == [[text("shared")], []])
    }

    /// Whatever stands in a file, looking through it ends.
    @Test func circlesEnd() {
        let circle =
            "local a, b a = b b = a local function f(x) return f(x) end "
            + "local t = {} t.t = t on.invite(function() f(t) t.t.t.x = a a = time.now() end)"
        #expect(Set(changes([circle])[0]) == [text("a"), text("t")])
        let way = String(repeating: "local x = x\n", count: 20_000)
        #expect(changes(["local x = {}\n\(way)on.start(function() x.y = 1 end)"])[0] == [])
        let functions = (0..<500).map {
            "local function f\($0)(t) t.x = 1 f\(max(0, $0 - 1))(t) end"
        }
        #expect(
            changes([
                functions.joined(separator: "\n") + " local t = {} on.start(function() f499(t) end)"
            ])[0] == [text("t")])
    }

    /// Of 2,000 functions that call each other no more is made than of each by itself.
    @Test func manyFunctionsAreLookedThroughOnce() {
        let names = (0..<2_000).map { "f\($0)" }
        let text =
            "local t = {} local n = 0\n"
            + names.map { "function t.\($0)() t.\(names.randomElement()!)() n = n + 1 end" }
            .joined(separator: "\n") + " on.start(function() t.f0() end)"
        #expect(changes([text])[0].count >= 1)
    }
}

/// A plugin with one mistake, and what is said of it.
struct PlantedMistake {
    let name: String
    var text = ""
    var expected = ""
    var line = 0
    var columns = 0..<0

    /// A mistake that was found is told of at the place that is marked.
    func expectPlace(of found: Mistake, in text: [UInt8]) {
        let lines = LineMap(text)
        let start = lines.spot(found.range.lowerBound)
        let end = lines.spot(found.range.upperBound)
        #expect(start.line + 1 == line, "\(name)")
        #expect(start.column..<end.column == columns, "\(name)")
    }

    static func all(in file: String) throws -> [PlantedMistake] {
        let url = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Mistaken/\(file)")
        var all: [PlantedMistake] = []
        for line in try String(contentsOf: url, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("== ") {
                all.append(PlantedMistake(name: String(line.dropFirst(3))))
            } else if line.hasPrefix("--"), line.first(where: { $0 != "-" && $0 != " " }) == "^" {
                let place = all.count - 1
                let start = line.prefix { $0 != "^" }.count
                let count = line.dropFirst(start).prefix { $0 == "^" }.count
                all[place].line = all[place].text.split(separator: "\n").count
                all[place].columns = start..<start + count
                all[place].expected = String(line.dropFirst(start + count + 1))
            } else if !all.isEmpty {
                all[all.count - 1].text += line + "\n"
            }
        }
        return all
    }
}
