// One request over HTTP and its response: for the admin socket, and for a phone that was woken.

import EventLoop
import WebProtocols

/// Why a request over HTTP has no response.
public enum HTTPFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// No connection, or it broke.
    case network(EventLoopError)
    /// What came is no response of HTTP/1.1.
    case malformed(HTTPError)
    /// The server ended the connection without a word.
    case dropped
    /// No response came within so many milliseconds.
    case timedOut(Int64)

    /// One sentence without the final stop.
    public var description: String {
        switch self {
        case .network(let error): "\(error)"
        case .malformed(let error): "the server does not speak HTTP: \(error)"
        case .dropped: "the server ended the connection without an answer"
        case .timedOut(let limit): "the server did not answer within \(limit) ms"
        }
    }
}

/// Sends one request on a connection of its own, which ends with the response. Thread-confined to
/// its loop; lives until its completion.
public final class HTTPExchange: ConnectionHandler {
    /// What the caller may change.
    public struct Options: Sendable {
        /// The limit for everything, in milliseconds.
        public var timeout: Int64 = 30_000
        /// The longest body that is taken, in bytes.
        public var maximumBody = 16 << 20
        /// The authorities to trust for a secure address; nil: the system's.
        public var tls: TLSContext?

        /// The defaults.
        public init() {}
    }

    /// The result.
    public typealias Completion = (Result<HTTPResponse, HTTPFailure>) -> Void

    private let request: HTTPRequest
    private let options: Options
    private var parser: HTTPResponseParser
    private var completion: Completion?
    private var transport: Connection?
    private var connector: Connector?
    private var timer: Timer?

    /// Sends `request` to `server`, whose prefix its target already has. `Host` and `Connection`
    /// are added.
    ///
    /// - Parameter completion: called once, on the loop's thread, never before this returns, unless
    ///   `cancel` comes first.
    @discardableResult
    public static func send(
        _ request: HTTPRequest, to server: ServerAddress, on loop: EventLoop,
        options: Options = Options(), completion: @escaping Completion
    ) -> HTTPExchange {
        var request = request
        request.headers.append("Host", server.host)
        request.headers.append("Connection", "close")
        let exchange = HTTPExchange(request, options, completion)
        exchange.begin(server, loop)
        return exchange
    }

    private init(
        _ request: HTTPRequest, _ options: Options, _ completion: @escaping Completion
    ) {
        self.request = request
        self.options = options
        self.completion = completion
        parser = HTTPResponseParser(limits: HTTPLimits(body: options.maximumBody))
        parser.expect(request.method)
    }

    private func begin(_ server: ServerAddress, _ loop: EventLoop) {
        // The timer keeps the exchange alive until it ends.
        timer = Timer(on: loop) { [self] in finish(.failure(.timedOut(options.timeout))) }
        timer?.arm(after: options.timeout)
        var dialling = Connector.Options()
        dialling.timeout = options.timeout
        do throws(EventLoopError) {
            if server.isSecure { dialling.tls = try trust() }
        } catch {
            return fail(error, on: loop)
        }
        connector = Connector.connect(
            to: server.endpoint, on: loop, options: dialling
        ) { [self] in connected($0) }
    }

    private func trust() throws(EventLoopError) -> TLSContext {
        if let tls = options.tls { return tls }
        return try TLSContext.client()
    }

    /// The caller may not have our return value yet: tells it in the next turn.
    private func fail(_ error: EventLoopError, on loop: EventLoop) {
        timer = Timer(on: loop) { [self] in finish(.failure(.network(error))) }
        timer?.arm(after: 0)
    }

    /// Gives up; the completion is not called.
    public func cancel() {
        completion = nil
        finish(.failure(.dropped))
    }

    private func connected(_ result: Result<Connection, EventLoopError>) {
        connector = nil
        switch result {
        case .failure(let error): finish(.failure(.network(error)))
        case .success(let connection):
            transport = connection
            connection.handler = self
            var output: [UInt8] = []
            request.write(to: &output)
            connection.send(output)
        }
    }

    /// Reads the response as it comes.
    public func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        do throws(HTTPError) {
            if let response = try parser.next(&rest) { finish(.success(response)) }
        } catch {
            finish(.failure(.malformed(error)))
        }
    }

    /// The response is over where it says nothing of its length; else it is cut off.
    public func connectionReachedEnd(_ connection: Connection) {
        do throws(HTTPError) {
            let last = try parser.finish()
            finish(last.map { .success($0) } ?? .failure(.dropped))
        } catch {
            finish(.failure(.malformed(error)))
        }
    }

    /// Without a whole response the exchange has failed.
    public func connectionClosed(_ connection: Connection, error: EventLoopError?) {
        finish(.failure(error.map { .network($0) } ?? .dropped))
    }

    private func finish(_ result: Result<HTTPResponse, HTTPFailure>) {
        let completion = self.completion
        self.completion = nil
        connector?.cancel()
        connector = nil
        timer = nil
        transport?.close()
        transport = nil
        completion?(result)
    }
}
