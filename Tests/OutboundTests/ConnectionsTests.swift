// The connections of an engine, told apart by both their ends.

import Glibc
import Testing

@testable import Outbound

@Suite struct ConnectionsTests {
    /// A socket at a port of this machine; 0: at one that the system chooses.
    private func bound(at port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var on = Int32(1)
        setsockopt(
            descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        try #require(with(port) { Glibc.bind(descriptor, $0, $1) } == 0)
        return descriptor
    }

    private func with(
        _ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = UInt16(port).bigEndian
        return withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private func port(of descriptor: Int32) -> Int {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(descriptor, $0, &size)
            }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// A connection of `connections` from `own` to a new place, and the socket of its peer.
    private func open(
        _ connections: Connections, from own: Int
    ) throws -> (socket: Int32, ends: Int, peer: Int32) {
        let place = try bound(at: 0)
        defer { close(place) }
        try #require(listen(place, 1) == 0)
        let own = try bound(at: own)
        connections.noteOpened(own, isSecure: true)
        try #require(with(port(of: place)) { connect(own, $0, $1) } == 0)
        let ends = Connections.ends(
            own: port(of: own), peer: IPAddress("127.0.0.1"), port: port(of: place))
        connections.noteNew(ends)
        return (own, ends, accept(place, nil, nil))
    }

    @Test func twoFromOnePortAreTwo() throws {
        let connections = Connections()
        let one = try open(connections, from: 0)
        connections.noteAnswer(over: one.ends, version: 2)
        let other = try open(connections, from: port(of: one.socket))
        #expect(connections.version(over: one.ends) == 2, "the other one is new, not this one")
        #expect(connections.version(over: other.ends) == nil)
        connections.breakOff(one.ends)
        #expect(connections.isLost(one.ends) && !connections.isLost(other.ends))
        close(one.peer)
        #expect(connections.isLost(one.ends) && !connections.isLost(other.ends))
        #expect(connections.close(one.socket) == 0)
        #expect(connections.isLost(one.ends) && !connections.isLost(other.ends))
        connections.noteAnswer(over: other.ends, version: 1)
        #expect(connections.close(other.socket) == 0)
        #expect(connections.version(over: other.ends) == nil)
        close(other.peer)
    }

    @Test(arguments: [true, false])
    func whoseConnectionIsResetIsLost(whileOpen isOpen: Bool) throws {
        let connections = Connections()
        let one = try open(connections, from: 0)
        var reset = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            one.peer, SOL_SOCKET, SO_LINGER, &reset, socklen_t(MemoryLayout<linger>.size))
        close(one.peer)
        if !isOpen { #expect(connections.close(one.socket) == 0) }
        #expect(connections.isLost(one.ends))
        connections.noteNew(one.ends)
        #expect(connections.isLost(one.ends) == isOpen)
        if isOpen { #expect(connections.close(one.socket) == 0) }
    }
}
