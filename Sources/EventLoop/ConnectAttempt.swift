// One socket on its way to one address.
import CUV
import Glibc

/// Ends once: with a connected socket, which the receiver owns from then on, or with an error.
final class ConnectAttempt: LoopHandle {
    private let socket: Int32
    private let endpoint: NetworkAddress
    private var done: ((Result<Int32, EventLoopError>) -> Void)?

    init(
        _ address: SocketAddress, _ endpoint: NetworkAddress, _ loop: EventLoop,
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
            owner(handle, ConnectAttempt.self)?.settled()
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
