// The content of the operator's files: read, checked and loaded, but not yet in force.

import AgentCore
import CallModel
import CallWire
import Configuration
import EventLoop
import Glibc
import JSON
import Lua
import PolicyHost
import Storage
import StoreContract
import WebProtocols

/// One state of the operator's files: the configuration and a loaded generation of its plugins.
public struct Deployment: Sendable {
    /// What `callagent.lua` says, or what is kept of a generation and the server's part.
    public private(set) var configuration: Configuration
    /// The plugins, loaded.
    public let generation: Generation
    /// What `generation` was made from.
    let plan: GenerationPlan
    /// All files as they were read, to be stored under the generation's name.
    let files: StoredGeneration
    /// Tells whether the files have changed since they were read.
    public private(set) var loaded: LoadedFiles
    /// The certificate of the listeners once the deployment is in force, read with the other files;
    /// nil: no TLS.
    var certificate: TLSContext?
    /// What was in force when it was read, once more (`PolicyHost.prepare`); nil: nobody needs it.
    var control: Generation?

    /// Reads the files from disk and loads the plugins.
    ///
    /// - Parameters:
    ///   - file: the operator's file; nil: the defaults.
    ///   - seed: of the plugins' dice.
    ///   - isForTests: whether every secret reads as `secret:NAME`, wherever it is.
    ///   - environment: where `secret "env:…"` looks.
    /// - Throws: `configuration`, one line `FILE:LINE: text` for each fault.
    public init(
        file: String?, seed: UInt64, isForTests: Bool = false,
        environment: @escaping Environment = Self.ownEnvironment
    ) throws(AgentError) {
        do throws(ScriptProblems) {
            try self.init(
                try Self.configuration(
                    at: file, isForTests: isForTests, environment: environment),
                Self.library(for: file), seed: seed)
        } catch {
            throw .configuration(error.description)
        }
    }

    /// Loads the plugins of a kept generation, with the server's part that is in force: the kept
    /// generation has none, or an old one that no longer counts (G82).
    ///
    /// - Parameters:
    ///   - server: whose generation's part does not count.
    ///   - grants: what plugins may have at most; nil: what the generation gives them.
    init(
        _ kept: StoredGeneration, under server: Configuration, grants: Grants? = nil,
        isForTests: Bool = false, seed: UInt64
    ) throws(AgentError) {
        do throws(ScriptProblems) {
            var configuration = server
            configuration.generation = try Self.generationPart(
                in: kept, of: server.file, isForTests: isForTests)
            if let grants {
                let taken = grants.missing(for: Grants(configuration))
                configuration.takeAway(taken)
            }
            try self.init(
                configuration, PluginLibrary(keeping: Self.sources(in: kept)), seed: seed)
        } catch {
            throw .configuration(error.description)
        }
    }

    private init(
        _ configuration: Configuration, _ library: PluginLibrary, seed: UInt64
    ) throws(ScriptProblems) {
        self.configuration = configuration
        plan = try library.plan(for: configuration)
        generation = try Generation(
            plan, seed: seed, cryptography: .system, wallTime: Clock.wallMilliseconds())
        files = Self.kept(plan, configuration)
        loaded = LoadedFiles(files, configuration)
    }

    /// The same plugins with the server's part of `other`.
    func under(_ other: Deployment) -> Deployment {
        var copy = self
        copy.configuration.server = other.configuration.server
        copy.loaded = LoadedFiles(files, copy.configuration, asRead: [other.loaded, loaded])
        return copy
    }

    /// The same plugins once more, to be asked while others wait: an event of theirs has the time
    /// of one run. Nil: they cannot be loaded.
    func control(seed: UInt64) -> Generation? {
        var plan = plan
        for place in plan.plugins.indices {
            let most = plan.plugins[place].setting.limits.runTime
            plan.plugins[place].setting.limits.eventTime = most
        }
        return try? Generation(
            plan, seed: seed, cryptography: .system, wallTime: Clock.wallMilliseconds())
    }

    /// The same files once more, loaded anew: nothing is left of what scripts have done since.
    func again(seed: UInt64) throws(AgentError) -> Deployment {
        do throws(ScriptProblems) {
            return try Deployment(
                configuration, PluginLibrary(keeping: Self.sources(in: files)), seed: seed)
        } catch {
            throw .configuration(error.description)
        }
    }

    /// The same plugins once more, to be asked without consequence.
    func copy(seed: UInt64) throws(AgentError) -> Generation {
        do throws(ScriptProblems) {
            return try Generation(
                plan, seed: seed, cryptography: .system, wallTime: Clock.wallMilliseconds())
        } catch {
            throw .configuration(error.description)
        }
    }

    /// What the operator's file on disk says; the defaults without one.
    ///
    /// - Parameters:
    ///   - part: the only part that is read; nil: both.
    ///   - isForTests: whether every secret reads as `secret:NAME`, wherever it is.
    static func configuration(
        at file: String?, only part: ConfigurationField.Part? = nil, isForTests: Bool = false,
        environment: @escaping Environment = Self.ownEnvironment
    ) throws(ScriptProblems) -> Configuration {
        guard let file else { return Configuration() }
        guard let text = Files.read(file) else {
            throw ScriptProblems([ScriptProblem(Files.complaint(file))])
        }
        return try configuration(text, file, only: part, isForTests: isForTests, environment)
    }

