// The connections of an engine, which outlive the requests that made them.

import COpenSSL
import Glibc

/// Used by the engine's thread only.
final class Connections {
    /// Of HTTP/2, libcurl reads until an answer goes on or nothing more is there. A server that
    /// sends frames of no use without end would keep the thread for as long as it wants: no
    /// time-out is looked at meanwhile. So a connection is cut off that gives more than this many
    /// bytes at once …
    private static let bytesAtOnceMax = 1 << 20
    /// … for longer than this, in microseconds.
    private static let longestReading = 20_000

    /// What is read in one call of libcurl.
    let gate = UnsafeMutablePointer<cossl_tls_gate>.allocate(capacity: 1)
    private var sockets: Set<Int32> = []
    private var secureSockets: Set<Int32> = []
    /// The connections over which an answer has come, by their ends, with the version of HTTP that
    /// they speak.
    private var answered: [Int: Int] = [:]
    /// Closed connections that the peer had ended, by their ends.
    private var lost: Set<Int> = []
    /// So many of each are remembered: of a connection that was reset only the own port is known
    /// when it is closed.
    private static let lostMax = 1_000

    init() {
        gate.initialize(to: cossl_tls_gate())
        gate.pointee.bytes_max = Self.bytesAtOnceMax
        gate.pointee.microseconds_max = Self.longestReading
    }

    deinit { gate.deallocate() }

    /// libcurl is called once more.
    func beginReading() {
        (gate.pointee.reading, gate.pointee.cut, gate.pointee.written) = (nil, 0, 0)
    }

    /// Whether a connection was cut off in this call.
    var isCutOff: Bool { gate.pointee.cut != 0 }

    /// Whether this call wrote nothing to a socket with TLS, which alone can speak HTTP/2. What
    /// was left of a record does not count.
    func isVain(_ socket: Int32) -> Bool {
        gate.pointee.written == 0 && secureSockets.contains(socket)
    }

    /// A socket was made.
    func noteOpened(_ socket: Int32, isSecure: Bool) {
        sockets.insert(socket)
        if isSecure { secureSockets.insert(socket) }
    }

    /// Both ends of a connection: the system gives one port to connections to several places. Of an
    /// IPv6 address its parts are mixed.
    static func ends(own: Int, peer: IPAddress?, port: Int) -> Int {
        guard let peer else { return own }
        let words = peer.high ^ peer.low
        return Int(truncatingIfNeeded: words ^ words >> 32) << 32 | port << 16 | own
    }

    /// This connection is a new one.
    func noteNew(_ ends: Int) {
        answered[ends] = nil
        lost.remove(ends)
        lost.remove(ends & 0xFFFF)
    }

    /// An answer has come over the connection.
    func noteAnswer(over ends: Int, version: Int) {
        if answered.count >= Self.lostMax { answered.removeAll() }
        answered[ends] = version
    }

    /// The version of HTTP of an answer over the connection; nil: none has come yet.
    func version(over ends: Int) -> Int? { answered[ends] }

    /// Whether the peer has ended the connection. Of one that was reset only the own port is known,
    /// which says nothing of another one from there that is open.
    func isLost(_ ends: Int) -> Bool {
        let open = sockets(between: ends)
        guard open.isEmpty else { return open.contains { Self.isOver($0) } }
        let own = ends & 0xFFFF
        return lost.contains(ends) || lost.contains(own)
            || sockets(between: own).contains { Self.isOver($0) }
    }

    private func sockets(between ends: Int) -> Set<Int32> {
        sockets.filter { Self.ends(of: $0) == ends }
    }

    private static func isOver(_ socket: Int32) -> Bool {
        var byte: UInt8 = 0
        let count = recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count == 0 || count < 0 && errno != EAGAIN
    }

    /// Closes a socket.
    func close(_ socket: Int32) -> Int32 {
        let ends = Self.ends(of: socket)
        answered[ends] = nil
        if lost.count >= Self.lostMax { lost.removeAll() }
        if Self.isOver(socket) { lost.insert(ends) }
        sockets.remove(socket)
        secureSockets.remove(socket)
        return Glibc.close(socket)
    }

    /// Breaks the connection: what is under way there ends at once, and nobody uses it again.
    func breakOff(_ ends: Int) {
        for socket in sockets(between: ends) { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    /// The ends of a socket; of one that was reset the own port alone.
    private static func ends(of socket: Int32) -> Int {
        let peer = address(of: socket, getpeername)
        return ends(
            own: address(of: socket, getsockname)?.port ?? 0, peer: peer?.host,
            port: peer?.port ?? 0)
    }

    private static func address(
        of socket: Int32,
        _ ask: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> (host: IPAddress, port: Int)? {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                let raw = UnsafeRawPointer(generic)
                guard ask(socket, generic, &size) == 0,
                    let host = IPAddress(socketAddress: raw)
                else { return nil }
                // IPv4 and IPv6 have it in the same place.
                let port = raw.loadUnaligned(fromByteOffset: 2, as: UInt16.self)
                return (host, Int(UInt16(bigEndian: port)))
            }
        }
    }
}
