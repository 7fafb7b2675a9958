// TLS on one socket: the handshake, and reads and writes that look like the kernel's.
import COpenSSL
import CUV
import Glibc

/// Which side of TLS we are.
enum TLSRole {
    case accepts(TLSContext)
    /// The peer must prove that it is `name`.
    case connects(TLSContext, name: String)

    func session(over socket: Int32, with peer: PeerAddress) throws(EventLoopError) -> TLSSession {
        try TLSSession(self, socket: socket, peer: peer)
    }
}

/// OpenSSL's part of one connection.
final class TLSSession {
    /// Told once: the handshake is done, or why it failed.
    var completed: ((Result<Void, EventLoopError>) -> Void)?
    /// Told once: a client's first record is there, and OpenSSL is about to hear of it.
    var begun: (() -> Void)?
    /// A read must first send something (a new key): try it again when the socket takes bytes.
    private(set) var readWaitsForWrite = false
    /// Nil until a client's first record is complete: a client that sends less takes none of the
    /// tens of kilobytes, and none of the time, that OpenSSL needs for a handshake.
    private var session: OpaquePointer?
    private let role: TLSRole
    private let socket: Int32
    private let peer: PeerAddress
    /// Bytes of the first record that are waited for.
    private var awaited: Int32 = 0

    /// - Throws: `system` if the name is none, or for want of memory.
    init(_ role: TLSRole, socket: Int32, peer: PeerAddress) throws(EventLoopError) {
        (self.role, self.socket, self.peer) = (role, socket, peer)
        // A Unix socket is announced whatever is there.
        if case .accepts = role, peer != .local { return }
        try begin()
    }

    deinit { SSL_free(session) }

    private func begin() throws(EventLoopError) {
        session =
            switch role {
            case .accepts(let tls): cossl_tls_accept(tls.context, socket)
            case .connects(let tls, let name): cossl_tls_connect(tls.context, socket, name)
            }
        guard session != nil else {
            throw EventLoopError(code: -EINVAL, doing: "making a TLS session with", "\(peer)")
        }
    }

    /// Whether the peer has shown a certificate with exactly this DNS name.
    func peerIs(_ name: String) -> Bool { cossl_tls_peer_is(session, name) == 1 }

    /// The SHA-256 digest of the certificate that the peer has shown; nil: it has shown none.
    var peerFingerprint: [UInt8]? {
        TLSContext.digest { cossl_tls_peer_fingerprint(session, $0) }
    }

    /// Whether OpenSSL has heard of the peer.
    var hasBegun: Bool { session != nil }

    /// True if bytes that the kernel has handed over wait inside the session.
    var holdsBytes: Bool { SSL_has_pending(session) == 1 }

    /// What the handshake waits for.
    enum Handshake {
        case done, read, write
        case failed(EventLoopError)
    }

    func handshake() -> Handshake {
        if session == nil {
            awaited = cuv_await_record(socket, awaited)
            guard awaited == 0 else { return .read }
            do throws(EventLoopError) {
                try begin()
            } catch {
                return .failed(error)
            }
            begun?()
            begun = nil
        }
        switch cossl_tls_handshake(session) {
        case 1...: return .done
        case Int(COSSL_WANTS_READ.rawValue): return .read
        case Int(COSSL_WANTS_WRITE.rawValue): return .write
        default: return .failed(failure("TLS handshake with"))
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> SocketResult {
        readWaitsForWrite = false
        switch cossl_tls_read(session, buffer.baseAddress, buffer.count) {
        case let count where count > 0: return .bytes(count)
        case Int(COSSL_END.rawValue): return .end
        case Int(COSSL_WANTS_READ.rawValue): return .notNow
        case Int(COSSL_WANTS_WRITE.rawValue):
            readWaitsForWrite = true
            return .notNow
        default: return .failed(failure("reading from"))
        }
    }

    /// A write never waits for a read: renegotiation is switched off.
    func write(_ bytes: UnsafeRawBufferPointer) -> SocketResult {
        switch cossl_tls_write(session, bytes.baseAddress, bytes.count) {
        case let count where count > 0: return .bytes(count)
        case Int(COSSL_WANTS_WRITE.rawValue): return .notNow
        default: return .failed(failure("writing to"))
        }
    }

    func shutdown() { if session != nil { cossl_tls_shutdown(session) } }

    func complete(_ result: Result<Void, EventLoopError>) {
        let completed = self.completed
        self.completed = nil
        completed?(result)
    }

    private func failure(_ action: String) -> EventLoopError {
        let number = errno
        let reason = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
            cossl_tls_reason(session, text.baseAddress, text.count)
            return text.baseAddress.map { String(cString: $0) } ?? ""
        }
        let wasReset = number == ECONNRESET || number == EPIPE
        return EventLoopError(wasReset ? .reset : .tls, "\(peer)", "\(action) \(peer): \(reason)")
    }
}
