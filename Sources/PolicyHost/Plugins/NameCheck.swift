// Names that no script can use, found before anything runs.

import CLua
import CallModel
import Configuration
import Lua

extension PluginState {
    /// Every global of the plugin's files that does not exist, and every one that is assigned.
    func checkNames() -> [ScriptProblem] {
        let known = knownNames()
        var problems: [ScriptProblem] = []
        for file in source.files {
            do throws(ScriptProblem) {
                let uses = (try compile(file)?.uses ?? []).sorted { $0.line < $1.line }
                problems += uses.compactMap { $0.problem(in: file.name, known: known) }
            } catch {
                problems.append(error)
            }
        }
        return problems
    }

    /// The bytecode of one of its files.
    package func compile(_ file: SourceFile) throws(ScriptProblem) -> CompiledChunk? {
        var code = callua_bytes()
        let isDone = file.text.withUnsafeBufferPointer {
            callua_compile(
                vm, "@" + file.name, callua_bytes(start: $0.baseAddress, count: $0.count),
                setting.limits.loadTime.nanoseconds, &code)
        }
        guard isDone else {
            throw ScriptProblem(message: code.string, in: file.name).naming(wordsIn: file.text)
        }
        let bytes = Array(UnsafeBufferPointer(start: code.start, count: code.count))
        return CompiledChunk(bytes)
    }

    /// Every name that its scripts can use: `NAME` and `LIBRARY.NAME`.
    func knownNames() -> Set<String> {
        var bytes = callua_bytes()
        guard callua_names(vm, &bytes) else { return [] }
        var reader = PlainReader(bytes)
        return Set(reader.values().compactMap(\.text))
    }
}

extension GlobalUse {
    /// Parts of Lua that people look for, and what there is instead.
    private static let absent = [
        "os": " (there are time.now and time.format)", "io": " (plugins have no files)",
        "debug": " (plugins have none of it)", "package": " (require finds the plugin's files)",
        "dofile": " (require finds the plugin's files)",
        "loadfile": " (require finds the plugin's files)", "collectgarbage": " (it runs by itself)",
        "null": " (Lua writes 'nil')", "undefined": " (Lua writes 'nil')",
        "None": " (Lua writes 'nil')",
        "True": " (Lua writes 'true')", "False": " (Lua writes 'false')",
    ]

    fileprivate func problem(in file: String, known: Set<String>) -> ScriptProblem? {
        Self.complaint(name, member, isAssigned: isAssignment, known: known)
            .map { ScriptProblem($0, file: file, line: line) }
    }

    /// What is wrong with a use of a global, if anything is.
    static func complaint(
        _ name: String, _ member: String?, isAssigned: Bool, known: Set<String>
    ) -> String? {
        if isAssigned, known.contains(name) {
            return "'\(name)' belongs to callagent and cannot be changed"
        }
        if isAssigned {
            return "assignment to undeclared global '\(name)' (write 'local \(name)')"
        }
        guard known.contains(name) else {
            let names = known.filter { !$0.contains(".") }.sorted()
            let hint = Self.absent[name] ?? Suggestion.text(for: name, among: names)
            return "unknown name '\(name)'\(hint)"
        }
        guard let member, !known.contains("\(name).\(member)") else { return nil }
        let members = known.filter { $0.hasPrefix("\(name).") }.sorted()
        guard !members.isEmpty else { return nil }
        let word = name == "on" ? "event" : name == "option" ? "kind of option" : "name"
        return "unknown \(word) '\(name).\(member)'"
            + Suggestion.text(for: "\(name).\(member)", among: members)
    }
}
