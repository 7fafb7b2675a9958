// What people are called, and who was in a call with whom (K108).

import CallModel
import StoreContract
import Testing

@Suite struct NameTests {
    private func name(_ text: String) throws -> PersonName {
        try #require(PersonName(checking: text))
    }

    private func set(
        _ user: String, _ text: String?, from origin: NameOrigin = .token
    ) throws -> StoreChange {
        .name(UserID(user), try text.map(name), from: origin)
    }

    private func names(_ rig: Rig, after user: String? = nil, limit: Int = 100) throws -> [String] {
        try rig.reader.names(after: user.map { UserID($0) }, limit: limit)
            .map { "\($0.user) \($0.name) \($0.origin)" }
    }

    @Test(arguments: Kind.allCases)
    func theLastNameIsKept(kind: Kind) throws {
        let rig = try Rig(kind)
        try rig.commit(try set("bob", "Bob"), try set("ann", "Ann"))
        try rig.commit(try set("ann", "Ann Smith"))
        #expect(try names(rig) == ["ann Ann Smith token", "bob Bob token"])
        try rig.commit(try set("ann", nil))
        #expect(try names(rig) == ["bob Bob token"])
    }

    @Test(arguments: Kind.allCases)
    func aServersNameStaysAboveAToken(kind: Kind) throws {
        let rig = try Rig(kind)
        try rig.commit(try set("ann", "Ann"))
        try rig.commit(try set("ann", "Dr Smith", from: .server))
        try rig.commit(try set("ann", "Annie"), try set("ann", nil))
        #expect(try names(rig) == ["ann Dr Smith server"])
        try rig.commit(try set("ann", nil, from: .server))
        #expect(try names(rig) == [])
    }

    @Test(arguments: Kind.allCases)
    func pagesComeInTheOrderOfTheIDs(kind: Kind) throws {
        let rig = try Rig(kind)
        for user in ["c", "a", "B", "d", "b"] { try rig.commit(try set(user, "N \(user)")) }
        #expect(try names(rig, limit: 2) == ["B N B token", "a N a token"])
        #expect(try names(rig, after: "a", limit: 2) == ["b N b token", "c N c token"])
        #expect(try names(rig, after: "c") == ["d N d token"])
        try rig.commit(try set("cc", "N cc"), try set("d", nil))
        #expect(try names(rig, after: "c") == ["cc N cc token"])
    }

    @Test(arguments: Kind.allCases)
    func tenThousandChangesOfANameAreOneRow(kind: Kind) throws {
        let rig = try Rig(kind)
        for batch in 0..<100 {
            let changes = try (0..<100).map { try set("ann", "Ann \(batch * 100 + $0)") }
            try rig.commit(changes, at: start)
        }
        #expect(try names(rig) == ["ann Ann 9999 token"])
    }

    @Test(arguments: Kind.allCases)
    func whoWasInACallWithOneHasMetHim(kind: Kind) throws {
        let rig = try Rig(kind)
        let (first, second) = (ringingCall(1, ["ann", "bob"]), ringingCall(2, ["cat", "dan"]))
        try rig.commit(.call(first), .call(second))
        try rig.commit(.call(ended(ringingCall(3, ["bob", "cat"]), at: start + 5)))
        let others = ["ann", "bob", "cat", "dan", "nobody"].map { UserID($0) }
        let met = try rig.reader.met(UserID("bob"), among: others)
        #expect(met == ["ann", "bob", "cat"].map { UserID($0) })
        #expect(try rig.reader.met(UserID("nobody"), among: others).isEmpty)
        #expect(try rig.reader.met(UserID("ann"), among: []).isEmpty)
    }

    @Test(arguments: Kind.allCases)
    func onlyTheNewestCallsAreLookedThrough(kind: Kind) throws {
        var limits = StoreLimits()
        limits.pageScanMax = 2
        let rig = try Rig(kind, limits: limits)
        try rig.commit(.call(ringingCall(1, ["ann", "bob"])))
        #expect(try rig.reader.met(UserID("ann"), among: [UserID("bob")]) == [UserID("bob")])
        for number in Int64(2)..<4 { try rig.commit(.call(ringingCall(number, ["ann", "cat"]))) }
        #expect(try rig.reader.met(UserID("ann"), among: [UserID("bob")]).isEmpty)
        #expect(try rig.reader.met(UserID("ann"), among: [UserID("cat")]) == [UserID("cat")])
    }
}
