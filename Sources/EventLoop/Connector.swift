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

        /// The defaults.
        public init() {}
    }

    /// What came of it: a connection without a handler yet, or why there is none.
    public typealias Completion = (Result<Connection, EventLoopError>) -> Void

    private let loop: EventLoop
    private let endpoint: Endpoint
    private var completion: Completion?
    private var addresses: ArraySlice<SocketAddress> = []
    private var dial: Dial?
    private var timer: Timer?
    private var failure: EventLoopError?

    /// Connects. Literals, `localhost` and Unix sockets need no thread; other names are looked up
    /// on a thread of libuv's. The addresses of a name are tried one after the other.
    ///
    /// - Parameter completion: called once, never before this returns, unless `cancel` comes first.
    ///   It sets the connection's handler.
    @discardableResult
    public static func connect(
        to endpoint: Endpoint, on loop: EventLoop, options: Options = Options(),
        completion: @escaping Completion
    ) -> Connector {
        let connector = Connector(endpoint, loop, completion)
        connector.begin(timeout: options.timeout)
        return connector
    }

    /// Gives up; the completion is not called. After the completion this does nothing.
    public func cancel() {
        completion = nil
        release()
    }

    private init(_ endpoint: Endpoint, _ loop: EventLoop, _ completion: @escaping Completion) {
        self.endpoint = endpoint
        self.loop = loop
        self.completion = completion
    }

    private func begin(timeout: Int64) {
        // The timer keeps the attempt alive until it ends.
        timer = Timer(on: loop) { [self] in
            let limit = "connecting to \(endpoint) took longer than \(timeout) ms"
            complete(.failure(failure ?? EventLoopError(.timedOut, "\(endpoint)", limit)))
        }
        timer?.arm(after: timeout)
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
            dial = try Dial(address, endpoint, loop) { [self] in dialled($0) }
        } catch {
            failure = error
            dialNext()
        }
    }

    private func dialled(_ result: Result<Int32, EventLoopError>) {
        dial = nil
        do throws(EventLoopError) {
            let socket = try result.get()
            let peer = SocketAddress.remote(of: socket)
            let connection = try Connection(socket: socket, peer: peer, on: loop)
            complete(.success(connection))
            connection.begin()
        } catch {
            failure = error
            if error.kind == .cancelled { giveUp(error) } else { dialNext() }
        }
    }

    /// Tells why in the next turn: the caller may not have our return value yet.
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
        dial?.abandon()
        dial = nil
    }
}

/// One socket on its way to one address.
private final class Dial: LoopHandle {
    private let socket: Int32
    private let endpoint: Endpoint
    private var done: ((Result<Int32, EventLoopError>) -> Void)?

    init(
        _ address: SocketAddress, _ endpoint: Endpoint, _ loop: EventLoop,
        _ done: @escaping (Result<Int32, EventLoopError>) -> Void
    ) throws(EventLoopError) {
        let socket = cuv_socket(address.family)
        self.socket = socket
        self.endpoint = endpoint
        super.init(on: loop, type: UV_POLL)
        do throws(EventLoopError) {
            try begin(address)
        } catch {
            if socket >= 0 { Glibc.close(socket) }
            throw error
        }
        self.done = done
    }

    private func begin(_ address: SocketAddress) throws(EventLoopError) {
        try start(uv_poll_t.self, doing: "connecting to", "\(endpoint)") { handle in
            if socket < 0 { return socket }
            let isUnderWay =
                address.withPointer { connect(socket, $0, $1) } == 0 || errno == EINPROGRESS
            if !isUnderWay { return -errno }
            return uv_poll_init(loop.uv, handle, socket)
        }
        guard let handle = handle(uv_poll_t.self) else { return }
        uv_poll_start(handle, Int32(UV_WRITABLE.rawValue)) { handle, _, _ in
            owner(handle, Dial.self)?.settled()
        }
    }

    private func settled() {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size)
        closeHandle()
        guard code == 0 else {
            return end(EventLoopError(code: -code, doing: "connecting to", "\(endpoint)"))
        }
        let done = self.done
        self.done = nil
        done?(.success(socket))
    }

    func abandon() {
        guard done != nil else { return }
        done = nil
        closeHandle()
        Glibc.close(socket)
    }

    override func loopWillClose() {
        guard done != nil else { return }
        closeHandle()
        end(EventLoopError(code: -ECANCELED, doing: "connecting to", "\(endpoint)"))
    }

    private func end(_ error: EventLoopError) {
        Glibc.close(socket)
        let done = self.done
        self.done = nil
        done?(.failure(error))
    }
}

/// One name at the system's resolver.
private final class Lookup {
    private let host: String
    private let loop: EventLoop
    private let request = UnsafeMutablePointer<uv_getaddrinfo_t>.allocate(capacity: 1)
    private let done: (Result<[SocketAddress], EventLoopError>) -> Void

    private init(
        _ host: String, _ loop: EventLoop,
        _ done: @escaping (Result<[SocketAddress], EventLoopError>) -> Void
    ) {
        self.host = host
        self.loop = loop
        self.done = done
    }

    deinit { request.deallocate() }

    static func start(
        _ host: String, _ port: UInt16, _ loop: EventLoop,
        _ done: @escaping (Result<[SocketAddress], EventLoopError>) -> Void
    ) throws(EventLoopError) {
        let lookup = Lookup(host, loop, done)
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG
        let retained = Unmanaged.passRetained(lookup)
        lookup.request.pointee.data = retained.toOpaque()
        let code = uv_getaddrinfo(
            loop.uv, lookup.request,
            { request, code, list in
                guard let data = request?.pointee.data else { return }
                Unmanaged<Lookup>.fromOpaque(data).takeRetainedValue().found(list, code)
            }, host, String(port), &hints)
        if code < 0 {
            retained.release()
            throw EventLoopError(code: code, doing: "looking up", host)
        }
    }

    private func found(_ list: UnsafeMutablePointer<addrinfo>?, _ code: Int32) {
        defer { uv_freeaddrinfo(list) }
        if loop.isClosed {
            done(.failure(EventLoopError(code: -ECANCELED, doing: "looking up", host)))
        } else if code < 0 {
            let words = String(cString: uv_strerror(code))
            let text = "looking up \(host): \(words)"
            done(.failure(EventLoopError(.nameNotFound, host, text)))
        } else {
            done(.success(SocketAddress.all(in: list)))
        }
    }
}
