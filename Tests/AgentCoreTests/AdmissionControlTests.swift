// Who is let in, counted by where it comes from.

import AgentCore
import CallModel
import Testing

@Suite struct AdmissionControlTests {
    /// A connection of a made-up peer.
    private final class Guest: Visitor {
        private(set) var isOpen = true

        func abort() { isOpen = false }
    }

    /// Whoever comes from nowhere may stand for many.
    private final class Rig {
        var control = AdmissionControl<Guest, String>()
        var limits = ServerLimits()

        /// A connection from `source`, if it is let in.
        func comes(_ source: String?) -> Guest? {
            guard control.admits(from: source, limits: limits) else { return nil }
            let guest = Guest()
            control.begins(guest, from: source, limits: limits)
            return guest
        }

        func known(_ source: String?) -> Guest? {
            let guest = comes(source)
            if let guest { control.identifies(guest) }
            return guest
        }
    }

    private let rig = Rig()

    @Test func aSourceHasSoManyConnectionsAndNoMore() {
        rig.limits.connectionsPerAddress = 2
        let admitted = ["a", "a", "a", "b"].map { rig.known($0) != nil }
        #expect(admitted == [true, true, false, true])
    }

    @Test func whoeverMayStandForManyHasNoLimitBySource() {
        rig.limits.connectionsPerAddress = 2
        let admitted = (0..<3).map { _ in rig.known(nil) != nil }
        #expect(admitted == [true, true, true])
    }

    @Test func aProxyIsCountedByWhatItSays() throws {
        rig.limits.connectionsPerAddress = 1
        let client = "192.0.2.1"
        let one = try #require(rig.known(nil))
        let two = try #require(rig.known(nil))
        func learns(_ connection: Guest) -> Bool {
            rig.control.learns(client, of: connection, limits: rig.limits)
        }
        let answers = [learns(one), learns(one), learns(two)]
        #expect(answers == [true, true, false])
        rig.control.leaves(one)
        let hasRoom = learns(two)
        #expect(hasRoom)
    }

