// The same operations over HTTP (protocol.md, section 8).

import CallCore
import CallWire
import EventLoop
import JSON
import WebProtocols

extension Gateway {
    /// The subprotocol that WebSockets speak.
    static let subprotocol = "callagent.v1.json"

    func link(_ link: ClientLink, asks request: HTTPRequest) {
        let segments = request.target.segments
        switch (request.method, request.target.rawPath) {
        case (.get, "/healthz"): link.respond(HTTPResponse(200, text: "ok\n"))
        case (.get, "/readyz"): link.respond(readiness)
        case (_, "/v1/ws"): upgrade(link, request)
        case (.get, _) where segments.count == 3 && segments.starts(with: ["v1", "call"]):
            getCall(segments[2], request, link)
        case (.post, _) where segments.first == "v1" && segments.count > 1:
            operation(segments.dropFirst().joined(separator: "."), request, link)
        case (_, _):
            link.respond(
                otherRoute(request)
                    ?? HTTPAnswer.problem(
                        Refusal(.notFound, "no such resource: \(request.target.rawPath)")))
        }
    }

    private var readiness: HTTPResponse {
        exchange.isReady && !isDraining
            ? HTTPResponse(200, text: "ready\n") : HTTPResponse(503, text: "not ready\n")
    }

    private func upgrade(_ link: ClientLink, _ request: HTTPRequest) {
        do throws(HTTPError) {
            link.upgrade(
                try WebSocketAcceptance(of: request, subprotocols: [Self.subprotocol]))
        } catch {
            link.respond(error.response)
        }
    }

    private func getCall(_ text: String, _ request: HTTPRequest, _ link: ClientLink) {
        guard let id = CallID(text) else {
            return link.respond(
                HTTPAnswer.problem(
                    Refusal(
                        .badRequest, "a call id is 32 lower-case hex digits",
                        detail: .field("call_id"))))
        }
        perform(.call(id, .get), key: nil, request, link)
    }

    private func operation(_ text: String, _ request: HTTPRequest, _ link: ClientLink) {
        do throws(Refusal) {
            guard let name = OperationName(rawValue: text) else {
                throw Refusal(.unsupported, "unknown operation \(text.prefix(64))")
            }
            let body = try decoder.request(
                name, body: request.body, key: request.headers["Idempotency-Key"])
            switch body {
            case .operation(let operation, let key): perform(operation, key: key, request, link)
            case .bye: try logOut(request, link)
            }
        } catch {
            link.respond(HTTPAnswer.problem(error))
        }
    }

    private func perform(
        _ operation: Operation, key: IdempotencyKey?, _ request: HTTPRequest, _ link: ClientLink
    ) {
        do throws(Refusal) {
            let (identity, address) = try asker(of: request)
            if let refusal = obstacle(to: operation, of: identity) { throw refusal }
            guard exchange.isReady else { throw .notReady }
            metrics.requests += 1
            exchange.feed(
                .request(
                    Request(
                        id: newRequest(.http(link)), user: address.user, device: address.device,
                        key: key, operation: operation)))
        } catch {
            link.respond(HTTPAnswer.problem(error))
        }
    }

    private func logOut(_ request: HTTPRequest, _ link: ClientLink) throws(Refusal) {
        let (_, address) = try asker(of: request)
        logOut(address)
        link.respond(HTTPAnswer.response(to: .done, encoder))
    }

    /// Who asks: the token's user, or for a server's token the one in `X-User`.
    private func asker(of request: HTTPRequest) throws(Refusal) -> (Identity, Address) {
        guard let header = request.headers["Authorization"] else {
            throw Refusal(.unauthenticated, "the header Authorization is missing")
        }
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw Refusal(.unauthenticated, "the header Authorization is not Bearer TOKEN")
        }
        let identity = try tokens.identity(
            in: String(parts[1]), at: Clock.wallMilliseconds())
        guard let device = DeviceID(checking: request.headers["X-Device"] ?? "http") else {
            throw Refusal(.badRequest, "X-Device is not a device", detail: .field("X-Device"))
        }
        if let bound = identity.device, bound != device {
            throw Refusal(.forbidden, "the token is for the device \(bound)")
        }
        guard let name = request.headers["X-User"] else {
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

/// Replies as HTTP responses (D50).
enum HTTPAnswer {
    /// The reply's `ok` object, or a problem document.
    static func response(to reply: Reply, _ encoder: WireEncoder) -> HTTPResponse {
        if case .refused(let refusal) = reply { return problem(refusal) }
        return unwrap(encoder.kept(reply))
    }

    /// A page of calls.
    static func page(
        _ calls: [Call], cursor: CallID?, for user: UserID, _ encoder: WireEncoder
    ) -> HTTPResponse {
        var writer = JSONWriter()
        encoder.pageTail(calls, cursor: cursor, for: user, into: &writer)
        return unwrap(writer.bytes)
    }

    /// What stands behind `"ok":` or `"error":` in the tail of a reply.
    private static func unwrap(_ tail: [UInt8]) -> HTTPResponse {
        let error = Array("\"error\":".utf8)
        if tail.starts(with: error) {
            let body = Array(tail.dropFirst(error.count).dropLast())
            guard let value = try? JSONValue(parsing: body), let name = value["code"]?.string,
                let code = Refusal.Code(rawValue: name)
            else { return HTTPResponse(500) }
            return problem(code, value)
        }
        let ok = Array("\"ok\":".utf8)
        return json(200, Array(tail.dropFirst(ok.count).dropLast()))
    }

    /// A refusal as a problem document (RFC 9457).
    static func problem(_ refusal: Refusal) -> HTTPResponse {
        var writer = JSONWriter()
        WireEncoder.refusalTail(refusal, into: &writer)
        return unwrap(writer.bytes)
    }

    private static func problem(_ code: Refusal.Code, _ error: JSONValue) -> HTTPResponse {
        let status = status(of: code)
        var writer = JSONWriter()
        writer.object {
            $0.field("type", "about:blank")
            $0.field("title", code.rawValue)
            $0.field("status", Int(status.rawValue))
            for member in error.object?.members ?? [] {
                $0.key(text: member.key == "message" ? "detail" : member.key)
                $0.value(member.value)
            }
        }
        var response = json(status, writer.bytes, type: "application/problem+json")
        if let wait = error["retry_after_ms"]?.integer {
            response.headers.append("Retry-After", "\(max(1, (wait + 999) / 1_000))")
        }
        return response
    }

    static func json(
        _ status: HTTPStatus, _ body: [UInt8], type: String = "application/json"
    ) -> HTTPResponse {
        HTTPResponse(status, headers: ["Content-Type": type], body: body)
    }

    private static func status(of code: Refusal.Code) -> HTTPStatus {
        switch code {
        case .badRequest: 400
        case .unauthenticated: 401
        case .forbidden, .refused, .notInvited, .notInviter: 403
        case .notFound: 404
        case .tooLarge: 413
        case .rateLimited: 429
        case .internal: 500
        case .unavailable: 503
        case .unsupported, .alreadyAnswered, .alreadyJoined, .alreadyPrimary, .callEnded,
            .expired, .cancelled, .wrongMode, .wrongState, .busy, .selfCall, .tooMany, .keyReused:
            409
        }
    }
}
