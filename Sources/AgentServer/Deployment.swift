// What the operator's files say: read, checked and loaded, but not yet in force.

import CallModel
import CallWire
import EventLoop
import Glibc
import JSON
import PolicyHost
import Storage
import WebProtocols

/// One state of the operator's files: the configuration and a loaded generation of its plugins.
public struct Deployment: Sendable {
    /// What `callagent.lua` says.
    public let configuration: Configuration
    /// The plugins, loaded.
    public let generation: Generation
    /// What `generation` was made from.
    let plan: GenerationPlan
    /// All files as they were read, to be kept under the generation's name.
    let files: StoredGeneration
    /// What tells whether the files have changed since they were read.
    public let loaded: LoadedFiles

    /// Reads the files from disk and loads the plugins.
    ///
    /// - Parameters:
    ///   - file: the operator's file; nil: the defaults.
    ///   - seed: of the plugins' dice.
    ///   - environment: where `secret "env:…"` looks.
    /// - Throws: `configuration`, one line `FILE:LINE: text` for each fault.
    public init(
        file: String?, seed: UInt64, environment: @escaping Environment = Self.ownEnvironment
    ) throws(AgentError) {
        let sources = Sources(
            text: try Self.text(of: file), file: file, library: Self.library(for: file),
            environment: environment)
        try self.init(sources, seed: seed)
    }

    /// Loads files that were kept.
    ///
    /// - Parameter file: where the operator's file was; paths in it start at its folder.
    init(_ kept: StoredGeneration, file: String?, seed: UInt64) throws(AgentError) {
        let sources = Sources(
            text: Self.configurationText(in: kept), file: file,
            library: PluginLibrary(keeping: Self.sources(in: kept)),
            environment: Self.ownEnvironment)
        try self.init(sources, seed: seed)
    }

    /// What a deployment is made of.
    private struct Sources {
        let text: [UInt8]?
        let file: String?
        let library: PluginLibrary
        let environment: Environment
    }

    private init(_ sources: Sources, seed: UInt64) throws(AgentError) {
        do throws(PolicyProblems) {
            configuration = try Self.configuration(
                sources.text, sources.file, sources.environment)
            plan = try sources.library.plan(for: configuration)
            generation = try Generation(
                plan, seed: seed, cryptography: .system, wallTime: Clock.wallMilliseconds())
            files = Self.kept(plan, configuration: sources.text)
            loaded = LoadedFiles(files, configuration)
        } catch {
            throw .configuration(error.description)
        }
    }

    /// The same plugins once more, to be asked without consequence.
    func copy(seed: UInt64) throws(AgentError) -> Generation {
        do throws(PolicyProblems) {
            return try Generation(
                plan, seed: seed, cryptography: .system, wallTime: Clock.wallMilliseconds())
        } catch {
            throw .configuration(error.description)
        }
    }

    /// The operator's file, or the defaults without one.
    private static func configuration(
        _ text: [UInt8]?, _ file: String?, _ environment: @escaping Environment
    ) throws(PolicyProblems) -> Configuration {
        guard let text, let file else { return Configuration() }
        let name = file.split(separator: "/").last.map(String.init) ?? file
        var configuration = try Configuration.read(
            SourceFile(name: name, text: text), folder: folder(of: file),
            environment: environment)
        configuration.file = file
        return configuration
    }

    /// What the operator's file on disk says.
    static func configuration(
        at file: String?, environment: @escaping Environment = Self.ownEnvironment
    ) throws(PolicyProblems) -> Configuration {
        guard let file else { return Configuration() }
        guard let text = Files.read(file) else {
            throw PolicyProblems([PolicyProblem(Files.complaint(file))])
        }
        return try configuration(text, file, environment)
    }

    /// Gives the value of a variable of some environment.
    public typealias Environment = (String) -> String?

    /// The environment of this process.
    public static let ownEnvironment: @Sendable (String) -> String? = { name in
        getenv(name).map { String(cString: $0) }
    }

    private static func text(of file: String?) throws(AgentError) -> [UInt8]? {
        guard let file else { return nil }
        guard let text = Files.read(file) else { throw .configuration(Files.complaint(file)) }
        return text
    }

    /// The name of the generation: a hash of its files.
    public var name: String { generation.name }

    /// Plugins beside the operator's file that its list does not name: they do nothing.
    public var unlistedPlugins: [String] {
        Self.library(for: configuration.file).unlisted(in: configuration)
    }

    /// A line for everything in the plugins that is no mistake, and yet hardly meant.
    public var warnings: [String] { generation.warnings.map(\.description) }

    /// A line for each name of timers that are pending in the state directory, whoever runs on
    /// it, and that these files do not declare: a reload drops them.
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

    private static let configurationPath = "callagent.lua"
    private static let pluginFolder = "plugins/"

    private static func kept(
        _ plan: GenerationPlan, configuration: [UInt8]?
    ) -> StoredGeneration {
        var files = configuration.map { [(configurationPath, $0)] } ?? []
        for (source, _) in plan.plugins {
            for file in [source.main] + source.modules.values {
                files.append((pluginFolder + file.name, file.text))
            }
        }
        return StoredGeneration(
            name: plan.name,
            files: files.sorted { $0.0 < $1.0 }.map { .init(path: $0.0, source: $0.1) })
    }

