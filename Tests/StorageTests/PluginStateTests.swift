// What plugins own beyond their memory: timers, values, generations.

import CallModel
import StoreContract
import Testing

@Suite struct TimerTests {
    @Test(arguments: Kind.allCases)
    func pendingTimersAreRestored(kind: Kind) throws {
        let rig = try Rig(kind)
        let bare = NamedTimer(JobID(4), plugin: "desk", name: "remind", dueAt: start + 60_000)
        var other = NamedTimer(
            JobID(2), plugin: "flood", name: "forget", dueAt: start + 10, call: callID(1),
            data: Array(#"{"n":1}"#.utf8))
        try rig.commit(.timer(.set(bare)), .timer(.set(other)))
        #expect(try rig.restored(at: start).timers == [other, bare])
        other = NamedTimer(JobID(2), plugin: "flood", name: "forget", dueAt: start + 99)
        try rig.commit(.timer(.set(other)), .timer(.remove(JobID(4))), .timer(.remove(JobID(5))))
        let state = try rig.restored(at: start)
        #expect(state.timers == [other])
        #expect(state.lastJob == JobID(4), "ids are never given twice")
    }
}

@Suite struct ValueTests {
    private func set(_ key: String, _ value: String, until: Moment? = nil) -> StoreChange {
        .value(.set(plugin: "p", key: key, value: Array(value.utf8), expiresAt: until))
    }

    private func add(_ key: String, _ by: Int64, until: Moment? = nil) -> StoreChange {
        .value(.increment(plugin: "p", key: key, by: by, expiresAt: until))
    }

    private func get(_ rig: Rig, _ key: String, at now: Moment = start) throws -> String? {
        try rig.reader.value(of: "p", key: key, at: now).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: Kind.allCases)
    func valuesBelongToTheirPlugin(kind: Kind) throws {
        let rig = try Rig(kind)
        try rig.commit(
            set("k", "1"), .value(.set(plugin: "q", key: "k", value: [], expiresAt: nil)))
        #expect(try get(rig, "k") == "1")
        #expect(try rig.reader.value(of: "q", key: "k", at: start) == [])
        try rig.commit(set("k", "[2]"), .value(.remove(plugin: "q", key: "k")))
        #expect(try get(rig, "k") == "[2]")
        #expect(try rig.reader.value(of: "q", key: "k", at: start) == nil)
    }

    @Test(arguments: Kind.allCases)
    func aValueExpiresAtItsMoment(kind: Kind) throws {
        let rig = try Rig(kind)
        try rig.commit(set("k", "1", until: start + 10), set("kk", "2"))
        #expect(try get(rig, "k", at: start + 9) == "1")
        #expect(try get(rig, "k", at: start + 10) == nil)
        let keys = try rig.reader.keys(of: "p", prefix: "k", limit: 9, at: start + 10)
        #expect(keys == ["kk"])
        try rig.sweep(at: start + 70_000)
        #expect(try get(rig, "k", at: start) == nil, "swept")
    }

    @Test(arguments: Kind.allCases)
    func keysAreFoundByPrefixInByteOrder(kind: Kind) throws {
        let rig = try Rig(kind)
        let names = ["b", "a/2", "a/10", "a/", "a", "a/é", "a/\u{10FFFF}", "A/1", "", "a0"]
        for name in names { try rig.commit(set(name, "0")) }
        func keys(_ prefix: String, _ limit: Int = 99) throws -> [String] {
            try rig.reader.keys(of: "p", prefix: prefix, limit: limit, at: start)
        }
        #expect(try keys("a/") == ["a/", "a/10", "a/2", "a/é", "a/\u{10FFFF}"])
        #expect(try keys("a/", 2) == ["a/", "a/10"])
        #expect(try keys("").count == names.count)
        #expect(try keys("c").isEmpty)
        #expect(try rig.reader.keys(of: "q", prefix: "", limit: 9, at: start).isEmpty)
    }

    @Test(arguments: Kind.allCases)
    func incrementsTellTheirSums(kind: Kind) throws {
        let rig = try Rig(kind)
        try rig.commit(set("text", "\"x\""), set("max", "\(Int64.max)"), set("old", "7"))
        let result = try rig.commit(
            add("new", 5), add("new", -7), set("old", "8"), add("old", 1), add("text", 1),
            add("max", 1))
        #expect(
            result.counters == [.sum(5), .sum(-2), .sum(9), .notCountable, .notCountable])
        #expect(try get(rig, "new") == "-2")
        #expect(try get(rig, "text") == "\"x\"")
        #expect(try get(rig, "max") == "\(Int64.max)")
    }

    @Test(arguments: Kind.allCases)
    func aCounterKeepsTheExpiryOfItsFirstIncrement(kind: Kind) throws {
        let rig = try Rig(kind)
        try rig.commit(add("n", 1, until: start + 10), at: start)
        try rig.commit(add("n", 1, until: start + 99), at: start + 9)
        #expect(try get(rig, "n", at: start + 9) == "2")
        #expect(try get(rig, "n", at: start + 10) == nil)
        let again = try rig.commit(add("n", 1, until: start + 30), at: start + 10)
        #expect(again.counters == [.sum(1)])
        #expect(try get(rig, "n", at: start + 29) == "1")
    }
}

@Suite struct GenerationTests {
    private func generation(_ name: String) -> StoredGeneration {
        StoredGeneration(
            name: name,
            files: [
                StoredGeneration.File(path: "callagent.lua", source: Array("listen = 1".utf8)),
                StoredGeneration.File(path: "plugins/busy.lua", source: Array(name.utf8)),
            ])
    }

    private func activate(_ name: String, _ later: Int64) -> StoreChange {
        .generation(.activate(generation(name), at: start + later))
    }

    @Test(arguments: Kind.allCases)
    func theLastActivatedIsTheActiveOne(kind: Kind) throws {
        let rig = try Rig(kind)
        #expect(try rig.reader.generations().isEmpty)
        try rig.commit(activate("a", 1), activate("b", 2))
        try rig.commit(
            .generation(.rollBack(name: "b", at: start + 3)), activate("a", 3),
            .generation(.rollBack(name: "nobody", at: start)))
        let marks = try rig.reader.generations()
        #expect(
            marks == [
                GenerationMark(
                    name: "a", activatedAt: start + 3, rolledBackAt: nil, isActive: true),
                GenerationMark(
                    name: "b", activatedAt: start + 2, rolledBackAt: start + 3, isActive: false),
            ])
        try rig.commit(activate("b", 9))
        #expect(try rig.reader.generations().first?.rolledBackAt == nil)
        #expect(try rig.reader.generation(named: "a") == generation("a"))
        #expect(try rig.reader.generation(named: "c") == nil)
    }

    @Test(arguments: Kind.allCases)
    func onlyTheLastOnesAreKept(kind: Kind) throws {
        let rig = try Rig(kind)
        for number in 1...20 { try rig.commit(activate("g\(number)", Int64(number))) }
        #expect(try rig.reader.generations().count == 20)
        try rig.commit(activate("g21", 21))
        let names = try rig.reader.generations().map(\.name)
        #expect(names == (2...21).reversed().map { "g\($0)" })
        #expect(try rig.reader.generation(named: "g1") == nil)
    }
}
