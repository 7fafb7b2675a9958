// The pages for plugin writers show the tables that the policy host runs on.

import CallModel
import Configuration
import Foundation
import JSON
import Lua
import Testing

@testable import PolicyHost
@testable import PolicyTesting

@Suite struct PolicyTests {
    @Test func hooksAndFunctions() throws {
        let page = try Page("PolicyHost", "Reference")
        let hooks = Hook.allCases.map { hook in
            [code("on.\(hook.rawValue)"), "\(hook.kind)", code(hook.handlerType), hook.help]
        }
        try page.expect("hooks", table(["hook", "kind", "handler", ""], hooks))
        let functions = Bindings.all.filter { !$0.name.hasPrefix("on.") }.map { binding in
            [code(binding.name), code(binding.type), binding.help]
        }
        try page.expect("functions", table(["name", "type", ""], functions))
        let steps = Bindings.tests.map { binding in
            [code("t.\(binding.name.dropFirst(2))"), code(binding.type), binding.help]
        }
        try page.expect("steps", table(["step", "type", ""], steps))
    }

    @Test func limitsAndFailures() throws {
        let page = try Page("PolicyHost", "PolicyHost")
        try page.expect("limits", table(["limit", "default", "beyond it"], Self.limits))
        let failures = Failure.allCases.map { [code($0.rawValue), Self.meaning($0)] }
        try page.expect("failures", table(["failure", "when"], failures))
        let actions = try page.names(under: "When a plugin fails").filter { name in
            !Failure.allCases.contains { $0.rawValue == name }
        }
        #expect(actions == OnError.allCases.map(\.rawValue))
    }

    @Test func theManifestIsComplete() throws {
        let fields = try Page("PolicyHost", "Reference").names(under: "plugin { … }")
        for field in fields {
            #expect(!Self.problem("plugin { \(field) = print }").contains("unknown field"))
        }
        #expect(Self.problem("plugin { nmae = 1 }").contains("unknown field"))
        // All but the line of the declaration.
        #expect(fields.count == Mirror(reflecting: Manifest()).children.count - 1)
    }

    /// What is wrong with a plugin of this text.
    private static func problem(_ text: String) -> String {
        let file = SourceFile(name: "p.lua", text: Array(text.utf8))
        do throws(ScriptProblem) {
            _ = try PluginState(
                source: PluginSource(name: "p", main: file), setting: PluginSetting(),
                services: Services(seed: 1))
            return ""
        } catch {
            return error.text
        }
    }

    private static let limits: [[String]] = {
        let limits = PluginLimits()
        func size(_ bytes: Int) -> String {
            bytes % (1 << 20) == 0 ? "\(bytes >> 20) MiB" : "\(bytes >> 10) KiB"
        }
        return [
            ["memory of a Lua state", size(limits.memory), "`memory`"],
            ["processor time of the top level", span(limits.loadTime), "the load fails"],
            ["processor time of one uninterrupted run", span(limits.runTime), "`cpu`"],
            ["processor time of one event, waits apart", span(limits.eventTime), "`cpu`"],
            ["a shaping hook, waits included", span(limits.shapingTime), "`late`"],
            ["a report or a timer, waits included", span(limits.reportTime), "`wall`"],
            [
                "requests of `http` under way; of one pair of accounts",
                "\(grouped(limits.fetches)); \(grouped(limits.fetchesOfCause))",
                "`nil, \"limit\"`",
            ],
            [
                "timers pending; of one pair of accounts",
                "\(grouped(limits.timers)); \(grouped(limits.timersOfCause))",
                "`nil, \"limit\"`",
            ],
            [
                "keys that `limit` counts; of one pair of accounts",
                "\(grouped(limits.limitKeys)); \(grouped(limits.limitKeysOfCause))",
                "`nil, \"limit\"`",
            ],
            ["`state`", size(limits.state), "an error in the script"],
            ["`vars` of one call", size(limits.state), "the change is not kept, with a line"],
            [
                "`vars` of all calls; of those of one pair of accounts",
                "\(size(limits.vars)); \(size(limits.varsOfCause))",
                "the change is not kept, with a line",
            ],
            [
                "reports that stand behind waiting handlers; of one pair of accounts",
                "\(size(limits.heldReports)); \(size(limits.heldReportsOfCause))",
                "left out and counted, with a line",
            ],
            [
                "coroutines and handlers alive, for `coroutine` and `detach`; of one pair",
                "\(grouped(limits.coroutines)); \(grouped(limits.coroutinesOfCause))",
                "`nil, \"limit\"`",
            ],
            ["`all` within `all`", "\(PolicyHost.nestingMax) deep", "an error in the script"],
            [
                "steps of a test, and moments that pass in it", grouped(TestWorld.mostSteps),
                "the test has failed",
            ],
            [
                "what is kept in `kv` for one pair of accounts", size(limits.keptOfCause),
                "`nil, \"limit\"`",
            ],
            [
                "lines of the log until it waits or ends", grouped(limits.logLines),
                "left out, with one line that says so",
            ],
            [
                "lines of the log in a minute; for one pair of accounts",
                "\(grouped(limits.logLinesPerMinute)); \(grouped(limits.logLinesOfCause))",
                "left out, with one line that says so",
            ],
            [
                "one value that leaves Lua", size(limits.value),
                "an error in the script, or `nil, \"too_large\"`",
            ],
            ["source that `load` takes", size(limits.source), "an error in the script"],
            ["a plugin's file", size(PluginLibrary(folders: []).fileMax), "not found"],
        ]
    }()

