// Binding: errors that name the address, and Unix sockets that a crash left behind.
import CUV
import Glibc

/// A socket that listens, and where.
struct ListeningSocket {
    let socket: Int32
    let endpoint: NetworkAddress
    let file: SocketFile?

    init(_ endpoint: NetworkAddress, backlog: Int32) throws(EventLoopError) {
        let address = try Self.address(of: endpoint)
        if case .unix(let path) = endpoint { try SocketFile.removeStale(path, address) }
        let socket = cuv_socket(address.family)
        guard socket >= 0 else {
            throw EventLoopError(code: socket, doing: "opening a socket for", "\(endpoint)")
        }
        Self.prepare(socket, address.family)
        let isListening =
            address.withPointer { bind(socket, $0, $1) } == 0 && listen(socket, backlog) == 0
        guard isListening else {
            let error = Self.failure(errno, endpoint)
            Glibc.close(socket)
            throw error
        }
        self.socket = socket
        switch endpoint {
        case .unix(let path):
            self.endpoint = endpoint
            file = SocketFile(path)
        case .tcp(let host, let port):
            self.endpoint = .tcp(host: host, port: SocketAddress.local(of: socket)?.port ?? port)
            file = nil
        }
    }

    private static func address(of endpoint: NetworkAddress) throws(EventLoopError) -> SocketAddress
    {
        switch endpoint {
        case .unix(let path): return try SocketAddress(path: path)
        case .tcp(let host, let port):
            if let first = SocketAddress.known(host: host, port: port).first { return first }
            let text = "cannot listen at '\(host)': an IP address or 'localhost' is needed"
            throw EventLoopError(.invalidAddress, "\(endpoint)", text)
        }
    }

    /// A Unix socket's file gets the mode of its socket at `bind` (Linux): never a moment for
    /// strangers.
    private static func prepare(_ socket: Int32, _ family: Int32) {
        var on: Int32 = 1
        var off: Int32 = 0
        let size = socklen_t(MemoryLayout<Int32>.size)
        switch family {
        case AF_UNIX: fchmod(socket, 0o600)
        case AF_INET6:
            setsockopt(socket, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &off, size)
            setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, size)
        default: setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, size)
        }
    }

    private static func failure(_ number: Int32, _ endpoint: NetworkAddress) -> EventLoopError {
        let words: String
        switch number {
        case EADDRINUSE: words = "address \(endpoint) is already in use"
        case EADDRNOTAVAIL: words = "address \(endpoint) does not belong to this machine"
        case EACCES, EPERM: words = "no permission to listen at \(endpoint)"
        default: return EventLoopError(code: -number, doing: "listening at", "\(endpoint)")
        }
        return EventLoopError(EventLoopError.Kind(code: number), "\(endpoint)", words)
    }
}

/// The file of a Unix socket that we made.
struct SocketFile {
    private let path: String
    private let device: dev_t
    private let node: ino_t

    init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.path = path
        device = status.st_dev
        node = status.st_ino
    }

    /// Whether the file is still there, and not another one in its place.
    var isInPlace: Bool {
        guard let now = SocketFile(path) else { return false }
        return now.device == device && now.node == node
    }

    /// Removes the file, unless somebody has put another one there.
    func remove() {
        if isInPlace { unlink(path) }
    }

    /// Removes a socket whose process is gone. Asks by connecting: the kernel refuses when nobody
    /// listens.
    ///
    /// - Throws: `addressInUse` if somebody listens, or if the file is no socket.
    static func removeStale(_ path: String, _ address: SocketAddress) throws(EventLoopError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw EventLoopError(.addressInUse, path, "\(path) exists and is not a socket")
        }
        let probe = cuv_socket(AF_UNIX)
        guard probe >= 0 else { throw EventLoopError(code: probe, doing: "probing", path) }
        defer { Glibc.close(probe) }
        let code = address.withPointer { connect(probe, $0, $1) } == 0 ? 0 : errno
        switch code {
        case ECONNREFUSED: unlink(path)
        case ENOENT: break
        case 0, EAGAIN:
            let text = "another process is listening at \(path)"
            throw EventLoopError(.addressInUse, path, text)
        default: throw EventLoopError(code: -code, doing: "probing", path)
        }
    }
}

extension NetworkAddress {
    /// The process that listens at this path of a Unix socket, as the kernel tells who connects;
    /// nil: nobody does, or it is no path.
    public var listeningProcess: Int32? {
        guard case .unix(let path) = self, let address = try? SocketAddress(path: path) else {
            return nil
        }
        let probe = cuv_socket(AF_UNIX)
        guard probe >= 0 else { return nil }
        defer { Glibc.close(probe) }
        guard address.withPointer({ connect(probe, $0, $1) }) == 0 else { return nil }
        return PeerCredentials(of: probe).flatMap { $0.process > 0 ? $0.process : nil }
    }
}
