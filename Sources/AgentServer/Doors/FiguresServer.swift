// Serves figures at an address of their own, where nothing can be changed.

import AgentCore
import EventLoop
import WebProtocols

/// Serves what the operator's file calls `metrics`: `/metrics`, `/healthz` and `/readyz`, to be
/// read only. Owner: the loop's thread.
final class FiguresServer {
    /// Connections at once. One more closes the oldest, so that a reader that only holds
    /// connections does not keep others away.
    static let connectionsMax = 32

    /// A listener that is open but not yet in force; nil: there will be none.
    struct Change {
        fileprivate let address: NetworkAddress?
        fileprivate let listener: Listener?
    }

    private let exchange: Exchange
    private let limits: ServerLimits
    private let loop: EventLoop
    /// Makes the text of `/metrics`, now or later.
    private let figures: (@escaping (String) -> Void) -> Void
    private let isReady: () -> Bool
    private let trouble: AcceptTrouble
    /// The address in the operator's file.
    private var address: NetworkAddress?
    private var listener: Listener?
    /// The oldest first.
    private var links: [ClientLink] = []

    init(
        _ exchange: Exchange, _ limits: ServerLimits, loop: EventLoop, log: Log,
        isReady: @escaping () -> Bool, figures: @escaping (@escaping (String) -> Void) -> Void
    ) {
        self.exchange = exchange
        self.limits = limits
        self.loop = loop
        self.isReady = isReady
        self.figures = figures
        trouble = AcceptTrouble(log)
    }

    /// Where it listens, with the port that the system chose; nil: nowhere.
    var endpoint: NetworkAddress? { listener?.endpoint }

    /// Opens the listener that `address` asks for; nil: it is the one in force.
    func prepare(_ address: NetworkAddress?) throws(EventLoopError) -> Change? {
        guard address != self.address else { return nil }
        guard let address else { return Change(address: nil, listener: nil) }
        let listener = try Listener(
            at: address, on: loop,
            failed: { [trouble] in trouble.tell("cannot accept readers of figures", $0) },
            accepted: { [unowned self] in accept($0) })
        return Change(address: address, listener: listener)
    }

    /// Puts a prepared listener into force.
    func carryOut(_ change: Change?) {
        guard let change else { return }
        close()
        (address, listener) = (change.address, change.listener)
    }

    /// Closes a prepared listener that does not come into force.
    func dismiss(_ change: Change?) { change?.listener?.close() }

    /// Stops listening, and closes all connections.
    func close() {
        listener?.close()
        (address, listener) = (nil, nil)
        for link in links { link.end() }
    }

    private func accept(_ transport: Connection) {
        if links.count >= Self.connectionsMax { links.removeFirst().transport.abort() }
        transport.isKnown = true
        links.append(ClientLink(transport, owner: self, limits: limits, at: exchange.now()))
    }
}

extension FiguresServer: HTTPLinkOwner {
    func link(_ link: ClientLink, asks request: HTTPRequest) {
        let path = request.target.rawPath
        guard ["/metrics", "/healthz", "/readyz"].contains(path) else {
            return link.respond(HTTPResponse(404, text: "not found\n"))
        }
        guard [.get, .head].contains(request.method) else {
            var response = HTTPResponse(405, text: "only GET and HEAD are allowed\n")
            response.headers.append("Allow", "GET, HEAD")
            return link.respond(response)
        }
        switch path {
        case "/healthz": link.respond(HTTPResponse(200, text: "ok\n"))
        case "/readyz":
            let isReady = isReady()
            link.respond(HTTPResponse(isReady ? 200 : 503, text: isReady ? "ok\n" : "not ready\n"))
        default:
            figures { [weak link] text in
                link?.respond(
                    HTTPResponse(
                        200, headers: ["Content-Type": "text/plain; version=0.0.4"],
                        body: Array(text.utf8)))
            }
        }
    }

    func linkIsGone(_ link: ClientLink) { links.removeAll { $0 === link } }
}
