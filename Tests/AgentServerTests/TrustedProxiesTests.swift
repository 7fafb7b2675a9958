// Where a limit by address counts a peer, and whom a proxy names.

import Testing
import WebProtocols

@testable import AgentServer
@testable import EventLoop

@Suite struct TrustedProxiesTests {
    /// The first of `hosts` and those that count with it.
    private func alike(_ hosts: [String]) throws -> [Bool] {
        let sources = try hosts.map {
            let peer = try #require(PeerAddress(host: $0))
            return try #require(TrustedProxies().source(of: peer))
        }
        return sources.map { $0 == sources[0] }
    }

    @Test func anIPv4AddressCountsForItselfHoweverItArrives() throws {
        #expect(try alike(["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"]) == [true, true, false])
    }

    @Test func anIPv6AddressCountsWithThoseThatTheSameHouseholdHas() throws {
        let household = ["2001:db8:1:1::1", "2001:db8:1:1::2", "2001:db8:1:1:ffff::3"]
        #expect(try alike(household + ["2001:db8:1:2::1"]) == [true, true, true, false])
    }

    @Test(arguments: ["127.0.0.1", "127.1.2.3", "::1", "10.0.0.1"])
    func whoeverMayStandForManyIsCountedNowhere(_ host: String) throws {
        let proxies = TrustedProxies(["10.0.0.0/8"])
        #expect(proxies.source(of: try #require(PeerAddress(host: host))) == nil)
        #expect(proxies.source(of: .local) == nil)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"),
        ("198.51.100.7, 192.0.2.1, 10.0.0.2", "192.0.2.1"),
        ("192.0.2.1:4711", "192.0.2.1"),
        ("[2001:db8::1]:4711", "2001:db8::1"),
        ("unknown, 192.0.2.1", "192.0.2.1"),
        ("192.0.2.1, unknown", nil),
        ("10.0.0.2", nil),
        ("", nil),
    ])
    func aProxyNamesItsClientLast(_ header: String, _ client: String?) throws {
        let proxies = TrustedProxies(["10.0.0.0/8"])
        let request = HTTPRequest(.get, try HTTPTarget("/"), headers: ["X-Forwarded-For": header])
        let proxy = try #require(PeerAddress(host: "10.9.9.9"))
        let expected = client.flatMap { PeerAddress(host: $0)?.source }
        #expect(proxies.client(of: request, from: proxy) == expected)
        let stranger = try #require(PeerAddress(host: "192.0.2.200"))
        #expect(proxies.client(of: request, from: stranger) == nil)
    }
}
