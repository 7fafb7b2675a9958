// Requests and responses as values, and how they are written.

/// A request method that is served.
public enum HTTPMethod: String, Sendable, CaseIterable {
    /// Reads.
    case get = "GET"
    /// Reads the headers only.
    case head = "HEAD"
    /// Does something.
    case post = "POST"
    /// Replaces.
    case put = "PUT"
    /// Changes.
    case patch = "PATCH"
    /// Removes.
    case delete = "DELETE"
    /// Asks what can be done.
    case options = "OPTIONS"
}

/// A whole request.
public struct HTTPRequest: Sendable, Equatable {
    /// What to do.
    public var method: HTTPMethod
    /// With what.
    public var target: HTTPTarget
    /// All header fields.
    public var headers: HTTPHeaders
    /// The body with its transfer coding removed; empty without one.
    public var body: [UInt8]
    /// The second number of the version: 0 or 1.
    public var minorVersion = 1

    /// A request of HTTP/1.1.
    public init(
        _ method: HTTPMethod, _ target: HTTPTarget, headers: HTTPHeaders = [:], body: [UInt8] = []
    ) {
        (self.method, self.target, self.headers, self.body) = (method, target, headers, body)
    }

    /// Whether the connection may be used for further requests (RFC 9112 section 9.3).
    public var keepsAlive: Bool {
        if headers.list("Connection", contains: "close") { return false }
        return minorVersion >= 1 || headers.list("Connection", contains: "keep-alive")
    }

    /// Appends the request as a client sends it. `Content-Length` is added when there is a body or
    /// the method is one that usually has one; the caller has to give `Host`.
    public func write(to output: inout [UInt8]) {
        let query = target.rawQuery.map { "?" + $0 } ?? ""
        output.append(contentsOf: "\(method.rawValue) \(target.rawPath)\(query) HTTP/1.1\r\n".utf8)
        headers.write(to: &output)
        if !body.isEmpty || [.post, .put, .patch].contains(method) {
            output.append(contentsOf: "Content-Length: \(body.count)\r\n".utf8)
        }
        output.append(contentsOf: "\r\n".utf8)
        output.append(contentsOf: body)
    }
}

/// A whole response.
public struct HTTPResponse: Sendable, Equatable {
    /// How it went.
    public var status: HTTPStatus
    /// Header fields beside `Content-Length` and `Connection`, which are written from the rest.
    public var headers: HTTPHeaders
    /// The body with its transfer coding removed; empty without one.
    public var body: [UInt8]
    /// Whether the connection goes on; false writes `Connection: close`.
    public var keepsAlive = true

    /// A response.
    public init(_ status: HTTPStatus, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// A response in plain text.
    public init(_ status: HTTPStatus, headers: HTTPHeaders = [:], text: String) {
        self.init(status, headers: headers, body: Array(text.utf8))
        self.headers.append("Content-Type", "text/plain; charset=utf-8")
    }

    /// Appends the response as a server sends it to an HTTP/1.1 or 1.0 client.
    ///
    /// - Parameter method: that of the request; `HEAD` gets the headers alone.
    public func write(answering method: HTTPMethod = .get, to output: inout [UInt8]) {
        writeHead(to: &output)
        if !status.forbidsBody, method != .head { output.append(contentsOf: body) }
    }

    /// Appends what comes before the body, as a server sends it.
    public func writeHead(to output: inout [UInt8]) {
        output.append(contentsOf: "HTTP/1.1 \(status.rawValue) \(status.reason)\r\n".utf8)
        headers.write(to: &output)
        if !status.forbidsBody {
            output.append(contentsOf: "Content-Length: \(body.count)\r\n".utf8)
        }
        if !keepsAlive { output.append(contentsOf: "Connection: close\r\n".utf8) }
        output.append(contentsOf: "\r\n".utf8)
    }

    /// Appends the interim response that asks a client for the body it announced.
    public static func writeContinue(to output: inout [UInt8]) {
        output.append(contentsOf: "HTTP/1.1 100 Continue\r\n\r\n".utf8)
    }
}
