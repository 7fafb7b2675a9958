// Addresses in the form of the kernel, and the compact form that a connection keeps.
import CUV
import Glibc

/// An address as `bind` and `connect` take it.
struct SocketAddress {
    private(set) var storage = sockaddr_storage()
    private(set) var length: socklen_t

    var family: Int32 { Int32(storage.ss_family) }

    init(copying address: UnsafePointer<sockaddr>, length: socklen_t) {
        self.length = length
        withUnsafeMutableBytes(of: &storage) { target in
            target.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(length)))
        }
    }

    /// - Throws: `invalidAddress` if the path is empty or longer than the kernel takes.
    init(path: String) throws(EventLoopError) {
        length = 0
        length = cuv_unix_address(&storage, path)
        if length == 0 {
            let text =
                "the path of a Unix socket has 1 to \(NetworkAddress.unixPathMax) bytes: '\(path)'"
            throw EventLoopError(.invalidAddress, path, text)
        }
    }

    /// The addresses that need no name server: literals and `localhost`. Empty for other names.
    static func known(host: String, port: UInt16) -> [SocketAddress] {
        if host == "localhost" {
            return known(host: "127.0.0.1", port: port) + known(host: "::1", port: port)
        }
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        return all(in: list)
    }

    /// What a name look-up gave, in its order.
    static func all(in list: UnsafeMutablePointer<addrinfo>?) -> [SocketAddress] {
        var addresses: [SocketAddress] = []
        var next = list
        while let entry = next?.pointee {
            if let address = entry.ai_addr {
                addresses.append(SocketAddress(copying: address, length: entry.ai_addrlen))
            }
            next = entry.ai_next
        }
        return addresses
    }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    /// The address that the socket is bound to.
    static func local(of socket: Int32) -> PeerAddress? { ask(socket, getsockname) }

    /// The address that the socket is connected to; `local` if that is not known.
    static func remote(of socket: Int32) -> PeerAddress { ask(socket, getpeername) ?? .local }

    private static func ask(
        _ socket: Int32,
        _ question: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) ->
            Int32
    ) -> PeerAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                question(socket, $0, &length)
            }
        }
        return code == 0 ? PeerAddress(storage) : nil
    }
}

/// Who is at the other end, in 24 bytes.
public struct PeerAddress: Hashable, Sendable, CustomStringConvertible {
    fileprivate enum Family: UInt8 { case ipv4, ipv6, local }
    private let family: Family
    /// The port; 0 for a Unix socket.
    public let port: UInt16
    private let high: UInt64
    private let low: UInt64

    /// Whoever connects through a Unix socket.
    static let local = PeerAddress(family: .local, port: 0, high: 0, low: 0)

    private init(family: Family, port: UInt16, high: UInt64, low: UInt64) {
        self.family = family
        self.port = port
        self.high = high
        self.low = low
    }

    /// An IPv4 address that arrives through an IPv6 socket is shown as what it is.
    init(_ storage: sockaddr_storage) {
        self = withUnsafeBytes(of: storage) { bytes in
            switch Int32(storage.ss_family) {
            case AF_INET:
                let address = bytes.loadUnaligned(as: sockaddr_in.self)
                let low = UInt64(UInt32(bigEndian: address.sin_addr.s_addr))
                let port = UInt16(bigEndian: address.sin_port)
                return PeerAddress(family: .ipv4, port: port, high: 0, low: low)
            case AF_INET6:
                return .fromIPv6(bytes.loadUnaligned(as: sockaddr_in6.self))
            default: return .local
            }
        }
    }

    private static func fromIPv6(_ address: sockaddr_in6) -> PeerAddress {
        let port = UInt16(bigEndian: address.sin6_port)
        let halves = withUnsafeBytes(of: address.sin6_addr) { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
        let isMapped = halves.0 == 0 && halves.1 >> 32 == 0xFFFF
        if isMapped {
            let low = halves.1 & 0xFFFF_FFFF
            return PeerAddress(family: .ipv4, port: port, high: 0, low: low)
        }
        return PeerAddress(family: .ipv6, port: port, high: halves.0, low: halves.1)
    }

    /// The address that `text` writes, without a port: `192.0.2.1`, `2001:db8::1`; nil: none.
    public init?(host text: String) {
        var storage = sockaddr_storage()
        let isRead = withUnsafeMutableBytes(of: &storage) { bytes in
            var v4 = sockaddr_in()
            var v6 = sockaddr_in6()
            if inet_pton(AF_INET, text, &v4.sin_addr) == 1 {
                v4.sin_family = sa_family_t(AF_INET)
                bytes.storeBytes(of: v4, as: sockaddr_in.self)
            } else if inet_pton(AF_INET6, text, &v6.sin6_addr) == 1 {
                v6.sin6_family = sa_family_t(AF_INET6)
                bytes.storeBytes(of: v6, as: sockaddr_in6.self)
            } else {
                return false
            }
            return true
        }
        guard isRead else { return nil }
        self.init(storage)
    }

    /// Whether the peer is on this machine: it may be a proxy, and stand for anybody.
    public var isLoopback: Bool {
        switch family {
        case .local: true
        case .ipv4: low >> 24 == 127
        case .ipv6: high == 0 && low == 1
        }
    }

    /// Whom a limit by address means.
    public struct Source: Hashable, Sendable {
        fileprivate let family: Family
        fileprivate let bits: UInt64
    }

    /// The IPv4 address, or the first 64 bits of the IPv6 address: whoever has one of these
    /// addresses has all of them (RFC 6177). Nil for a Unix socket, behind which there may be many
    /// peers.
    public var source: Source? {
        switch family {
        case .local: nil
        case .ipv4: Source(family: family, bits: low)
        case .ipv6: Source(family: family, bits: high)
        }
    }

    /// The address without the port; `unix` for a Unix socket.
    public var host: String {
        switch family {
        case .local: return "unix"
        case .ipv4:
            return [24, 16, 8, 0].map { String((low >> $0) & 0xFF) }.joined(separator: ".")
        case .ipv6:
            var address = (high.bigEndian, low.bigEndian)
            var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
            inet_ntop(AF_INET6, &address, &text, socklen_t(text.count))
            return text.withUnsafeBufferPointer {
                String(cString: $0.baseAddress.unsafelyUnwrapped)
            }
        }
    }

    /// `127.0.0.1:50123`, `[::1]:50123` or `unix`.
    public var description: String {
        switch family {
        case .local: return host
        case .ipv4: return "\(host):\(port)"
        case .ipv6: return "[\(host)]:\(port)"
        }
    }
}
