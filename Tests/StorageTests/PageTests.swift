// Pages of `call.list`: filters, order, cursors and budgets.

import CallModel
import StoreContract
import Testing

@testable import Storage

@Suite struct PageTests {
    /// Six calls of ann, newest last; ann called four times, the second and third call ended.
    private func filled(_ kind: Kind, limits: StoreLimits = StoreLimits()) throws -> Rig {
        let rig = try Rig(kind, limits: limits)
        try rig.commit(
            .call(ringingCall(1_000, ["ann", "bob"])),
            .call(ended(ringingCall(2_000, ["ann", "bob"]), at: start + 2_500, .rejected)),
            .call(ended(ringingCall(3_000, ["bob", "ann"]), at: start + 3_500, .noAnswer)),
            .call(ringingCall(4_000, ["ann", "cid"])),
            .call(ringingCall(5_000, ["bob", "ann"])),
            .call(ringingCall(6_000, ["ann", "bob", "cid"])))
        return rig
    }

    private func moments(_ page: CallPage) -> [Int64] { page.calls.map { $0.createdAt - start } }

    @Test(arguments: Kind.allCases)
    func newestFirstAndOnlyOnesOwn(kind: Kind) throws {
        let rig = try filled(kind)
        #expect(try moments(rig.page("ann")) == [6_000, 5_000, 4_000, 3_000, 2_000, 1_000])
        #expect(try moments(rig.page("cid")) == [6_000, 4_000])
        #expect(try rig.page("nobody") == CallPage())
    }

    @Test(arguments: Kind.allCases)
    func everyFilterAppliesAlone(kind: Kind) throws {
        let rig = try filled(kind)
        let all: [Int64] = [6_000, 5_000, 4_000, 3_000, 2_000, 1_000]
        let filters: [(String, [Int64], (inout ListQuery) -> Void)] = [
            ("live", [6_000, 5_000, 4_000, 1_000], { $0.state = .ringing }),
            ("ended", [3_000, 2_000], { $0.state = .ended }),
            ("caller", [6_000, 4_000, 2_000, 1_000], { $0.role = .caller }),
            ("invitee", [5_000, 3_000], { $0.role = .invitee }),
            ("rejected", [2_000], { $0.endReasons = [.rejected] }),
            ("two reasons", [3_000, 2_000], { $0.endReasons = [.noAnswer, .rejected] }),
            ("since its moment", [6_000, 5_000, 4_000], { $0.since = start + 4_000 }),
            ("since later", [6_000, 5_000], { $0.since = start + 4_001 }),
            ("until its moment", [1_000], { $0.until = start + 2_000 }),
            ("until later", [2_000, 1_000], { $0.until = start + 2_001 }),
            ("for ever", all, { ($0.since, $0.until) = (Moment(.min), Moment(.max)) }),
            ("before", [2_000, 1_000], { $0.before = callID(3_000) }),
            ("nothing", [], { ($0.since, $0.until) = (start + 3_000, start + 2_000) }),
        ]
        for (name, expected, filter) in filters {
            #expect(try moments(rig.page("ann", filter)) == expected, "\(name)")
        }
    }

    /// Calls that do not belong in the answer make no further page, however old they are.
    @Test(arguments: Kind.allCases)
    func theLastPageOfAFilterHasNoCursor(kind: Kind) throws {
        let rig = try filled(kind)
        let last = try rig.page("ann") { ($0.state, $0.limit) = (.ended, 2) }
        #expect(moments(last) == [3_000, 2_000])
        #expect(last.cursor == nil)
        let first = try rig.page("ann") { ($0.state, $0.limit) = (.ended, 1) }
        #expect(first.cursor != nil)
    }

