// Which calls a user was in, while they wait to be indexed and after.

import CallModel
import StoreContract
import Testing

@testable import Storage

@Suite struct ParticipationTests {
    private func limits(_ recentMax: Int) -> StoreLimits {
        var limits = StoreLimits()
        limits.recentParticipations = recentMax
        return limits
    }

    /// How many rows a query gives.
    private func count(_ query: String, _ disk: Disk) throws -> Int64? {
        let connection = try DatabaseConnection(path: disk.database, access: .reading, faults: nil)
        return try connection.integer("SELECT count(*) FROM \(query)", for: "a test")
    }

    /// Walks through all pages of two calls each.
    private func walk(_ user: String, _ rig: Rig) throws -> [CallID] {
        var ids: [CallID] = []
        var cursor: CallID?
        repeat {
            let page = try rig.page(user) { ($0.limit, $0.before) = (2, cursor) }
            ids += page.calls.map(\.id)
            cursor = page.cursor
        } while cursor != nil
        return ids
    }

    @Test(arguments: 0...14)
    func everyCallIsListedOnceWhereverItStands(recentMax: Int) throws {
        let rig = try Rig(.disk, limits: limits(recentMax))
        // Two of them come after a call with a newer id.
        let moments: [Int64] = [10, 20, 40, 30, 50, 70, 60]
        for place in moments.indices {
            try rig.commit(.call(ringingCall(moments[place])))
            let expected = moments[...place].sorted(by: >).map { callID($0) }
            #expect(try rig.page("ann").calls.map(\.id) == expected)
            #expect(try walk("bob", rig) == expected)
            #expect(try walk("ann2", rig).isEmpty)
        }
        let middle = try rig.page("ann") { ($0.since, $0.before) = (start + 30, callID(70)) }
        #expect(middle.calls.map(\.id) == [60, 50, 40, 30].map { callID($0) })
    }

    @Test func atMostAsManyWaitAsTheLimitSays() throws {
        let disk = Disk()
        let store = try disk.open { $0.limits = limits(4) }
        _ = try store.restore(at: start)
        try store.commit([.call(ringingCall(1))], at: start)
        try store.commit([.call(ringingCall(2))], at: start)
        #expect(try count("participation", disk) == 0)
        #expect(try count("recent_participation", disk) == 2, "a row for each commit")
        try store.commit([.call(ringingCall(3, ["ann"]))], at: start)
        #expect(try count("participation", disk) == 5)
        #expect(try count("recent_participation", disk) == 0)
        try store.commit([.call(ringingCall(4, ["ann", "bob", "cid", "dan", "eve"]))], at: start)
        #expect(try count("participation", disk) == 10, "a commit beyond the limit waits not")
    }

    @Test(arguments: [1, 15, 16, 17, 32, 33, 50])
    func allThatComeTogetherAreIndexed(many: Int) throws {
        let disk = Disk()
        let users = (0..<many).map { "user\($0)" }
        let store = try disk.open { $0.limits = limits(0) }
        _ = try store.restore(at: start)
        try store.commit([.call(ringingCall(1, users))], at: start)
        // Those of the second call stand between those of the first one.
        try store.commit([.call(ringingCall(2, users.reversed()))], at: start)
        #expect(try count("participation", disk) == Int64(2 * many))
        for user in users {
            let page = try store.makeReader().page(of: UserID(user), matching: ListQuery())
            #expect(page.calls.map(\.id) == [callID(2), callID(1)])
        }
    }

    @Test func theyWaitAcrossAStart() throws {
        let disk = Disk()
        for later in 1...5 as ClosedRange<Int64> {
            let store = try disk.open { $0.limits = limits(6) }
            _ = try store.restore(at: start)
            try store.commit([.call(ringingCall(later))], at: start)
            let page = try store.makeReader().page(
                of: UserID("bob"), matching: ListQuery())
            #expect(page.calls.count == Int(later))
        }
        #expect(try count("participation", disk) == 8, "the fourth call was one too many")
        #expect(try count("recent_participation", disk) == 1)
    }

    @Test func anOldCallIsForgottenWhileItWaits() throws {
        let rig = try Rig(.disk)
        try rig.commit(.call(ended(ringingCall(1), at: start + 1)))
        try rig.commit(.call(ringingCall(2)))
        try rig.sweep(at: start + 1 + StoreLimits().retention)
        #expect(try rig.page("ann").calls.map(\.id) == [callID(2)])
    }

    /// Of the two that are written, 20 bytes each.
    @Test(arguments: [1, 4, 19, 21, 39])
    func aRowThatIsCutOffIsSaidToBe(length: Int) throws {
        let disk = Disk()
        try disk.with { store in
            _ = try store.restore(at: start)
            try store.commit([.call(ringingCall(1))], at: start)
        }
        let short = "substr(participations, 1, \(length))"
        try disk.execute("UPDATE recent_participation SET participations = \(short)")
        let error = #expect(throws: StoreError.self) { try disk.restored() }
        #expect(error?.kind == .damagedRecord)
        #expect(error?.detail == "a row of recent_participation is cut off")
    }
}
