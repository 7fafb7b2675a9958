// Who writes: a store belongs to one owner, and the one before writes no more.

import CallModel
import StoreContract
import Testing

@testable import Storage

@Suite struct TermTests {
    private let first = Term(owner: "a", epoch: 1)
    private let second = Term(owner: "b", epoch: 2)

    /// What `refused` throws because the store is in the term `held`.
    private func expectRefusal(
        by held: Term, of refused: Term, _ body: () throws -> Void
    ) {
        let error = #expect(throws: StoreError.self) { try body() }
        #expect(error?.kind == .notOwner(since: held))
        #expect(error?.description.contains("belongs to \(held)") == true)
        #expect(error?.description.contains("takes nothing from \(refused)") == true)
    }

    @Test(arguments: Kind.allCases)
    func aLaterOwnerTakesTheStoreOverAndTheOneBeforeWritesNoMore(
        kind: Kind
    ) throws {
        let (old, call) = (try Rig(kind), ringingCall(1))
        #expect(try old.restored(at: start, in: first).term == first)
        try old.commit(.call(call))
        let new = try old.another()
        let state = try new.restored(at: start, in: second)
        #expect(state.term == second && state.core.calls == [call])
        expectRefusal(by: second, of: first) {
            try old.commit(.call(ended(call, at: start + 2)), .call(ringingCall(2)))
        }
        #expect(try new.reader.call(call.id) == call, "all of a batch is refused")
        #expect(try new.reader.call(callID(2)) == nil)
        try new.commit(.call(ringingCall(3)))
        #expect(try new.restored(at: start, in: second).core.calls == [call, ringingCall(3)])
    }

    @Test(arguments: Kind.allCases)
    func aStoreIsNotOpenedForAnEarlierOwnerNorForTwoInOneEpoch(
        kind: Kind
    ) throws {
        let rig = try Rig(kind)
        try rig.restored(at: start, in: second)
        let other = try rig.another()
        for term in [first, Term(owner: "a", epoch: 2), .alone] {
            expectRefusal(by: second, of: term) { try other.restored(at: start, in: term) }
        }
        try rig.commit(.call(ringingCall(1)))
        let third = Term(owner: "a", epoch: 3)
        #expect(try other.restored(at: start, in: third).core.calls == [ringingCall(1)])
        expectRefusal(by: third, of: second) { try rig.commit(.call(ringingCall(2))) }
    }

    @Test(arguments: Kind.allCases)
    func aCallTellsInWhichTermAndRevisionItWasStoredLast(kind: Kind) throws {
        let (old, live) = (try Rig(kind), ringingCall(1))
        let over = ended(ringingCall(2), at: start + 3)
        try old.commit(.call(live), .call(over), .call(ringingCall(4)))
        let new = try old.another()
        try new.restored(at: start, in: first)
        func version(_ later: Int64) throws -> StoredVersion? {
            try new.reader.version(of: callID(later))
        }
        #expect(try version(1) == StoredVersion(term: .alone, revision: 1))
        #expect(try version(2) == StoredVersion(term: .alone, revision: 2))
        #expect(try version(9) == nil)
        try new.restored(at: start, in: second)
        var changed = live
        changed.revision = 7
        try new.commit(.call(changed), .call(ended(ringingCall(4), at: start + 5)))
        #expect(try version(1) == StoredVersion(term: second, revision: 7))
        #expect(try version(2) == StoredVersion(term: .alone, revision: 2))
        #expect(try version(4) == StoredVersion(term: second, revision: 2))
    }

    @Test(arguments: Kind.allCases)
    func jobsOfTwoTermsNeverHaveTheSameId(kind: Kind) throws {
        let rig = try Rig(kind)
        var given: Set<JobID> = []
        for term in [.alone, first, second] {
            let last = try rig.restored(at: start, in: term).lastJob
            for later in 1...3 as ClosedRange<Int64> {
                let id = JobID((last?.value ?? 0) + later)
                #expect(given.insert(id).inserted && id.epoch == term.epoch)
            }
            // Of what an owner gave the store may have seen nothing.
            guard term == first, let newest = given.max() else { continue }
            let timer = NamedTimer(newest, plugin: "p", name: "t", dueAt: start)
            try rig.commit(.timer(.set(timer)))
            #expect(try rig.restored(at: start, in: term).lastJob == newest)
        }
    }

    @Test func nothingIsSweptOrClosedForAnEarlierOwner() throws {
        let disk = Disk()
        let directory = try StateDirectory(claiming: disk.path)
        let (old, new) = (try Store(in: directory), try Store(in: directory))
        _ = try old.restore(at: start, in: first)
        _ = try new.restore(at: start, in: second)
        expectRefusal(by: second, of: first) { _ = try old.sweep(at: start) }
        _ = try new.sweep(at: start)
        let again = try Store(in: directory)
        _ = try again.restore(at: start, in: Term(owner: "c", epoch: 3))
        expectRefusal(by: Term(owner: "c", epoch: 3), of: second) { try new.close() }
    }
}
