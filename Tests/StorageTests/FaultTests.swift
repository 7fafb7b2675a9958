// Full, read-only and failing disks: a failed commit is whole or absent, and the store recovers.

import CallCore
import Testing

@testable import Storage

@Suite struct FaultTests {
    /// A batch that touches every table, and the call by which it is recognized.
    private func batch(_ later: Int64) -> [StoreRecord] {
        let call = ringingCall(later)
        return [
            .call(call), .call(ended(ringingCall(later - 1), at: start + later)),
            .key(
                KeyEntry(
                    user: UserID("ann"), key: "k\(later)", at: start + later,
                    kept: KeptReply(bodyHash: 1, reply: Array(repeating: 65, count: 3_000)))),
            .push(.add(JobID(later), PushJob(.invite, callID: call.id, user: UserID("bob")))),
            .timer(.set(NamedTimer(JobID(later), plugin: "p", name: "n", dueAt: start))),
            .value(.increment(plugin: "p", key: "n", by: 1, expiresAt: nil)),
            .missed(UserID("bob"), call.id, at: start + later),
        ]
    }

    /// How much of `batch(later)` the store has: all six parts or none.
    private func parts(_ later: Int64, _ store: Store) throws -> Int {
        let reader = try store.makeReader()
        let state = try store.restore(at: start)
        let counted = try reader.value(of: "p", key: "n", at: start) ?? Array("0".utf8)
        #expect(Int(String(decoding: counted, as: UTF8.self)) == state.timers.count)
        let ended = try reader.call(callID(later - 1))?.state == .ended
        return [
            try reader.call(callID(later)) != nil, ended,
            try reader.reply(of: UserID("ann"), under: "k\(later)") != nil,
            try reader.openPushes(after: nil, limit: 999).contains { $0.id == JobID(later) },
            state.timers.contains { $0.id == JobID(later) },
            try reader.missedCalls(of: UserID("bob"), limit: 999).contains {
                $0.callID == callID(later)
            },
        ].count { $0 }
    }

    /// Commits until the fault strikes, reopens, and checks what is there.
    ///
    /// - Returns: whether the fault struck a commit.
    private func strike(
        _ operation: FaultPlan.Operations, _ failure: FaultPlan.Failure, after: Int
    ) throws -> Bool {
        let disk = Disk()
        let faults = try #require(FaultPlan())
        func open() throws -> Store {
            try disk.open {
                $0.faults = faults
                $0.synchronous = .full
            }
        }
        var acknowledged: Int64 = 0
        var failed: StoreError?
        do {
            let store = try open()
            _ = try store.restore(at: start)
            faults.arm(operation, after: after, failure: failure)
            for round in 1...12 as ClosedRange<Int64> where failed == nil {
                do {
                    try store.commit(batch(round * 10), at: start + round)
                    acknowledged = round
                } catch {
                    failed = error
                    #expect(error.kind == kind(failure), "\(error)")
                    let again = #expect(throws: StoreError.self) {
                        try store.commit(batch(999), at: start)
                    }
                    #expect(again?.kind == .notOpen)
                }
            }
        }
        faults.disarm()
        let store = try open()
        for round in 1...12 as ClosedRange<Int64> {
            let parts = try parts(round * 10, store)
            let context = "\(operation) \(failure) after \(after), round \(round): \(parts)"
            if round <= acknowledged { #expect(parts == 6, "\(context)") }
            // A commit that failed may have reached the disk: whole, or not at all.
            if round == acknowledged + 1 { #expect([0, 6].contains(parts), "\(context)") }
            if round > acknowledged + 1 { #expect(parts == 0, "\(context)") }
        }
        try store.commit(batch(5_000), at: start)
        #expect(try parts(5_000, store) == 6, "the store goes on")
        return failed != nil
    }

    private func kind(_ failure: FaultPlan.Failure) -> StoreError.Kind {
        switch failure {
        case .full: .diskFull
        case .eio: .inputOutput
        case .readonly: .readOnly
        }
    }

    @Test(arguments: FaultPlan.Failure.allCases)
    func aFailingWriteLeavesNothingHalfDone(failure: FaultPlan.Failure) throws {
        var struck = 0
        for after in 0..<60 where try strike(.write, failure, after: after) { struck += 1 }
        #expect(struck > 50)
    }

    @Test func aFailingSyncLeavesNothingHalfDone() throws {
        var struck = 0
        for after in 0..<12 where try strike(.sync, .eio, after: after) { struck += 1 }
        #expect(struck > 8)
    }

    @Test func aStoreCannotOpenOnABrokenDiskAndCanLater() throws {
        let disk = Disk()
        let faults = try #require(FaultPlan())
        try disk.with { store in
            _ = try store.restore(at: start)
            try store.commit([.call(ringingCall(1))], at: start)
            // After a clean end a start has something to write: that it began.
            try store.close()
        }
        for (operation, failure) in [
            (FaultPlan.Operations.write, FaultPlan.Failure.full), (.write, .readonly),
            (.read, .eio), (.open, .eio), (.sync, .eio),
        ] {
            faults.arm(operation, failure: failure)
            let error = #expect(throws: StoreError.self) {
                let store = try disk.open {
                    $0.faults = faults
                    $0.synchronous = .full
                }
                _ = try store.restore(at: start)
            }
            #expect(error?.path == disk.database)
            #expect(faults.hits > 0)
        }
        faults.disarm()
        let store = try disk.open { $0.faults = faults }
        #expect(try store.restore(at: start).core.calls == [ringingCall(1)])
    }

    @Test func aReaderThatFailsOnceReadsAgain() throws {
        let disk = Disk()
        let faults = try #require(FaultPlan())
        let store = try disk.open { $0.faults = faults }
        _ = try store.restore(at: start)
        try store.commit([.call(ringingCall(1))], at: start)
        let reader = try store.makeReader()
        faults.arm(.read, times: 1)
        let error = #expect(throws: StoreError.self) { try reader.call(callID(1)) }
        #expect(error?.kind == .inputOutput)
        #expect(try reader.call(callID(1)) == ringingCall(1))
    }

    @Test func messagesSayWhatAndWhereAndWhatToDo() {
        let error = StoreError(
            .diskFull, path: "s/callagent.db", operation: "committing",
            detail: "database or disk is full")
        let text =
            "s/callagent.db: no space is left while committing "
            + "(database or disk is full); free some space"
        #expect(error.description == text)
    }
}
