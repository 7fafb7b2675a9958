// What `callagent new` writes beside a plugin: a first plugin, and settings for luacheck and
// lua-language-server made from the names that scripts can really reach.

import CallModel
import Configuration
import Lua

/// Files for people who write plugins.
public enum EditorFiles {
    /// What a file begins with that may be written anew.
    public static let mark = "-- Made by `callagent new`"

    /// The configuration of luacheck: exactly the names that scripts have.
    ///
    /// - Parameter isForOperator: whether there is a callagent.lua to look at, with names of its
    ///   own.
    public static func luacheck(isForOperator: Bool = false) throws(PolicyProblem) -> String {
        let state = try PluginState(
            source: PluginSource(name: "names", main: SourceFile(name: "names.lua", text: [])),
            setting: PluginSetting(), services: Services(seed: 0)
        )
        let names = state.knownNames()
        var lines = [
            "\(mark): the names that plugins have.", "std = \"none\"",
            "max_line_length = 100", "read_globals = {",
        ]
        let top = names.filter { !$0.contains(".") && $0 != "state" }.sorted()
        for name in top {
            let members = names.filter { $0.hasPrefix("\(name).") }
                .map { $0.dropFirst(name.count + 1) }.sorted()
            if members.isEmpty {
                lines.append("  [\"\(name)\"] = {},")
                continue
            }
            lines.append("  [\"\(name)\"] = { fields = {")
            lines += members.map { "    [\"\($0)\"] = {}," }
            lines.append("  } },")
        }
        lines += ["}", "globals = { state = { other_fields = true, read_only = false } }"]
        if isForOperator { lines += operatorNames }
        return lines.joined(separator: "\n") + "\n"
    }

    private static var operatorNames: [String] {
        ["files[\"callagent.lua\"] = {", "  read_globals = { \"secret\" },", "  globals = {"]
            + ConfigurationField.topLevel.map { "    \"\($0)\"," } + ["  },", "}"]
    }

    /// The configuration of lua-language-server; `callagent.meta.lua` is what `callagent meta`
    /// prints.
    public static let languageServer = """
        {
          "runtime.version": "Lua 5.4",
          "runtime.builtin": {
            "io": "disable", "os": "disable", "debug": "disable", "package": "disable"
          },
          "workspace.library": ["callagent.meta.lua"],
          "diagnostics.disable": ["lowercase-global"]
        }

        """

    /// A plugin to begin with: it works, and its test passes.
    public static func plugin(named name: String) -> String {
        """
        -- \(name): refuse a call while another one is going on.
        --
        -- Options
        --   lines   calls one account may have at once   1

        plugin { version = "0.1.0" }

        local cfg = config {
          lines = option.int(1, { min = 1, help = "calls one account may have at once" }),
        }

        on.invite(function(call)
          if call.callee.calls >= cfg.lines then
            return reject "busy"
          end
        end)

        test("a free account is left to the next plugin", function(t)
          t.expect(t.invite { from = "ann", to = "bob" }, nil)
        end)

        test("a second call is refused", function(t)
          t.user("bob", { calls = 1 })
          t.expect(t.invite { from = "ann", to = "bob" }, reject "busy")
        end)

        """
    }
}
