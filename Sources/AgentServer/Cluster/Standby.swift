// A node that waits until it owns: with links it serves clients for the owner, without it serves
// nobody.

import AgentCore
import CallModel
import ClusterCore
import ClusterStorage
import Configuration
import EventLoop
import Lua
import PolicyHost
import Storage
import StoreContract
import WebProtocols

/// How waiting ended.
public enum Standing {
    /// There is no cluster in the operator's file.
    case alone
    /// This node owns.
    case owns(ClusterMember)
    /// It was told to stop.
    case stopped
}

extension ClusterMember {
    /// Waits until this process owns, if the operator's file has a cluster.
    ///
    /// - Throws: what is wrong with the file, or with the database: wrong password, no rights, no
    ///   tables; also that it did not answer within `start_within`.
    public static func standBy(
        file: String?, takingFilesOnDisk: Bool, log makeLog: (Configuration) -> Log
    ) throws(AgentError) -> Standing {
        guard let file else { return .alone }
        guard let configuration = Deployment.serverPart(of: file),
            let cluster = configuration.cluster
        else { return .alone }
        let member = try ClusterMember(
            cluster, settings: configuration.settingsOfAllNodes, file: configuration.file,
            takingFilesOnDisk: takingFilesOnDisk)
        let standby = try Standby(member, configuration, makeLog(configuration))
        return try standby.wait(atMost: cluster.startWithin) ? .owns(member) : .stopped
    }
}

extension Deployment {
    /// The server's part of a file; nil: it does not evaluate, and a start says why.
    fileprivate static func serverPart(of file: String) -> Configuration? {
        do throws(ScriptProblems) {
            return try configuration(at: file, only: .server)
        } catch {
            return nil
        }
    }
}

/// The doors of a node that waits. Owner: the thread that waits.
private final class Standby {
    /// Connections at once; one more closes the oldest.
    static let connectionsMax = 64

    private let member: ClusterMember
    private let configuration: Configuration
    private let log: Log
    private let loop: EventLoop
    private var listeners: [Listener] = []
    private var links: [ClientLink] = []
    private var figureLinks: Set<ObjectIdentifier> = []
    private var signals: [SignalWatcher] = []
    private lazy var trouble = AcceptTrouble(log)
    private var news: Mailbox<MemberNews>?
    private var patience: Timer?
    /// What it owns in the end; nil: it does not.
    private var grant: Grant?
    private var owns: Bool { grant != nil }
    private var failure: StoreError?
    private var isReached = false
    private var isToldToStop = false
    /// Who was seen to own last.
    private var owner = ""
    private var repeated = RepeatedLine()
    private lazy var systemd = SystemdNotice(on: loop)
    /// What serves clients for the owner; nil: this node has no links.
    private let front: FrontEnd?
    private var ownFiles: OwnFiles?
    private let consoleOptions: ConsoleOptions?
    private var console: FrontConsole?
    private var frontDesk: FrontDesk?
    /// Where other nodes find out that they reach this one; nil: they do not.
    private var door: LookoutDoor?
    private lazy var sighting = Sighting(member.node, log)

    init(
        _ member: ClusterMember, _ configuration: Configuration, _ log: Log
    ) throws(AgentError) {
        (self.member, self.configuration, self.log) = (member, configuration, log)
        consoleOptions = try AgentOptions.console(configuration)
        if consoleOptions != nil, configuration.auth.isEmpty {
            throw AgentOptions.consoleWithoutKeys
        }
        do throws(EventLoopError) {
            let loop = try EventLoop()
            self.loop = loop
            front = member.linkPlan.map {
                FrontEnd($0, node: member.node, configuration, on: loop, log: log)
            }
        } catch {
            throw .system(error)
        }
    }

    /// Whether it owns in the end; false: it was told to stop.
    func wait(atMost startWithin: Milliseconds) throws(AgentError) -> Bool {
        do throws(EventLoopError) {
            try listen()
            let news = try Mailbox<MemberNews>(on: loop) { [unowned self] batch in
                for one in batch { hear(one) }
            }
            self.news = news
            try watchSignals()
            member.tellUntilItOwns { _ = news.post($0) }
        } catch {
            throw .system(error)
        }
        patience = Timer(on: loop) { [unowned self] in
            if !isReached { loop.stop() }
        }
        patience?.arm(at: Clock.bootMilliseconds() + startWithin)
        log.info(
            "standing by", ("node", member.node), ("database", member.address.name),
            ("may_own", "\(member.isEligible)"))
        let microseconds = (startWithin + 30_000) * 1_000
        systemd?.tell("STATUS=waits for the database", "EXTEND_TIMEOUT_USEC=\(microseconds)")
        try member.keep()
        loop.run()
        if !owns { member.tell(nil) }
        for listener in listeners { listener.close() }
        for link in links { link.transport.abort() }
        door?.close()
        door = nil
        console?.close()
        ownFiles?.close()
        let isKept = try keepClients()
        if !isKept { loop.close() }
        let hasEnded = owns || isToldToStop
        if let failure, !hasEnded, isFinal(failure) || !isReached { throw .store(failure) }
        if !owns { member.leave(to: "") }
        return owns
    }