    @Test func aProxyThatNamesNobodyAnyMoreIsCountedNowhere() throws {
        rig.limits.connectionsPerAddress = 1
        let client = "192.0.2.1"
        let one = try #require(rig.known(nil))
        let two = try #require(rig.comes(nil))
        func learns(_ source: String?, _ connection: Guest) -> Bool {
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

    private func asks(_ connection: Guest, _ user: String) -> Bool {
        rig.control.asks(connection, for: UserID(user), limits: rig.limits)
    }

    @Test func whereAllPlacesAreTakenWhoAskedNothingForLongestGoes() throws {
        rig.limits.connections = 10
        let all = try (0..<9).map { try #require(rig.comes("192.0.2.\($0)")) }
        for (number, connection) in all.enumerated() {
            let stays = asks(connection, "user-\(number)")
            #expect(stays)
        }
        let again = asks(all[0], "user-0")
        #expect(again && rig.control.knownCount == 9)
        let late = try #require(rig.comes("192.0.2.10"))
        let stays = asks(late, "late")
        #expect(stays && !all[1].isOpen && all[0].isOpen)
        let hasRoom = rig.control.makeRoom(isReturning: false, limits: rig.limits)
        #expect(hasRoom && !all[2].isOpen)
        for number in 11...12 { _ = rig.known("192.0.2.\(number)") }
        #expect(rig.comes("192.0.2.13") != nil)
        #expect(!all[3].isOpen && all[4].isOpen)
    }

    @Test func whereNobodyCanGiveWayWhoAsksOverHTTPStaysANewcomer() throws {
        rig.limits.connections = 10
        for number in 0..<9 { _ = rig.known("192.0.2.\(number)") }
        let late = try #require(rig.comes("192.0.2.10"))
        let stays = asks(late, "late")
        #expect(!stays && rig.control.newcomerCount == 1 && late.isOpen)
    }

    @Test func ofOneUsersConnectionsOverHTTPTheOneUsedLongestAgoGoes() throws {
        rig.limits.connectionsPerUser = 2
        let mine = try (0..<3).map { try #require(rig.comes("192.0.2.\($0)")) }
        let other = try #require(rig.comes("192.0.2.9"))
        let order = [other, mine[0], mine[1], mine[0], mine[2]]
        for connection in order {
            let stays = asks(connection, connection === other ? "bob" : "ann")
            #expect(stays)
        }
        #expect(mine.map(\.isOpen) == [true, false, true] && other.isOpen)
        let servers = try (20..<24).map { try #require(rig.comes("192.0.2.\($0)")) }
        for connection in servers {
            let stays = rig.control.asks(connection, for: nil, limits: rig.limits)
            #expect(stays)
        }
        let open = servers.map(\.isOpen)
        #expect(open == servers.map { _ in true })
        rig.control.upgrades(servers[0], limits: rig.limits)
        #expect(rig.control.newcomerCount == 1)
    }

    @Test func whoCameFirstIsFoundAmongAllAndAmongThoseOfOneOwner() {
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

    @Test func ofNewcomersTheOldestGoes() throws {
        rig.limits.newcomers = 3
        let first = try (1...3).map { try #require(rig.comes("192.0.2.\($0)")) }
        rig.control.identifies(first[0])
        _ = rig.comes("192.0.2.4")
        #expect(first[1].isOpen)
        _ = rig.comes("192.0.2.5")
        #expect(first.map(\.isOpen) == [true, false, true])
        #expect(rig.control.newcomerCount == 3)
        #expect(rig.control.knownCount == 1)
        rig.control.leaves(first[1])
        #expect(rig.control.newcomerCount + rig.control.knownCount == 4)
    }

    @Test func ofOneAddresssNewcomersTheOldestGoesAndNobodyElse() throws {
        rig.limits.newcomersPerAddress = 2
        let other = try #require(rig.comes("192.0.2.9"))
        let mine = try (1...3).map { _ in try #require(rig.comes("192.0.2.1")) }
        #expect(mine.map(\.isOpen) == [false, true, true])
        #expect(other.isOpen)
    }

    @Test func whereAllPlacesAreTakenANewcomerGoesBeforeSomebodyKnown() throws {
        rig.limits.connections = 3
        let known = try #require(rig.known("192.0.2.1"))
        let stranger = try #require(rig.comes("192.0.2.2"))
        _ = rig.known("192.0.2.3")
        #expect(rig.known("192.0.2.4") != nil)
        #expect(!stranger.isOpen && known.isOpen)
        #expect(rig.comes("192.0.2.5") == nil)
    }

    @Test func aTenthIsKeptForThoseWhoComeBack() throws {
        rig.limits.connections = 10
        for number in 1...8 { _ = rig.known("192.0.2.\(number)") }
        #expect(rig.control.hasRoom(isReturning: false, limits: rig.limits))
        _ = rig.known("192.0.2.9")
        #expect(!rig.control.hasRoom(isReturning: false, limits: rig.limits))
        #expect(rig.control.hasRoom(isReturning: true, limits: rig.limits))
    }

    @Test func guessesFromOneSourceAreAddedUp() {
        rig.limits.authFailures = 2
        let guesses = ["a", "a", "a", "b"].map {
            rig.control.noteBadToken(from: $0, at: Moment(0), limits: rig.limits)
        }
        #expect(guesses == [false, false, true, false])
        let late = Moment(rig.limits.authWindow)
        let isGuessing = rig.control.noteBadToken(from: "a", at: late, limits: rig.limits)
        #expect(!isGuessing)
    }

    @Test func badTokensAreNotCountedOfAPeerThatMayStandForMany() throws {
        rig.limits.authFailures = 0
        let guest = try #require(rig.comes(nil))
        #expect(rig.control.source(of: guest) == nil)
        let learns = rig.control.learns("a", of: guest, limits: rig.limits)
        #expect(learns)
        let source = try #require(rig.control.source(of: guest))
        let isNow = rig.control.noteBadToken(from: source, at: Moment(0), limits: rig.limits)
        #expect(isNow)
    }

    @Test func whoeverMayStandForManyIsCountedInAllOnly() throws {
        rig.limits.connections = 2
        let one = rig.known(nil)
        #expect(rig.known(nil) != nil)
        #expect(rig.known(nil) == nil)
        rig.control.leaves(try #require(one))
        #expect(rig.known(nil) != nil)
    }
}
