// A listener for people: the console's pages, and the management API behind a token.

import AgentCore
import CallModel
import CallWire
import EventLoop
import WebProtocols

/// Where a console listens, and who may ask.
public struct ConsoleOptions: Sendable, Equatable {
    /// Its address.
    public var listen: NetworkAddress
    /// Certificate and key; nil: no TLS.
    public var tls: CertificateFiles?
    /// Origins by whose host it may be named beside its own, such as `https://console.example.com`.
    public var origins: [String] = []
    /// Connections at once.
    public var connections = 100
    /// Bytes of the body of a request.
    public var body = 256 << 10

    /// A console at `listen`.
    public init(listen: NetworkAddress) { self.listen = listen }
}

/// Serves a console to browsers. Requests to the API go to `ask`, with the connection's address.
/// Owner: the loop's thread.
final class ConsoleDoor {
    /// Answers a request to the API; `isKnown` says who showed a good token.
    typealias Ask = (
        _ request: HTTPRequest, _ from: PeerAddress, _ isKnown: @escaping (String) -> Void,
        _ respond: @escaping (HTTPResponse) -> Void
    ) -> Void

    /// Milliseconds between two looks at slow peers.
    static let lookEvery: Int64 = 1_000
    /// How long a peer may take nothing of what waits for it, in milliseconds.
    static let patience: Milliseconds = 30_000

    private struct Entry {
        let link: ClientLink
        /// Who showed a good token over it; nil: a stranger.
        var owner: String?
        var unsent = 0
        var since: Moment
    }

    private(set) var options: ConsoleOptions
    private var hosts: ConsoleHosts
    private var limits: ServerLimits
    private let now: () -> Moment
    private let ask: Ask
    private var listener: Listener?
    /// The oldest first.
    private var entries: [Entry] = []
    private var housekeeping: Timer?
    /// The whole documentation; nil: it is not installed.
    private var site: SiteDesk?

    /// Listens.
    init(
        _ options: ConsoleOptions, _ limits: ServerLimits, on loop: EventLoop,
        now: @escaping () -> Moment, trouble: AcceptTrouble, ask: @escaping Ask
    ) throws(EventLoopError) {
        self.options = options
        self.limits = Self.adapted(limits, to: options)
        self.now = now
        self.ask = ask
        hosts = ConsoleHosts(options)
        var settings = Listener.Options()
        settings.tls = try options.tls?.load()
        settings.handshakeTimeout = limits.handshakeWithin
        settings.handshakesAtOnce = options.connections
        // Each refused token costs a connection: so nobody tries many.
        settings.acceptsPerSecond = min(limits.acceptsPerSecond, 200)
        listener = try Listener(
            at: options.listen, on: loop, options: settings,
            failed: { trouble.tell("cannot accept people", $0) },
            accepted: { [unowned self] in accept($0) })
        ConsolePages.prepare()
        if let folder = SiteFolder.installed() {
            site = try SiteDesk(
                folder, on: loop,
                unread: { [unowned self] in entries.reduce(0) { $0 + $1.link.unsentBytes } })
        }
        housekeeping = Timer(on: loop) { [unowned self] in lookAround() }
    }

    /// Requests of one connection in one turn of the loop. A page asks for a few at a time; each
    /// costs more than a client's message, and calls wait meanwhile.
    private static let requestsPerTurn = 4

    private static func adapted(
        _ limits: ServerLimits, to options: ConsoleOptions
    ) -> ServerLimits {
        var limits = limits
        limits.http.body = options.body
        limits.messagesPerTurn = min(limits.messagesPerTurn, requestsPerTurn)
        return limits
    }

    /// Where it listens, with the port that the system chose.
    var endpoint: NetworkAddress? { listener?.endpoint }

    /// Goes on at the same address with other options.
    func configure(_ options: ConsoleOptions, _ limits: ServerLimits, _ tls: TLSContext?) {
        self.options = options
        self.limits = Self.adapted(limits, to: options)
        hosts = ConsoleHosts(options)
        listener?.tls = tls
    }

    /// Stops listening, and closes all connections.
    func close() {
        listener?.close()
        listener = nil
        site?.close()
        for entry in entries { entry.link.end() }
    }

    private func accept(_ transport: Connection) {
        if entries.count >= options.connections {
            guard let place = placeToGive() else { return transport.abort() }
            entries.remove(at: place).link.transport.abort()
        }
        let link = ClientLink(transport, owner: self, limits: limits, at: now())
        entries.append(Entry(link: link, since: now()))
        if housekeeping?.isArmed == false { housekeeping?.arm(after: Self.lookEvery) }
    }

    /// The connection that makes room: a stranger's, else the oldest of the user with most
    /// connections, so that nobody keeps all others out; nil: nobody has two.
    private func placeToGive() -> Int? {
        if let place = entries.firstIndex(where: { $0.owner == nil }) { return place }
        let counts = Dictionary(entries.map { ($0.owner, 1) }, uniquingKeysWith: +)
        guard let most = counts.max(by: { $0.value < $1.value }), most.value > 1 else { return nil }
        return entries.firstIndex { $0.owner == most.key }
    }

    private func lookAround() {
        let now = now()
        for place in entries.indices.reversed() {
            let (link, unsent) = (entries[place].link, entries[place].link.unsentBytes)
            if unsent == 0 || unsent < entries[place].unsent { entries[place].since = now }
            entries[place].unsent = unsent
            let isStuck = unsent > 0 && now - entries[place].since >= Self.patience
            if isStuck || link.isOverdue(at: now, limits: limits) { link.transport.abort() }
        }
        if !entries.isEmpty { housekeeping?.arm(after: Self.lookEvery) }
    }
}

extension ConsoleDoor: HTTPLinkOwner {
    func link(_ link: ClientLink, asks request: HTTPRequest) {
        let respond = { [weak link] (response: HTTPResponse) -> Void in link?.respond(response) }
        let path = request.target.rawPath
        let site = SiteDesk.serves(path) ? site : nil
        link.addToAnswer(site == nil ? ConsolePages.protection : SiteDesk.protection)
        guard hosts.admit(request, fromNobody: site != nil) else {
            return respond(.refused(.forbidden, "pages of this origin may not ask"))
        }
        if let site { return site.answer(request, respond) }
        guard path.hasPrefix(ManagementOperation.root + "/") else {
            return respond(ConsolePages.answer(to: request))
        }
        let isKnown = { [weak self, weak link] (name: String) -> Void in
            link?.transport.isKnown = true
            guard let place = self?.entries.firstIndex(where: { $0.link === link }) else { return }
            self?.entries[place].owner = name
        }
        ask(request, link.transport.peer, isKnown) { response in
            var response = response
            response.headers.append("Cache-Control", "no-store")
            // Who guesses tokens connects anew for each.
            if response.status.rawValue == 401 { response.keepsAlive = false }
            respond(response)
        }
    }

    func linkIsGone(_ link: ClientLink) { entries.removeAll { $0.link === link } }
}
