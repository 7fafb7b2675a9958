// Which web pages may ask, and what their browsers are told (RFC 6455 section 10.2, and CORS:
// section 3.3 of the Fetch standard).

import CallModel
import EventLoop
import WebProtocols

/// The web pages that may use the server.
struct Origins: Sendable, Equatable {
    /// What others are answered. A client that is no page has come by a name.
    static func refusal(of request: HTTPRequest) -> Refusal {
        let isPage = request.headers["Origin"] != nil
        return Refusal(
            .forbidden,
            isPage
                ? "pages of this origin may not connect"
                : "Host is not a name of this machine, and with development tokens only those are "
                    + "served: set auth, or origins")
    }

    private let allowed: Set<String>?
    /// Only pages of this machine, asked for by a name of this machine (K113).
    private let isLoopbackOnly: Bool

    /// Pages of loopback origins. With development tokens anybody's page could speak for anybody,
    /// and a name that points here (DNS rebinding) would make any page one of ours.
    static let loopback = Origins(allowed: nil, isLoopbackOnly: true)

    /// Paths of monitoring, which may be asked by any name.
    private static let openPaths = ["/healthz", "/readyz"]

    private init(allowed: Set<String>?, isLoopbackOnly: Bool) {
        self.allowed = allowed
        self.isLoopbackOnly = isLoopbackOnly
    }

    /// Pages of these origins, such as `https://app.example.com`; nil or a `*`: all.
    init(_ list: [String]?) {
        let isAll = list?.contains("*") ?? true
        self.init(
            allowed: isAll ? nil : Set((list ?? []).map { Self.plain($0) }), isLoopbackOnly: false)
    }

    /// Whether the page that made the request is one of them. A client that is no page has no
    /// origin, and is admitted.
    func admit(_ request: HTTPRequest, from peer: PeerAddress) -> Bool {
        if isLoopbackOnly {
            let origins = request.headers.all("Origin")
            return origins.allSatisfy { Self.isLoopback(Self.host(ofOrigin: $0)) }
                && (peer.source == nil || Self.openPaths.contains(request.target.rawPath)
                    || request.headers.all("Host").allSatisfy { Self.isLoopback($0) })
        }
        guard let allowed else { return true }
        return request.headers.all("Origin").allSatisfy { allowed.contains(Self.plain($0)) }
    }

    /// The header fields that let the page read the response. Tokens are no cookies, so credentials
    /// are not allowed: a page can do only what its token allows.
    func sharing(with request: HTTPRequest) -> HTTPHeaders {
        var headers: HTTPHeaders = [:]
        let isForSome = allowed != nil || isLoopbackOnly
        if isForSome { headers.append("Vary", "Origin") }
        guard let origin = request.headers["Origin"] else { return headers }
        headers.append("Access-Control-Allow-Origin", isForSome ? origin : "*")
        headers.append("Access-Control-Expose-Headers", "Retry-After")
        return headers
    }

    /// The response to `OPTIONS`, by which a browser asks whether the page may send the request.
    /// `X-User` is for servers, not for pages.
    static func answer(to request: HTTPRequest, allow: String) -> HTTPResponse {
        var response = HTTPResponse(204, headers: ["Allow": allow])
        if request.headers["Access-Control-Request-Method"] != nil {
            response.headers.append("Access-Control-Allow-Methods", allow)
            response.headers.append(
                "Access-Control-Allow-Headers",
                "Authorization, Content-Type, Idempotency-Key, Traceparent, X-Device")
            response.headers.append("Access-Control-Max-Age", "7200")
        }
        return response
    }

    /// `127.0.0.1:8000` of `http://127.0.0.1:8000`; nothing of `null` and of what is no origin.
    private static func host(ofOrigin origin: String) -> String {
        for scheme in ["http://", "https://"] where origin.lowercased().hasPrefix(scheme) {
            return plain(String(origin.dropFirst(scheme.count)))
        }
        return ""
    }

    /// Whether `host`, with or without a port, names this machine.
    private static func isLoopback(_ host: String) -> Bool {
        var name = host.lowercased()
        if name.hasPrefix("["), let end = name.firstIndex(of: "]") {
            name = String(name[name.index(after: name.startIndex)..<end])
        } else if name.count(where: { $0 == ":" }) == 1 {
            name = String(name.prefix { $0 != ":" })
        }
        if name.hasSuffix(".") { name.removeLast() }
        return name == "localhost" || name.hasSuffix(".localhost")
            || PeerAddress(host: name)?.isLoopback == true
    }

    private static func plain(_ origin: String) -> String {
        let lower = origin.lowercased()
        return lower.hasSuffix("/") ? String(lower.dropLast()) : lower
    }
}
