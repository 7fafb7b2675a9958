// Finds plugins on disk and makes one snapshot of everything that a generation is made of.

import CallModel
import Configuration
import JSON
import Lua

/// The folders in which plugins are looked up, in this order.
public struct PluginLibrary: Sendable {
    /// Usually `plugins/` beside the operator's file, then the bundled ones.
    public var folders: [String]
    /// Bytes of one file.
    public var fileMax = 1 << 20
    /// Plugins that were read before, by name; nil: the folders are looked into.
    private var kept: [String: PluginSource]?

    /// Plugins in `folders`.
    public init(folders: [String]) { self.folders = folders }

    /// Plugins that were read before, and no others.
    public init(keeping sources: [PluginSource]) {
        folders = []
        kept = Dictionary(sources.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The files of the plugin `name` as far as they can be read, or nil when there is none.
    public func find(_ name: String) -> PluginSource? { look(for: name).source }

    /// The plugin `name`, each of its files read once, and `cannot read FILE: why` for the first
    /// one that is there and cannot be read.
    private func look(for name: String) -> (source: PluginSource?, trouble: String?) {
        if let kept { return (kept[name], nil) }
        var trouble: String?
        for folder in folders {
            if let text = read("\(folder)/\(name).lua", &trouble) {
                let main = SourceFile(name: "\(name).lua", text: text)
                return (PluginSource(name: name, main: main), trouble)
            }
            if let text = read("\(folder)/\(name)/init.lua", &trouble) {
                let main = SourceFile(name: "\(name)/init.lua", text: text)
                let modules = modules(of: name, in: "\(folder)/\(name)", &trouble)
                return (PluginSource(name: name, main: main, modules: modules), trouble)
            }
        }
        return (nil, trouble)
    }

    private func read(_ path: String, _ trouble: inout String?) -> [UInt8]? {
        if let text = Files.read(path, limit: fileMax) { return text }
        if trouble == nil, Files.exists(path) {
            trouble = Files.complaint(path, limit: fileMax)
        }
        return nil
    }

    /// The other files of a folder, by the name that `require` takes: `a`, `b.c`.
    private func modules(
        of plugin: String, in folder: String, _ trouble: inout String?
    ) -> [String: SourceFile] {
        let files = ModuleFolder(folder)
        trouble = trouble ?? files.trouble
        var found: [String: SourceFile] = [:]
        var bytes = 0
        for (module, path) in files.files {
            guard let text = read(path, &trouble) else { continue }
            bytes += text.count
            guard bytes <= ModuleFolder.bytesMax else {
                let most = ModuleFolder.bytesMax
                trouble = trouble ?? "\(folder) has more than \(most) bytes of files"
                break
            }
            found[module] = SourceFile(name: plugin + path.dropFirst(folder.count), text: text)
        }
        return found
    }

    /// Every plugin that is there, sorted.
    public var names: [String] {
        if let kept { return kept.keys.sorted() }
        var names = Set<String>()
        for folder in folders {
            for name in Files.list(folder) {
                if name.hasSuffix(".lua") {
                    names.insert(String(name.dropLast(4)))
                } else if Files.exists("\(folder)/\(name)/init.lua") {
                    names.insert(name)
                }
            }
        }
        return names.sorted()
    }

    /// ` (did you mean 'NAME'?)` for a plugin that is not there, or nothing.
    public func hint(for name: String) -> String { Suggestion.text(for: name, among: names) }

    /// Where a plugin was looked for; one whose bundled plugins are away has the first folder only.
    private var nowhere: String {
        folders.isEmpty ? "" : " in " + folders.joined(separator: " or ")
    }

    /// Files beside the operator's that no list names: they do nothing.
    public func unlisted(in configuration: Configuration) -> [String] {
        guard let own = folders.first else { return [] }
        let listed = Set(configuration.plugins.map(\.name))
        return PluginLibrary(folders: [own]).names.filter { !listed.contains($0) }
    }

    /// One snapshot of all plugins of `configuration`, or everything that is missing.
    public func plan(for configuration: Configuration) throws(ScriptProblems) -> GenerationPlan {
        var plan = GenerationPlan()
        var problems: [ScriptProblem] = []
        let names = names
        for entry in configuration.plugins {
            let (source, trouble) = look(for: entry.name)
            if let trouble {
                // Nothing else that has the same name takes its place.
                problems.append(
                    configuration.problem("plugin '\(entry.name)': \(trouble)", at: "plugins"))
            } else if let source {
                plan.plugins.append((source, configuration.setting(of: entry)))
            } else {
                let hint = Suggestion.text(for: entry.name, among: names)
                problems.append(
                    configuration.problem(
                        "plugin '\(entry.name)' not found\(hint.isEmpty ? nowhere : hint)",
                        at: "plugins"))
            }
        }
        problems += configuration.strayTables()
        guard problems.isEmpty else { throw ScriptProblems(problems) }
        plan.onError = configuration.invite.onError
        plan.answerFor = Accounts(configuration.answerFor)
        plan.share = .init(
            directory: configuration.directory,
            extendedDataMax: configuration.limits.extendedData,
            limits: configuration.pluginLimits)
        plan.recordsInputs = configuration.decisionLog.keepsInputs
        plan.name = plan.hash(with: configuration)
        return plan
    }
}

extension Configuration {
    /// Options and overrides of plugins that are not listed.
    fileprivate func strayTables() -> [ScriptProblem] {
        let names = generation.plugins.map(\.name)
        var problems: [ScriptProblem] = []
        for name in generation.options.keys.sorted() where !names.contains(name) {
            problems.append(
                problem(
                    "options[\"\(name)\"]: no such plugin is listed"
                        + Suggestion.text(for: name, among: names), at: "options.\(name)"))
        }
        for name in generation.overrides.keys.sorted() where !names.contains(name) {
            problems.append(
                problem(
                    "override[\"\(name)\"]: no such plugin is listed"
                        + Suggestion.text(for: name, among: names), at: "override.\(name)"))
        }
        return problems
    }
}

extension GenerationPlan {
    /// The first 12 digits of a digest of every source and of the values of the generation's
    /// part, with secrets as expressions (G82).
    fileprivate func hash(with configuration: Configuration) -> String {
        var bytes: [UInt8] = []
        func add(_ part: [UInt8]) {
            withUnsafeBytes(of: UInt64(part.count).littleEndian) { bytes += $0 }
            bytes += part
        }
        for (source, _) in plugins {
            add(Array(source.name.utf8))
            add(source.main.text)
            for module in source.modules.sorted(by: { $0.key < $1.key }) {
                add(Array(module.value.name.utf8))
                add(module.value.text)
            }
        }
        add(Array(configuration.generation.values.text.utf8))
        return Fingerprint.of(bytes)
    }
}
