// Why an HTTP message is refused, and with which status.

/// A refusal of a message by the parsers or by the WebSocket handshake. The connection cannot be
/// used further, because it is not known where the next message would begin.
public enum HTTPError: Error, Equatable, Sendable {
    /// A line that ends with LF alone, or a CR elsewhere (RFC 9112 section 2.2).
    case bareLineEnd
    /// The first line is not method, one space, target, one space, version.
    case badRequestLine
    /// The first line is longer than `limit` bytes.
    case requestLineTooLong(limit: Int)
    /// The method is no token.
    case badMethod
    /// The method is a token, but none that is served.
    case unknownMethod(String)
    /// The target is empty, of a form that does not fit the method, or has bytes that may not
    /// stand in it.
    case badTarget
    /// A `%` without two hexadecimal digits, or an encoded NUL or text that is not UTF-8.
    case badPercentEncoding
    /// The version is not of the form `HTTP/1.1`.
    case badVersion
    /// A version other than 1.0 and 1.1.
    case unsupportedVersion
    /// The first line of a response is not version, status and words.
    case badStatusLine
    /// A header line without colon, or whose name is no token (also: space before the colon).
    case badHeaderName
    /// A header line that continues the one before (obs-fold, RFC 9112 section 5.2).
    case foldedHeader
    /// A value with control characters, or that is not UTF-8.
    case badHeaderValue(name: String)
    /// All header lines together have more than `limit` bytes.
    case headersTooLarge(limit: Int)
    /// More than `limit` header lines.
    case tooManyHeaders(limit: Int)
    /// HTTP/1.1 without `Host`.
    case missingHost
    /// `Host` twice, or with bytes that may not stand in it.
    case badHost
    /// `Content-Length` twice, or not a plain decimal number.
    case badContentLength
    /// `Content-Length` together with `Transfer-Encoding`.
    case ambiguousLength
    /// `Transfer-Encoding` that does not end with one `chunked`, or with HTTP/1.0.
    case badTransferEncoding
    /// A transfer coding other than `chunked`.
    case unknownTransferCoding(String)
    /// An `Expect` other than `100-continue`.
    case unknownExpectation
    /// A chunk whose size line or end is broken.
    case badChunk
    /// Extensions of the chunks of a body that have more than `limit` bytes together.
    case chunkExtensions(limit: Int)
    /// A body of more than `limit` bytes.
    case bodyTooLarge(limit: Int)
    /// The connection ended inside a message.
    case truncated
    /// A plain request where only a WebSocket is served.
    case upgradeRequired
    /// A request for a WebSocket that is malformed; what was wrong.
    case badWebSocketRequest(String)
    /// A WebSocket version other than 13.
    case webSocketVersion

    /// The status to answer with. Refusals of responses, which nobody is told, have 502.
    public var status: HTTPStatus {
        switch self {
        case .bareLineEnd, .badRequestLine, .badMethod, .badTarget, .badPercentEncoding,
            .badVersion, .badHeaderName, .foldedHeader, .badHeaderValue, .missingHost, .badHost,
            .badContentLength, .ambiguousLength, .badTransferEncoding, .badChunk, .truncated,
            .chunkExtensions, .badWebSocketRequest:
            400
        case .bodyTooLarge: 413
        case .requestLineTooLong: 414
        case .unknownExpectation: 417
        case .upgradeRequired, .webSocketVersion: 426
        case .headersTooLarge, .tooManyHeaders: 431
        case .unknownMethod, .unknownTransferCoding: 501
        case .badStatusLine: 502
        case .unsupportedVersion: 505
        }
    }

    /// Headers that the answer needs beside the status.
    public var headers: HTTPHeaders {
        guard status == 426 else { return [:] }
        return [
            "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
        ]
    }

    /// An answer in plain text, after which the connection must be closed.
    public var response: HTTPResponse {
        var response = HTTPResponse(status, headers: headers, text: description + "\n")
        response.keepsAlive = false
        return response
    }
}

extension HTTPError: CustomStringConvertible {
    /// What was wrong, for people.
    public var description: String {
        switch self {
        case .bareLineEnd: "a line does not end with CR LF"
        case .badRequestLine: "the request line is malformed"
        case .requestLineTooLong(let limit): "the request line has more than \(limit) bytes"
        case .badMethod: "the method is malformed"
        case .unknownMethod(let method): "the method \(method) is not served"
        case .badTarget: "the request target is malformed"
        case .badPercentEncoding: "the request target has a bad percent encoding"
        case .badVersion: "the HTTP version is malformed"
        case .unsupportedVersion: "only HTTP/1.1 and HTTP/1.0 are served"
        case .badStatusLine: "the status line is malformed"
        case .badHeaderName: "a header name is malformed"
        case .foldedHeader: "a header is folded over two lines"
        case .badHeaderValue(let name): "the header \(name) has forbidden characters"
        case .headersTooLarge(let limit): "the headers have more than \(limit) bytes"
        case .tooManyHeaders(let limit): "there are more than \(limit) headers"
        case .missingHost: "the header Host is missing"
        case .badHost: "the header Host is malformed or repeated"
        case .badContentLength: "the header Content-Length is malformed or repeated"
        case .ambiguousLength: "both Content-Length and Transfer-Encoding are given"
        case .badTransferEncoding: "the header Transfer-Encoding is malformed"
        case .unknownTransferCoding(let coding): "the transfer coding \(coding) is not served"
        case .unknownExpectation: "the header Expect has an unknown value"
        case .badChunk: "a chunk of the body is malformed"
        case .chunkExtensions(let limit): "the extensions of chunks have more than \(limit) bytes"
        case .bodyTooLarge(let limit): "the body has more than \(limit) bytes"
        case .truncated: "the connection ended inside a message"
        case .upgradeRequired: "only WebSocket is served here"
        case .badWebSocketRequest(let what): "the request for a WebSocket is malformed: \(what)"
        case .webSocketVersion: "only WebSocket version 13 is served"
        }
    }
}
