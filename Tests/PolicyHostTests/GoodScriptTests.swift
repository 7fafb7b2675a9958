// Of hundreds of good scripts nothing is said: those of the plugins, the pages and the tests.

import Configuration
import Foundation
import Lua
import LuaSource
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct GoodScriptTests {
    /// What is found in scripts of tests that show what becomes of a mistake.
    private static let deliberate: Set<String> = [
        "ReplayTests: a call has no field 'nothing'",
        "CheckTests: a list of users has no field 'hsa' (did you mean 'has'?)",
        "CheckTests: no option 'linse' is declared (did you mean 'lines'?)",
        "CheckTests: options are set by the operator",
        "DataTests: nil cannot be joined to a text",
        "DecisionTests: on.extended_data returns a function, which is neither a table nor a text",
        "DecisionTests: on.invite returns a function, which is no decision "
            + "(write 'return reject \"busy\"')",
        "DecisionTests: on.push returns a function, which is no table",
        "FailureTests: on.invite returns an integer, which is no decision "
            + "(write 'return reject \"busy\"')",
        "FailureTests: on.invite returns a function, which is no decision "
            + "(write 'return reject \"busy\"')",
        "FailureTests: 'wait' of accept is a duration such as \"3s\", not a number",
        "InviteTests: 'reject' without 'return' decides nothing",
        "WaitTests: 'sleep' cannot wait inside a callback of the library",
        "WaitTests: the plugin does not say that it needs \"http:evil.example.com\" "
            + "(write plugin { needs = { \"http:evil.example.com\" } })",
        "KeepingTests: unknown timer 'remid' (did you mean 'remind'?)",
        "PluginTestTests: 'reject' without 'return' decides nothing",
        "PluginTestTests: on.invite returns a reply of http, which is no decision "
            + "(write 'return reject \"busy\"')",
        "TheLifeOfAPolicy: a call has no field 'calee' (did you mean 'callee'?)",
    ]

    /// Scripts of tests in which handlers do change locals of the file.
    private static let changing: Set<String> = [
        "BoundTests: ran", "EndlessTests: depth", "KeepingTests: keys", "ListingTests: seen",
        "PluginTestTests: n", "QuotaTests: kept", "SessionTests: seen",
    ]

    private static var root: URL {
        var root = URL(filePath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        return root
    }

    private func files(_ folder: String, _ ending: String) throws -> [(String, String)] {
        let found = FileManager.default.enumerator(
            at: Self.root.appending(path: folder), includingPropertiesForKeys: nil)
        var files: [(String, String)] = []
        while let file = found?.nextObject() as? URL {
            guard file.pathExtension == ending else { continue }
            files.append((file.path, try String(contentsOf: file, encoding: .utf8)))
        }
        return files.sorted { $0.0 < $1.0 }
    }

    /// The literals of a Swift file that look like plugins.
    private func scripts(in swift: String) -> [String] {
        var scripts: [String] = []
        let parts = swift.components(separatedBy: "\"\"\"")
        for (index, part) in parts.enumerated() {
            if index % 2 == 1 {
                scripts.append(part)
            } else {
                for line in part.split(separator: "\n") { scripts += Self.literals(in: line) }
            }
        }
        return scripts.filter { $0.contains("on.") && $0.contains("function") }
            .filter { !$0.contains("\\(") }.map(Self.unescaped)
    }

    private static func literals(in line: Substring) -> [String] {
        var (literals, current, isInside, isEscape): ([String], String, Bool, Bool)
        (literals, current, isInside, isEscape) = ([], "", false, false)
        for character in line {
            if isEscape {
                current += "\\\(character)"
                isEscape = false
            } else if character == "\\" {
                isEscape = true
            } else if character == "\"" {
                if isInside { literals.append(current) }
                (current, isInside) = ("", !isInside)
            } else if isInside {
                current.append(character)
            }
        }
        return literals
    }

    private static func unescaped(_ text: String) -> String {
        text.replacingOccurrences(of: "\\n", with: "\n")
            .replacingOccurrences(of: "\\\"", with: "\"")
            .replacingOccurrences(of: "\\\\", with: "\\")
    }

    /// The blocks of Lua in a page.
    private func scripts(inPage page: String) -> [String] {
        page.components(separatedBy: "```lua\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }.filter { $0.contains("on.") }
    }

    /// Whether it loads, as `check` has it.
    private func loads(_ source: PluginSource) -> Bool {
        var plan = GenerationPlan()
        var setting = PluginSetting()
        setting.standsIn = true
        setting.grants = source.needs
        plan.plugins = [(source, setting)]
        plan.isWhole = false
        return (try? Generation(plan, seed: 0)) != nil
    }

    @Test func nothingIsSaidOfGoodScripts() throws {
        let planting = ["MistakeTests", "LanguageServerTests"]
        var texts = try files("Tests", "swift")
            .filter { file in !planting.contains { file.0.contains($0) } }
            .flatMap { file in scripts(in: file.1).map { (file.0, $0) } }
        for folder in ["Sources", "examples"] {
            texts += try files(folder, "md").flatMap { file in
                scripts(inPage: file.1).map { (file.0, $0) }
            }
        }
        for folder in ["Tests", "plugins", "examples"] { texts += try files(folder, "lua") }
        // Those mean harm, and are as wrong as they can be.
        texts = texts.filter { !$0.0.contains("/Hostile/") }
        let names = try NameFinder()
        var good = 0
        var changed: Set<String> = []
        for (path, text) in texts {
            let main = SourceFile(name: "p.lua", text: Array(text.utf8))
            let source = PluginSource(name: "p", main: main)
            guard loads(source) else { continue }
            let types = TypeFinder(LuaParser.file(main.text))
            #expect(types.file.troubles.isEmpty, "\(path): \(text)")
            let findings = MistakeFinder.findings(in: source)
            let name = URL(filePath: path).deletingPathExtension().lastPathComponent
            changed.formUnion(
                findings.changes.map { "\(name): \($0.text.split(separator: "'")[1])" })
            let found =
                findings.mistakes.map(\.text)
                + names.mistakes(in: types).map(\.text)
            for one in found where !Self.deliberate.contains("\(name): \(one)") {
                Issue.record("\(path): \(one)\n\(text)")
            }
            if found.isEmpty, findings.changes.isEmpty { good += 1 }
        }
        #expect(changed == Self.changing)
        #expect(good >= 200, "\(good) good ones")
    }
}
