// What the operator's tools ask of a running process, over HTTP on a socket of its own.

import AgentCore
import CallModel
import CallWire
import EventLoop
import WebProtocols

/// Serves the admin socket. Owner: the loop's thread.
final class AdminServer {
    /// A page that is not an operation, such as the figures.
    typealias Page = (@escaping (HTTPResponse) -> Void) -> Void

    /// Carries out the operations.
    let desk = ManagementDesk()
    private let exchange: Exchange
    private let limits: ServerLimits
    private var pages: [String: Page] = [:]
    private var links: [ObjectIdentifier: ClientLink] = [:]
    private var users = SocketUsers()

    init(exchange: Exchange, limits: ServerLimits) {
        self.exchange = exchange
        var limits = limits
        limits.http.body = max(limits.http.body, 1 << 20)
        self.limits = limits
    }

    /// Carries out the operation `name` by `handler`.
    func serve(_ name: ManagementOperation.Name, _ handler: @escaping ManagementDesk.Handler) {
        desk.serve(name, handler)
    }

    /// Answers `GET path` with `page`.
    func show(_ path: String, _ page: @escaping Page) { pages[path] = page }

    /// Takes over a new connection.
    func accept(_ transport: Connection) {
        transport.isKnown = true
        let link = ClientLink(transport, owner: self, limits: limits, at: exchange.now())
        links[ObjectIdentifier(link)] = link
    }

    /// Closes the connections of all tools.
    func close() {
        for link in links.values { link.end() }
    }
}

extension AdminServer: HTTPLinkOwner {
    func link(_ link: ClientLink, asks request: HTTPRequest) {
        let respond = { [weak link] (response: HTTPResponse) -> Void in link?.respond(response) }
        if [.get, .head].contains(request.method), let page = pages[request.target.rawPath] {
            return page(respond)
        }
        do throws(Refusal) {
            desk.answer(request, by: try users.identity(of: link.transport, request), respond)
        } catch {
            respond(HTTPResponse(HTTPReply(error)))
        }
    }

    func linkIsGone(_ link: ClientLink) { links[ObjectIdentifier(link)] = nil }
}