    /// An id is made when the request comes, the call when the policies have let it pass.
    @Test(arguments: Kind.allCases)
    func aCallIsFoundByItsCreationThoughItsIDIsOlder(kind: Kind) throws {
        let rig = try Rig(kind)
        let made = ringingCall(0)
        var call = Call(
            id: made.id, mode: made.row, kind: made.kind, ringTime: made.ringTime,
            deliveryCheck: nil, createdAt: start + 30_000)
        call.participants = made.participants
        try rig.commit(.call(call))
        #expect(try rig.page("ann") { $0.since = start + 30_000 }.calls == [call])
        #expect(try rig.page("ann") { $0.until = start + 30_001 }.calls == [call])
        #expect(try rig.page("ann") { $0.since = start + 30_001 }.calls.isEmpty)
        #expect(try rig.page("ann") { $0.until = start + 30_000 }.calls.isEmpty)
    }

    @Test(arguments: Kind.allCases)
    func cursorsLeadThroughAllPages(kind: Kind) throws {
        let rig = try filled(kind)
        var seen: [Int64] = []
        var cursor: CallID?
        var pages = 0
        repeat {
            let page = try rig.page("ann") {
                $0.limit = 2
                $0.before = cursor
            }
            seen += moments(page)
            cursor = page.cursor
            pages += 1
        } while cursor != nil
        #expect(seen == [6_000, 5_000, 4_000, 3_000, 2_000, 1_000])
        #expect(pages == 3, "the last page knows that it is the last")
    }

    @Test(arguments: Kind.allCases)
    func aPageStopsAtItsBudget(kind: Kind) throws {
        let rig = try filled(kind)
        let whole = try rig.page("ann").calls.reduce(0) { $0 + CallSize.estimate($1) }
        #expect(try rig.page("ann", bytes: whole).cursor == nil)
        let page = try rig.page("ann", bytes: whole - 1)
        #expect(moments(page) == [6_000, 5_000, 4_000, 3_000, 2_000])
        #expect(page.cursor == callID(2_000))
        let tiny = try rig.page("ann", bytes: 1)
        #expect(moments(tiny) == [6_000], "one call is always part of it")
        #expect(tiny.cursor == callID(6_000))
    }

    @Test(arguments: Kind.allCases)
    func lookingThroughManyCallsIsCutShort(kind: Kind) throws {
        var limits = StoreLimits()
        limits.pageScanMax = 4
        let rig = try filled(kind, limits: limits)
        let page = try rig.page("ann") { $0.endReasons = [.rejected] }
        #expect(page.calls.isEmpty)
        #expect(page.cursor == callID(3_000))
        let next = try rig.page("ann") {
            $0.endReasons = [.rejected]
            $0.before = page.cursor
        }
        #expect(moments(next) == [2_000])
        #expect(next.cursor == nil)
    }

    @Test(arguments: Kind.allCases)
    func anInvitationUnderDecisionIsHiddenFromItsInvitee(kind: Kind) throws {
        let rig = try Rig(kind)
        var call = ringingCall(1, ["ann", "bob"])
        call.participants[1].asking = .deciding
        try rig.commit(.call(call))
        #expect(try rig.page("bob").calls.isEmpty)
        #expect(try rig.page("ann").calls == [call])
        call.participants[1].asking = .nothing
        try rig.commit(.call(call))
        #expect(try rig.page("bob").calls == [call])
    }

    @Test(arguments: Kind.allCases)
    func whoeverComesLaterFindsTheCall(kind: Kind) throws {
        let rig = try Rig(kind)
        var call = ringingCall(1, ["ann", "bob"])
        try rig.commit(.call(call))
        #expect(try rig.page("cid").calls.isEmpty)
        call.participants.append(
            Participant(user: UserID("cid"), role: .joiner, state: .joined, at: start + 5))
        try rig.commit(.call(call))
        #expect(try rig.page("cid").calls == [call])
        call.participants.append(
            Participant(user: UserID("dan"), role: .invitee, state: .inviting, at: start + 6))
        let over = ended(call, at: start + 7)
        try rig.commit(.call(over))
        for user in ["ann", "bob", "cid", "dan"] { #expect(try rig.page(user).calls == [over]) }
    }
}
