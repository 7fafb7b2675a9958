// The same operations over HTTP.

import AgentCore
import CallModel
import CallWire
import EventLoop
import JSON
import WebProtocols

extension Gateway {
    /// The subprotocol that WebSockets speak.
    static let subprotocol = "callagent.v1.json"

    func link(_ link: ClientLink, asks request: HTTPRequest) {
        looksAtLease?()
        guard let route = route(of: request, over: link) else { return }
        switch route {
        case .socket: upgrade(link, request, at: exchange.now())
        case .health: link.respond(HTTPResponse(200, text: "ok\n"))
        case .readiness: link.respond(readiness)
        case .call(let id): get(id, request, link)
        case .operation(let name): operation(name, request, link)
        case .options(let allow): link.respond(Origins.answer(to: request, allow: allow))
        case .clientFile: link.respond(HTTPResponse(HTTPReply(Self.notServed)))
        case .phoneFile(let path): phoneFile(path, request, link)
        case .webPushKey:
            link.respond(webPushKey ?? HTTPResponse(HTTPReply(Self.notServed)))
        case .openAPI, .asyncAPI, .metrics:
            link.respond(
                document(request.target.rawPath) ?? HTTPResponse(HTTPReply(Self.notServed)),
                isShared: true)
        }
    }

    static let notServed = Refusal(.notFound, "not served here")

