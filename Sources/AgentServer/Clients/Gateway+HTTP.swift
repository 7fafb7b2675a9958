// The same operations over HTTP.

import CallModel
import CallWire
import EventLoop
import JSON
import WebProtocols

extension Gateway {
    /// The subprotocol that WebSockets speak.
    static let subprotocol = "callagent.v1.json"

    func link(_ link: ClientLink, asks request: HTTPRequest) {
        guard origins.admit(request) else {
            let refusal = Refusal(.forbidden, "pages of this origin may not connect")
            return link.respond(HTTPResponse(HTTPReply(refusal)))
        }
        link.addToAnswer(origins.sharing(with: request))
        do throws(HTTPRoute.Failure) {
            let path = request.target.rawPath
            switch try HTTPRoute(method: request.method.rawValue, path: path) {
            case .socket: upgrade(link, request)
            case .health: link.respond(HTTPResponse(200, text: "ok\n"))
            case .readiness: link.respond(readiness)
            case .call(let id): get(id, request, link)
            case .operation(let name): operation(name, request, link)
            case .options(let allow):
                link.respond(Origins.answer(to: request, allow: allow))
            case .openAPI, .asyncAPI, .metrics:
                link.respond(
                    document(path)
                        ?? HTTPResponse(HTTPReply(Refusal(.notFound, "not served here"))))
            }
        } catch {
            var response = HTTPResponse(error.reply)
            if case .methodNotAllowed(let allow) = error {
                response.headers.append("Allow", allow)
            }
            link.respond(response)
        }
    }

    private var readiness: HTTPResponse {
        isReady
            ? HTTPResponse(200, text: "ready\n") : HTTPResponse(503, text: "not ready\n")
    }

    private func upgrade(_ link: ClientLink, _ request: HTTPRequest) {
        do throws(HTTPError) {
            let acceptance = try WebSocketAcceptance(
                of: request, subprotocols: [Self.subprotocol])
            link.upgrade(acceptance, limits: limits.session, at: exchange.now())
        } catch {
            link.respond(.problem(error))
        }
    }

    private func get(_ id: CallID, _ request: HTTPRequest, _ link: ClientLink) {
        answering(link) { () throws(Refusal) in
            try perform(.call(id, .get), key: nil, by: try asker(of: request), link)
        }
    }

    private func operation(_ name: OperationName, _ request: HTTPRequest, _ link: ClientLink) {
        answering(link) { () throws(Refusal) in
            // Strangers are not told what is wrong with the form.
            let asker = try asker(of: request)
            let body = try decoder.request(
                name, body: request.body, key: try request.only("Idempotency-Key"))
            switch body {
            case .operation(let operation, let key):
                try perform(operation, key: key, by: asker, link)
            case .bye:
                logOut(asker.address)
                link.respond(HTTPResponse(HTTPReply(tail: encoder.kept(.done))))
            }
        }
    }

    /// Answers with what `body` refuses.
    private func answering(_ link: ClientLink, _ body: () throws(Refusal) -> Void) {
        do throws(Refusal) {
            try body()
        } catch {
            refuse(link, error) { link.respond(HTTPResponse(HTTPReply(error))) }
        }
    }

    private func perform(
        _ operation: Operation, key: IdempotencyKey?, by asker: Asker, _ link: ClientLink
    ) throws(Refusal) {
        if let refusal = obstacle(to: operation, of: asker.identity) { throw refusal }
        guard exchange.isReady else { throw .notReady }
        metrics.requests += 1
        exchange.feed(
            .request(
                Request(
                    id: newRequest(.http(link)), user: asker.address.user,
                    device: asker.address.device, key: key, operation: operation)))
    }

    /// Whose token a request has, and for which user and device it asks.
    private typealias Asker = (identity: Identity, address: Address)

    /// Who asks: the token's user, or for a server's token the one in `X-User`.
    private func asker(of request: HTTPRequest) throws(Refusal) -> Asker {
        guard let header = try request.only("Authorization") else {
            throw Refusal(.unauthenticated, "the header Authorization is missing")
        }
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw Refusal(.unauthenticated, "the header Authorization is not Bearer TOKEN")
        }
        guard let device = DeviceID(checking: try request.only("X-Device") ?? "http") else {
            throw Refusal(.badRequest, "X-Device is not a device", detail: .field("X-Device"))
        }
        let identity = try identity(in: String(parts[1]), on: device)
        guard let name = try request.only("X-User") else {
            guard identity.namesUser else {
                throw Refusal(
                    .badRequest, "X-User is missing, and the token names no user",
                    detail: .field("X-User"))
            }
            return (identity, Address(identity.user, device))
        }
        guard identity.isServer else {
            throw Refusal(.forbidden, "only a server's token may act for another user")
        }
        guard let user = UserID(checking: name) else {
            throw Refusal(.badRequest, "X-User is not a user", detail: .field("X-User"))
        }
        return (identity, Address(user, device))
    }
}

extension HTTPRequest {
    /// The value of the field `name`, which says who asks for what: of two, whoever stands between
    /// here and the client may have looked at the other one.
    fileprivate func only(_ name: String) throws(Refusal) -> String? {
        let values = headers.all(name)
        guard values.count < 2 else {
            throw Refusal(.badRequest, "\(name) is there twice", detail: .field(name))
        }
        return values.first
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
}
