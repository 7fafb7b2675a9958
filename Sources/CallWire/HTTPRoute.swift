// Which request line asks for what.

import CallModel

/// What an HTTP request asks for.
public enum HTTPRoute: Sendable, Equatable {
    /// `POST /v1/call/accept` and its like: an operation, its data in the body.
    case operation(OperationName)
    /// `GET /v1/call/<id>`.
    case call(CallID)
    /// `GET /v1/ws`: the upgrade to a WebSocket.
    case socket
    /// `GET /v1/openapi.json`.
    case openAPI
    /// `GET /v1/asyncapi.json`.
    case asyncAPI
    /// `GET /healthz`.
    case health
    /// `GET /readyz`.
    case readiness
    /// `GET /metrics`.
    case metrics
    /// `GET /v1/client/NAME`: a file of the JavaScript client.
    case clientFile(String)
    /// `GET /`, `/sw.js` and their like: a file of the phone in a browser, by its path.
    case phoneFile(String)
    /// `GET /v1/push/web-key`: the public key of Web Push.
    case webPushKey
    /// `OPTIONS` of a path that is there, and the methods that it has, for `Allow`: a browser asks
    /// before a page of another origin may do the same.
    case options(allow: String)

    /// Why there is no route.
    public enum Failure: Error, Sendable, Equatable {
        /// Nothing is there; how to answer.
        case refused(Refusal)
        /// The path is there, but only for this method.
        case methodNotAllowed(allow: String)

        /// The response; `methodNotAllowed` also needs the header `Allow`.
        public var reply: HTTPReply {
            switch self {
            case .refused(let refusal): HTTPReply(refusal)
            case .methodNotAllowed(let allow):
                HTTPReply(Refusal(.unsupported, "allowed here: \(allow)"), status: 405)
            }
        }
    }

    private static let fixed: [String: HTTPRoute] = [
        "/v1/ws": .socket, "/v1/openapi.json": .openAPI, "/v1/asyncapi.json": .asyncAPI,
        "/healthz": .health, "/readyz": .readiness, "/metrics": .metrics,
        "/v1/push/web-key": .webPushKey, "/": .phoneFile("/"), "/sw.js": .phoneFile("/sw.js"),
        "/manifest.webmanifest": .phoneFile("/manifest.webmanifest"),
    ]
    /// Where the files of the JavaScript client are.
    public static let clientFolder = "/v1/client/"
    private static let phoneFolder = "/phone/"

    /// The route of a request.
    ///
    /// - Parameters:
    ///   - method: such as `POST`; `HEAD` counts as `GET`.
    ///   - path: without query.
    public init(method: String, path: String) throws(Failure) {
        let reads = method == "GET" || method == "HEAD"
        let (route, isPosted) = try Self.find(path, reads: reads)
        let allow = isPosted ? "POST, OPTIONS" : "GET, HEAD, OPTIONS"
        if method == "OPTIONS" {
            self = .options(allow: allow)
        } else {
            guard isPosted ? method == "POST" : reads else {
                throw .methodNotAllowed(allow: allow)
            }
            self = route
        }
    }

    /// What is at `path`, and whether it is posted to rather than read.
    private static func find(
        _ path: String, reads: Bool
    ) throws(Failure) -> (route: HTTPRoute, isPosted: Bool) {
        if let route = fixed[path] { return (route, false) }
        if let name = OperationName(httpPath: path) { return (.operation(name), true) }
        if path.hasPrefix(phoneFolder) { return (.phoneFile(path), false) }
        if path.hasPrefix(clientFolder) {
            return (.clientFile(String(path.dropFirst(clientFolder.count))), false)
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0].isEmpty, parts[1] == "v1" else {
            throw .refused(Refusal(.notFound, "nothing is there"))
        }
        if parts[2] == "call", let id = CallID(parts[3]) { return (.call(id), false) }
        if parts[2] == "call", reads {
            throw .refused(.badField("call_id", "must be 32 lower-case hex digits"))
        }
        guard isWord(parts[2]), isWord(parts[3]) else {
            throw .refused(Refusal(.notFound, "nothing is there"))
        }
        throw .refused(.unsupported("\(parts[2]).\(parts[3])"))
    }

    /// Whether it might be half of the name of an operation.
    private static func isWord(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "_") }
    }
}
