// The whole process put together: it moves bytes, feeds inputs and performs effects.

import AgentCore
import CallModel
import CallWire
import Configuration
import EventLoop
import Lua
import PolicyHost
import Storage
import StoreContract

/// A running server. Everything happens on the thread that calls `run`.
public final class Agent {
    /// The version that `hello` announces.
    public static let version = "0.1.0"

    let options: AgentOptions
    let log: Log
    package let loop: EventLoop
    let exchange: Exchange
    let gateway: Gateway
    let metrics = Metrics()
    let admin: AdminServer
    let outbound: OutboundBridge
    private(set) var policies: PolicyBridge?
    private var store: (any StoreLink)?
    private var news: Mailbox<StoreNews>?
    private var directory: StateDirectory?
    private(set) var listeners: [Listener] = []
    private lazy var acceptTrouble = AcceptTrouble(log)
    private(set) var toolsListener: ToolsListener?
    private(set) lazy var figures = FiguresServer(
        exchange, options.limits, loop: loop, log: log,
        isReady: { [unowned gateway] in gateway.tellReadiness() },
        figures: { [unowned self] done in
            tellPolicyStatus { [unowned self] status in
                done(metricsText + PolicyMetrics(status: status).text)
            }
        })
    private(set) lazy var management = Management(admin.desk, gateway, loop: loop, log: log)
    /// When the process began, in milliseconds of the wall clock.
    let startedAt = Clock.wallMilliseconds()
    /// How reloads went; without files there are none.
    var reloads: ReloadFigures { reloader?.figures ?? noReloads }
    private let noReloads = ReloadFigures()
    private(set) lazy var lag = LoopLag(loop)
    private lazy var clockWatch = ClockWatch(loop, log: log) { [unowned self] in exchange.wallGap }
    var process = ProcessFigures()
    var signals: [SignalWatcher] = []
    var drainTimer: Timer?
    /// Somebody has asked it to end.
    var isStopping = false
    /// Clients are being closed.
    var isDraining = false
    lazy var systemd = SystemdNotice(on: loop)
    /// The lease of this process; nil: it is alone.
    var ownership: Ownership?
    /// The links to front ends; nil: this node has none.
    var remote: OwnerLinks?
    private(set) var member: ClusterMember?
    private let restored: StoredState
    private(set) var reloader: Reloader?
    var watcher: FileWatcher?
    var memory = ServerMemory()
    /// Problems that the operator should know of, until a reload works.
    var alarms: [Alarm] = []

    /// A server of what the operator's files say, which can be reloaded.
    ///
    /// - Parameters:
    ///   - file: the operator's file; nil: the defaults.
    ///   - takingFilesOnDisk: whether they are taken also where the generation last in force would
    ///     be (E54): somebody who fixed what crashed the server cannot reload it.
    ///   - member: the node of a cluster that this process is, which owns; nil: it is alone.
    ///   - makeLog: makes the log that a configuration asks for.
    /// - Throws: an `AgentError` of one line.
    public convenience init(
        file: String?, takingFilesOnDisk: Bool = false, as member: ClusterMember? = nil,
        log makeLog: (Configuration) -> Log
    ) throws(AgentError) {
        var dice = SystemRandomNumberGenerator()
        let start = try Start(
            file: file, takingFilesOnDisk: takingFilesOnDisk, seed: dice.next(), member: member,
            log: makeLog)
        let host = PolicyHost(
            start.deployment.generation, seed: dice.next(), cryptography: .system)
        start.canary?.goOn(in: host, beside: start.deployment, seed: dice.next())
        do throws(AgentError) {
            try self.init(
                try AgentOptions(start.deployment), policies: host, opened: start.opened,
                as: member, log: start.log)
        } catch {
            // A start that is refused does not count as a crash: the next one takes the files on
            // disk.
            start.opened.release()
            throw error
        }
        memory = start.memory
        alarms = start.alarms
        do throws(AgentError) {
            try prepareReloads(file, start.deployment, start.canary)
            if !start.filesAreGood { reloader?.noteBadFiles() }
        } catch {
            abandon()
            throw error
        }
    }

    func raise(_ alarm: Alarm) {
        log.error("alarm", ("alarm", "\(alarm)"))
        alarms.append(alarm)
    }

    func configureFiles(_ configuration: Configuration) {
        log.configure(configuration)
        member?.note(configuration)
        if let reloader { member?.note(generation: reloader.active.name) }
        policies?.isLaneOpen = configuration.fastLane
        policies?.decisions.configure(
            configuration.decisionLog, backlog: configuration.limits.decisionBacklog)
    }

