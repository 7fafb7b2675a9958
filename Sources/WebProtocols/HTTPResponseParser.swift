// Reads responses from a connection, for a client (RFC 9112).

/// An incremental and strict parser of responses.
///
/// `expect` each request's method before its response arrives, then
/// `while let response = try parser.next(&input) { … }`, and `finish` when the peer has closed.
/// Interim responses (1xx) are passed over, except 101: what is left of the input after it belongs
/// to the new protocol.
public struct HTTPResponseParser: Sendable {
    private struct Start {
        var status: HTTPStatus
        var minorVersion: Int
    }

    private enum Phase {
        case startLine
        case headers(Start)
        case body(HTTPResponse)
        case failed(HTTPError)
    }

    private let limits: HTTPLimits
    private var phase = Phase.startLine
    private var parts = MessageParts()
    /// The methods of the requests whose responses are to come, in order.
    private var methods: [HTTPMethod] = []

    /// A parser at the start of a connection.
    public init(limits: HTTPLimits = HTTPLimits()) { self.limits = limits }

    /// Tells the method of a request that was sent; a response to `HEAD` has no body. Without being
    /// told the parser takes `GET`.
    public mutating func expect(_ method: HTTPMethod) { methods.append(method) }

    /// The next response in `input`, or nil when all of it is used up.
    public mutating func next(
        _ input: inout UnsafeRawBufferPointer
    ) throws(HTTPError) -> HTTPResponse? {
        do throws(HTTPError) {
            while true {
                switch phase {
                case .failed(let error): throw error
                case .startLine:
                    guard let start = try readStartLine(&input) else { return nil }
                    phase = .headers(start)
                case .headers(let start):
                    guard try parts.readHeaders(&input, limits) else { return nil }
                    try begin(start)
                case .body(let response):
                    guard try parts.readBody(&input, limits) else { return nil }
                    return finish(response)
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

    private mutating func finish(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.body = parts.body.bytes
        reset(to: .startLine)
        return response
    }

    /// The peer has closed the connection: the response that this ends, or nil when none was under
    /// way.
    ///
    /// - Throws: `truncated` when a response is incomplete.
    public mutating func finish() throws(HTTPError) -> HTTPResponse? {
        switch phase {
        case .failed(let error): throw error
        case .startLine where !parts.lines.isPartial: return nil
        case .body(let response) where parts.body.endsWithConnection: return finish(response)
        case .startLine, .headers, .body: throw .truncated
        }
    }

    private mutating func readStartLine(
        _ input: inout UnsafeRawBufferPointer
    ) throws(HTTPError) -> Start? {
        try parts.readStartLine(&input, limit: limits.startLine, overflow: .badStatusLine) {
            (line) throws(HTTPError) in try Self.start(line)
        }
    }

    private static func start(_ line: UnsafeRawBufferPointer) throws(HTTPError) -> Start {
        let parts = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2 else { throw .badStatusLine }
        let minorVersion = try HTTPVersion.minor(parts[0])
        guard parts[1].count == 3, parts[1].allSatisfy({ HTTPCharacters.isDigit($0) }),
            let status = UInt16(String(decoding: parts[1], as: UTF8.self)),
            (100...599).contains(status),
            parts.count < 3 || parts[2].allSatisfy({ HTTPCharacters.isValue($0) })
        else { throw .badStatusLine }
        return Start(status: HTTPStatus(rawValue: status), minorVersion: minorVersion)
    }

    private mutating func begin(_ start: Start) throws(HTTPError) {
        let (status, minorVersion, headers) = (start.status, start.minorVersion, parts.headers)
        if status.rawValue < 200, status != 101 { return reset(to: .startLine) }
        let method = methods.isEmpty ? .get : methods.removeFirst()
        let isBare = status.forbidsBody || method == .head
        let framing =
            isBare
            ? .length(0)
            : try BodyFraming(headers, minorVersion: minorVersion, limit: limits.body)
                ?? .untilClose
        var response = HTTPResponse(status, headers: headers)
        response.keepsAlive =
            framing != .untilClose && !headers.list("Connection", contains: "close")
            && (minorVersion >= 1 || headers.list("Connection", contains: "keep-alive"))
        parts.beginBody(framing)
        phase = .body(response)
    }
}
