// Pages of all ended calls: filters, order, cursors and budgets.

import CallModel
import StoreContract
import Testing

@testable import Storage

@Suite struct HistoryTests {
    /// Four ended calls and a live one. They end in another order than they were made.
    private func filled(_ kind: Kind, limits: StoreLimits = StoreLimits()) throws -> Rig {
        let rig = try Rig(kind, limits: limits)
        var long = ended(ringingCall(1_000), at: start + 9_000, .completed)
        long.answeredAt = start + 2_000
        try rig.commit(.call(ended(ringingCall(2_000), at: start + 2_500, .rejected)))
        try rig.commit(
            .call(ringingCall(5_000)),
            .call(ended(ringingCall(4_000, ["cid", "dan"]), at: start + 4_500, .noAnswer)))
        try rig.commit(.call(ended(ringingCall(3_000), at: start + 8_000, .rejected)))
        try rig.commit(.call(long))
        return rig
    }

    private func found(
        _ rig: Rig, limit: Int = 50, _ change: (inout HistoryQuery) -> Void = { _ in }
    ) throws -> [Int64] {
        var query = HistoryQuery(limit: limit)
        change(&query)
        return try rig.reader.history(query).calls.map { $0.createdAt - start }
    }

    @Test(arguments: Kind.allCases)
    func theOneThatEndedLastIsFirst(kind: Kind) throws {
        let rig = try filled(kind)
        #expect(try found(rig) == [1_000, 3_000, 4_000, 2_000])
    }

    @Test(arguments: Kind.allCases)
    func everyFilterAppliesAlone(kind: Kind) throws {
        let rig = try filled(kind)
        #expect(try found(rig) { $0.reason = .rejected } == [3_000, 2_000])
        #expect(try found(rig) { $0.mode = "common" } == [])
        #expect(try found(rig) { $0.mode = "advanced" }.count == 4)
        #expect(try found(rig) { $0.since = start + 3_000 } == [3_000, 4_000])
        #expect(try found(rig) { $0.until = start + 3_000 } == [1_000, 2_000])
        #expect(try found(rig) { $0.longer = 7_000 } == [1_000])
        #expect(try found(rig) { $0.longer = 7_001 } == [])
        #expect(try found(rig) { $0.shorter = 7_000 } == [3_000, 4_000, 2_000])
    }

    @Test(arguments: Kind.allCases)
    func pagesFollowEachOther(kind: Kind) throws {
        let rig = try filled(kind)
        var all: [Int64] = []
        var query = HistoryQuery(limit: 3)
        var pages = 0
        repeat {
            let page = try rig.reader.history(query)
            all += page.calls.map { $0.createdAt - start }
            query.before = page.cursor
            pages += 1
        } while query.before != nil
        #expect(all == [1_000, 3_000, 4_000, 2_000] && pages == 2)
        // What is kept no more ends the list.
        #expect(try found(rig) { $0.before = callID(77_000) } == [])
    }

    /// A search that finds little does not look at everything at once.
    @Test(arguments: Kind.allCases)
    func aPageLooksAtSoManyOnly(kind: Kind) throws {
        var limits = StoreLimits()
        limits.pageScanMax = 2
        let rig = try filled(kind, limits: limits)
        var query = HistoryQuery(limit: 50)
        query.reason = .noAnswer
        let first = try rig.reader.history(query)
        #expect(first.calls.isEmpty && first.cursor == callID(3_000))
        query.before = first.cursor
        let second = try rig.reader.history(query)
        #expect(second.calls.map(\.id) == [callID(4_000)] && second.cursor == nil)
    }
}
