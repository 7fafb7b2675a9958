// What only the store of several machines has: days of calls, its own timer, its schema.

import CallModel
import ClusterCore
import EventLoop
import Glibc
import StoreContract
import Synchronization
import TestSupport
import Testing

@testable import ClusterStorage
@testable import Storage

@Suite struct ClusterStoreTests {
    private let day: Milliseconds = 86_400_000

    private func tables(_ store: ClusterStore) throws -> Set<String> {
        store.link.query(
            "SELECT convert_to(relname, 'UTF8') FROM pg_class WHERE relname LIKE '%day%'")
        return Set(try store.link.finish()[0].all.map { $0.text(0) })
    }

    private func name(_ table: String, _ moment: Moment) -> String {
        "\(table)_day_\(moment.milliseconds / Int64(day))"
    }

    /// A day that no other test has, so that all of it may be dropped.
    private func endedCall(_ moment: Moment, low: UInt64 = 1) -> Call {
        var call = Call(
            id: CallID(high: UInt64(moment.milliseconds) << 16, low: low), mode: .advanced,
            kind: "audio", ringTime: 90_000, deliveryCheck: nil, createdAt: moment)
        call.participants = [
            Participant(user: UserID("ann"), role: .caller, state: .joined, at: moment)
        ]
        return ended(call, at: moment + 1)
    }

    private func keeper(
        _ store: ClusterStore, isOver: @escaping () -> Bool = { false }
    ) throws -> DayKeeper {
        let fence = try #require(store.fence)
        return try DayKeeper(
            at: store.link.address, Grant(fence.term, token: fence.token), patience: 20_000,
            isOver: isOver)
    }

    private func sweep(_ store: ClusterStore, at now: Moment) throws {
        for _ in 0..<3 { _ = try store.sweep(at: now) }
        try keeper(store).tend(at: now)
    }

    /// What is promised not to lie without a partition.
    private func promises(_ store: ClusterStore) throws -> Int {
        store.link.query("SELECT 1 FROM pg_constraint WHERE conname LIKE 'not\\_day%'")
        return try store.link.finish()[0].count
    }

    /// As after a flood of calls, before the database has looked at what came: it takes the tables
    /// for small, and would gather and sort all rows for each page of them.
    @Test func pagesAreReadInTheOrderOfAnIndexWithoutStatistics() throws {
        let link = try PostgresConnection(to: Cluster.newDatabase(), patience: 20_000)
        try ClusterSchema.current.migrate(link)
        for (table, order, columns) in [
            ("kept_reply", "place", "1, 'u', i::text::bytea, i, 1, 1, ''"),
            ("live_call", "id", "1, decode(lpad(to_hex(i), 32, '0'), 'hex'), 'record', 1"),
        ] {
            link.query("ALTER TABLE \(table) SET (autovacuum_enabled = false)")
            link.query("INSERT INTO \(table) SELECT \(columns) FROM generate_series(1, 30000) AS i")
            let least = order == "id" ? "'\\x00'" : "0"
            link.query(
                """
                EXPLAIN SELECT * FROM \(table) WHERE space = 1 AND \(order) > \(least)
                ORDER BY \(order) LIMIT 20000
                """)
            let plan = try link.finish()[2].all.map { $0.text(0) }
            #expect(plan.contains { $0.contains("Index Scan") }, "\(plan)")
            #expect(!plan.contains { $0.contains("Sort") }, "\(plan)")
        }
    }

    @Test func aDayIsMadeWithoutReadingAllThatLiesWithoutOne() throws {
        let store = try loneStore(StoreLimits())
        let now = start + 6_000 * day
        _ = try store.restore(at: now, in: Term(owner: "a", epoch: 1))
        let lost = endedCall(now + -300 * day)
        try store.commit([.call(lost)], at: now)
        let keeper = try keeper(store)
        keeper.quickSize = -1
        try keeper.tend(at: now + day)
        #expect(try tables(store).contains(name("ended_call", now + 3 * day)))
        #expect(try tables(store).contains(name("participation", now + 3 * day)))
        #expect(try promises(store) == 0)
        let next = endedCall(now + 3 * day)
        try store.commit([.call(next)], at: now + 3 * day)
        let page = try store.makeReader().page(of: UserID("ann"), matching: ListQuery())
        #expect(page.calls == [next, lost])
        store.link.query("SELECT 1 FROM ended_call_other")
        #expect(try store.link.finish()[0].count == 1)
    }

