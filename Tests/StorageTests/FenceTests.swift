// The fence of a cluster, with the window held open: the right one lets nothing through after a
// takeover, and each wrong one is found.

import CallModel
import ClusterCore
import EventLoop
import StoreContract
import Testing

@testable import ClusterStorage

@Suite struct FenceTests {
    private let first = Term(owner: "a", epoch: 1)
    private let second = Term(owner: "b", epoch: 2)

    /// What came of a commit of the owner before, which was held open over a takeover.
    private struct Outcome {
        /// Whether the commit went through.
        var isCommitted = false
        /// Whether the new owner loaded what it stored.
        var isLoaded = false
        /// Whether it is stored at the end.
        var isStored = false

        /// Something was written behind the new owner's back.
        var isViolation: Bool { isStored && !isLoaded || isCommitted && !isStored }
    }

    private let call = callID(7)

    /// The owner before has sent its fence and its change, but not the end of its transaction; the
    /// next one takes over and loads; then the one before ends its transaction.
    private func outcome(of form: Fence.Form) throws -> Outcome {
        let name = try Cluster.newSpace()
        let old = try Cluster.store(of: name) { $0.fence = form }
        _ = try old.restore(at: start, in: first)
        let fence = try #require(old.fence)
        send(fence, form, old)
        try old.link.sendOnly()
        try waitUntilIdle(old)
        let new = try Cluster.store(of: name)
        _ = try new.restore(at: start, in: second)
        var outcome = Outcome()
        outcome.isLoaded = try isStored(new)
        outcome.isCommitted = (try? old.link.finish()) != nil
        outcome.isStored = try isStored(new)
        return outcome
    }

    private func send(_ fence: Fence, _ form: Fence.Form, _ store: ClusterStore) {
        fence.begin(form, in: store.space, on: store.link)
        store.link.query(
            "INSERT INTO live_call VALUES ($1, $2, '', 1)", .integer(store.space.id), .id(call))
    }

    /// Waits until the server has done all that was sent and holds the transaction open.
    private func waitUntilIdle(_ store: ClusterStore) throws {
        try wait(store) {
            """
            SELECT 1 FROM pg_locks WHERE pid = \(store.link.backend)
            AND relation = 'live_call'::regclass AND mode = 'RowExclusiveLock'
            """
        }
    }

    private func askForCall(_ store: ClusterStore) {
        store.link.query(
            "SELECT 1 FROM live_call WHERE space = $1 AND id = $2", .integer(store.space.id),
            .id(call))
    }

    private func isStored(_ store: ClusterStore) throws -> Bool {
        askForCall(store)
        return try store.link.finish().first?.count == 1
    }

    @Test func whatWasOpenAtATakeoverIsLostAsAWhole() throws {
        let outcome = try outcome(of: .share)
        #expect(!outcome.isCommitted && !outcome.isLoaded && !outcome.isStored)
    }

    @Test(arguments: [Fence.Form.keyShare, .noLock, .none])
    func aWeakerFenceIsFoundBroken(form: Fence.Form) throws {
        #expect(try outcome(of: form).isViolation, "\(form)")
    }