    /// What a text says that stands, or once stood, in the operator's file.
    static func configuration(
        _ text: [UInt8], _ file: String?, only part: ConfigurationField.Part?,
        isForTests: Bool = false, _ environment: @escaping Environment = Self.ownEnvironment
    ) throws(ScriptProblems) -> Configuration {
        let name = file.flatMap { $0.split(separator: "/").last.map(String.init) }
        var configuration = try Configuration.read(
            SourceFile(name: name ?? "callagent.lua", text: text), folder: folder(of: file),
            only: part, isForTests: isForTests, environment: environment)
        configuration.file = file
        return configuration
    }

    /// The generation's part of a kept file. The rest of an old file does not count any more, so it
    /// is not even read.
    private static func generationPart(
        in kept: StoredGeneration, of file: String?, isForTests: Bool = false
    ) throws(ScriptProblems) -> GenerationPart {
        guard let text = configurationText(in: kept) else { return GenerationPart() }
        return try configuration(text, file, only: .generation, isForTests: isForTests).generation
    }

    /// The present name of a kept generation: old ones were named for the whole file.
    static func name(of kept: StoredGeneration, of file: String?) -> String {
        var configuration = Configuration()
        guard let part = try? generationPart(in: kept, of: file) else { return kept.name }
        configuration.generation = part
        let library = PluginLibrary(keeping: sources(in: kept))
        return (try? library.plan(for: configuration).name) ?? kept.name
    }

    /// The plugins of a kept generation, or those on disk, to be asked without a server: every
    /// secret reads as `secret:NAME`.
    ///
    /// - Parameter kept: the name of a generation; nil: the files on disk.
    static func plan(of kept: String?, file: String?) throws(AgentError) -> GenerationPlan {
        var configuration: Configuration
        do throws(ScriptProblems) {
            configuration = try self.configuration(at: file, isForTests: true)
            guard let kept else { return try library(for: file).plan(for: configuration) }
            let present = try? library(for: file).plan(for: configuration)
            if let present, present.name == kept { return present }
        } catch {
            throw .configuration(error.description)
        }
        let found = try DecisionReplay.generation(
            kept ?? "", in: AgentOptions.place(configuration))
        do throws(ScriptProblems) {
            configuration.generation = GenerationPart()
            if let text = configurationText(in: found) {
                configuration.generation =
                    try self.configuration(text, file, only: .generation, isForTests: true)
                    .generation
            }
            return try PluginLibrary(keeping: sources(in: found)).plan(for: configuration)
        } catch {
            throw .configuration(error.description)
        }
    }

    /// Whether the operator's file was kept as it was, and had keys.
    static func hadKeys(_ kept: StoredGeneration) -> Bool {
        guard let text = configurationText(in: kept) else { return false }
        return Configuration.assigns("auth", in: SourceFile(name: "callagent.lua", text: text))
    }

    /// Gives the value of a variable of some environment.
    public typealias Environment = (String) -> String?

    /// The environment of this process.
    public static let ownEnvironment: @Sendable (String) -> String? = { name in
        getenv(name).map { String(cString: $0) }
    }

    /// The name of the generation: a hash of its values and its plugins' files (G82).
    public var name: String { generation.name }

    /// The plugins that lie beside the operator's file and are not in its list, so that they do
    /// nothing: one sentence with the first three; nil: all are in the list.
    public var unlistedWords: String? {
        let names = Self.library(for: configuration.file).unlisted(in: configuration)
        let shown = 3
        guard !names.isEmpty else { return nil }
        let first = names.prefix(shown).map { "plugins/\($0)" }.joined(separator: ", ")
        let others = names.count - shown
        return first + (others > 0 ? " and \(others) more" : "")
            + (names.count == 1 ? " is" : " are") + " not listed in plugins"
    }

    /// A line for each mistake in the plugins that does not keep them from loading.
    public var mistakes: [String] { generation.mistakes.map(\.description) }

    /// A line for each place where a handler changes a local of its file.
    public var changedLocals: [String] { generation.changedLocals.map(\.description) }

    /// A line for each thing in the plugins that is allowed but probably not meant.
    public var warnings: [String] {
        (generation.warnings + generation.neverAsked).map(\.description) + openFigures
    }

    /// A line if others than this machine can read the figures.
    private var openFigures: [String] {
        guard let text = configuration.metrics, let endpoint = try? NetworkAddress(parsing: text),
            !endpoint.isLoopback
        else { return [] }
        let place = configuration.lines["metrics"].map { ":\($0)" } ?? ""
        let file = configuration.file ?? "callagent.lua"
        return [
            "\(file)\(place): metrics = \"\(text)\" lets everybody who reaches it read figures, "
                + "names of plugins too"
        ]
    }

