// What clients ask over HTTP before it is known who they are: the same at an owner and at a node
// in front of it.

import AgentCore
import CallModel
import CallWire
import EventLoop
import WebProtocols

/// Serves the connections of clients. Owner: the loop's thread.
protocol ClientDoor: ClientLinkOwner {
    /// The sites whose pages may ask.
    var origins: Origins { get }
    /// Who is connected.
    var admission: AdmissionControl<Connection, PeerAddress.Source> { get set }
    /// What clients may do.
    var limits: ServerLimits { get }
    /// Whether the phone's page is served.
    var servesPhone: Bool { get }
    /// Whether everybody may say who they are.
    var hasDevelopmentTokens: Bool { get }
    /// Counts the connection for the address that a trusted proxy names, if it names one. Returns
    /// whether there is room for it.
    func learnsClient(of request: HTTPRequest, over link: ClientLink) -> Bool
    /// The name of a client's program as it is kept.
    func kept(_ agent: String) -> String
}

extension ClientDoor {
    /// What is asked; nil: it is answered already, because nothing more has to be known for that.
    func route(of request: HTTPRequest, over link: ClientLink) -> HTTPRoute? {
        let file = WebFiles.clientFile(of: request)
        guard file != nil || origins.admit(request, from: link.transport.peer) else {
            link.respond(HTTPReply(Origins.refusal(of: request)))
            return nil
        }
        guard learnsClient(of: request, over: link) else {
            link.respond(.tooManyOfAddress)
            return nil
        }
        if let file {
            link.respond(file, isShared: true)
            return nil
        }
        link.addToAnswer(origins.sharing(with: request))
        do throws(HTTPRoute.Failure) {
            return try HTTPRoute(method: request.method.rawValue, path: request.target.rawPath)
        } catch {
            link.respond(HTTPResponse(error))
            return nil
        }
    }

    /// The link speaks over a WebSocket from now on, if the request is as it should be.
    func upgrade(_ link: ClientLink, _ request: HTTPRequest, at now: Moment) {
        do throws(HTTPError) {
            let acceptance = try WebSocketAcceptance(
                of: request, subprotocols: [Gateway.subprotocol])
            admission.upgrades(link.transport, limits: limits)
            // In bytes: one character may have thousands of them.
            link.agent = request.headers["User-Agent"].map {
                kept(String(decoding: $0.utf8.prefix(120), as: UTF8.self))
            }
            link.upgrade(acceptance, limits: limits.session, at: now)
        } catch {
            link.respond(.problem(error))
        }
    }

    /// Answers with a file of the phone's page.
    func phoneFile(_ path: String, _ request: HTTPRequest, _ link: ClientLink) {
        let file = WebFiles.phoneFile(path, for: request, isDevelopment: hasDevelopmentTokens)
        guard servesPhone, let file else { return link.respond(HTTPReply(Gateway.notServed)) }
        link.respond(file, isShared: true)
    }
}