    /// The takeover waits for a transaction of the owner before, which then commits.
    ///
    /// - Parameter isSplit: whether the load is another transaction than the takeover.
    private func loadAfterWaiting(isSplit: Bool) throws -> Outcome {
        let name = try Cluster.newSpace()
        let old = try Cluster.store(of: name)
        _ = try old.restore(at: start, in: first)
        send(try #require(old.fence), .share, old)
        try old.link.sendOnly()
        try waitUntilIdle(old)
        let new = try Cluster.store(of: name)
        new.link.query(
            """
            SELECT set_config('lock_timeout', '0', false),
            set_config('default_transaction_isolation', 'repeatable read', false)
            """)
        try new.link.finish()
        new.link.query("UPDATE space SET epoch = 2 WHERE id = \(new.space.id)")
        if !isSplit { askForCall(new) }
        try new.link.sendOnly()
        try waitUntilBlocked(new)
        var outcome = Outcome()
        outcome.isCommitted = (try? old.link.finish()) != nil
        let rows = try new.link.finish()
        outcome.isLoaded = try isSplit ? isStored(new) : rows[1].count == 1
        outcome.isStored = try isStored(new)
        return outcome
    }

    @Test func loadingInAnotherTransactionSeesWhatTheTakeoverWaitedFor() throws {
        let outcome = try loadAfterWaiting(isSplit: true)
        #expect(outcome.isCommitted && outcome.isLoaded && outcome.isStored)
    }

    @Test func loadingInTheTakeoversSnapshotIsFoundBroken() throws {
        #expect(try loadAfterWaiting(isSplit: false).isViolation)
    }

    /// The takeover is open, and the one before begins to commit; whether that goes through.
    private func lateCommit() throws -> Bool {
        let name = try Cluster.newSpace()
        let old = try Cluster.store(of: name)
        _ = try old.restore(at: start, in: first)
        old.link.query("SELECT set_config('lock_timeout', '0', false)")
        try old.link.finish()
        let new = try PostgresConnection(to: old.link.address, patience: 20_000)
        new.query("UPDATE space SET epoch = 2 WHERE id = \(old.space.id)")
        try new.sendOnly()
        try waitForLock(of: new, on: old)
        send(try #require(old.fence), .share, old)
        try old.link.sendOnly()
        try waitUntilBlocked(old)
        try new.finish()
        return (try? old.link.finish()) != nil
    }

    private func waitForLock(of new: PostgresConnection, on old: ClusterStore) throws {
        try wait(old) {
            "SELECT 1 FROM pg_locks WHERE pid = \(new.backend) AND mode = 'RowExclusiveLock'"
        }
    }

    private func waitUntilBlocked(_ store: ClusterStore) throws {
        try wait(store) {
            "SELECT 1 FROM pg_locks WHERE pid = \(store.link.backend) AND NOT granted"
        }
    }

    private func wait(_ store: ClusterStore, until question: () -> String) throws {
        let watch = try PostgresConnection(to: store.link.address, patience: 20_000)
        let begun = Clock.bootMilliseconds()
        while true {
            watch.query(question())
            if try watch.finish().first?.count ?? 0 > 0 { return }
            try #require(Clock.bootMilliseconds() < begun + 20_000, "it never came to that")
        }
    }

    @Test func whatBeginsDuringATakeoverIsRefusedWhenThatHasCommitted() throws {
        #expect(try !lateCommit())
    }

    @Test func theTokenDecidesWhereAnEpochWasGivenTwice() throws {
        let name = try Cluster.newSpace()
        let one = try Cluster.store(of: name)
        _ = try one.restore(at: start, in: first)
        // A standby that had not heard of the takeover gives the same epoch to the same name.
        let other = try Cluster.store(of: name)
        _ = try other.restore(at: start, in: first)
        #expect(throws: StoreError.self) { try one.commit([.call(ringingCall(1))], at: start) }
        try other.commit([.call(ringingCall(2))], at: start)
        #expect(try other.makeReader().call(callID(1)) == nil)
    }

    @Test func whoeverLooksAfterATakeoverIsToldWhoOwns() throws {
        let name = try Cluster.newSpace()
        let (old, new) = (try Cluster.store(of: name), try Cluster.store(of: name))
        _ = try old.restore(at: start, in: first)
        try old.checkFiles()
        _ = try new.restore(at: start, in: second)
        let error = #expect(throws: StoreError.self) { try old.checkFiles() }
        #expect(error?.kind == .notOwner(since: second))
        let closed = #expect(throws: StoreError.self) {
            try old.commit([.timer(.remove(JobID(1)))], at: start)
        }
        #expect(closed?.kind == .notOpen)
    }

    @Test func aStoreBegunForATakeoverThatIsOverTakesNothing() throws {
        let name = try Cluster.newSpace()
        let owner = try Cluster.store(of: name)
        _ = try owner.restore(at: start, in: first)
        let grant = Grant(first, token: try #require(owner.fence?.token))
        let writer = try Cluster.store(of: name) { $0.grant = grant }
        _ = try writer.restore(at: start, in: first)
        try writer.commit([.call(ringingCall(1))], at: start)
        let next = try Cluster.store(of: name)
        _ = try next.restore(at: start, in: second)
        let late = try Cluster.store(of: name) { $0.grant = grant }
        let error = #expect(throws: StoreError.self) { try late.restore(at: start, in: first) }
        #expect(error?.kind == .notOwner(since: second))
        try next.commit([.call(ringingCall(2))], at: start)
    }
}