    /// The same of the operator's file.
    public var fileWarnings: [String] {
        configuration.warnings.map(\.description) + [certificate?.warning].compactMap { $0 }
    }

    /// A line for each name of pending timers that these files do not declare: a reload drops those
    /// timers.
    public var lostTimers: [String] {
        let place = AgentOptions.place(configuration)
        guard place != ":memory:" else { return [] }
        do throws(StoreError) {
            var counts: [String: Int] = [:]
            for timer in try PendingTimers.read(in: place).map({ PolicyTimer($0) })
            where generation.lacks(timer) {
                counts["\(timer.plugin): timer '\(timer.name)'", default: 0] += 1
            }
            return counts.sorted { $0.key < $1.key }.map { name, count in
                "\(name) is not declared any more: \(count) pending will be dropped"
            }
        } catch {
            return ["pending timers were not looked at: \(error)"]
        }
    }

    // MARK: Keeping files

    static let configurationPath = "callagent.lua"
    private static let pluginFolder = "plugins/"

    private static func kept(
        _ plan: GenerationPlan, _ configuration: Configuration
    ) -> StoredGeneration {
        var files = [(configurationPath, Array(configuration.generation.values.text.utf8))]
        for (source, _) in plan.plugins {
            for file in [source.main] + source.modules.values {
                files.append((pluginFolder + file.name, file.text))
            }
        }
        return StoredGeneration(
            name: plan.name,
            files: files.sorted { $0.0 < $1.0 }.map { .init(path: $0.0, source: $0.1) })
    }

    /// The plugins that a file on disk names, and its settings, as they would be kept.
    static func filesOnDisk(of file: String?) throws(AgentError) -> StoredGeneration {
        try onDisk(of: file).files
    }

    /// The same with what the operator's file says.
    static func onDisk(
        of file: String?
    ) throws(AgentError) -> (configuration: Configuration, files: StoredGeneration) {
        do throws(ScriptProblems) {
            let configuration = try configuration(at: file)
            return (
                configuration, kept(try library(for: file).plan(for: configuration), configuration)
            )
        } catch {
            throw .configuration(error.description)
        }
    }

    private static func configurationText(in kept: StoredGeneration) -> [UInt8]? {
        kept.files.first { $0.path == configurationPath }?.source
    }

    static func sources(in kept: StoredGeneration) -> [PluginSource] {
        let plugins = kept.files.compactMap { file -> SourceFile? in
            guard file.path.hasPrefix(pluginFolder) else { return nil }
            return SourceFile(
                name: String(file.path.dropFirst(pluginFolder.count)), text: file.source)
        }
        return plugins.compactMap { main in
            let parts = main.name.split(separator: "/")
            if parts.count == 1 {
                return PluginSource(name: String(main.name.dropLast(4)), main: main)
            }
            guard parts.count == 2, parts[1] == "init.lua" else { return nil }
            let folder = "\(parts[0])/"
            var modules: [String: SourceFile] = [:]
            for file in plugins where file.name.hasPrefix(folder) && file.name != main.name {
                let path = file.name.dropFirst(folder.count).dropLast(4)
                modules[path.split(separator: "/").joined(separator: ".")] = file
            }
            return PluginSource(name: String(parts[0]), main: main, modules: modules)
        }
    }

    // MARK: Where files are

    /// Where the plugins of a file are found: beside it, then among the bundled ones.
    public static func library(for file: String?) -> PluginLibrary {
        var folders = [folder(of: file) + "/plugins"]
        if let bundled = bundledPlugins { folders.append(bundled) }
        return PluginLibrary(folders: folders)
    }

    /// The plugins that come with the executable.
    public static var bundledLibrary: PluginLibrary {
        PluginLibrary(folders: bundledPlugins.map { [$0] } ?? [])
    }

    /// The folder that a file is in; paths in it start there.
    static func folder(of file: String?) -> String {
        guard let file, let slash = file.lastIndex(of: "/") else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }

    /// The folders whose files a configuration is made of, as far as they exist: that of the
    /// operator's file, `plugins` beside it, the folders of plugins in there and those within.
    static func directories(of configuration: Configuration) -> [String] {
        let own = folder(of: configuration.file)
        let plugins = "\(own)/plugins"
        return [own, plugins].filter(Files.isFolder)
            + configuration.plugins.flatMap { ModuleFolder("\(plugins)/\($0.name)").folders }
    }

    /// Whether a change of the file, or folder, may matter: editors leave others beside them.
    static func isWatched(_ path: String) -> Bool {
        let name = path.split(separator: "/").last ?? ""
        // A folder that is mounted as a whole, as a Kubernetes volume is, is swapped by this link.
        return name == "..data"
            || !name.hasPrefix(".") && (name.hasSuffix(".lua") || name == "plugins")
    }

    /// The plugins that come with the executable: `plugins` in one of the folders above it, or
    /// `share/callagent/plugins` where it is installed.
    public static let bundledPlugins = InstalledFolder.find(
        "plugins", holding: "busy.lua", variable: "CALLAGENT_PLUGINS")
}
