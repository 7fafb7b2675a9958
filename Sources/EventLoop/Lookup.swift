// Names through the system's resolver, on a thread of libuv's.
import CUV
import Glibc

/// One question to the resolver; the answer comes on the loop's thread.
final class Lookup {
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
