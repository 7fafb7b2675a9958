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
    /// The connections over which an answer has come, by their own ports, with the version of HTTP
    /// that they speak.
    private var answered: [Int: Int] = [:]
    /// Closed connections that the peer had ended, by their own ports.
    private var lost: Set<Int> = []
    /// So many are remembered, to be asked about at once.
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

    /// The connection from this port is a new one.
    func noteNew(from own: Int) {
        answered[own] = nil
        lost.remove(own)
    }

    /// An answer has come over the connection from this port.
    func noteAnswer(from own: Int, version: Int) { answered[own] = version }

    /// The version of HTTP of an answer over the connection from this port; nil: none has come yet.
    func version(from own: Int) -> Int? { answered[own] }

    /// Whether the peer has ended the connection from this port.
    func isLost(from own: Int) -> Bool {
        lost.contains(own) || sockets(from: own).contains { Self.isOver($0) }
    }

    private func sockets(from own: Int) -> Set<Int32> {
        sockets.filter { Self.port(of: $0, getsockname) == own }
    }

    private static func isOver(_ socket: Int32) -> Bool {
        var byte: UInt8 = 0
        let count = recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count == 0 || count < 0 && errno != EAGAIN
    }

    /// Closes a socket.
    func close(_ socket: Int32) -> Int32 {
        if let own = Self.port(of: socket, getsockname) {
            answered[own] = nil
            if lost.count >= Self.lostMax { lost.removeAll() }
            if Self.isOver(socket) { lost.insert(own) }
        }
        sockets.remove(socket)
        secureSockets.remove(socket)
        return Glibc.close(socket)
    }

    /// Breaks the connection between these ports: what is under way there ends at once, and nobody
    /// uses it again.
    func breakOff(from own: Int, to peers: Int) {
        for socket in sockets(from: own) {
            guard Self.port(of: socket, getpeername) == peers else { continue }
            shutdown(socket, Int32(SHUT_RDWR))
        }
    }

    private static func port(
        of socket: Int32,
        _ ask: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> Int? {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                guard ask(socket, generic, &size) == 0 else { return nil }
                // IPv4 and IPv6 have it in the same place.
                let raw = UnsafeRawPointer(generic).loadUnaligned(
                    fromByteOffset: 2, as: UInt16.self)
                return Int(UInt16(bigEndian: raw))
            }
        }
    }
}
