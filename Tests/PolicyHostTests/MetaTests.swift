// The types for editors and the tables for people come from the tables in the code.

import CallModel
import Configuration
import JSON
import Lua
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct MetaTests {
    /// What a script can really reach, asked of a Lua state.
    private func reachable() throws -> Set<String> {
        let rig = try Rig(
            """
            local function names(t, prefix, out)
              for k, v in pairs(t) do
                if type(k) == "string" then
                  out[#out + 1] = prefix .. k
                  local goes_on = type(v) == "table" and k ~= "_G" and k ~= "state"
                  if goes_on then names(v, k .. ".", out) end
                end
              end
            end
            local out = {}
            names(_G, "", out)
            on.invite(function() log.info(table.concat(out, " ")) end)
            """)
        return Set((rig.ask(rig.call()).said.first ?? "").split(separator: " ").map(String.init))
    }

    @Test func theMetaFileDeclaresWhatScriptsCanReach() throws {
        let reachable = try reachable()
        let stock: Set = [
            "assert", "error", "getmetatable", "ipairs", "load", "next", "pairs", "pcall",
            "rawequal", "rawget", "rawlen", "rawset", "require", "select", "setmetatable",
            "tonumber", "tostring", "type", "xpcall", "_G", "_VERSION",
        ]
        let libraries = ["coroutine", "math", "string", "table", "utf8"]
        let own = reachable.filter { name in
            !stock.contains(name)
                && !libraries.contains { name == $0 || name.hasPrefix("\($0).") }
        }
        let declared = Set(MetaFile.names.filter { !$0.contains(":") && !$0.hasPrefix("call.") })
        let tables = Set(
            declared.compactMap { $0.contains(".") ? String($0.prefix { $0 != "." }) : nil })
        #expect(own == declared.union(tables).union(["state", "admit"]))
    }

    @Test func everyDeclarationIsInTheText() {
        let text = MetaFile.text
        for binding in Bindings.all + Bindings.tests {
            #expect(!binding.help.isEmpty && binding.help.hasSuffix("."), "\(binding.name)")
            guard binding.name.contains(where: { $0 == "." || $0 == ":" }) else { continue }
            #expect(text.contains(" \(binding.type) "), "\(binding.name)")
        }
        let reject = """
            ---Say no: busy, declined or a reason of your own.
            ---@nodiscard
            ---@param reason string
            ---@param options? {extended_data?: any}
            ---@return Decision
            function reject(reason, options) end
            """
        #expect(text.contains(reject))
        #expect(text.contains("---@generic T\n---@param schema T\n---@return T\nfunction config("))
        #expect(text.hasPrefix("---@meta callagent\n"))
    }

    @Test func theTypeOfAFunctionIsTakenApart() {
        let type = FunctionType(
            "fun(a: (fun(x: any): any)[], b?: {c?: table<string, T>}, ...): T?, ...")
        #expect(
            type.parameters.map { "\($0.name) \($0.type)" } == [
                "a (fun(x: any): any)[]", "b? {c?: table<string, T>}", "... any",
            ])
        #expect(type.results == ["T?", "any ..."])
        #expect(FunctionType("fun()").parameters.isEmpty && FunctionType("fun()").results.isEmpty)
    }

    @Test func everyFieldOfACallIsDeclared() throws {
        for name in MetaFile.callFieldNames {
            let rig = try Rig("on.invite(function(call) local _ = call.\(name) end)")
            #expect(rig.ask(rig.call()).said.isEmpty, "\(name)")
        }
    }

    @Test func theOptionsOfAPluginAsTheOperatorWritesThem() throws {
        let text = """
            plugin { after = "other", needs = { "http:x.y" } }
            config {
              lines = option.int(1, { min = 1, max = 50, help = "calls at once" }),
              who = option.users({ "a", "b" }), key = option.secret(nil, { required = true }),
              tone = option.choice("soft", { "soft", "loud" }),
              to = option.list(nil, { required = true, min = 1 }),
              wait = option.duration("2s", { max = "1m" }),
            }
            """
        #expect(
            try block(text) == """
                options["desk"] = {
                  -- secret, must be set
                  key = secret "env:NAME",
                  -- calls at once (int, at least 1, at most 50)
                  lines = 1,
                  -- list, at least 1, must be set
                  -- to = …,
                  -- choice, one of soft, loud
                  tone = "soft",
                  -- duration, at most 1m
                  wait = "2s",
                  -- users
                  who = { "a", "b" },
                }

                """)
        #expect(try block("") == "-- desk has no options\n")
    }

    private func block(_ text: String) throws -> String {
        let file = SourceFile(name: "desk.lua", text: Array(text.utf8))
        return try OptionBlock.text(of: PluginSource(name: "desk", main: file))
    }

    @Test func theShippedSettingsOfLuacheckAreThoseOfTheTable() throws {
        let folder = HostileTests.folder + "/../../../plugins"
        let shipped = try #require(Files.read("\(folder)/.luacheckrc", limit: 1 << 20))
        #expect(String(decoding: shipped, as: UTF8.self) == (try EditorFiles.luacheck()))
    }
}
