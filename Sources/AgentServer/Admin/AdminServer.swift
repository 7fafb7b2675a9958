// What the operator's tools ask of a running process, over HTTP on a socket of its own.

import AgentCore
import CallModel
import CallWire
import EventLoop
import JSON
import WebProtocols

/// Serves the admin socket. Owner: the loop's thread.
final class AdminServer {
    /// Carries out an operation: answers now or later, once.
    typealias Handler = (ManagementRequest, @escaping (HTTPResponse) -> Void) -> Void
    /// A page that is not an operation, such as the figures.
    typealias Page = (@escaping (HTTPResponse) -> Void) -> Void

    private let exchange: Exchange
    private let limits: ServerLimits
    private var handlers: [ManagementOperation.Name: Handler] = [:]
    private var pages: [String: Page] = [:]
    private var links: [ObjectIdentifier: ClientLink] = [:]

    init(exchange: Exchange, limits: ServerLimits) {
        self.exchange = exchange
        self.limits = limits
    }

    /// Carries out the operation `name` by `handler`.
    func serve(_ name: ManagementOperation.Name, _ handler: @escaping Handler) {
        handlers[name] = handler
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

extension AdminServer: ClientLinkOwner {
    func link(_ link: ClientLink, asks request: HTTPRequest) {
        let respond = { [weak link] (response: HTTPResponse) -> Void in link?.respond(response) }
        if request.method == .get, let page = pages[request.target.rawPath] {
            return page(respond)
        }
        do throws(Refusal) {
            // Whoever may open the socket is the operator.
            let asked = try ManagementRequest(request, by: .socket)
            guard let handler = handlers[asked.operation.name] else {
                throw Refusal(.unavailable, "the server begins or ends")
            }
            handler(asked, respond)
        } catch {
            let isMethod = error.code == .unsupported
            var response = HTTPResponse(HTTPReply(error, status: isMethod ? 405 : nil))
            if isMethod {
                let allowed = ManagementOperation.methods(at: request.target.rawPath)
                response.headers.append("Allow", allowed.joined(separator: ", "))
            }
            respond(response)
        }
    }

    func link(_ link: ClientLink, says message: UnsafeRawBufferPointer) {}
    func linkSaysBinary(_ link: ClientLink) {}
    func linkIsAlive(_ link: ClientLink) {}
    func linkIsGone(_ link: ClientLink) { links[ObjectIdentifier(link)] = nil }
}

extension HTTPResponse {
    /// The problem document of a refusal.
    static func refused(_ code: Refusal.Code, _ text: String) -> HTTPResponse {
        HTTPResponse(HTTPReply(Refusal(code, text)))
    }

    /// A JSON value.
    static func json(_ status: HTTPStatus, _ value: JSONValue) -> HTTPResponse {
        HTTPResponse(
            status, headers: ["Content-Type": "application/json"], body: value.bytes)
    }
}
