// What the operator's tools ask of a running process, over HTTP on a socket of its own.

import AgentCore
import CallModel
import CallWire
import EventLoop
import Glibc
import WebProtocols

/// Serves the admin socket. Owner: the loop's thread.
final class AdminServer {
    /// A page that is not an operation, such as the figures.
    typealias Page = (@escaping (HTTPResponse) -> Void) -> Void

    /// The header by which a tool asks with a lower role than its user has.
    static let roleHeader = "X-Role"

    /// Carries out the operations.
    let desk = ManagementDesk()
    private let exchange: Exchange
    private let limits: ServerLimits
    private var pages: [String: Page] = [:]
    private var links: [ObjectIdentifier: ClientLink] = [:]
    private var names: [UInt32: String] = [:]

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

    /// Whoever may open the socket is the operator, unless it asks as less than that.
    private func identity(
        of link: ClientLink, _ request: HTTPRequest
    ) throws(Refusal) -> ManagementIdentity {
        let user = link.transport.peerUser.map { name(ofUser: $0) } ?? "socket"
        let identity = ManagementIdentity(user, .operator)
        guard let text = request.headers[Self.roleHeader] else { return identity }
        guard let role = ManagementIdentity.Role(rawValue: text) else {
            throw .bad(Self.roleHeader, "must be operator or viewer")
        }
        return identity.lowered(to: role)
    }

    /// The system may ask others for a name, and the loop would wait: it asks once for each user.
    private func name(ofUser id: UInt32) -> String {
        if let known = names[id] { return known }
        let name = Self.name(ofUser: id)
        names[id] = name
        return name
    }

    /// `unix:ann`, or `unix:1000` where the system knows no name.
    private static func name(ofUser id: UInt32) -> String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4_096) { buffer in
            let code = buffer.baseAddress.map { getpwuid_r(id, &entry, $0, buffer.count, &found) }
            guard code == 0, found != nil, let name = found?.pointee.pw_name else {
                return "unix:\(id)"
            }
            return "unix:" + String(cString: name)
        }
    }
}

extension AdminServer: ClientLinkOwner {
    func link(_ link: ClientLink, asks request: HTTPRequest) {
        let respond = { [weak link] (response: HTTPResponse) -> Void in link?.respond(response) }
        if request.method == .get, let page = pages[request.target.rawPath] {
            return page(respond)
        }
        do throws(Refusal) {
            desk.answer(request, by: try identity(of: link, request), respond)
        } catch {
            respond(HTTPResponse(HTTPReply(error)))
        }
    }

    func link(_ link: ClientLink, says message: UnsafeRawBufferPointer) {}
    func linkSaysBinary(_ link: ClientLink) {}
    func linkIsAlive(_ link: ClientLink) {}
    func linkIsGone(_ link: ClientLink) { links[ObjectIdentifier(link)] = nil }
}
