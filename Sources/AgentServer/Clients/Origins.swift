// Which web pages may ask, and what their browsers are told of it (RFC 6455 section 10.2, and the
// Fetch standard's section 3.3, CORS).

import WebProtocols

/// The web pages that may use the server.
struct Origins: Sendable, Equatable {
    private let allowed: Set<String>?

    /// Pages of these origins, such as `https://app.example.com`; nil or a `*`: all.
    init(_ list: [String]?) {
        guard let list, !list.contains("*") else {
            allowed = nil
            return
        }
        allowed = Set(list.map { Self.plain($0) })
    }

    /// Whether the page that made the request is one of them; what is no page has no origin.
    func admit(_ request: HTTPRequest) -> Bool {
        guard let allowed else { return true }
        return request.headers.all("Origin").allSatisfy { allowed.contains(Self.plain($0)) }
    }

    /// What lets the page read the answer. Tokens are no cookies, so none are asked for: a page can
    /// do no more than its token allows.
    func sharing(with request: HTTPRequest) -> HTTPHeaders {
        var headers: HTTPHeaders = [:]
        if allowed != nil { headers.append("Vary", "Origin") }
        guard let origin = request.headers["Origin"] else { return headers }
        headers.append("Access-Control-Allow-Origin", allowed == nil ? "*" : origin)
        headers.append("Access-Control-Expose-Headers", "Retry-After")
        return headers
    }

    /// The answer to `OPTIONS`, with which a browser asks whether the page may send the request
    /// itself. `X-User` is for servers, not for pages.
    static func answer(to request: HTTPRequest, allow: String) -> HTTPResponse {
        var response = HTTPResponse(204, headers: ["Allow": allow])
        if request.headers["Access-Control-Request-Method"] != nil {
            response.headers.append("Access-Control-Allow-Methods", allow)
            response.headers.append(
                "Access-Control-Allow-Headers",
                "Authorization, Content-Type, Idempotency-Key, X-Device")
            response.headers.append("Access-Control-Max-Age", "7200")
        }
        return response
    }

    private static func plain(_ origin: String) -> String {
        let lower = origin.lowercased()
        return lower.hasSuffix("/") ? String(lower.dropLast()) : lower
    }
}
