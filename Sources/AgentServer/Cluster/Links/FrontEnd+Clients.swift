// What clients of a front end say.

import AgentCore
import CallModel
import CallWire
import ClusterCore
import EventLoop
import JSON
import WebProtocols

extension FrontEnd: ClientDoor {
    /// Bytes of messages that one client may have with the owner.
    private static let messageBytes = 65_536
    /// The header fields that the owner looks at.
    private static let wanted = [
        "Authorization", "X-Device", "X-User", "Idempotency-Key", "traceparent",
        "Content-Encoding",
    ]

    func link(_ link: ClientLink, says message: UnsafeRawBufferPointer) {
        let client = client(of: link)
        guard owner.isOpen, !client.isLeaving else { return turnBack(message, client) }
        guard !hasToWait(message.count) else { return wait(.message(Array(message)), of: client) }
        pass(message, of: client)
    }

    func pass(_ message: UnsafeRawBufferPointer, of client: FrontClient) {
        let stream = stream(of: client)
        // Long messages count more, so that one client cannot have much with the owner.
        let share = Self.messageBytes / max(1, limits.requestsUnderWay)
        let weight = max(1, message.count / max(1, share))
        notes((weight, message.count), of: client)
        client.state.says(message)
        owner.send { $0.say(stream, message) }
        if owner.isFull { rest(client) }
    }

    /// Nobody can carry it out now.
    func turnBack(_ message: UnsafeRawBufferPointer, _ client: FrontClient) {
        let id: MessageID?
        do throws(Malformed) {
            switch try decoder.message(message) {
            case .acknowledge: return
            case .hello(let one, _), .bye(let one), .request(let one, _, _): id = one
            case .ping(let one): id = one
            }
        } catch {
            id = error.id
        }
        var writer = JSONWriter()
        WireEncoder.replyHead(id, into: &writer)
        WireEncoder.refusalTail(.notReady, into: &writer)
        client.link.send(writer.written)
        // Whoever has no session finds a node that serves.
        if client.state.session == nil { client.link.close(.draining, "not ready") }
    }

    func linkSaysBinary(_ link: ClientLink) { link.close(.unsupportedData) }

    func linkIsAlive(_ link: ClientLink) { link.line.keepAlive.heard(at: now) }

    func linkKeeps(_ link: ClientLink) {
        guard client(of: link).state.session == nil else { return }
        if admission.isNewcomer(link.transport) {
            link.unreadBytes = link.unsentBytes
            if link.unreadBytes > 0 { link.transport.notifyWhenDrained() }
        }
        beginners.note(link)
        while beginners.bytes > limits.strangersBytes, let greediest = beginners.greediest {
            beginners.forget(greediest)
            if greediest.unreadBytes == 0 {
                greediest.giveUp()
            } else {
                // Who does not read would keep the memory until closing ends.
                admission.sendAway(greediest.transport)
            }
        }
    }

    func linkIsGone(_ link: ClientLink) { remove(link) }

    // MARK: HTTP

    func link(_ link: ClientLink, asks request: HTTPRequest) {
        let client = client(of: link)
        if client.isTool { return manage(request, client) }
        guard let route = route(of: request, over: link) else { return }
        switch route {
        case .socket: upgrade(link, request, at: now)
        case .health: link.respond(HTTPResponse(200, text: "ok\n"))
        case .readiness: link.respond(readiness)
        case .call, .operation: ask(request, link)
        case .webPushKey, .openAPI, .asyncAPI: fetch(request, link)
        case .phoneFile(let path): phoneFile(path, request, link)
        case .options(let allow): link.respond(Origins.answer(to: request, allow: allow))
        case .metrics, .clientFile: link.respond(HTTPResponse(HTTPReply(Gateway.notServed)))
        }
    }

    func learnsClient(of request: HTTPRequest, over link: ClientLink) -> Bool {
        let peer = link.transport.peer
        guard proxies.contains(peer) else { return true }
        let source = proxies.client(of: request, from: peer)
        return admission.learns(source, of: link.transport, limits: limits)
    }

    func kept(_ agent: String) -> String { agent }

    /// Whether clients should come here, as a load balancer asks.
    var readiness: HTTPResponse {
        guard !isReady else { return HTTPResponse(200, text: "ready\n") }
        var response = HTTPResponse(503, text: "standby: no link to an owner\n")
        response.headers.append("Retry-After", "1")
        return response
    }

    /// Anybody may fetch it, and it is long: the owner is asked now and then, for all.
    private func fetch(_ request: HTTPRequest, _ link: ClientLink) {
        let path = request.target.rawPath
        if let known = documents[path], now - known.askedAt < Self.documentAge {
            return link.respond(known.response, isShared: true)
        }
        documents[path]?.askedAt = now
        client(of: link).fetches = path
        ask(request, link)
    }

    /// For so many milliseconds a document is given out as the owner told it.
    private static let documentAge: Milliseconds = 1_000

    private func ask(_ request: HTTPRequest, _ link: ClientLink) {
        let client = client(of: link)
        guard owner.isOpen, !client.isLeaving else { return link.respond(HTTPReply(.notReady)) }
        client.isAsking = true
        guard !hasToWait(request.body.count) else { return wait(.request(request), of: client) }
        pass(request, of: client)
    }

    func pass(_ request: HTTPRequest, of client: FrontClient) {
        let stream = stream(of: client)
        var headers: [String] = []
        for name in Self.wanted {
            for value in request.headers.all(name) { headers += [name, value] }
        }
        owner.send { $0.append(.asks(stream, StreamRequest(request, headers: headers))) }
    }
}