    private static func configurationText(in kept: StoredGeneration) -> [UInt8]? {
        kept.files.first { $0.path == configurationPath }?.source
    }

    private static func sources(in kept: StoredGeneration) -> [PluginSource] {
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

    /// Where the plugins of a file are looked up: beside it, then among the bundled ones.
    public static func library(for file: String?) -> PluginLibrary {
        var folders = [folder(of: file) + "/plugins"]
        if let bundled = bundledPlugins { folders.append(bundled) }
        return PluginLibrary(folders: folders)
    }

    /// The plugins that come with the executable.
    public static var bundledLibrary: PluginLibrary {
        PluginLibrary(folders: bundledPlugins.map { [$0] } ?? [])
    }

    /// The folder at which the paths in a file start.
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
            + configuration.plugins.flatMap { folders(from: "\(plugins)/\($0.name)", depth: 8) }
    }

    /// The folder and those below it, so deep as modules lie at most.
    private static func folders(from path: String, depth: Int) -> [String] {
        guard Files.isFolder(path) else { return [] }
        guard depth > 1 else { return [path] }
        return [path]
            + Files.list(path).flatMap { folders(from: "\(path)/\($0)", depth: depth - 1) }
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
    public static let bundledPlugins: String? = {
        if let named = getenv("CALLAGENT_PLUGINS") { return String(cString: named) }
        guard let path = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(path) }
        var folder = String(cString: path)
        while let slash = folder.lastIndex(of: "/"), slash != folder.startIndex {
            folder = String(folder[..<slash])
            for candidate in ["\(folder)/plugins", "\(folder)/share/callagent/plugins"]
            where access("\(candidate)/busy.lua", R_OK) == 0 {
                return candidate
            }
        }
        return nil
    }()
}

extension AgentOptions {
    /// The options that a deployment comes to.
    ///
    /// - Throws: `configuration`, when an address cannot be read.
    public init(_ deployment: Deployment) throws(AgentError) {
        let configuration = deployment.configuration
        self.init()
        do throws(EventLoopError) {
            listen = [try Endpoint(parsing: configuration.listen)]
            admin = try configuration.admin.map { text throws(EventLoopError) in
                try Endpoint(parsing: text)
            }
        } catch {
            throw .configuration("\(error)")
        }
        stateDirectory = Self.place(configuration)
        settings = configuration.settings(hooks: deployment.generation.hooks)
        limits = ServerLimits(configuration)
        origins = configuration.origins
        tls = Self.certificate(of: configuration)
        outbound = try OutboundPlan(configuration)
        outbound.shapesPushes = deployment.generation.shapesPushes
        tokens = configuration.auth.isEmpty ? nil : try ConfiguredTokens(configuration)
        revoked = configuration.revoked
        store.limits.keysPerUser = configuration.limits.keysPerUser
        store.limits.keysMax = configuration.limits.keys
        store.limits.retention = configuration.retention
        store.faults = try Self.plannedFaults.get()
    }

    /// Refuses doors that are open to everybody: without keys everybody may be anybody, and who
    /// reaches the tools' door may do anything.
    public func check() throws(AgentError) {
        if let admin, !admin.isLoopback {
            throw .refused(
                "refusing to let tools in at \(admin): whoever reaches it may do anything, so it "
                    + "must be a Unix socket or on loopback")
        }
        guard tokens == nil else { return }
        for endpoint in listen where !endpoint.isLoopback {
            throw .refused(
                "refusing to listen on \(endpoint) without keys: configure auth, or listen on "
                    + "loopback")
        }
    }

    /// What the tests of the whole process let fail, such as `write:120:3:full` (see `FaultPlan`).
    /// One plan for all stores that the process opens, one after the other. A process with a plan
    /// says so in its log; one with a text that is no plan does not start.
    private static let plannedFaults: Result<FaultPlan?, AgentError> = {
        let name = "CALLAGENT_STORE_FAULTS"
        guard let value = getenv(name) else { return .success(nil) }
        let text = String(cString: value)
        guard let plan = FaultPlan(text) else {
            return .failure(
                .refused("\(name)='\(text)' is no plan of faults; it is for tests: unset it"))
        }
        return .success(plan)
    }()

    /// The state directory, as seen from the process: paths in a file start at its folder.
    public static func place(_ configuration: Configuration) -> String {
        let path = configuration.stateDirectory
        return path == ":memory:" ? path : self.path(path, in: configuration)
    }

    /// The files of the certificate, as seen from the process; nil: no TLS.
    static func certificate(of configuration: Configuration) -> CertificateFiles? {
        configuration.tls.map {
            CertificateFiles(
                certificate: path($0.certificate, in: configuration),
                key: path($0.key, in: configuration))
        }
    }

    /// A path of the operator's file, as seen from the process.
    static func path(_ path: String, in configuration: Configuration) -> String {
        guard !path.hasPrefix("/"), let file = configuration.file else { return path }
        let folder = Deployment.folder(of: file)
        return folder == "." ? path : "\(folder)/\(path)"
    }
}

extension Log {
    /// The log that a configuration asks for.
    public init(_ configuration: Configuration) {
        let format: Log.Format? =
            switch configuration.log.format {
            case .auto: nil
            case .text: .text
            case .json: .json
            }
        self.init(
            level: Level(rawValue: configuration.log.level.rawValue) ?? .info, format: format)
    }
}
