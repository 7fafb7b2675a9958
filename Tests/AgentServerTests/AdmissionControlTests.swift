// Who is let in, counted by where it comes from.

import CallModel
import Glibc
import Testing

@testable import AgentServer
@testable import EventLoop

@Suite struct AdmissionControlTests {
    private func peer(_ text: String) throws -> PeerAddress {
        var storage = sockaddr_storage()
        try withUnsafeMutableBytes(of: &storage) { bytes in
            if text.contains(":") {
                var address = sockaddr_in6()
                address.sin6_family = sa_family_t(AF_INET6)
                try #require(inet_pton(AF_INET6, text, &address.sin6_addr) == 1)
                bytes.storeBytes(of: address, as: sockaddr_in6.self)
            } else {
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                try #require(inet_pton(AF_INET, text, &address.sin_addr) == 1)
                bytes.storeBytes(of: address, as: sockaddr_in.self)
            }
        }
        return PeerAddress(storage)
    }

    /// Which of these are let in where two may come from one address.
    private func admitted(_ texts: [String]) throws -> [Bool] {
        var control = AdmissionControl()
        var limits = ServerLimits()
        limits.connectionsPerAddress = 2
        return try texts.map { control.admits(try peer($0), limits: limits) }
    }

    @Test func `An IPv4 address counts for itself, however it arrives`() throws {
        let three = ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1", "192.0.2.2"]
        #expect(try admitted(three) == [true, true, false, true])
    }

    @Test func `An IPv6 address counts with those that the same household has`() throws {
        let household = ["2001:db8:1:1::1", "2001:db8:1:1::2", "2001:db8:1:1:ffff::3"]
        #expect(try admitted(household + ["2001:db8:1:2::1"]) == [true, true, false, true])
    }

    @Test func `Guesses from one household are added up`() throws {
        var control = AdmissionControl()
        var limits = ServerLimits()
        limits.authFailures = 2
        let guesses = try ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1"].map {
            control.isGuessing(try peer($0), at: Moment(0), limits: limits)
        }
        #expect(guesses == [false, false, true, false])
        let late = Moment(limits.authWindow)
        let again = control.isGuessing(try peer("2001:db8::4"), at: late, limits: limits)
        #expect(!again)
    }

    @Test func `Whoever comes through a Unix socket is counted in all only`() throws {
        var control = AdmissionControl()
        var limits = ServerLimits()
        limits.connectionsPerAddress = 1
        limits.connections = 2
        var admitted = [1, 2, 3].map { _ in control.admits(.local, limits: limits) }
        control.leaves(.local)
        admitted.append(control.admits(.local, limits: limits))
        #expect(admitted == [true, true, false, true])
    }
}
