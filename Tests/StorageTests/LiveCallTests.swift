// Live calls after a start: page by page, and those of some at once.

import CallModel
import StoreContract
import Testing

@Suite struct LiveCallTests {
    private func ids(_ calls: [Call]) -> [Int64] { calls.map { $0.createdAt - start } }

    /// Calls 1 to 9: even ones have ended, 3 is of cid and dan.
    private func filled(_ kind: Kind) throws -> Rig {
        var limits = StoreLimits()
        // Of some the participants are indexed already, of others not yet.
        limits.recentParticipations = 7
        let rig = try Rig(kind, limits: limits)
        for later in 1...9 as ClosedRange<Int64> {
            let users = later == 3 ? ["cid", "dan"] : ["ann", "bob"]
            let call = ringingCall(later, users)
            try rig.commit(.call(later % 2 == 0 ? ended(call, at: start + later) : call))
        }
        return rig
    }

    @Test(arguments: Kind.allCases)
    func theyComeInPages(kind: Kind) throws {
        let rig = try filled(kind)
        #expect(try rig.restored(at: start).core.lastCall == callID(9))
        for limit in 1...6 {
            let found = try rig.reader.liveCalls(upTo: callID(9), limit: limit)
            #expect(ids(found) == [1, 3, 5, 7, 9])
        }
        #expect(try ids(rig.reader.liveCalls(upTo: callID(6))) == [1, 3, 5])
    }

    @Test(arguments: Kind.allCases)
    func thoseOfSomeUsersComeAtOnce(kind: Kind) throws {
        let rig = try filled(kind)
        func of(_ users: String..., and calls: Int64..., limit: Int = 7) throws -> [Int64] {
            try ids(
                rig.reader.liveCalls(
                    upTo: callID(9), of: users.map { UserID($0) }, and: calls.map { callID($0) },
                    limit: limit))
        }
        #expect(try of("bob") == [1, 5, 7, 9] && of("bob", limit: 1) == [1, 5, 7, 9])
        #expect(try of("dan") == [3] && of("dan", "ann", limit: 2) == [1, 3, 5, 7, 9])
        #expect(try of("eve").isEmpty && of("da").isEmpty)
        #expect(try of("dan", and: 5, 6, 8) == [3, 5], "the others have ended")
    }

    /// Nothing of them was read in this life of the store.
    @Test(arguments: Kind.allCases)
    func callsOfBeforeTheStartEndAndGrow(kind: Kind) throws {
        let rig = try filled(kind)
        try rig.restored(at: start)
        try rig.commit(.call(ended(ringingCall(1), at: start + 20)))
        var call = ringingCall(5)
        call.participants.append(
            Participant(user: UserID("eve"), role: .joiner, state: .joined, at: start + 21))
        try rig.commit(.call(call))
        #expect(try ids(rig.restored(at: start).core.calls) == [3, 5, 7, 9])
        #expect(try ids(rig.reader.liveCalls(upTo: callID(9), of: [UserID("eve")])) == [5])
        #expect(try rig.page("ann") { $0.state = .ended }.calls.map(\.id).contains(callID(1)))
        #expect(try rig.page("ann").calls.map(\.id) == [9, 8, 7, 6, 5, 4, 2, 1].map { callID($0) })
        try rig.commit(.call(ended(call, at: start + 22)))
        #expect(try ids(rig.restored(at: start).core.calls) == [3, 7, 9])
    }
}
