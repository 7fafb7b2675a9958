// Which addresses a request may reach, so that no URL from outside reaches the own network.

import Glibc

/// An IPv4 or IPv6 address as 128 bits; IPv4 ones are written `::ffff:a.b.c.d` (RFC 4291).
public struct IPAddress: Sendable, Hashable {
    let high: UInt64
    let low: UInt64

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    init(v4: UInt32) {
        self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(v4))
    }

    /// Reads `127.0.0.1` or `::1`; nil if the text is no address.
    public init?(_ text: String) {
        var v4 = in_addr()
        var v6 = in6_addr()
        if inet_pton(AF_INET, text, &v4) == 1 {
            self.init(v4: UInt32(bigEndian: v4.s_addr))
        } else if inet_pton(AF_INET6, text, &v6) == 1 {
            self.init(v6)
        } else {
            return nil
        }
    }

    init(_ v6: in6_addr) {
        let words = withUnsafeBytes(of: v6) { bytes in
            (
                bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self),
                bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            )
        }
        self.init(high: UInt64(bigEndian: words.0), low: UInt64(bigEndian: words.1))
    }

    /// The address of a socket; nil for another family than IPv4 and IPv6.
    init?(socketAddress raw: UnsafeRawPointer) {
        switch Int32(raw.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET:
            let socket = raw.loadUnaligned(as: sockaddr_in.self)
            self.init(v4: UInt32(bigEndian: socket.sin_addr.s_addr))
        case AF_INET6: self.init(raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr)
        default: return nil  // external: the family of a socket
        }
    }

    /// The IPv4 address that this is or, by the prefix of NAT64 (RFC 6052), stands for.
    var v4: UInt32? {
        let isMapped = high == 0 && low >> 32 == 0xFFFF
        let isTranslated = high == 0x0064_FF9B_0000_0000 && low >> 32 == 0
        return isMapped || isTranslated ? UInt32(truncatingIfNeeded: low) : nil
    }
}

/// All addresses with the same first bits.
public struct AddressRange: Sendable, Hashable {
    private let base: IPAddress
    private let mask: IPAddress

    /// Reads `10.0.0.0/8`, `fd00::/8`, or a single address; nil if the text is neither.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, let address = IPAddress(parts[0]) else { return nil }
        let isV4 = !parts[0].contains(":")
        let width = isV4 ? 32 : 128
        var bits = width
        if parts.count == 2 {
            guard let given = Int(parts[1]), (0...width).contains(given) else { return nil }
            bits = given
        }
        mask = Self.mask(isV4 ? bits + 96 : bits)
        base = IPAddress(high: address.high & mask.high, low: address.low & mask.low)
    }

    /// Whether the address is one of them.
    public func contains(_ address: IPAddress) -> Bool {
        address.high & mask.high == base.high && address.low & mask.low == base.low
    }

    private static func mask(_ bits: Int) -> IPAddress {
        func word(_ bits: Int) -> UInt64 {
            bits <= 0 ? 0 : bits >= 64 ? .max : ~(UInt64.max >> UInt64(bits))
        }
        return IPAddress(high: word(bits), low: word(bits - 64))
    }
}

/// Decides by the address to which a connection is really made, after the name was resolved. So a
/// name that leads to an internal address, or leads there only the second time, does not help an
/// attacker.
public struct AddressGuard: Sendable, Equatable {
    /// Public addresses only: no private, loopback, link-local (with the metadata services of
    /// clouds), shared, multicast, reserved and documentation ones.
    public static let publicOnly = AddressGuard(allowing: [])
    /// Every address: for destinations that the operator has configured.
    public static let anywhere = AddressGuard(isOff: true, allowed: [])

    let isOff: Bool
    private let allowed: [AddressRange]

    /// Public addresses and those of `ranges`.
    public init(allowing ranges: [AddressRange]) {
        self.init(isOff: false, allowed: ranges)
    }

    private init(isOff: Bool, allowed: [AddressRange]) {
        self.isOff = isOff
        self.allowed = allowed
    }

    /// Whether a request may go to `address`.
    public func admits(_ address: IPAddress) -> Bool {
        isOff || Self.isPublic(address) || allowed.contains { $0.contains(address) }
    }

    private static func isPublic(_ address: IPAddress) -> Bool {
        if let v4 = address.v4 {
            let plain = IPAddress(v4: v4)
            return !special4.contains { $0.contains(plain) }
        }
        return globalUnicast.contains { $0.contains(address) }
            && !special6.contains { $0.contains(address) }
    }

    /// The registry of special IPv4 addresses (RFC 6890), multicast and the old class E.
    private static let special4 = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    ].compactMap(AddressRange.init)

    /// All of IPv6 that is routed at all (RFC 4291 section 2.4).
    private static let globalUnicast = ["2000::/3"].compactMap(AddressRange.init)

    /// What lies inside and is not a public host: protocol assignments with Teredo, documentation,
    /// and 6to4, which hides an IPv4 address.
    private static let special6 = [
        "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
    ].compactMap(AddressRange.init)
}
