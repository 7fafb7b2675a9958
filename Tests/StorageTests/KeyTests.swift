// Idempotency keys and their limits (B25).

import CallModel
import StoreContract
import Testing

private func entry(_ user: String, _ key: String, at later: Int64 = 0, _ reply: String = "{}")
    -> KeyEntry
{
    KeyEntry(
        user: UserID(user), key: key, at: start + later,
        kept: KeptReply(bodyHash: 0xFFFF_0000_1111_2222, reply: Array(reply.utf8)))
}

@Suite struct KeyTests {
    private func limits(_ change: (inout StoreLimits) -> Void) -> StoreLimits {
        var limits = StoreLimits()
        change(&limits)
        return limits
    }

    private func names(_ rig: Rig, at now: Moment = start) throws -> [String] {
        try rig.restored(at: now).core.keys.map { "\($0.user)/\($0.key)" }
    }

    @Test(arguments: Kind.allCases)
    func aReplyIsFoundUnderItsUserAndKey(kind: Kind) throws {
        let rig = try Rig(kind)
        let kept = entry("ann", "k1", #"{"ok":{}}"#)
        try rig.commit(.key(kept), .key(entry("bob", "k1", "")), .key(entry("ann", "", "x")))
        #expect(try rig.reader.reply(of: UserID("ann"), under: "k1") == kept.kept)
        #expect(try rig.reader.reply(of: UserID("bob"), under: "k1")?.reply == [])
        #expect(try rig.reader.reply(of: UserID("ann"), under: "")?.reply == Array("x".utf8))
        #expect(try rig.reader.reply(of: UserID("ann"), under: "k2") == nil)
    }

    @Test(arguments: Kind.allCases)
    func marksComeOldestFirstWithoutTheExpired(kind: Kind) throws {
        let rig = try Rig(kind)
        try rig.commit(.key(entry("zoe", "a", at: 1)), .key(entry("ann", "b", at: 2)))
        try rig.commit(.key(entry("bob", "c", at: 3)))
        #expect(try names(rig) == ["zoe/a", "ann/b", "bob/c"])
        let day: Milliseconds = 24 * 3_600_000
        #expect(try names(rig, at: start + 1 + day) == ["ann/b", "bob/c"])
        #expect(try names(rig, at: start + day) == ["zoe/a", "ann/b", "bob/c"])
    }

    @Test(arguments: Kind.allCases)
    func oneTooManyOfAUserDropsItsOldest(kind: Kind) throws {
        let rig = try Rig(kind, limits: limits { $0.keysPerUser = 3 })
        for key in ["a", "b", "c"] { try rig.commit(.key(entry("ann", key))) }
        try rig.commit(.key(entry("bob", "x")))
        #expect(try names(rig) == ["ann/a", "ann/b", "ann/c", "bob/x"])
        try rig.commit(.key(entry("ann", "d")))
        #expect(try names(rig) == ["ann/b", "ann/c", "bob/x", "ann/d"])
        #expect(try rig.reader.reply(of: UserID("ann"), under: "a") == nil)
    }

    @Test(arguments: Kind.allCases)
    func oneTooManyInAllDropsTheOldest(kind: Kind) throws {
        let rig = try Rig(kind, limits: limits { $0.keysMax = 3 })
        for user in ["ann", "bob", "cid"] { try rig.commit(.key(entry(user, "k"))) }
        #expect(try names(rig) == ["ann/k", "bob/k", "cid/k"])
        try rig.commit(.key(entry("dan", "k")), .key(entry("eve", "k")))
        #expect(try names(rig) == ["cid/k", "dan/k", "eve/k"])
    }

    @Test(arguments: Kind.allCases)
    func aKeyUsedAnewIsTheNewest(kind: Kind) throws {
        let rig = try Rig(kind, limits: limits { $0.keysPerUser = 2 })
        try rig.commit(.key(entry("ann", "a", "old")), .key(entry("ann", "b")))
        try rig.commit(.key(entry("ann", "a", at: 9, "new")))
        #expect(try names(rig) == ["ann/b", "ann/a"])
        #expect(try rig.reader.reply(of: UserID("ann"), under: "a")?.reply == Array("new".utf8))
        try rig.commit(.key(entry("ann", "c")))
        #expect(try names(rig) == ["ann/a", "ann/c"])
    }

    @Test(arguments: Kind.allCases)
    func expiredKeysAreForgotten(kind: Kind) throws {
        let rig = try Rig(kind)
        for key in 0..<5 { try rig.commit(.key(entry("ann", "\(key)", at: Int64(key)))) }
        try rig.sweep(at: start + 24 * 3_600_000 + 3)
        #expect(try rig.reader.reply(of: UserID("ann"), under: "3") == nil)
        #expect(try rig.reader.reply(of: UserID("ann"), under: "4") != nil)
    }

    @Test(arguments: Kind.allCases)
    func limitsHoldAfterARestartAndASweep(kind: Kind) throws {
        let rig = try Rig(kind, limits: limits { $0.keysPerUser = 2 })
        try rig.commit(.key(entry("ann", "a", at: 0)), .key(entry("ann", "b", at: 50)))
        try rig.restored(at: start + 60)
        try rig.sweep(at: start + 24 * 3_600_000)
        try rig.commit(.key(entry("ann", "c", at: 70)))
        #expect(try names(rig) == ["ann/b", "ann/c"], "the swept key no longer counts")
        try rig.commit(.key(entry("ann", "d", at: 80)))
        #expect(try names(rig) == ["ann/c", "ann/d"])
    }
}
