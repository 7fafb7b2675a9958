// `callagent new`: a new plugin, and the settings of editors.

import AgentServer
import Configuration
import Glibc
import Lua
import PolicyHost

extension Command {
    static let new = Command(
        "new", "write a plugin with a test, and the settings of editors",
        operands: .one("NAME"),
        options: [Option("--from", "PLUGIN", "begin with a copy of this plugin")]
            + Installation.options
    ) { (arguments) throws(CommandError) in
        let file = Installation.file(arguments.text("--config"))
        let workshop = Workshop(folder: file.map(Workshop.folder) ?? ".")
        let name = arguments.operands[0]
        guard Workshop.isName(name) else {
            throw .usage("NAME '\(name)' has other signs than letters, digits, '-' and '_'")
        }
        let text = try Workshop.text(of: name, from: arguments.text("--from"), file)
        try workshop.create("plugins/\(name).lua", text)
        try workshop.writeEditorFiles()
        if Deployment.bundledLibrary.find(name) != nil {
            Screen.say("\(name): from now on it stands before the bundled plugin of that name")
        }
        Screen.say("now: add \"\(name)\" to plugins in callagent.lua; callagent test \(name)")
        return ExitCode.success
    }
}

/// The folder in which plugins are written.
private struct Workshop {
    let folder: String

    /// The folder of a file.
    static func folder(of file: String) -> String {
        guard let slash = file.lastIndex(of: "/") else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }

    static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                byte == 0x2D || byte == 0x5F || (0x30...0x39).contains(byte)
                    || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            }
    }

    /// The text of a new plugin.
    static func text(
        of name: String, from model: String?, _ file: String?
    ) throws(CommandError) -> [UInt8] {
        guard let model else { return Array(EditorFiles.plugin(named: name).utf8) }
        do throws(ScriptProblems) {
            let source = try PluginTests.find(model, file: file)
            guard source.modules.isEmpty else {
                throw ScriptProblems([
                    ScriptProblem("'\(model)' is a folder: copy that")
                ])
            }
            return source.main.text
        } catch {
            throw .failure(error.description)
        }
    }

    /// Writes the settings of editors and luacheck; existing files are replaced only if this
    /// command made them.
    func writeEditorFiles() throws(CommandError) {
        let luacheck: String
        do throws(ScriptProblem) {
            luacheck = try EditorFiles.luacheck(isForOperator: true)
        } catch {
            throw .failure(error.description)
        }
        try refresh(".luacheckrc", luacheck, mark: EditorFiles.mark)
        try refresh("callagent.meta.lua", MetaFile.text, mark: MetaFile.mark)
        try refresh(".luarc.json", EditorFiles.languageServer, mark: nil)
        try refresh(".nvim.lua", EditorFiles.neovim, mark: EditorFiles.mark)
        try refresh(".helix/languages.toml", EditorFiles.helix, mark: EditorFiles.helixMark)
        try refresh(".vscode/tasks.json", EditorFiles.codeTasks, mark: nil)
        try refresh(".vscode/extensions.json", EditorFiles.codeExtensions, mark: nil)
    }

    private func refresh(
        _ name: String, _ text: String, mark: String?
    ) throws(CommandError) {
        let path = "\(folder)/\(name)"
        if access(path, F_OK) == 0 {
            let old = Files.read(path) ?? []
            if old == Array(text.utf8) { return }
            guard let mark, old.starts(with: mark.utf8) else {
                return Screen.say("kept \(shown(name)): it was not made here")
            }
            try write(name, Array(text.utf8), O_TRUNC)
        } else {
            try create(name, Array(text.utf8))
        }
    }

    /// Writes a file that is not there yet, and its folder.
    func create(_ name: String, _ text: [UInt8]) throws(CommandError) {
        if let slash = name.lastIndex(of: "/") {
            let path = "\(folder)/\(name[..<slash])"
            guard mkdir(path, 0o755) == 0 || errno == EEXIST else {
                throw .failure("cannot make \(path): \(String(cString: strerror(errno)))")
            }
        }
        try write(name, text, O_EXCL)
    }

    private func write(
        _ name: String, _ text: [UInt8], _ mode: Int32
    ) throws(CommandError) {
        let file = open("\(folder)/\(name)", O_WRONLY | O_CREAT | O_CLOEXEC | mode, 0o644)
        guard file >= 0 else {
            if errno == EEXIST { throw .failure("\(shown(name)) is there already") }
            throw .failure("cannot write \(shown(name)): \(String(cString: strerror(errno)))")
        }
        defer { close(file) }
        guard Glibc.write(file, text, text.count) == text.count else {
            throw .failure("cannot write \(shown(name)): \(String(cString: strerror(errno)))")
        }
        Screen.say("wrote \(shown(name))")
    }

    private func shown(_ name: String) -> String { folder == "." ? name : "\(folder)/\(name)" }
}
