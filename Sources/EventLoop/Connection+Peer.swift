// Who is at the other end of a Unix socket.

import Glibc

extension Connection {
    /// The user that the process at the other end of a Unix socket had when it connected, as the
    /// kernel tells it; nil: it comes over the network.
    public var peerUser: UInt32? {
        peer == .local ? PeerCredentials(of: socket)?.user : nil
    }
}

/// Who was at the other end of a Unix socket when it was connected, as the kernel tells it.
struct PeerCredentials {
    let process: Int32
    let user: UInt32

    /// Nil: the kernel does not tell.
    init?(of socket: Int32) {
        // Process, user and group, of 32 bits each.
        var credentials: (Int32, UInt32, UInt32) = (0, .max, .max)
        var length = socklen_t(MemoryLayout<(Int32, UInt32, UInt32)>.size)
        guard getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else {
            return nil
        }
        (process, user) = (credentials.0, credentials.1)
    }
}

extension Connection {
    /// Whether the peer has shown a certificate with exactly this DNS name, which an authority that
    /// is trusted here has signed. False without TLS.
    public func peerIsNamed(_ name: String) -> Bool { session?.peerIs(name) ?? false }

    /// The SHA-256 digest of the certificate that the peer has shown; nil: it has shown none.
    public var peerFingerprint: [UInt8]? { session?.peerFingerprint }
}
