// Status codes of HTTP (RFC 9110 section 15).

/// A three-digit status code.
public struct HTTPStatus: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral {
    /// The number on the wire.
    public let rawValue: UInt16

    /// The status with this number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The status with this number.
    public init(integerLiteral value: UInt16) { rawValue = value }

    /// The customary words for the status line; empty for codes without.
    public var reason: String {
        switch rawValue {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: ""
        }
    }

    /// Whether a response with this status ends with its headers whatever they say (RFC 9112
    /// section 6.3).
    var forbidsBody: Bool { rawValue < 200 || rawValue == 204 || rawValue == 304 }
}
