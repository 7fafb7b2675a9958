// The lease on a real database: what each order does to the row, and who is refused.

import CallModel
import ClusterCore
import StoreContract
import Testing

@testable import ClusterStorage
@testable import Storage

@Suite struct LeaseConnectionTests {
    private func node(_ name: String, _ space: String) throws -> LeaseConnection {
        LeaseConnection(
            to: try Cluster.address.get(), of: NodeNote(name, process: "test:1", program: "0"),
            in: space, patience: 20_000)
    }

    private func look(_ node: LeaseConnection) throws -> LeaseRow {
        guard case .row(let row) = node.carryOut(.look) else {
            throw node.trouble ?? StoreError(.other, path: "", operation: "looking")
        }
        return row
    }

    private func take(_ node: LeaseConnection, _ token: [UInt8]) throws -> Grant {
        guard case .taken(let grant) = node.carryOut(.take(try look(node), token: token)) else {
            throw node.trouble ?? StoreError(.other, path: "", operation: "taking")
        }
        return grant
    }

    @Test func ofTwoTakeoversOfOneRowOneSucceeds() throws {
        let space = try Cluster.newSpace()
        let (a, b) = (try node("a", space), try node("b", space))
        let row = try look(a)
        #expect(row.isReleased && row.term == .alone)
        let first = Grant(Term(owner: "a", epoch: 1), token: [1])
        #expect(a.carryOut(.take(row, token: [1])) == .taken(first))
        let held = LeaseRow(term: first.term, token: [1], beat: 0)
        #expect(b.carryOut(.take(row, token: [2])) == .row(held), "it is not what b saw")
    }

    @Test func aBeatKeepsAnotherOneOut() throws {
        let space = try Cluster.newSpace()
        let (a, b) = (try node("a", space), try node("b", space))
        let grant = try take(a, [1])
        let seen = try look(b)
        #expect(a.carryOut(.beat(grant)) == .beaten(wish: nil))
        guard case .row(let row) = b.carryOut(.take(seen, token: [2])) else {
            return #expect(Bool(false), "it was taken from a living owner")
        }
        #expect(row.term == grant.term && row.beat == seen.beat + 1)
        let next = Grant(Term(owner: "b", epoch: 2), token: [2])
        #expect(b.carryOut(.take(row, token: [2])) == .taken(next), "the beat stood still")
        guard case .row(let other) = a.carryOut(.beat(grant)) else {
            return #expect(Bool(false), "the owner before beat on")
        }
        #expect(other.term == next.term)
    }

    @Test func whatWasGivenUpIsFreeAndAWishEndsWithTheOwner() throws {
        let space = try Cluster.newSpace()
        let (a, b) = (try node("a", space), try node("b", space))
        let grant = try take(a, [1])
        let tool = try ClusterDatabase(
            at: Cluster.address.get(), space: space, patience: 20_000)
        try tool.askOwner(toGiveUpTo: "b")
        #expect(a.carryOut(.beat(grant)) == .beaten(wish: "b"))
        #expect(a.carryOut(.release(grant, to: "b")) == .released)
        #expect(a.carryOut(.release(Grant(grant.term, token: [9]), to: "")) != .released)
        let row = try look(b)
        #expect(row.isReleased && row.successor == "b")
        let next = try take(b, [2])
        #expect(b.carryOut(.beat(next)) == .beaten(wish: nil))
        let state = try tool.state()
        #expect(state.term == next.term && !state.isReleased && state.timeline >= 1)
        #expect(state.nodes.map(\.note.name) == ["a", "b"] && state.nodes.allSatisfy(\.isAlive))
    }

    @Test func whoeverHasALinkFindsTheOwnersAndShowsItsOwn() throws {
        let space = try Cluster.newSpace()
        let (a, b) = (try node("a", space), try node("b", space))
        b.note.link = "127.0.0.1:2"
        _ = try look(b)
        #expect(b.ownerPlace.link == "", "nobody owns")
        let grant = try take(a, [1])
        _ = try look(b)
        #expect(b.ownerPlace.link == "", "it has none")
        a.note.link = "127.0.0.1:1"
        a.note.links = ["b", "c"]
        #expect(a.carryOut(.beat(grant)) == .beaten(wish: nil))
        #expect(try look(b).term == grant.term)
        #expect(b.ownerPlace.link == "127.0.0.1:1")
        let tool = try ClusterDatabase(at: Cluster.address.get(), space: space, patience: 20_000)
        let notes = try tool.state().nodes.map(\.note)
        #expect(notes.map(\.link) == ["127.0.0.1:1", "127.0.0.1:2"])
        #expect(notes.map(\.links) == [["b", "c"], []])
    }

