// Who sees whom, and who should own because of it.

import CallModel
import StoreContract
import Testing

@testable import ClusterCore

@Suite struct ClusterViewTests {
    /// A cluster that `a` owns. Each node with those that it reaches: `"b": "a c"`.
    private func view(
        _ reached: KeyValuePairs<String, String>, owner: String = "a",
        _ change: (inout SeenNode) -> Void = { _ in }
    ) -> ClusterView {
        ClusterView(
            owner: owner,
            reached.map { name, others in
                let names = others.split(separator: " ").map { String($0) }
                var node = SeenNode(name, reaches: Set(names))
                change(&node)
                return node
            })
    }

    @Test func aNodeAloneOwns() {
        let alone = view(["a": ""])
        #expect(alone.betterOwner() == nil && alone.betterHeir(than: "a") == nil)
        // Also one that has started where nobody was before.
        #expect(view(["b": ""], owner: "").betterHeir(than: "b") == nil)
        #expect(view([:], owner: "").betterHeir(than: "b") == nil)
    }

    @Test func ofTwoNodesTheOtherOneTakesOverWhateverTheLinkSays() {
        let all: [KeyValuePairs] = [
            ["a": "b", "b": "a"], ["a": "", "b": ""], ["a": "b", "b": ""], ["a": "", "b": "a"],
        ]
        for links in all {
            #expect(view(links).betterHeir(than: "b") == nil)
            #expect(view(links).betterOwner() == nil, "two do not judge each other: \(links)")
        }
    }

    @Test func whoeverNobodySeesLeavesItToTheOthers() {
        let cut = view(["a": "b c d", "b": "c", "c": "b", "d": ""])
        #expect(cut.betterHeir(than: "d") == "b")
        #expect(cut.betterHeir(than: "b") == nil && cut.betterHeir(than: "c") == nil)
        // Three nodes: the owner is gone, and one way between the others does not work.
        let halfCut = view(["a": "", "b": "c", "c": ""])
        #expect(halfCut.betterHeir(than: "b") == "c" && halfCut.betterHeir(than: "c") == nil)
    }

    @Test func whereNoNodeSeesAnotherOneAnyOfThemTakesOver() {
        let dark = view(["a": "", "b": "a", "c": "a"])
        #expect(dark.betterHeir(than: "b") == nil && dark.betterHeir(than: "c") == nil)
        let pairs = view(["a": "", "b": "c", "c": "b", "d": "e", "e": "d"])
        for name in ["b", "c", "d", "e"] { #expect(pairs.betterHeir(than: name) == nil) }
    }

    @Test func nobodyWaitsForANodeThatMayNotOwn() {
        let fronts = view(["a": "", "b": "", "c": "d", "d": "c"]) { $0.mayOwn = $0.name == "b" }
        #expect(fronts.betterHeir(than: "b") == nil)
        #expect(fronts.betterOwner() == nil)
    }

    @Test func deadRowsCountOnNoSide() {
        let dead = view(["a": "", "b": "", "c": "d", "d": "c"]) {
            $0.isAlive = $0.name == "a" || $0.name == "b"
        }
        #expect(dead.betterHeir(than: "b") == nil, "nobody is left who could take over")
        #expect(dead.betterOwner() == nil)
        // What a dead node has seen, it does not see now.
        let half = view(["a": "", "b": "", "c": "b", "d": "e", "e": "d"]) {
            $0.isAlive = $0.name != "c"
        }
        #expect(half.betterHeir(than: "b") == "d")
    }

    @Test func nodesWithoutLinksAreNoneOfThem() {
        let standbys = view(["a": "", "b": "", "c": "d", "d": "c"]) { $0.hasLink = $0.name > "b" }
        #expect(standbys.betterHeir(than: "b") == nil && standbys.betterOwner() == nil)
        let other = view(["a": "", "b": "", "c": "b", "d": "b"]) { $0.hasLink = $0.name < "c" }
        #expect(other.seers(of: "b") == [])
    }

    @Test func anOwnerGivesUpToTheOneThatMostNodesSee() {
        #expect(view(["a": "b c", "b": "a c", "c": "a b"]).betterOwner() == nil)
        // Nothing comes to the owner.
        #expect(view(["a": "b c", "b": "c", "c": "b"]).betterOwner() == "b")
        #expect(view(["a": "", "b": "c", "c": "b d", "d": "c"]).betterOwner() == "c")
        // One of three does not see it, and all see the third one.
        #expect(view(["a": "c", "b": "c", "c": "a b"]).betterOwner() == "c")
        // As many on each side of a cut.
        #expect(view(["a": "d", "d": "a", "b": "c", "c": "b"]).betterOwner() == nil)
        // All links are down.
        #expect(view(["a": "", "b": "", "c": ""]).betterOwner() == nil)
        // It cannot reach others, and they reach it: that is all it takes.
        #expect(view(["a": "", "b": "a c", "c": "a b"]).betterOwner() == nil)
    }

    @Test func theOneThatMayNotOwnIsPassedOver() {
        let cut = view(["a": "", "b": "c d", "c": "b d", "d": "b c"]) { $0.mayOwn = $0.name != "b" }
        #expect(cut.betterOwner() == "c")
    }

    /// Whatever the network is like, as long as it stays so: ownership moves a few times at most,
    /// each time to a node that more nodes see.
    @Test(arguments: 1...UInt64(300))
    func ownershipComesToRest(seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        let names = Array("abcdef".prefix(Int.random(in: 1...6, using: &dice))).map(String.init)
        let nodes = names.map { name in
            var node = SeenNode(name, reaches: Set(names.filter { _ in Bool.random(using: &dice) }))
            node.reaches.remove(name)
            node.mayOwn = Int.random(in: 0..<4, using: &dice) > 0
            return node
        }
        var now = ClusterView(owner: names[0], nodes)
        var seen = [now.seers(of: now.owner).count]
        while let next = now.betterOwner() {
            now.owner = next
            seen.append(now.seers(of: next).count)
            guard seen.count <= names.count else { break }
        }
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 < $1 }, "\(seen)")
        // After its death somebody takes over, if anybody may own.
        let heirs = nodes.filter { $0.name != now.owner && $0.mayOwn }.map(\.name)
        let takers = heirs.filter { now.betterHeir(than: $0) == nil }
        #expect(heirs.isEmpty == takers.isEmpty, "\(now)")
    }
}