    @Test func whoeverHoldsATableHoldsUpNoCommitAndADayIsMadeLater() throws {
        let store = try loneStore(StoreLimits())
        let now = start + 6_100 * day
        _ = try store.restore(at: now, in: Term(owner: "a", epoch: 1))
        let keeper = try keeper(store)
        keeper.quickSize = -1
        let other = try PostgresConnection(to: store.link.address, patience: 20_000)
        other.query("ALTER TABLE participation_other SET (fillfactor = 90)")
        other.query("SELECT 1 FROM ended_call")
        try other.sendOnly()
        try waitForLock(of: other, store)
        try keeper.tend(at: now + day)
        try store.commit([.call(endedCall(now)), .call(endedCall(now + -300 * day))], at: now)
        #expect(try !tables(store).contains(name("participation", now + 3 * day)))
        try other.finish()
        try keeper.tend(at: now + day)
        #expect(try tables(store).contains(name("participation", now + 3 * day)))
        #expect(try promises(store) == 0)
    }

    private func waitForLock(of other: PostgresConnection, _ store: ClusterStore) throws {
        let begun = Clock.bootMilliseconds()
        while true {
            store.link.query(
                """
                SELECT 1 FROM pg_locks WHERE pid = \(other.backend)
                AND mode = 'ShareUpdateExclusiveLock' AND granted
                """)
            if try store.link.finish()[0].count > 0 { return }
            try #require(Clock.bootMilliseconds() < begun + 20_000)
        }
    }

    @Test func aPromiseOfADeadKeeperIsTakenBackBeforeItsDay() throws {
        let store = try loneStore(StoreLimits())
        let now = start + 6_200 * day
        _ = try store.restore(at: now, in: Term(owner: "a", epoch: 1))
        let third = Partitions.Day(of: now + 3 * day)
        for table in Partitions.tables { table.sendExclusion(of: third, on: store.link) }
        try store.link.finish()
        #expect(try promises(store) == 2)
        let keeper = try keeper(store)
        keeper.quickSize = -1
        try keeper.tend(at: third.start + -1_800_000)
        #expect(try promises(store) == 0)
        let call = endedCall(third.start + 5)
        try store.commit([.call(call)], at: third.start + 5)
        // It lies without a partition now, so there will be none, and no promise either.
        keeper.quickSize = 1 << 30
        for _ in 0..<2 { try keeper.tend(at: third.start + 6) }
        #expect(try promises(store) == 0)
        #expect(try store.makeReader().call(call.id) == call)
        #expect(try !tables(store).contains(name("ended_call", third.start)))
    }

    @Test func aKeeperWhoseNodeDoesNotOwnChangesNothing() throws {
        let store = try loneStore(StoreLimits())
        let now = start + 6_300 * day
        _ = try store.restore(at: now, in: Term(owner: "a", epoch: 1))
        let keeper = try keeper(store)
        let next = try ClusterStore(at: store.link.address, store.options)
        _ = try next.restore(at: now, in: Term(owner: "b", epoch: 2))
        let before = try tables(next)
        #expect(throws: StoreError.self) { try keeper.tend(at: now + 9 * day) }
        #expect(try tables(next) == before)
    }

    @Test func aTurnThatIsOverIsNotWaitedFor() throws {
        let link = try PostgresConnection(to: Cluster.address.get(), patience: 20_000)
        let isOver = Atomic<Bool>(false)
        try link.waitLonger(upTo: 600_000) { isOver.load(ordering: .relaxed) }
        link.query("SELECT pg_sleep(600)")
        isOver.store(true, ordering: .relaxed)
        let failure = #expect(throws: PostgresFailure.self) { try link.finish() }
        #expect(failure?.text == "it is over")
    }

    @Test func aDayIsDroppedWhenAllOfItIsForgotten() throws {
        var limits = StoreLimits()
        limits.retention = 10 * day
        let old = start + 4_000 * day
        let store = try loneStore(limits)
        _ = try store.restore(at: old, in: Term(owner: "a", epoch: 1))
        #expect(try tables(store).contains(name("ended_call", old)))
        #expect(try tables(store).contains(name("participation", old + 2 * day)))
        let first = endedCall(old)
        var ringing = endedCall(old + 5)
        (ringing.state, ringing.end, ringing.endedAt) = (.ringing, nil, nil)
        try store.commit([.call(first), .call(ringing)], at: old + 6)
        let live = ringing.id
        let reader = try store.makeReader()
        // Forgotten, but a call of that day is live.
        try sweep(store, at: old + 20 * day)
        #expect(try reader.call(first.id) == nil)
        #expect(try reader.call(live) == ringing)
        #expect(try tables(store).contains(name("ended_call", old)))
        try store.commit([.call(ended(ringing, at: old + 20 * day))], at: old + 20 * day)
        try sweep(store, at: old + 29 * day)
        #expect(try reader.call(live) != nil, "it ended nine days ago")
        try sweep(store, at: old + 31 * day)
        #expect(try reader.call(live) == nil)
        #expect(try !tables(store).contains(name("ended_call", old)))
        #expect(try !tables(store).contains(name("participation", old)))
        #expect(try reader.page(of: UserID("ann"), matching: ListQuery()).calls.isEmpty)
    }