    private func prepareReloads(
        _ file: String?, _ active: Deployment, _ canary: CanaryInForce?
    ) throws(AgentError) {
        policies?.alarmed = { [unowned self] in raise(.policies($0)) }
        policies?.rolledBack = { [unowned self] in generationFailed($0, $1, $2) }
        configureFiles(active.configuration)
        let directory = options.isInMemory ? nil : options.stateDirectory
        let reloader = Reloader(
            file: file, active: active, log: log,
            records: { [unowned self] in
                Reloader.Records(
                    own: policies?.decisions.records ?? [], directory: directory,
                    settle: policies?.decisions.settle)
            },
            enforce: { [unowned self] deployment, reason, done throws(AgentError) in
                try enforce(deployment, reason, done)
            })
        reloader.grants = { [unowned self] in memory.grants }
        reloader.beginShadow = { [unowned self] candidate throws(AgentError) in
            do throws(EventLoopError) {
                try policies?.beginShadow(candidate)
            } catch {
                throw .system(error)
            }
        }
        reloader.enforced = { [unowned self] deployment, takenBack, done in
            policies?.endShadow()
            configureFiles(deployment.configuration)
            configureRecords(deployment.configuration)
            watchFiles(of: deployment.configuration)
            record(deployment, takenBack: takenBack, andThen: done)
        }
        self.reloader = reloader
        member?.note(generation: active.name)
        try prepareCanaries(reloader, canary)
        watchFiles(of: active.configuration)
        do throws(EventLoopError) {
            try reloader.start(on: loop)
        } catch {
            throw .system(error)
        }
    }

    /// A server with these options; nothing listens yet.
    ///
    /// - Parameter host: what decides about invitations; nil: nobody does.
    /// - Throws: an `AgentError` of one line.
    public convenience init(
        _ options: AgentOptions, policies host: PolicyHost? = nil, log: Log
    ) throws(AgentError) {
        try self.init(options, policies: host, opened: try OpenedStore(options), as: nil, log: log)
    }

    private init(
        _ options: AgentOptions, policies host: PolicyHost?, opened: OpenedStore,
        as member: ClusterMember?, log: Log
    ) throws(AgentError) {
        try options.check()
        let revocations = try opened.revocations()
        self.member = member
        self.options = options
        self.log = log
        directory = opened.directory
        restored = opened.state
        do throws(EventLoopError) {
            loop = try EventLoop()
        } catch {
            throw .system(error)
        }
        var dice = SystemRandomNumberGenerator()
        exchange = Exchange(
            options.switchboardSettings, restored: restored, seed: dice.next(),
            limits: options.limits, log: log, loop: loop)
        gateway = Gateway(
            exchange: exchange, loop: loop, limits: options.limits,
            modes: options.settings.modes, tokens: options.tokens ?? DevelopmentTokens(),
            log: log, metrics: metrics)
        gateway.revocations = revocations
        gateway.desk.tellMissedCalls()
        admin = AdminServer(exchange: exchange, limits: options.limits)
        outbound = try OutboundBridge(exchange, loop: loop, log: log)
        gateway.desk.registrationRefusal = { [unowned outbound] in outbound.refusal(of: $0) }
        do throws(AgentError) {
            try connectStore(opened)
            configure(options)
            try connectPolicies(host)
        } catch {
            abandon()
            throw error
        }
    }

    /// Closes what was opened, because the process does not start.
    private func abandon() {
        policies?.close()
        outbound.close()
        store?.close()
        loop.close()
    }

    // MARK: Starting

    private func connectPolicies(_ host: PolicyHost?) throws(AgentError) {
        guard let host else { return }
        do throws(EventLoopError) {
            policies = try PolicyBridge(
                host, exchange: exchange, gateway: gateway,
                decisions: DecisionLog(
                    directory: options.isInMemory ? nil : options.stateDirectory, log: log),
                fetches: outbound.fetches, mayBegin: { [member] in member?.maySpeak ?? true },
                loop: loop)
            outbound.pushes.policies = policies
            policies?.shaped = { [unowned self] in outbound.pushes.shaped($0, $1) }
        } catch {
            throw .system(error)
        }
    }

    private func connectStore(_ opened: OpenedStore) throws(AgentError) {
        let isInPlace = options.isInMemory && member == nil
        store = isInPlace ? try linkInMemory(opened) : try linkOnThreads(opened)
        exchange.store = store
    }

    private func linkInMemory(_ opened: OpenedStore) throws(AgentError) -> any StoreLink {
        do throws(StoreError) {
            return try StoreInPlace(opened.store) { [unowned exchange] in exchange.receive($0) }
        } catch {
            throw .store(error)
        }
    }