@Suite struct LeaseSightTests {
    private let token: [UInt8] = [7]
    private let seen = LeaseRow(term: Term(owner: "a", epoch: 3), token: [1], beat: 0)

    private func view(_ reached: [String: Set<String>], owner: String = "a") -> ClusterView {
        ClusterView(owner: owner, reached.map { SeenNode($0.key, reaches: $0.value) })
    }

    @Test func whoeverNobodySeesDoesNotTakeWhatStandsStill() {
        let cut = view(["b": [], "c": ["d"], "d": ["c"]])
        var lease = Lease(node: "b")
        for now in stride(from: Milliseconds(0), to: 10_000, by: 500) {
            #expect(lease.next(at: now, token: token) == .look)
            #expect(lease.sees(cut, at: now) == nil && lease.heir == "c")
            #expect(lease.came(.row(seen), at: now) == nil)
        }
        // The others are gone too.
        #expect(lease.next(at: 10_000, token: token) == .look)
        _ = lease.sees(view(["b": []]), at: 10_000)
        _ = lease.came(.row(seen), at: 10_000)
        #expect(lease.next(at: 10_000, token: token) == .take(seen, token: token))
    }

    @Test func norWhatWasGivenToItButWhatIsItsOwn() {
        let cut = view(["b": [], "c": ["d"], "d": ["c"]])
        var released = seen
        (released.isReleased, released.successor) = (true, "b")
        var lease = Lease(node: "b")
        _ = lease.next(at: 0, token: token)
        _ = lease.sees(cut, at: 0)
        _ = lease.came(.row(released), at: 0)
        #expect(lease.next(at: 500, token: token) == .look)
        let own = LeaseRow(term: Term(owner: "b", epoch: 4), token: [1], beat: 0)
        _ = lease.came(.row(own), at: 500)
        #expect(lease.next(at: 500, token: token) == .take(own, token: token))
    }

    /// Owns since `now`.
    private func owning() -> Lease {
        var lease = Lease(node: "a")
        _ = lease.next(at: 0, token: token)
        _ = lease.came(.row(seen), at: 0)
        _ = lease.next(at: 0, token: token)
        _ = lease.came(.taken(Grant(Term(owner: "a", epoch: 4), token: token)), at: 0)
        return lease
    }

    @Test func anOwnerIsToldOnceThatItIsOutnumberedForLong() {
        let cut = view(["a": [], "b": ["c"], "c": ["b"]])
        var lease = owning()
        for now in stride(from: Milliseconds(1_000), to: 11_000, by: 1_000) {
            #expect(lease.sees(cut, at: now) == nil)
        }
        #expect(lease.sees(cut, at: 11_000) == .outnumbered(by: "b"))
        #expect(lease.sees(cut, at: 12_000) == nil && lease.maySpeak(at: 2_000))
    }

    @Test func aLinkThatComesBackBeginsTheTimeAnew() {
        let cut = view(["a": [], "b": ["c"], "c": ["b"]])
        var lease = owning()
        for now in stride(from: Milliseconds(1_000), to: 60_000, by: 1_000) {
            let whole = view(["a": [], "b": ["a", "c"], "c": ["b"]])
            #expect(lease.sees(now % 9_000 == 0 ? whole : cut, at: now) == nil)
        }
        // One that stood still meanwhile has not read it often enough.
        var stopped = owning()
        #expect(stopped.sees(cut, at: 1_000) == nil && stopped.sees(cut, at: 20_000) == nil)
    }

    @Test func aNodeWithoutLinksIsAsBefore() {
        var lease = owning()
        for now in stride(from: Milliseconds(0), to: 30_000, by: 1_000) {
            #expect(lease.sees(nil, at: now) == nil)
        }
        var other = Lease(node: "b")
        #expect(other.sees(nil, at: 0) == nil && other.heir == nil)
    }
}