    /// What a page needs to ask its browser for a push subscription; nil: no Web Push here.
    var webPushKey: HTTPResponse? {
        webPushPublicKey.map { key in
            HTTPResponse(
                200, headers: ["Content-Type": "application/json"],
                body: Array(#"{"key":"\#(key)"}"#.utf8))
        }
    }

    private var readiness: HTTPResponse {
        tellReadiness()
            ? HTTPResponse(200, text: "ready\n") : HTTPResponse(503, text: "not ready\n")
    }

    func get(_ id: CallID, _ request: HTTPRequest, _ endpoint: any Endpoint) {
        answering(request, endpoint) { () throws(Refusal) in
            let asker = try asker(of: request)
            note(asker.identity, over: endpoint)
            perform(.call(id, .get), key: nil, by: asker, endpoint)
        }
    }

    func operation(
        _ name: OperationName, _ request: HTTPRequest, _ endpoint: any Endpoint
    ) {
        answering(request, endpoint) { () throws(Refusal) in
            // A client without a valid token is not told what is wrong with the request.
            let asker = try asker(of: request)
            note(asker.identity, over: endpoint)
            try request.refuseEncodings()
            if let user = asker.identity.payer, isOverByteRate(user) {
                // Before its token was read, nobody knew whose connection it is.
                rest(endpoint, of: user)
                throw byteRateRefusal
            }
            noteReceived(request.body.count, from: asker.identity, over: endpoint)
            let body = try desk.decoder.request(
                name, body: request.body, key: try request.only("Idempotency-Key"))
            switch body {
            case .operation(let operation, let key):
                perform(operation, key: key, by: asker, endpoint)
            case .bye:
                // It logs out whatever device the header names, and not the one that asks.
                guard asker.identity.allows(OperationName.bye.rawValue) else {
                    throw Refusal(.forbidden, "the token does not allow bye")
                }
                keepPlace(of: endpoint, for: asker.identity)
                desk.logOut(asker.address)
                endpoint.respond(HTTPReply(tail: desk.encoder.kept(.done)))
            }
        }
    }

    /// Whoever asks has shown a good token.
    private func note(_ identity: Identity, over endpoint: any Endpoint) {
        (endpoint as? ClientLink)?.transport.isKnown = true
        (endpoint as? RemoteClient)?.payer = identity.payer
    }

    /// Runs `body`; a refusal becomes the response.
    private func answering(
        _ request: HTTPRequest, _ endpoint: any Endpoint, _ body: () throws(Refusal) -> Void
    ) {
        do throws(Refusal) {
            try body()
        } catch {
            let source =
                (endpoint as? RemoteClient)?.source
                ?? (endpoint as? ClientLink).flatMap { admission.source(of: $0.transport) }
            refuse(endpoint, from: source, error, (try? request.bearerToken()) ?? "") {
                endpoint.respond(self.desk.refusing(error))
            }
        }
    }

    private func perform(
        _ operation: Operation, key: IdempotencyKey?, by asker: AdmittedAddress,
        _ endpoint: any Endpoint
    ) {
        desk.request(operation, key: key, by: asker, over: endpoint) { [weak self] in
            self?.keepPlace(of: endpoint, for: asker.identity)
        }
    }

    /// A request was accepted: its connection may stay among the known ones, if there is room. A
    /// request that was refused for its rate does not earn that.
    private func keepPlace(of endpoint: any Endpoint, for identity: Identity) {
        let user = identity.isServer ? nil : identity.user
        (endpoint as? RemoteClient)?.keepsPlace(for: user)
        guard let link = endpoint as? ClientLink else { return }
        guard admission.asks(link.transport, for: user, limits: limits) else {
            return link.endWhenAnswered()
        }
        link.unreadBytes = 0
    }

    /// Who asks: the token's user, or with a server's token the user in `X-User`.
    private func asker(of request: HTTPRequest) throws(Refusal) -> AdmittedAddress {
        let token = try request.bearerToken()
        guard let device = DeviceID(checking: try request.only("X-Device") ?? "http") else {
            throw Refusal(.badRequest, "X-Device is not a device", detail: .field("X-Device"))
        }
        let identity = try identity(in: token, on: device)
        guard let name = try request.only("X-User") else {
            guard identity.namesUser else {
                throw Refusal(
                    .badRequest, "X-User is missing, and the token names no user",
                    detail: .field("X-User"))
            }
            return AdmittedAddress(
                identity, for: Address(identity.user, device), trace: request.trace)
        }
        guard identity.isServer else {
            throw Refusal(.forbidden, "only a server's token may act for another user")
        }
        guard let user = UserID(checking: name) else {
            throw Refusal(.badRequest, "X-User is not a user", detail: .field("X-User"))
        }
        if let beginning = user.reservedBeginning {
            throw Refusal(
                .badRequest, "X-User is not a user: none begins with \(beginning)",
                detail: .field("X-User"))
        }
        return AdmittedAddress(identity, for: Address(user, device), trace: request.trace)
    }
}

extension Gateway: ClientDoor {
    func learnsClient(of request: HTTPRequest, over link: ClientLink) -> Bool {
        let peer = link.transport.peer
        guard proxies.contains(peer) else {
            if peer.isLoopback, request.headers["X-Forwarded-For"] != nil {
                unnamedProxy = peer.host
            }
            return true
        }
        let client = proxies.client(of: request, from: peer)
        guard admission.learns(client, of: link.transport, limits: limits) else {
            metrics.refusedConnections += 1
            return false
        }
        return true
    }

    /// Many clients have one name: its text is kept once.
    func kept(_ agent: String) -> String {
        if let known = agents[agent] { return known }
        if agents.count >= 1_000 { agents.removeAll(keepingCapacity: true) }
        agents[agent] = agent
        return agent
    }
}

extension HTTPRequest {
    /// The value of the field `name`, which may be there only once: of two, a proxy on the way may
    /// have checked the other one.
    func only(_ name: String) throws(Refusal) -> String? {
        let values = headers.all(name)
        guard values.count < 2 else {
            throw Refusal(.badRequest, "\(name) is there twice", detail: .field(name))
        }
        return values.first
    }

    /// A packed body would be called bad JSON, which sends its author the wrong way.
    func refuseEncodings() throws(Refusal) {
        let encodings = headers.elements("Content-Encoding")
        guard encodings.allSatisfy({ $0.lowercased() == "identity" }) else {
            throw Refusal(
                .badRequest, "Content-Encoding is not served: the body must be sent as it is",
                detail: .field("Content-Encoding"))
        }
    }

    /// The trace to which it belongs; nil: none, several, or one that is malformed.
    var trace: TraceParent? {
        let values = headers.all("traceparent")
        return values.count == 1 ? TraceParent(values[0]) : nil
    }

    /// The token of `Authorization: Bearer TOKEN`.
    func bearerToken() throws(Refusal) -> String {
        guard let header = try only("Authorization") else {
            throw Refusal(.unauthenticated, "the header Authorization is missing")
        }
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw Refusal(.unauthenticated, "the header Authorization is not Bearer TOKEN")
        }
        return String(parts[1])
    }
}

extension HTTPResponse {
    /// A reply of the protocol as a response.
    init(_ reply: HTTPReply) {
        self.init(
            HTTPStatus(rawValue: UInt16(clamping: reply.status)),
            headers: ["Content-Type": reply.contentType], body: reply.body)
        if let seconds = reply.retryAfter { headers.append("Retry-After", "\(seconds)") }
        if reply.status == 401 { headers.append("WWW-Authenticate", "Bearer") }
    }

    /// What nobody finds at a path, or may not ask there in this way.
    init(_ failure: HTTPRoute.Failure) {
        self.init(failure.reply)
        if case .methodNotAllowed(let allow) = failure { headers.append("Allow", allow) }
    }

    /// The last answer to a connection of an address that has as many as it may.
    static var tooManyOfAddress: HTTPResponse {
        let refusal = Refusal(
            .rateLimited, "too many connections of this address",
            retryAfter: Gateway.lookAroundEvery * 10)
        var response = HTTPResponse(HTTPReply(refusal))
        response.keepsAlive = false
        return response
    }
}