    /// The clients that this node has stay, where it owns now. Nothing else of this object may be
    /// left on the loop: it turns on another thread from then on.
    private func keepClients() throws(AgentError) -> Bool {
        guard let grant, let front, front.hasTalkers else { return false }
        for signal in signals { signal.close() }
        news?.close()
        (patience, systemd) = (nil, nil)
        do throws(EventLoopError) {
            member.keptFront = try KeptFront(front, grant, on: loop)
        } catch {
            throw .system(error)
        }
        return true
    }

    private func listen() throws(EventLoopError) {
        let places = [configuration.listen] + (configuration.metrics.map { [$0] } ?? [])
        for (place, text) in places.enumerated() {
            var options = Listener.Options()
            if place == 0 {
                options.tls = try AgentOptions.certificate(of: configuration)?.load()
                if let front { options.limit(to: front.limits) }
            }
            let listener = try Listener(
                at: try NetworkAddress(parsing: text), on: loop, options: options,
                failed: { [trouble] in trouble.tell("cannot accept", $0) },
                accepted: { [unowned self] in accept($0, forFigures: place > 0) })
            listeners.append(listener)
            guard place == 0, let front else { continue }
            listener.admits = { [unowned front] in front.admits($0) }
            listener.began = { [unowned front] in front.begins($0) }
            listener.turnedBack = { [unowned front] in front.admission.leaves($0) }
        }
        if let plan = member.linkPlan { openDoor(plan) }
        try listenForTools()
        if let front, let consoleOptions {
            let made = try FrontConsole(consoleOptions, front, trouble)
            log.info("the console can be used", ("listen", "\(consoleOptions.listen)"))
            console = made
        }
        front?.linked = { [member] in member.note(links: $0.map { [$0] } ?? []) }
    }

    /// Without it this node serves nevertheless: others take it for one that nobody reaches.
    private func openDoor(_ plan: LinkPlan) {
        do throws(EventLoopError) {
            door = try LookoutDoor(plan, node: member.node, on: loop, log: log)
        } catch {
            log.error("other nodes cannot see this one", ("why", "\(error)"))
        }
    }

    /// The operator's socket, where this node can hand on what is asked there.
    private func listenForTools() throws(EventLoopError) {
        guard let front else { return }
        front.tellFigures = { [unowned self] in figures }
        let directory = AgentOptions.place(configuration)
        let ownFiles = try OwnFiles(
            of: configuration.file, in: directory == ":memory:" ? nil : directory, on: loop)
        self.ownFiles = ownFiles
        front.ownFiles = ownFiles
        let frontDesk = FrontDesk(front, configuration, ownFiles)
        front.desk = frontDesk.desk
        self.frontDesk = frontDesk
        // What is wrong with it the listener says.
        if directory != ":memory:" { try? StateDirectory.make(at: directory) }
        let place = NetworkAddress.admin(
            stateDirectory: directory, listen: try NetworkAddress(parsing: configuration.listen),
            file: configuration.file)
        listeners.append(
            try Listener(
                at: AgentOptions.admin(configuration) ?? place, on: loop,
                failed: { [trouble] in trouble.tell("cannot accept tools", $0) },
                accepted: { [unowned front] in front.acceptTool($0) }))
    }

    private func watchSignals() throws(EventLoopError) {
        for signal in [SignalWatcher.Signal.terminate, .interrupt] {
            signals.append(
                try SignalWatcher(for: signal, on: loop) { [unowned self] in
                    systemd?.tell("STOPPING=1", "STATUS=ends")
                    stop()
                })
        }
        // Whoever reloads all nodes at once must not end those that stand by.
        signals.append(
            try SignalWatcher(for: .hangup, on: loop) { [log] in
                log.info("standing by: the files are read when this node owns")
            })
        signals += try SignalWatcher.ignoring(on: loop, log: log)
    }

