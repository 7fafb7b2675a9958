// What the operator's tools ask of a running process, over HTTP on a socket of its own.

import AgentCore
import CallModel
import CallWire
import EventLoop
import JSON
import WebProtocols

/// Serves the admin socket. Owner: the loop's thread.
final class AdminServer {
    /// A route: answers now or later, once.
    typealias Handler = (HTTPRequest, @escaping (HTTPResponse) -> Void) -> Void

    private let exchange: Exchange
    private let limits: ServerLimits
    private var routes: [String: (method: HTTPMethod, handler: Handler)] = [:]
    private var links: [ObjectIdentifier: ClientLink] = [:]

    init(exchange: Exchange, limits: ServerLimits) {
        self.exchange = exchange
        self.limits = limits
    }

    /// Answers `method path` with `handler`.
    func route(_ method: HTTPMethod, _ path: String, _ handler: @escaping Handler) {
        routes[path] = (method, handler)
    }

    /// Takes a new connection over.
    func accept(_ transport: Connection) {
        transport.isKnown = true
        let link = ClientLink(transport, owner: self, limits: limits, at: exchange.now())
        links[ObjectIdentifier(link)] = link
    }

    /// Lets every tool go.
    func close() {
        for link in links.values { link.end() }
    }
}

extension AdminServer: ClientLinkOwner {
    func link(_ link: ClientLink, asks request: HTTPRequest) {
        guard let route = routes[request.target.rawPath] else {
            return link.respond(.trouble(404, "no such resource: \(request.target.rawPath)"))
        }
        guard route.method == request.method else {
            var response = HTTPResponse.trouble(405, "only \(route.method.rawValue) is allowed")
            response.headers.append("Allow", route.method.rawValue)
            return link.respond(response)
        }
        route.handler(request) { [weak link] response in link?.respond(response) }
    }

    func link(_ link: ClientLink, says message: UnsafeRawBufferPointer) {}
    func linkSaysBinary(_ link: ClientLink) {}
    func linkIsAlive(_ link: ClientLink) {}
    func linkIsGone(_ link: ClientLink) { links[ObjectIdentifier(link)] = nil }
}

extension HTTPResponse {
    /// An error for a tool: `{"error": text}`.
    static func trouble(_ status: HTTPStatus, _ text: String) -> HTTPResponse {
        json(status, ["error": .string(text)])
    }

    /// A JSON value.
    static func json(_ status: HTTPStatus, _ value: JSONValue) -> HTTPResponse {
        HTTPResponse(
            status, headers: ["Content-Type": "application/json"], body: value.bytes)
    }
}
