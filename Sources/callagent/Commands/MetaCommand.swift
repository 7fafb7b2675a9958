// `callagent meta`: types and names of the plugins' API, for editors and checkers.

import Lua
import PolicyHost

extension Command {
    static let meta = Command(
        "meta", "print the types of plugins for lua-language-server",
        options: [Option("--luacheck", nil, "print the configuration of luacheck instead")]
    ) { (arguments) throws(CommandError) in
        guard arguments.has("--luacheck") else {
            Screen.show(MetaFile.text)
            return ExitCode.success
        }
        do throws(ScriptProblem) {
            Screen.show(try EditorFiles.luacheck())
            return ExitCode.success
        } catch {
            throw .failure(error.description)
        }
    }
}