    @Test func aCallOfADayWithoutAPartitionIsKeptAndForgottenToo() throws {
        var limits = StoreLimits()
        limits.retention = 10 * day
        let store = try loneStore(limits)
        let old = start + 5_000 * day
        _ = try store.restore(at: old, in: Term(owner: "a", epoch: 1))
        let call = endedCall(old + -300 * day)
        try store.commit([.call(call)], at: old)
        let reader = try store.makeReader()
        #expect(try reader.page(of: UserID("ann"), matching: ListQuery()).calls == [call])
        _ = try store.sweep(at: old)
        #expect(try reader.call(call.id) == nil)
        store.link.query("SELECT 1 FROM participation_other WHERE space = \(store.space.id)")
        store.link.query("SELECT 1 FROM ended_call_other WHERE space = \(store.space.id)")
        #expect(try store.link.finish().allSatisfy { $0.count == 0 })
    }

    @Test func manyTurnsLeaveOneRow() throws {
        let store = try Cluster.store(of: try Cluster.newSpace())
        let term = Term(owner: "a", epoch: 1)
        _ = try store.restore(at: start, in: term)
        for turn in 1...1_100 as ClosedRange<Int64> {
            let timer = NamedTimer(
                JobID(1 << 32 + turn), plugin: "p", name: "t", dueAt: start + turn)
            try store.commit([.timer(.set(timer))], at: start + turn)
        }
        store.link.query("SELECT 1 FROM turn WHERE space = \(store.space.id)")
        let rows = try store.link.finish()[0].count
        #expect(rows > 0 && rows <= 600, "\(rows)")
        let state = try store.restore(at: start, in: term)
        #expect(state.newestMoment == start + 1_100)
        #expect(state.lastJob == JobID(1 << 32 + 1_100))
    }

    @Test func aServerThatSaysNothingEndsTheTurn() throws {
        let address = try Cluster.address.get()
        let link = try PostgresConnection(to: address, patience: 20_000)
        link.query("SELECT set_config('statement_timeout', '0', false)")
        try link.finish()
        link.patience = 300
        let begun = Clock.bootMilliseconds()
        link.query("SELECT pg_sleep(60)")
        let failure = #expect(throws: PostgresFailure.self) { try link.finish() }
        #expect(failure?.isLost == true && failure?.text == "no answer within 300 ms")
        let took = Clock.bootMilliseconds() - begun
        #expect(took >= 300 && took < 30_000)
        #expect(throws: PostgresFailure.self) { try link.finish() }
    }

