// Who is let in, counted by where it comes from.

import CallModel
import Glibc
import Testing
import WebProtocols

@testable import AgentServer
@testable import EventLoop

@Suite struct AdmissionControlTests {
    private let loop: EventLoop
    private let rig: Rig

    /// Connections of made-up peers: what is counted is their address.
    private final class Rig {
        let loop: EventLoop
        var control = AdmissionControl()
        var limits = ServerLimits()
        var ends: [Int32] = []

        init(_ loop: EventLoop) { self.loop = loop }

        deinit {
            for end in ends { Glibc.close(end) }
            loop.close()
        }

        /// A connection from `text`, if it is let in.
        func comes(_ text: String) throws -> Connection? {
            let peer = text == "unix" ? PeerAddress.local : try #require(PeerAddress(host: text))
            guard control.admits(peer, limits: limits) else { return nil }
            var pair: [Int32] = [0, 0]
            let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            try #require(socketpair(AF_UNIX, type, 0, &pair) == 0)
            ends.append(pair[1])
            let connection = try Connection(socket: pair[0], peer: peer, tls: nil, on: loop)
            control.begins(connection, limits: limits)
            return connection
        }

        func known(_ text: String) throws -> Connection? {
            let connection = try comes(text)
            if let connection { control.isKnown(connection) }
            return connection
        }
    }

    init() throws {
        loop = try EventLoop()
        rig = Rig(loop)
    }

    /// Which of these are let in, where two known ones may come from one address.
    private func admitted(_ texts: [String]) throws -> [Bool] {
        rig.limits.connectionsPerAddress = 2
        return try texts.map { try rig.known($0) != nil }
    }

    @Test func `An IPv4 address counts for itself, however it arrives`() throws {
        let three = ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1", "192.0.2.2"]
        #expect(try admitted(three) == [true, true, false, true])
    }

    @Test func `An IPv6 address counts with those that the same household has`() throws {
        let household = ["2001:db8:1:1::1", "2001:db8:1:1::2", "2001:db8:1:1:ffff::3"]
        #expect(try admitted(household + ["2001:db8:1:2::1"]) == [true, true, false, true])
    }

    @Test(arguments: ["127.0.0.1", "127.1.2.3", "::1", "unix"])
    func `Whoever may stand for many has no limit by address`(_ peer: String) throws {
        #expect(try admitted([peer, peer, peer]) == [true, true, true])
    }

    @Test func `A trusted proxy is counted by what it says`() throws {
        rig.control.proxies = TrustedProxies(["10.0.0.0/8"])
        rig.limits.connectionsPerAddress = 1
        let client = try #require(PeerAddress(host: "192.0.2.1")?.source)
        let one = try #require(try rig.known("10.0.0.1"))
        let two = try #require(try rig.known("10.0.0.1"))
        func learns(_ connection: Connection) -> Bool {
            rig.control.learns(client, of: connection, limits: rig.limits)
        }
        let answers = [learns(one), learns(one), learns(two)]
        #expect(answers == [true, true, false])
        rig.control.leaves(one)
        let hasRoom = learns(two)
        #expect(hasRoom)
    }

    @Test func `A trusted proxy that names nobody any more is counted nowhere`() throws {
        rig.control.proxies = TrustedProxies(["10.0.0.0/8"])
        rig.limits.connectionsPerAddress = 1
        let client = try #require(PeerAddress(host: "192.0.2.1")?.source)
        let one = try #require(try rig.known("10.0.0.1"))
        let two = try #require(try rig.comes("10.0.0.1"))
        func learns(_ source: PeerAddress.Source?, _ connection: Connection) -> Bool {
            rig.control.learns(source, of: connection, limits: rig.limits)
        }
        let named = learns(client, one)
        let unnamed = learns(nil, one)
        let next = learns(client, two)
        #expect([named, unnamed, next] == [true, true, true])
        let again = learns(nil, two)
        #expect(again && rig.control.newcomerCount == 1)
    }

    // MARK: Who asks over HTTP