    private static func meaning(_ failure: Failure) -> String {
        switch failure {
        case .error: "the script raised an error"
        case .cpu: "the processor time was over"
        case .wall: "a report or a timer took too long"
        case .memory: "the memory was used up"
        case .denied:
            "something was used that the operator did not grant; it was `nil` and a text"
        case .badReturn: "what it returned is no answer to this hook"
        case .late: "no answer in time"
        }
    }
}

@Suite struct GalleryTests {
    private static let folder = Page.root.appending(path: "plugins").path(percentEncoded: false)
    private static let library = PluginLibrary(folders: [folder])
    static let names: [String] = {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let names = entries.map { $0.hasSuffix(".lua") ? String($0.dropLast(4)) : $0 }
        return names.filter { library.find($0) != nil }.sorted()
    }()

    @Test func everyBundledPluginHasItsChapter() throws {
        let page = try Page("PolicyHost", "Gallery").text
        let chapters = page.split(separator: "\n").filter { $0.hasPrefix("## ") }
            .map { String($0.dropFirst(3)) }.filter { $0 != "Overview" }
        #expect(chapters.sorted() == Self.names)
        #expect(Set(chapters).count == chapters.count)
    }

    @Test func theOptionsAreThoseOfThePlugins() throws {
        let page = try Page("PolicyHost", "Gallery")
        for name in Self.names {
            try page.expect(name, table(["option", "type", "default", ""], try options(of: name)))
        }
    }

    @Test(arguments: names)
    func theChapterHasAnExampleThatIsGood(_ name: String) throws {
        let section = try Page("PolicyHost", "Gallery").section(name)
        let example = section.drop { $0 != "```lua" }.dropFirst().prefix { $0 != "```" }
        let text = example.joined(separator: "\n")
        #expect(text.contains("\"\(name)\""))
        let file = SourceFile(name: "callagent.lua", text: Array(text.utf8))
        let configuration = try Configuration.read(file) { _ in
            String(repeating: "k", count: 32)
        }
        let plan = try Self.library.plan(for: configuration)
        #expect(try Generation(plan, seed: 1).pluginNames.contains(name))
    }

    /// What `config { … }` of a plugin declares.
    private func options(of name: String) throws -> [[String]] {
        let source = try #require(Self.library.find(name))
        var setting = PluginSetting()
        setting.standsIn = true
        let plugin = try PluginState(
            source: source, setting: setting, services: Services(seed: 1))
        return (plugin.schema ?? []).map { field in
            [code(field.name), field.kind.rawValue, shown(field.standard), field.help]
        }
    }

    private func shown(_ value: LuaValue) -> String {
        if value.isNull { return "-" }
        if value == .table([]) || value.list == [] { return "`{}`" }
        return (try? value.json()).map { code($0.description) } ?? "-"
    }
}