    /// Whoever listens may never answer: connecting ends too.
    @Test func aPortThatSaysNothingEndsConnecting() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &place) { place in
            place.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = bind(listener, address, size)
                _ = listen(listener, 1)
                _ = getsockname(listener, address, &size)
            }
        }
        let port = UInt16(bigEndian: place.sin_port)
        let address = try DatabaseAddress("host=127.0.0.1 port=\(port) user=x password=hush")
        let error = #expect(throws: StoreError.self) {
            _ = try PostgresConnection(to: address, patience: 300)
        }
        #expect(error?.kind == .unreachable)
        #expect("\(try #require(error))".contains("hush") == false)
    }

    @Test func anAddressIsShownWithoutWhatOpensIt() throws {
        let address = try DatabaseAddress("postgresql://me:hush@db.example.com:5433/calls")
        #expect(address.name == "postgresql://db.example.com:5433/calls")
        #expect(address.protection == .verified)
        #expect(address.defaults.contains { $0 == ("sslmode", "verify-full") })
        let weaker = try DatabaseAddress("host=db.example.com sslmode=require password=hush")
        #expect(weaker.protection == .weaker("require"))
        #expect(!weaker.defaults.contains { $0.keyword == "sslmode" })
        for local in ["host=/run/x", "host=127.0.0.1", "host=localhost", "host=::1", "dbname=x"] {
            #expect(try DatabaseAddress(local).protection == .local, "\(local)")
        }
        #expect(try DatabaseAddress("host=127.0.0.1,db.example.com").protection == .verified)
        // A name that begins like an address, and a service, whose host stands elsewhere.
        #expect(try DatabaseAddress("host=127.example.com").protection == .verified)
        #expect(try DatabaseAddress("service=calls user=me").protection == .verified)
        for broken in ["host=a hush", "postgresql://me:hush@[", "nonsense=hush"] {
            let error = #expect(throws: StoreError.self) { _ = try DatabaseAddress(broken) }
            #expect("\(try #require(error))".contains("hush") == false, "\(broken)")
        }
    }

    /// A store in a database of its own. The days are shared by the spaces of a database: whoever
    /// lets thousands of them pass drops those of others.
    private func loneStore(_ limits: StoreLimits) throws -> ClusterStore {
        let address = try Cluster.newDatabase()
        let link = try PostgresConnection(to: address, patience: 20_000)
        try ClusterSchema.current.migrate(link)
        try Space.make(Space.usual, by: link)
        var options = ClusterStoreOptions()
        (options.limits, options.patience) = (limits, 20_000)
        return try ClusterStore(at: address, options)
    }

    @Test func aDatabaseWithoutTablesOrWithNewerOnesIsRefused() throws {
        let address = try Cluster.newDatabase()
        var options = ClusterStoreOptions()
        options.patience = 20_000
        let none = #expect(throws: StoreError.self) { _ = try ClusterStore(at: address, options) }
        #expect(none?.kind == .noSchema)
        #expect("\(try #require(none))".hasSuffix("make them with callagent cluster init"))
        let link = try PostgresConnection(to: address, patience: 20_000)
        try ClusterSchema.current.migrate(link)
        try ClusterSchema.current.migrate(link)
        try Space.make(Space.usual, by: link)
        try Space.make(Space.usual, by: link)
        _ = try ClusterStore(at: address, options).restore(at: start)
        link.query("INSERT INTO migration VALUES (99)")
        try link.finish()
        let newer = #expect(throws: StoreError.self) { _ = try ClusterStore(at: address, options) }
        let known = ClusterSchema.current.version
        #expect(newer?.kind == .newer(found: 99, known: known))
        let again = #expect(throws: StoreError.self) { try ClusterSchema.current.migrate(link) }
        #expect(again?.kind == .newer(found: 99, known: known))
    }

    @Test func twoWhoMakeTheTablesAtOnceAreNotInEachOthersWay() async throws {
        for _ in 0..<10 {
            let address = try Cluster.newDatabase()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        let link = try PostgresConnection(to: address, patience: 20_000)
                        try ClusterSchema.current.migrate(link)
                        try Space.make(Space.usual, by: link)
                    }
                }
                try await group.waitForAll()
            }
            let link = try PostgresConnection(to: address, patience: 20_000)
            try ClusterSchema.current.require(link)
        }
    }

    @Test func aWrongUserIsRefusedInOneLine() throws {
        let text = TestDatabase.shared.address.replacing("user=callagent", by: "user=nobody")
        let error = #expect(throws: StoreError.self) {
            _ = try PostgresConnection(to: DatabaseAddress(text + " password=hush"))
        }
        let line = "\(try #require(error))"
        #expect(line.contains("nobody") && !line.contains("\n") && !line.contains("hush"))
    }

    /// Nothing of it is English but what the code means.
    @Test func theCodeAndNotTheWordsSayWhetherWaitingHelps() {
        let german = """
            connection to server at "127.0.0.1", port 5 failed: FATAL:  28P01: Passwort-\
            Authentifizierung für Benutzer »x« fehlgeschlagen
            """
        #expect(PostgresFailure.codes(in: german) == ["28P01"])
        let two = PostgresFailure.codes(in: "\(german); … FATAL:  57P03: x")
        #expect(two == ["28P01", "57P03"])
        for text in ["", ":", ":  ", ":  28P0", ":  28P01", ":  28p01: x", "FATAL: 28P01: x"] {
            #expect(PostgresFailure.codes(in: text) == [], "\(text)")
        }
        #expect(["57P03", "53300", "57P01", "08006"].allSatisfy(PostgresFailure.passes))
        #expect(!["28000", "28P01", "3D000", "42501"].contains(where: PostgresFailure.passes))
    }

    @Test func aTakeoverEndsAWriterThatHangs() throws {
        let space = try Cluster.newSpace()
        let old = try Cluster.store(of: space)
        _ = try old.restore(at: start, in: Term(owner: "a", epoch: 1))
        // Sent by half, and its process does nothing more.
        old.fence?.begin(.share, in: old.space, on: old.link)
        try old.link.sendOnly()
        let new = try Cluster.store(of: space)
        _ = try new.restore(at: start, in: Term(owner: "b", epoch: 2))
        try new.commit([.call(ringingCall(1))], at: start)
        #expect(throws: PostgresFailure.self) { try old.link.finish() }
    }
}

extension String {
    /// The first `part` replaced.
    func replacing(_ part: String, by other: String) -> String {
        guard let found = ranges(of: part).first else { return self }
        return String(self[..<found.lowerBound]) + other + self[found.upperBound...]
    }
}