    private func asks(_ connection: Connection, _ user: String) -> Bool {
        rig.control.asks(connection, for: UserID(user), limits: rig.limits)
    }

    @Test func `Where all places are taken who asked nothing for longest goes`() throws {
        rig.limits.connections = 10
        let all = try (0..<9).map { try #require(try rig.comes("192.0.2.\($0)")) }
        for (number, connection) in all.enumerated() {
            let stays = asks(connection, "user-\(number)")
            #expect(stays)
        }
        let again = asks(all[0], "user-0")
        #expect(again && rig.control.knownCount == 9)
        let late = try #require(try rig.comes("192.0.2.10"))
        let stays = asks(late, "late")
        #expect(stays && !all[1].isOpen && all[0].isOpen)
        let hasRoom = rig.control.makeRoom(isReturning: false, limits: rig.limits)
        #expect(hasRoom && !all[2].isOpen)
        for number in 11...12 { _ = try rig.known("192.0.2.\(number)") }
        #expect(try rig.comes("192.0.2.13") != nil)
        #expect(!all[3].isOpen && all[4].isOpen)
    }

    @Test func `Where nobody can give way who asks over HTTP stays a newcomer`() throws {
        rig.limits.connections = 10
        for number in 0..<9 { _ = try rig.known("192.0.2.\(number)") }
        let late = try #require(try rig.comes("192.0.2.10"))
        let stays = asks(late, "late")
        #expect(!stays && rig.control.newcomerCount == 1 && late.isOpen)
    }

    @Test func `Of one user's connections over HTTP the one used longest ago goes`() throws {
        rig.limits.connectionsPerUser = 2
        let mine = try (0..<3).map { try #require(try rig.comes("192.0.2.\($0)")) }
        let other = try #require(try rig.comes("192.0.2.9"))
        let order = [other, mine[0], mine[1], mine[0], mine[2]]
        for connection in order {
            let stays = asks(connection, connection === other ? "bob" : "ann")
            #expect(stays)
        }
        #expect(mine.map(\.isOpen) == [true, false, true] && other.isOpen)
        let servers = try (20..<24).map { try #require(try rig.comes("192.0.2.\($0)")) }
        for connection in servers {
            let stays = rig.control.asks(connection, for: nil, limits: rig.limits)
            #expect(stays)
        }
        let open = servers.map(\.isOpen)
        #expect(open == servers.map { _ in true })
        rig.control.upgrades(servers[0], limits: rig.limits)
        #expect(rig.control.newcomerCount == 1)
    }

    @Test func `Who came first is found among all and among those of one owner`() {
        final class Guest {}
        let guests = (0..<6).map { _ in Guest() }
        var queue = ArrivalQueue<Guest, Int>()
        for (number, guest) in guests.enumerated() {
            queue.add(guest, of: number == 5 ? nil : number % 2)
        }
        #expect(queue.oldest === guests[0] && queue.oldest(of: 1) === guests[1])
        #expect(queue.count == 6 && queue.count(of: 0) == 3 && queue.owner(of: guests[5]) == nil)
        for number in [0, 3, 1] {
            let wasThere = queue.remove(guests[number])
            #expect(wasThere)
        }
        let again = queue.remove(guests[3])
        #expect(!again && queue.oldest === guests[2])
        #expect(queue.count(of: 1) == 0 && queue.oldest(of: 1) == nil)
        queue.add(guests[1], of: 0)
        let line = queue.elements(of: 0)
        #expect(line.map(ObjectIdentifier.init) == [2, 4, 1].map { ObjectIdentifier(guests[$0]) })
    }

    // MARK: Newcomers

    @Test func `Of newcomers the oldest goes`() throws {
        rig.limits.newcomers = 3
        let first = try (1...3).map { try #require(try rig.comes("192.0.2.\($0)")) }
        rig.control.isKnown(first[0])
        _ = try rig.comes("192.0.2.4")
        #expect(first[1].isOpen)
        _ = try rig.comes("192.0.2.5")
        #expect(first.map(\.isOpen) == [true, false, true])
        #expect(rig.control.newcomerCount == 3)
        #expect(rig.control.knownCount == 1)
        rig.control.leaves(first[1])
        #expect(rig.control.newcomerCount + rig.control.knownCount == 4)
    }

    @Test func `Of one address's newcomers the oldest goes, and nobody else`() throws {
        rig.limits.newcomersPerAddress = 2
        let other = try #require(try rig.comes("192.0.2.9"))
        let mine = try (1...3).map { _ in try #require(try rig.comes("192.0.2.1")) }
        #expect(mine.map(\.isOpen) == [false, true, true])
        #expect(other.isOpen)
    }

    @Test func `Where all places are taken a newcomer goes before somebody known`() throws {
        rig.limits.connections = 3
        let known = try #require(try rig.known("192.0.2.1"))
        let stranger = try #require(try rig.comes("192.0.2.2"))
        _ = try rig.known("192.0.2.3")
        #expect(try rig.known("192.0.2.4") != nil)
        #expect(!stranger.isOpen && known.isOpen)
        #expect(try rig.comes("192.0.2.5") == nil)
    }

    @Test func `A tenth is kept for those who come back`() throws {
        rig.limits.connections = 10
        for number in 1...8 { _ = try rig.known("192.0.2.\(number)") }
        #expect(rig.control.hasRoom(isReturning: false, limits: rig.limits))
        _ = try rig.known("192.0.2.9")
        #expect(!rig.control.hasRoom(isReturning: false, limits: rig.limits))
        #expect(rig.control.hasRoom(isReturning: true, limits: rig.limits))
    }

    @Test func `Guesses from one household are added up`() throws {
        rig.limits.authFailures = 2
        let peers = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1"]
        let guesses = try peers.map { text in
            let source = try #require(PeerAddress(host: text)?.source)
            return rig.control.isGuessing(source, at: Moment(0), limits: rig.limits)
        }
        #expect(guesses == [false, false, true, false])
        let late = Moment(rig.limits.authWindow)
        let source = try #require(PeerAddress(host: "2001:db8::4")?.source)
        let isGuessing = rig.control.isGuessing(source, at: late, limits: rig.limits)
        #expect(!isGuessing)
    }

    @Test(arguments: ["127.0.0.1", "unix", "10.0.0.1"])
    func `Bad tokens are not counted of a peer that may stand for many`(_ peer: String) throws {
        rig.control.proxies = TrustedProxies(["10.0.0.0/8"])
        rig.limits.authFailures = 0
        let connection = try #require(try rig.comes(peer))
        let isGuessing = rig.control.isGuessing(connection, at: Moment(0), limits: rig.limits)
        #expect(!isGuessing)
        let client = try #require(PeerAddress(host: "192.0.2.1")?.source)
        let learns = rig.control.learns(client, of: connection, limits: rig.limits)
        #expect(learns)
        let isNow = rig.control.isGuessing(connection, at: Moment(0), limits: rig.limits)
        #expect(isNow)
    }

    @Test func `Whoever comes through a Unix socket is counted in all only`() throws {
        rig.limits.connections = 2
        let one = try rig.known("unix")
        #expect(try rig.known("unix") != nil)
        #expect(try rig.known("unix") == nil)
        rig.control.leaves(try #require(one))
        #expect(try rig.known("unix") != nil)
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
    func `A proxy names its client last`(_ header: String, _ client: String?) throws {
        let proxies = TrustedProxies(["10.0.0.0/8"])
        let request = HTTPRequest(.get, try HTTPTarget("/"), headers: ["X-Forwarded-For": header])
        let proxy = try #require(PeerAddress(host: "10.9.9.9"))
        let expected = client.flatMap { PeerAddress(host: $0)?.source }
        #expect(proxies.client(of: request, from: proxy) == expected)
        let stranger = try #require(PeerAddress(host: "192.0.2.200"))
        #expect(proxies.client(of: request, from: stranger) == nil)
    }
}