    /// Ends because the operator wants it to; clients have a moment to go.
    private func stop() {
        guard let front, !isToldToStop else {
            isToldToStop = true
            return loop.stop()
        }
        isToldToStop = true
        front.end { [unowned self] in loop.stop() }
    }

    private func accept(_ transport: Connection, forFigures: Bool) {
        if !forFigures, let front { return front.accept(transport) }
        if links.count >= Self.connectionsMax { links.removeFirst().transport.abort() }
        let now = Moment(Clock.wallMilliseconds())
        let link = ClientLink(transport, owner: self, limits: ServerLimits(), at: now)
        links.append(link)
        if forFigures { figureLinks.insert(ObjectIdentifier(link)) }
    }

    private func hear(_ news: MemberNews) {
        switch news {
        case .owns(let grant):
            log.info("owns from now on", ("node", member.node), ("epoch", "\(grant.term.epoch)"))
            self.grant = grant
            systemd?.tell("WATCHDOG=1", "STATUS=takes over")
            loop.stop()
        case .looked(let row, let place, let view):
            front?.owner.sees(row, at: place)
            sighting.sees(view)
        case .sees(let row):
            isReached = true
            if row.isImporting {
                log.warn("an import is under way or did not end: no node owns before")
                systemd?.tell("READY=1", "STATUS=stands by: an import is under way or did not end")
            }
            guard !row.isReleased else { return }
            owner = row.term.owner
            systemd?.tell("READY=1", status)
            let now = Moment(Clock.bootMilliseconds())
            guard let left = repeated.admit(owner, at: now) else { return }
            log.info(
                "another node owns", ("owner", owner), ("epoch", "\(row.term.epoch)"),
                ("left_out", "\(left)"))
        case .setBack(let back): log.error("the database went back", ("why", "\(back)"))
        case .trouble(let error?):
            failure = error
            log.warn("the database does not answer", ("error", "\(error)"))
            if isReached { systemd?.tell(status + ", and the database does not answer") }
            if isFinal(error) { loop.stop() }
        case .trouble(nil):
            failure = nil
            log.info("the database answers", ("database", member.address.name))
            if isReached { systemd?.tell(status) }
        case .warmed(let state):
            frontDesk?.warm = state
            let why = ("why", state.whyNot)
            if !state.whyNot.isEmpty {
                log.error("may not own: the generation in force cannot be loaded", why)
            } else if !state.generation.isEmpty {
                log.info("generation loaded", ("generation", state.generation))
            }
        case .asked, .outnumbered, .lost, .replaced, .fingerprints, .days, .sight: break
        }
    }

    /// What the service manager is told: a node that stands by counts as ready.
    private var status: String { "STATUS=stands by: \(owner.isEmpty ? "nobody" : owner) owns" }

    /// Whether waiting does not help.
    private func isFinal(_ error: StoreError) -> Bool {
        switch error.kind {
        case .unreachable, .busy, .notOwner, .notOpen, .diskFull: false
        default: !isReached
        }
    }
}

extension Standby: HTTPLinkOwner {
    func link(_ link: ClientLink, asks request: HTTPRequest) {
        if request.target.rawPath == "/healthz" {
            return link.respond(HTTPResponse(200, text: "ok\n"))
        }
        if request.target.rawPath == "/readyz", let front { return link.respond(front.readiness) }
        // Whoever only watches must not take it for a server that is down.
        if request.target.rawPath == "/metrics", figureLinks.contains(ObjectIdentifier(link)) {
            return link.respond(HTTPResponse(200, text: figures))
        }
        var response = HTTPResponse(503, text: "standby: another node serves\n")
        response.headers.append("Retry-After", "1")
        link.respond(response)
    }

    func linkIsGone(_ link: ClientLink) {
        links.removeAll { $0 === link }
        figureLinks.remove(ObjectIdentifier(link))
    }

    private var figures: String {
        let samples: [Metrics.Sample] =
            [.gauge("standby", "Whether this node stands by.", 1)] + (front?.samples ?? [])
            + (front == nil ? [] : sighting.samples)
        // Clients are shown the certificate of the node that has their connections.
        let families =
            FigureFamily.certificates(
                tls: listeners.first?.tls?.expiresAt,
                link: member.linkPlan?.accepting?.expiresAt)
            + [.node(member.node, owns: false)]
        return (samples.map(\.text) + families.map(\.text)).joined()
    }
}
