// What a process is started with.

import AgentCore
import CallModel
import Configuration
import EventLoop
import Glibc
import PolicyHost
import Storage
import StoreContract

/// The options that a process is started with: the operator's file as read.
public struct AgentOptions: Sendable {
    /// Where clients connect.
    public var listen: [NetworkAddress] = [.tcp(host: "127.0.0.1", port: 7_600)]
    /// The operator's file; nil: the defaults.
    public var file: String?
    /// Where Prometheus reads figures, and nothing else can be done; nil: nowhere.
    public var metrics: NetworkAddress?
    /// Where people look after the server; nil: nowhere.
    public var console: ConsoleOptions?
    /// Where the operator's tools connect; nil: a socket in the state directory.
    public var admin: NetworkAddress?
    /// Where everything is stored; `:memory:` keeps it in the process.
    public var stateDirectory = "callagent.state"
    /// See `Settings`.
    public var settings = Settings()
    /// See `ServerLimits`.
    public var limits = ServerLimits()
    /// See `StoreOptions`.
    public var store = StoreOptions()
    /// Origins of web pages that may connect, such as `https://app.example.com`; nil: all.
    public var origins: [String]?
    /// Whether the phone in a browser is served also where tokens are checked.
    public var phone = false
    /// Addresses and ranges of proxies that may say which client's address they speak for.
    public var trustedProxies: [String] = []
    /// Certificate and key of the listeners; nil: no TLS.
    public var tls: CertificateFiles?
    /// What is sent out: pushes, webhooks.
    public var outbound = OutboundPlan()
    /// Who may connect; nil: development tokens, on loopback only.
    public var tokens: (any TokenChecker)?
    /// The `jti` of revoked tokens.
    public var revoked: [String] = []

    /// The defaults: a server on loopback.
    public init() {}

    /// Whether nothing is written to disk.
    public var isInMemory: Bool { stateDirectory == ":memory:" }

    /// The switchboard's settings. The store's side of the loop keeps ended calls in less memory,
    /// so the switchboard keeps only as many as late requests commonly ask for.
    var switchboardSettings: Settings {
        var settings = settings
        settings.endedCallsMax = min(settings.endedCallsMax, 64)
        return settings
    }
}

extension AgentOptions {
    /// The options that a deployment comes to.
    ///
    /// - Throws: `configuration`, when an address cannot be read.
    public init(_ deployment: Deployment) throws(AgentError) {
        let configuration = deployment.configuration
        self.init()
        do throws(EventLoopError) {
            listen = [try NetworkAddress(parsing: configuration.listen)]
        } catch {
            throw .configuration("\(error)")
        }
        do throws(EventLoopError) {
            metrics = try configuration.metrics.map { text throws(EventLoopError) in
                try NetworkAddress(parsing: text)
            }
        } catch {
            throw .configuration("metrics: \(error)")
        }
        console = try Self.console(configuration)
        file = configuration.file
        admin = Self.admin(configuration)
        stateDirectory = Self.place(configuration)
        settings = configuration.settings(hooks: deployment.generation.hooks)
        settings.inviteGuards = deployment.generation.guards(of: .invite)
        settings.dialGuards = deployment.generation.guards(of: .dial)
        limits = ServerLimits(ofProcess: configuration)
        origins = configuration.origins
        phone = configuration.phone
        trustedProxies = configuration.trustedProxies
        tls = Self.certificate(of: configuration)
        outbound = try OutboundPlan(configuration)
        outbound.shapesPushes = deployment.generation.shapesPushes
        tokens = configuration.auth.isEmpty ? nil : try ConfiguredTokens(configuration)
        revoked = configuration.revoked
        store.limits = Self.storeLimits(configuration)
        store.faults = try Self.plannedFaults.get()
    }

    /// Where people look after the server; nil: nothing listens.
    static func console(
        _ configuration: Configuration
    ) throws(AgentError) -> ConsoleOptions? {
        guard let console = configuration.console else { return nil }
        do throws(EventLoopError) {
            var options = ConsoleOptions(listen: try NetworkAddress(parsing: console.listen))
            options.tls = files(of: console.tls, in: configuration)
            options.origins = console.origins
            options.connections = console.connections
            options.body = console.body
            return options
        } catch {
            throw .configuration("console: \(error)")
        }
    }

    /// What the store holds at most.
    static func storeLimits(_ configuration: Configuration) -> StoreLimits {
        var limits = StoreOptions().limits
        limits.keysPerUser = configuration.limits.keysPerUser
        limits.keysMax = configuration.limits.keys
        limits.retention = configuration.retention
        limits.registrationsPerUser = configuration.devicesPerUser
        return limits
    }

    /// Refuses doors that are open to everybody: without keys everybody may be anybody.
    public func check() throws(AgentError) {
        guard tokens == nil else { return }
        guard console == nil else { throw Self.consoleWithoutKeys }
        for endpoint in listen where !endpoint.isLoopback {
            throw .refused(
                "refusing to listen on \(endpoint) without keys: configure auth, or listen on "
                    + "loopback")
        }
    }

    static let consoleWithoutKeys = AgentError.refused(
        "console without keys: configure auth with a key of roles = { … }")

    /// What the tests of the whole process let fail, such as `write:120:3:full` (see `FaultPlan`).
    /// One plan for all stores that the process opens, one after the other. A process with a plan
    /// says so in its log; one with a text that is no plan does not start.
    static let plannedFaults: Result<FaultPlan?, AgentError> = {
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

    /// Where the operator's tools connect, if the file says so.
    public static func admin(_ configuration: Configuration) -> NetworkAddress? {
        configuration.admin.map { .unix(path: path($0, in: configuration)) }
    }

    /// The files of the certificate, as seen from the process; nil: no TLS.
    static func certificate(of configuration: Configuration) -> CertificateFiles? {
        files(of: configuration.tls, in: configuration)
    }

    private static func files(
        of tls: Configuration.TLS?, in configuration: Configuration
    ) -> CertificateFiles? {
        tls.map {
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
