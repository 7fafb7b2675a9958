// Replies over HTTP: status codes and problem documents (D50, RFC 9457).

import CallModel
import JSON

extension Refusal.Code {
    /// The HTTP status of a refusal (D50).
    public var httpStatus: Int {
        switch self {
        case .badRequest: 400
        case .unauthenticated: 401
        case .forbidden, .refused, .notInvited, .notInviter: 403
        case .notFound: 404
        case .tooLarge: 413
        case .rateLimited: 429
        case .internal: 500
        case .unavailable: 503
        case .unsupported, .alreadyAnswered, .alreadyJoined, .alreadyPrimary, .callEnded, .expired,
            .cancelled, .wrongMode, .wrongState, .busy, .selfCall, .tooMany, .keyReused:
            409
        }
    }
}

/// What an HTTP response needs.
public struct HTTPReply: Sendable, Equatable {
    /// The status code.
    public let status: Int
    /// `Content-Type`.
    public let contentType: String
    /// `Retry-After` in seconds.
    public let retryAfter: Int?
    /// The body: the `ok` object itself, or a problem document.
    public let body: [UInt8]

    private init(status: Int, contentType: String, retryAfter: Int? = nil, body: [UInt8]) {
        self.status = status
        self.contentType = contentType
        self.retryAfter = retryAfter
        self.body = body
    }

    /// The reply whose tail (`WireEncoder.replyTail` and its like) is `tail`.
    public init(tail: [UInt8]) {
        if tail.starts(with: Self.okPrefix) {
            let body = Array(tail[Self.okPrefix.count..<(tail.count - 1)])
            self.init(status: 200, contentType: "application/json", body: body)
        } else {
            let error = try? JSONValue(parsing: [UInt8(ascii: "{")] + tail)["error"]
            self.init(error: error ?? .null)
        }
    }

    /// The problem document of `refusal`.
    ///
    /// - Parameter status: the status, where it is not the one of the code.
    public init(_ refusal: Refusal, status: Int? = nil) {
        var writer = JSONWriter()
        writer.object { $0.members(of: refusal) }
        let error = try? JSONValue(parsing: writer.bytes)
        self.init(error: error ?? .null, status: status)
    }

    /// The problem document around `error`, the object of the WebSocket protocol: RFC 9457 wants
    /// `detail` to be text, so that object is a member of its own.
    private init(error: JSONValue, status: Int? = nil) {
        let code = error["code"]?.string.flatMap(Refusal.Code.init(rawValue:)) ?? .internal
        let status = status ?? code.httpStatus
        var writer = JSONWriter()
        writer.object {
            $0.field("type", literal: "about:blank")
            $0.field("title", Self.phrases[status] ?? "Error")
            $0.field("status", status)
            $0.field("detail", error["message"]?.string ?? "")
            $0.field("code", code.rawValue)
            $0.field("error", error)
        }
        let wait = error["retry_after_ms"]?.integer
        self.init(
            status: status, contentType: "application/problem+json",
            retryAfter: wait.map { Int(($0 + 999) / 1_000) }, body: writer.bytes)
    }

    private static let okPrefix = Array(#""ok":"#.utf8)

    /// The reason phrases of RFC 9110, section 15.
    static let phrases = [
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 409: "Conflict", 413: "Content Too Large",
        414: "URI Too Long", 417: "Expectation Failed", 426: "Upgrade Required",
        429: "Too Many Requests", 431: "Request Header Fields Too Large",
        500: "Internal Server Error", 501: "Not Implemented", 503: "Service Unavailable",
        505: "HTTP Version Not Supported",
    ]
}