    @Test func whoLooksReadsWhoSeesWhom() throws {
        let space = try Cluster.newSpace()
        let names = ["a", "b", "c"]
        let nodes = try names.map { try node($0, space) }
        for (node, sees) in zip(nodes, [["c"], ["c"], ["b"]]) {
            node.note.link = "127.0.0.1:1"
            node.note.sees = sees
        }
        // A front end sees the owner over its link; who has a link to the owner is not seen by it.
        nodes[0].note.links = ["b"]
        nodes[1].note.links = ["a"]
        nodes[2].note.whyNot = "a secret is missing"
        let grant = try take(nodes[0], [1])
        #expect(nodes[0].carryOut(.beat(grant)) == .beaten(wish: nil))
        _ = try look(nodes[2])
        _ = try look(nodes[1])
        let view = ClusterView(owner: "a", nodes[1].nodes)
        #expect(view.nodes.map(\.name) == names && view.nodes.allSatisfy(\.isAlive))
        #expect(view.nodes.map(\.mayOwn) == [true, true, false])
        #expect(names.map { view.seers(of: $0) } == [["b"], ["c"], ["a", "b"]])
        let link = try PostgresConnection(to: Cluster.address.get(), patience: 20_000)
        let id = PostgresValue.integer(try Space(space, by: link).id)
        link.query("UPDATE node SET tables = 5 WHERE space = $1 AND name = 'c'", id)
        try link.finish()
        _ = try look(nodes[1])
        let older = ClusterView(owner: "a", nodes[1].nodes)
        #expect(older.nodes.map(\.hasLink) == [true, true, false], "it does not look")
        nodes[2].noteLeaving()
        _ = try look(nodes[1])
        let later = ClusterView(owner: "a", nodes[1].nodes)
        #expect(later.nodes.map(\.isAlive) == [true, true, false] && later.seers(of: "b") == [])
    }

    @Test func aNodeWritesItsCertificateAndReadsThoseOfTheOthers() throws {
        let space = try Cluster.newSpace()
        let (a, b) = (try node("a", space), try node("b", space))
        #expect(b.fingerprints() == nil, "it is not connected")
        a.note.fingerprint = [1, 2, 3]
        let grant = try take(a, [1])
        _ = try look(b)
        #expect(b.ownerPlace.fingerprint == [1, 2, 3])
        #expect(b.fingerprints() == ["a": [1, 2, 3], "b": []])
        a.note.fingerprint = [4]
        #expect(a.carryOut(.beat(grant)) == .beaten(wish: nil))
        #expect(b.fingerprints() == ["a": [4], "b": []])
    }

    @Test func whoeverLooksSeesTheGenerationInForceAndShowsItsOwn() throws {
        let space = try Cluster.newSpace()
        let (a, b) = (try node("a", space), try node("b", space))
        _ = try look(b)
        #expect(b.generation == "")
        let grant = try take(a, [1])
        let store = try Cluster.store(of: space) { $0.grant = grant }
        _ = try store.restore(at: start)
        for name in ["one", "two"] {
            let files = StoredGeneration(name: name, files: [])
            try store.commit([.generation(.activate(files, at: start))], at: start)
            _ = try look(b)
            #expect(b.generation == name)
        }
        (b.note.generation, b.note.whyNot) = ("one", "two cannot be loaded")
        _ = try look(b)
        let tool = try ClusterDatabase(at: Cluster.address.get(), space: space, patience: 20_000)
        let note = try #require(tool.state().nodes.last).note
        #expect(note.generation == "one" && note.whyNot == "two cannot be loaded")
    }

    @Test func aTakeoverEndsATransactionThatIsHeldOpen() throws {
        let space = try Cluster.newSpace()
        let (a, b) = (try node("a", space), try node("b", space))
        let grant = try take(a, [1])
        let store = try Cluster.store(of: space) { $0.grant = grant }
        _ = try store.restore(at: start)
        store.fence?.begin(.share, in: store.space, on: store.link)
        store.link.query("INSERT INTO live_call VALUES (\(store.space.id), 'x', '', 1)")
        try store.link.sendOnly()
        let next = try take(b, [2])
        #expect(next.term.epoch == 2)
        #expect(throws: PostgresFailure.self) { try store.link.finish() }
        let new = try Cluster.store(of: space) { $0.grant = next }
        #expect(try new.restore(at: start).core.lastCall == nil)
    }

    @Test func aDatabaseThatIsAwayIsAFailureWithAReason() throws {
        let address = try DatabaseAddress("host=/nowhere port=1 user=x password=hush")
        let node = LeaseConnection(to: address, of: NodeNote("a", process: "", program: ""))
        #expect(node.carryOut(.look) == .failed)
        let text = "\(try #require(node.trouble))"
        #expect(text.contains("/nowhere") && !text.contains("hush"))
    }
}