    private func linkOnThreads(_ opened: OpenedStore) throws(AgentError) -> any StoreLink {
        let news: Mailbox<StoreNews>
        do throws(EventLoopError) {
            news = try Mailbox<StoreNews>(on: loop) { [unowned exchange] batch in
                for item in batch { exchange.receive(item) }
            }
        } catch {
            throw .system(error)
        }
        self.news = news
        let (path, storeOptions) = (options.stateDirectory, options.store)
        let directory = opened.directory
        let limits = options.store.limits
        return try StoreThreads(
            (opened.store, opened.reader), options.settings, in: options.isInMemory ? nil : path,
            open: { [member] () throws(StoreError) in
                if let member { return try member.openStore(limits) }
                guard let directory else {
                    throw StoreError(.notOpen, path: path, operation: "open")
                }
                return try Store(in: directory, options: storeOptions)
            }, news: news)
    }

    /// Listens, and serves until a signal or `stop`. Returns when everything is in good order.
    ///
    /// - Throws: an `AgentError` when an address cannot be listened at.
    public func run() throws(AgentError) {
        do throws(EventLoopError) {
            for endpoint in options.listen { try listen(at: endpoint) }
            try listenForTools()
            figures.carryOut(try figures.prepare(options.metrics))
            try openManagement()
            try watchSignals()
            try watchLease()
        } catch {
            abandon()
            throw .system(error)
        }
        if options.store.faults != nil { log.warn("the store will fail as planned") }
        if let reloader {
            gateway.isStarting = true
            record(reloader.active) { [unowned self] in started() }
        } else {
            started()
        }
        lag.start()
        clockWatch.start()
        policies?.start(restored.timers)
        exchange.restore(restored)
        outbound.start()
        loop.run()
        reloader?.close()
        policies?.close()
        management.end()
        policies?.decisions.close()
        outbound.close()
        ownership?.close()
        member?.keptFront?.end()
        member?.keptFront?.join()
        store?.close()
        member?.leave(to: ownership?.successor ?? "")
        loop.close()
        log.info("stopped")
    }

    private func started() {
        gateway.isStarting = false
        systemd?.tell("READY=1", "STATUS=serving calls")
        log.info(
            "ready", ("listen", listeners.map { "\($0.endpoint)" }.joined(separator: " ")),
            ("state", options.stateDirectory), ("version", Self.version))
        if let endpoint = figures.endpoint {
            log.info("figures can be read", ("listen", "\(endpoint)"))
        }
    }

    /// Where it listens, with the ports that the system chose.
    public var endpoints: [NetworkAddress] { listeners.map(\.endpoint) }

    /// When the certificate that listeners show runs out, in seconds since 1970 UTC.
    var certificateEnd: Int64? { listeners.first?.tls?.expiresAt }

    private func listen(at endpoint: NetworkAddress) throws(EventLoopError) {
        var settings = Listener.Options()
        settings.tls = try options.tls?.load()
        settings.limit(to: options.limits)
        let listener = try Listener(
            at: endpoint, on: loop, options: settings,
            failed: { [acceptTrouble] in acceptTrouble.tell("cannot accept", $0) },
            accepted: { [unowned gateway] connection in gateway.accept(connection) })
        listener.admits = { [unowned gateway] in gateway.admits($0) }
        listener.began = { [unowned gateway] in gateway.begins($0) }
        listener.turnedBack = { [unowned gateway] in gateway.admission.leaves($0) }
        listeners.append(listener)
    }

    private func listenForTools() throws(EventLoopError) {
        // The name has the port that the system chose: servers of one file have different ones.
        let named = options.listen.first ?? .unix(path: "")
        let place = NetworkAddress.admin(
            stateDirectory: options.stateDirectory, listen: named, file: options.file)
        let own = NetworkAddress.admin(
            stateDirectory: options.stateDirectory, listen: endpoints.first ?? named,
            file: options.file)
        toolsListener = try ToolsListener(
            at: options.admin ?? own, linkedFrom: options.admin == nil ? place : nil, on: loop,
            log: log, trouble: acceptTrouble,
            accepted: { [unowned admin] connection in admin.accept(connection) })
        addRoutes()
    }

    /// Applies all settings that need no restart.
    func configure(_ options: AgentOptions) {
        exchange.configure(options.switchboardSettings, options.limits)
        gateway.configure(
            options.limits, modes: options.settings.modes,
            origins: options.tokens == nil && options.origins == nil
                ? .loopback : Origins(options.origins))
        gateway.hasDevelopmentTokens = options.tokens == nil
        gateway.servesPhone = options.tokens == nil || options.phone
        gateway.webPushPublicKey = options.outbound.webPushKey
        gateway.proxies = TrustedProxies(options.trustedProxies)
        gateway.tokens = options.tokens ?? DevelopmentTokens()
        gateway.revocations.listed = Set(options.revoked)
        gateway.closeRevoked()
        store?.limit(to: options.store.limits)
        loop.strangersTime = options.limits.strangersTurn
        for listener in listeners {
            listener.configure { $0.limit(to: options.limits) }
        }
        outbound.configure(options.outbound)
    }
}
