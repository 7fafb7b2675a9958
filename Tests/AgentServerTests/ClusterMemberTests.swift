// What a node of a cluster hears of its lease, also while it is between waiting and serving.

import ClusterStorage
import Configuration
import EventLoop
import TestSupport
import Testing

@testable import AgentServer

@Suite struct ClusterMemberTests {
    private final class Notes: Sendable {
        private let all = Locked<[String]>([])
        func add(_ news: MemberNews) { all.withLock { $0.append("\(news)") } }
        func has(_ word: String) -> Bool { all.withLock { $0.contains { $0.hasPrefix(word) } } }
    }

    private func waitUntil(_ condition: () throws -> Bool) throws {
        let end = Clock.bootMilliseconds() + 60_000
        let pause = WorkerMailbox<Bool>()
        while try !condition() {
            try #require(Clock.bootMilliseconds() < end)
            var none: [Bool] = []
            _ = pause.takeAll(into: &none, until: Clock.bootMilliseconds() + 20)
        }
    }

    @Test func whatComesBeforeItServesIsHeardWhenItDoes() throws {
        let text = TestDatabase.shared.address
        let database = try ClusterDatabase(at: DatabaseAddress(text), patience: 20_000)
        try database.prepare()
        var cluster = Configuration.Cluster()
        (cluster.database, cluster.node) = (Configuration.Secret(text), "a")
        (cluster.beat, cluster.lease) = (100, 60_000)
        let member = try ClusterMember(cluster)
        let (waiting, serving) = (Notes(), Notes())
        member.tellUntilItOwns { waiting.add($0) }
        try member.keep()
        try waitUntil { waiting.has("owns") }
        // It loads now, and nobody listens.
        try database.askOwner(toGiveUpTo: "b")
        let asked = try database.state().beat
        try waitUntil { try database.state().beat > asked + 1 }
        #expect(!waiting.has("asked"), "that is for whoever serves")
        member.tell { serving.add($0) }
        #expect(serving.has("asked(to: \"b\")"))
        member.leave(to: "")
        #expect(try database.state().isReleased)
    }
}
