// Outgoing connections: name, addresses in turn, time limit.
import CUV
import Glibc

/// One attempt to connect, from `connect(to:on:)` until its completion. Thread-confined to its
/// loop.
public final class Connector {
    /// What the caller may change.
    public struct Options: Sendable {
        /// The limit for everything: name, connection and TLS, in milliseconds.
        public var timeout: Int64 = 10_000
        /// The certificates to trust; nil for a plain connection.
        public var tls: TLSContext?
        /// The name that the peer's certificate must have; nil: the host of the endpoint.
        public var serverName: String?

        /// The defaults.
        public init() {}
    }

    /// The result: a connection without a handler yet, or why there is none.
    public typealias Completion = (Result<Connection, EventLoopError>) -> Void

    private let loop: EventLoop
    private let endpoint: NetworkAddress
    private let options: Options
    private let deadline: Int64
    private var completion: Completion?
    private var addresses: ArraySlice<SocketAddress> = []
    private var attempt: ConnectAttempt?
    private var timer: Timer?
    private var handshaking: Connection?
    private var failure: EventLoopError?

    /// Connects. Literals, `localhost` and Unix sockets need no thread; other names are looked up
    /// on a thread. The addresses of a name are tried one after the other.
    ///
    /// - Parameter completion: called once, never before this returns, unless `cancel` comes first.
    ///   It sets the connection's handler.
    @discardableResult
    public static func connect(
        to endpoint: NetworkAddress, on loop: EventLoop, options: Options = Options(),
        completion: @escaping Completion
    ) -> Connector {
        let connector = Connector(endpoint, loop, options, completion)
        connector.begin()
        return connector
    }

    /// Gives up; the completion is not called. After the completion this does nothing.
    public func cancel() {
        completion = nil
        release()
    }

    private init(
        _ endpoint: NetworkAddress, _ loop: EventLoop, _ options: Options,
        _ completion: @escaping Completion
    ) {
        self.endpoint = endpoint
        self.loop = loop
        self.options = options
        self.completion = completion
        deadline = loop.now + options.timeout
    }

    private func begin() {
        // The timer keeps the attempt alive until it ends.
        timer = Timer(on: loop) { [self] in
            let limit = "connecting to \(endpoint) took longer than \(options.timeout) ms"
            complete(.failure(failure ?? EventLoopError(.timedOut, "\(endpoint)", limit)))
        }
        timer?.arm(at: deadline)
        do throws(EventLoopError) {
            switch endpoint {
            case .unix(let path): addresses = [try SocketAddress(path: path)]
            case .tcp(let host, let port):
                addresses = SocketAddress.known(host: host, port: port)[...]
                if addresses.isEmpty { return try Lookup.start(host, port, loop, resolved) }
            }
            dialNext()
        } catch {
            giveUp(error)
        }
    }

    private func resolved(_ result: Result<[SocketAddress], EventLoopError>) {
        guard completion != nil else { return }
        do throws(EventLoopError) {
            addresses = try result.get()[...]
            dialNext()
        } catch {
            giveUp(error)
        }
    }

    private func dialNext() {
        guard let address = addresses.popFirst() else {
            let none = EventLoopError(.nameNotFound, "\(endpoint)", "\(endpoint) has no address")
            return giveUp(failure ?? none)
        }
        do throws(EventLoopError) {
            attempt = try ConnectAttempt(address, endpoint, loop) { [self] in attemptEnded($0) }
        } catch {
            failure = error
            dialNext()
        }
    }

    private func attemptEnded(_ result: Result<Int32, EventLoopError>) {
        attempt = nil
        do throws(EventLoopError) {
            let socket = try result.get()
            try establish(socket)
        } catch {
            failure = error
            if error.kind == .cancelled { giveUp(error) } else { dialNext() }
        }
    }

    private func establish(_ socket: Int32) throws(EventLoopError) {
        let peer = SocketAddress.remote(of: socket)
        let role = options.tls.map { TLSRole.connects($0, name: serverName) }
        let connection = try Connection(socket: socket, peer: peer, tls: role, on: loop)
        guard role != nil else {
            complete(.success(connection))
            return connection.begin()
        }
        handshaking = connection
        connection.shakeHands(within: max(0, deadline - loop.now)) { [self] result in
            handshaking = nil
            complete(result.map { connection })
        }
    }

    private var serverName: String {
        if let name = options.serverName { return name }
        switch endpoint {
        case .tcp(let host, _): return host
        case .unix: return "localhost"
        }
    }

    /// Reports it in the next turn: the caller may not have our return value yet.
    private func giveUp(_ error: EventLoopError) {
        failure = error
        if loop.isClosed { complete(.failure(error)) } else { timer?.arm(after: 0) }
    }

    private func complete(_ result: Result<Connection, EventLoopError>) {
        let completion = self.completion
        self.completion = nil
        release()
        completion?(result)
    }

    private func release() {
        timer = nil
        attempt?.abandon()
        attempt = nil
        handshaking?.abort()
        handshaking = nil
    }
}
