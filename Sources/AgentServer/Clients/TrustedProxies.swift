// Proxies that may say which client's address they speak for (K110).

import EventLoop
import Outbound
import WebProtocols

/// Addresses of proxies that the operator named (`trusted_proxies`).
struct TrustedProxies: Sendable, Equatable {
    private let ranges: [AddressRange]

    /// Nobody.
    init() { ranges = [] }

    /// The proxies in `list`, such as `10.0.0.0/8`; what is no address was refused before.
    init(_ list: [String]) { ranges = list.compactMap { AddressRange($0) } }

    /// Whether the peer is one of them.
    func contains(_ peer: PeerAddress) -> Bool {
        guard !ranges.isEmpty, let address = IPAddress(peer.host) else { return false }
        return contains(address)
    }

    /// The address for which a connection counts (K110); nil: none, because the peer may stand for
    /// many clients. Of a peer on loopback, on a Unix socket or among the proxies nothing is known
    /// before its first request.
    func source(of peer: PeerAddress) -> PeerAddress.Source? {
        peer.isLoopback || contains(peer) ? nil : peer.source
    }

    private func contains(_ address: IPAddress) -> Bool {
        ranges.contains { $0.contains(address) }
    }

    /// Whose request a proxy passes on: the last address of `X-Forwarded-For` that is no trusted
    /// proxy itself.
    ///
    /// - Returns: nil when the peer is not trusted, or says nothing that is an address.
    func client(
        of request: HTTPRequest, from peer: PeerAddress
    ) -> PeerAddress.Source? {
        guard contains(peer) else { return nil }
        let words = request.headers.all("X-Forwarded-For")
            .flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
        for word in words.reversed() {
            let text = Self.withoutPort(word.filter { $0 != " " && $0 != "\t" })
            guard let address = IPAddress(text), let client = PeerAddress(host: text) else {
                return nil
            }
            if !contains(address) { return client.source }
        }
        return nil
    }

    /// `192.0.2.1:4711` and `[2001:db8::1]:4711` without the port that some proxies add.
    private static func withoutPort(_ text: String) -> String {
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            return String(text[text.index(after: text.startIndex)..<end])
        }
        guard text.count(where: { $0 == ":" }) == 1 else { return text }
        return String(text.prefix { $0 != ":" })
    }
}
