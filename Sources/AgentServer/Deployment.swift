// What the operator's files say: read, checked and loaded, but not yet in force.

import CallCore
import CallWire
import EventLoop
import Glibc
import JSON
import PolicyHost
import Storage

/// One state of the operator's files: the configuration and a loaded generation of its plugins.
public struct Deployment: Sendable {
    /// What `callagent.lua` says.
    public let configuration: Configuration
    /// The plugins, loaded.
    public let generation: Generation
    /// The sources of the generation, to keep it.
    let plan: GenerationPlan

    /// Reads the files from disk and loads the plugins.
    ///
    /// - Parameters:
    ///   - file: the operator's file; nil: the defaults.
    ///   - seed: of the plugins' dice.
    /// - Throws: `configuration`, one line `FILE:LINE: text` for each fault.
    public init(file: String?, seed: UInt64) throws(AgentError) {
        do throws(PolicyProblems) {
            configuration = try Self.configuration(file)
            plan = try Self.library(for: file).plan(for: configuration)
            generation = try Generation(
                plan, seed: seed, cryptography: .system, wallTime: Clock.wallMilliseconds())
        } catch {
            throw .configuration(error.description)
        }
    }

    /// The operator's file, or the defaults without one.
    public static func configuration(_ file: String?) throws(PolicyProblems) -> Configuration {
        guard let file else { return Configuration() }
        return try Configuration.load(
            path: file, environment: { name in getenv(name).map { String(cString: $0) } })
    }

    /// Where the plugins of a file are looked up: beside it, then among the bundled ones.
    public static func library(for file: String?) -> PluginLibrary {
        var folders = [folder(of: file) + "/plugins"]
        if let bundled = bundledPlugins { folders.append(bundled) }
        return PluginLibrary(folders: folders)
    }

    /// The folder at which the paths in a file start.
    static func folder(of file: String?) -> String {
        guard let file, let slash = file.lastIndex(of: "/") else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
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
        tokens = configuration.auth.isEmpty ? nil : try ConfiguredTokens(configuration)
        store.limits.keysPerUser = configuration.limits.keysPerUser
        store.limits.keysMax = configuration.limits.keys
        store.limits.retention = configuration.retention
    }

    /// The state directory, as seen from the process: paths in a file start at its folder.
    public static func place(_ configuration: Configuration) -> String {
        let path = configuration.stateDirectory
        guard path != ":memory:", !path.hasPrefix("/"), let file = configuration.file else {
            return path
        }
        let folder = Deployment.folder(of: file)
        return folder == "." ? path : "\(folder)/\(path)"
    }
}

extension ServerLimits {
    init(_ configuration: Configuration) {
        self.init()
        wire.messageBytes = configuration.limits.message
        wire.extendedDataBytes = configuration.limits.extendedData
        wire.keys = configuration.limits.keysPerUser
        unsentBytes = configuration.limits.unsent
        requestsPerSecond = configuration.limits.requestsPerSecond
        connections = configuration.limits.connections
        drainWithin = configuration.limits.drain
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
