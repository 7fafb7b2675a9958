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
    public static func luacheck(isForOperator: Bool = false) throws(ScriptProblem) -> String {
        let names = try NameFinder().known
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
          "$schema":
            "https://raw.githubusercontent.com/LuaLS/vscode-lua/master/setting/schema.json",
          "runtime.version": "Lua 5.4",
          "runtime.path": ["?.lua", "?/init.lua"],
          "runtime.builtin": {
            "io": "disable", "os": "disable", "debug": "disable", "package": "disable"
          },
          "workspace.library": ["callagent.meta.lua"],
          "workspace.checkThirdParty": false,
          "diagnostics.globals": [],
          "diagnostics.disable": ["lowercase-global"]
        }

        """

    /// Neovim starts `callagent lsp` for plugins, where `exrc` is set.
    public static let neovim = """
        \(mark): starts `callagent lsp` for plugins, where 'exrc' is set.
        local function start()
          local config = {
            name = "callagent", cmd = { "callagent", "lsp" }, root_dir = vim.fn.getcwd(),
          }
          if vim.lsp.start then return vim.lsp.start(config) end
          callagent_client = callagent_client or vim.lsp.start_client(config)
          vim.lsp.buf_attach_client(0, callagent_client)
        end
        vim.api.nvim_create_autocmd("FileType", { pattern = "lua", callback = start })

        """

    /// See `mark`, in the words of another kind of file.
    public static let helixMark = "# Made by `callagent new`"

    /// Helix starts `callagent lsp` for plugins.
    public static let helix = """
        \(helixMark)
        [language-server.callagent]
        command = "callagent"
        args = ["lsp"]

        [[language]]
        name = "lua"
        language-servers = ["callagent"]

        """

    /// Visual Studio Code runs `callagent check` as a task and shows what it says at its place.
    public static let codeTasks = """
        {
          "version": "2.0.0",
          "tasks": [
            {
              "label": "callagent check",
              "type": "shell",
              "command": "callagent check",
              "group": { "kind": "build", "isDefault": true },
              "problemMatcher": {
                "owner": "callagent",
                "fileLocation": ["relative", "${workspaceFolder}/plugins"],
                "pattern": {
                  "regexp": "^([^:]+\\\\.lua):(\\\\d+): (.*)$", "file": 1, "line": 2, "message": 3
                }
              }
            }
          ]
        }

        """

    /// What Visual Studio Code offers to install: completion from `callagent.meta.lua`.
    public static let codeExtensions = """
        { "recommendations": ["sumneko.lua"] }

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
