// Reads requests from a connection, for a server (RFC 9112).

/// What a client sent.
public enum HTTPRequestEvent: Sendable, Equatable {
    /// A whole request.
    case request(HTTPRequest)
    /// The client waits for `100 Continue` before it sends the body of the request under way.
    case continueWanted
}

/// An incremental and strict parser of requests.
///
///     while let event = try parser.next(&input) { … }
///
/// `input` is the unread rest of what was received; it is advanced. What is left after a request
/// begins the next one (pipelining), or another protocol when the request asked for an upgrade.
/// Nothing is kept of what was handed out; a parser between two requests holds no memory beyond
/// itself. After an error every further call throws it again.
public struct HTTPRequestParser: Sendable {
    private struct Start {
        var method: HTTPMethod
        var target: HTTPTarget
        /// The host that the target names; nil: none.
        var host: String?
        var minorVersion: Int
    }

    private enum Phase {
        case startLine(mayBeEmpty: Bool)
        case headers(Start)
        case body(HTTPRequest)
        case failed(HTTPError)
    }

    private let limits: HTTPLimits
    private var phase = Phase.startLine(mayBeEmpty: true)
    private var parts = MessageParts()

    /// A parser at the start of a connection.
    public init(limits: HTTPLimits = HTTPLimits()) { self.limits = limits }

    /// Whether nothing of a next request has arrived.
    public var isIdle: Bool {
        if case .startLine = phase { !parts.lines.isPartial } else { false }
    }

    /// The next event in `input`, or nil when all of it is used up.
    public mutating func next(
        _ input: inout UnsafeRawBufferPointer
    ) throws(HTTPError) -> HTTPRequestEvent? {
        do throws(HTTPError) {
            while true {
                switch phase {
                case .failed(let error): throw error
                case .startLine(let mayBeEmpty):
                    guard try readStartLine(mayBeEmpty: mayBeEmpty, &input) else { return nil }
                case .headers(let start):
                    guard try parts.readHeaders(&input, limits) else { return nil }
                    if try begin(start) { return .continueWanted }
                case .body(let request):
                    guard try parts.readBody(&input, limits) else { return nil }
                    return .request(finish(request))
                }
            }
        } catch {
            reset(to: .failed(error))
            throw error
        }
    }

    private mutating func reset(to phase: Phase) {
        self.phase = phase
        parts = MessageParts()
    }

    private mutating func finish(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        request.body = parts.body.bytes
        reset(to: .startLine(mayBeEmpty: true))
        return request
    }

    private mutating func readStartLine(
        mayBeEmpty: Bool, _ input: inout UnsafeRawBufferPointer
    ) throws(HTTPError) -> Bool {
        let overflow = HTTPError.requestLineTooLong(limit: limits.startLine)
        let next = try parts.readStartLine(&input, limit: limits.startLine, overflow: overflow) {
            (line) throws(HTTPError) -> Phase in
            // One empty line before a request is left over from an old client's last body
            // (RFC 9112 section 2.2).
            if line.isEmpty, mayBeEmpty { return .startLine(mayBeEmpty: false) }
            return .headers(try Self.start(line))
        }
        guard let next else { return false }
        phase = next
        return true
    }

    private static func start(_ line: UnsafeRawBufferPointer) throws(HTTPError) -> Start {
        let parts = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .badRequestLine }
        guard HTTPCharacters.isToken(parts[0]) else { throw .badMethod }
        let minorVersion = try HTTPVersion.minor(parts[2])
        let name = String(decoding: parts[0], as: UTF8.self)
        guard let method = HTTPMethod(rawValue: name) else {
            throw .unknownMethod(String(name.prefix(32)))
        }
        let (target, host) = try HTTPTarget.read(parts[1], for: method)
        return Start(method: method, target: target, host: host, minorVersion: minorVersion)
    }

    /// Checks what the headers say about the request as a whole; true when the client waits to be
    /// asked for the body.
    private mutating func begin(_ start: Start) throws(HTTPError) -> Bool {
        var headers = parts.headers
        try Self.checkHost(headers, start.minorVersion)
        // Who judges by `Host` judges what is asked for.
        if let host = start.host { headers.replace("Host", with: host) }
        // A request of HTTP/1.0 without `Host` has one more now.
        guard headers.fields.count <= limits.headerCount else {
            throw .tooManyHeaders(limit: limits.headerCount)
        }
        let framing = try BodyFraming(
            headers, minorVersion: start.minorVersion, limit: limits.body)
        var request = HTTPRequest(start.method, start.target, headers: headers)
        request.minorVersion = start.minorVersion
        parts.beginBody(framing ?? .length(0))
        phase = .body(request)
        guard start.minorVersion >= 1, let expectation = headers["Expect"] else { return false }
        guard HTTPCharacters.equal(expectation, "100-continue") else { throw .unknownExpectation }
        return framing != nil && framing != .length(0)
    }

    private static func checkHost(_ headers: HTTPHeaders, _ minorVersion: Int) throws(HTTPError) {
        let hosts = headers.all("Host")
        guard !hosts.isEmpty || minorVersion == 0 else { throw .missingHost }
        guard hosts.count <= 1, hosts.allSatisfy({ $0.utf8.allSatisfy(HTTPCharacters.isHost) })
        else { throw .badHost }
    }
}

enum HTTPVersion {
    /// The minor version of `HTTP/1.0` and `HTTP/1.1`.
    static func minor(_ bytes: some Collection<UInt8>) throws(HTTPError) -> Int {
        let version = Array(bytes)
        guard version.count == 8, version.starts(with: "HTTP/".utf8),
            HTTPCharacters.isDigit(version[5]), version[6] == UInt8(ascii: "."),
            HTTPCharacters.isDigit(version[7])
        else { throw .badVersion }
        guard version[5] == UInt8(ascii: "1"), version[7] <= UInt8(ascii: "1") else {
            throw .unsupportedVersion
        }
        return Int(version[7] - UInt8(ascii: "0"))
    }
}
