// Full, read-only and failing disks: a failed commit is whole or absent, and the store recovers.

import CallModel
import Glibc
import StoreContract
import TestSupport
import Testing

@testable import Storage

@Suite struct FaultTests {
    /// A batch that touches every table, and the call by which it is recognized.
    private func batch(_ later: Int64) -> [StoreChange] {
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
        #expect(try store.wholeState(at: start).core.calls == [ringingCall(1)])
    }

    @Test(arguments: [1, Int.max], [StoreOptions.Check.live, .whole])
    func aReadThatFailsIsNeverTakenForDamage(times: Int, check: StoreOptions.Check) throws {
        let disk = Disk()
        try disk.with { store in
            _ = try store.restore(at: start)
            for round in 1...60 as ClosedRange<Int64> {
                try store.commit(batch(round * 10), at: start + round)
            }
            try store.close()
        }
        var after = 0
        var struck = true
        while struck {
            let faults = try #require(FaultPlan())
            faults.arm(.read, after: after, times: times)
            do {
                let store = try disk.open {
                    $0.faults = faults
                    $0.check = check
                }
                #expect(try store.wholeState(at: start).core.calls.count == 60)
                struck = faults.hits > 0
            } catch let error as StoreError {
                #expect(error.kind == .inputOutput, "after \(after): \(error)")
                #expect(error.description.contains("try again"))
            }
            after += 1
        }
        #expect(after > 60, "fewer reads than expected: \(after)")
    }

    @Test func aFailureWhileTheStoreIsMadeIsReported() throws {
        for operation in [FaultPlan.Operations.sync, .write] {
            var after = 0
            var failed = true
            while failed {
                let disk = Disk()
                let faults = try #require(FaultPlan())
                faults.arm(operation, after: after, times: 1)
                func open() throws -> Store {
                    try disk.open {
                        $0.faults = faults
                        $0.synchronous = .full
                    }
                }
                var store = try? open()
                failed = faults.hits == 1
                #expect((store == nil) == failed, "\(operation) after \(after)")
                faults.disarm()
                store = nil
                #expect(try open().wholeState(at: start).core.calls.isEmpty)
                after += 1
            }
            #expect(after > 4, "\(operation)")
        }
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

    @Test func aReaderThatOutlivesAFailureSeesTheReopenedStore() throws {
        let folder = TemporaryFolder()
        let directory = try StateDirectory(claiming: folder.state)
        var options = StoreOptions()
        let faults = try #require(FaultPlan())
        options.faults = faults
        var store = try Store(in: directory, options: options)
        _ = try store.restore(at: start)
        try store.commit([.call(ringingCall(1))], at: start)
        let reader = try StoreReader(in: directory, options: options)
        faults.arm(.sync, times: 1)
        #expect(throws: StoreError.self) { try store.commit([.call(ringingCall(2))], at: start) }
        store = try Store(in: directory, options: options)
        let live = try store.wholeState(at: start).core.calls
        #expect([[1], [1, 2]].contains(live.map { $0.createdAt - start }))
        try store.commit([.call(ringingCall(3))], at: start)
        #expect(try reader.call(callID(3)) == ringingCall(3))
        #expect(try (reader.call(callID(2)) != nil) == (live.count == 2))
    }

    @Test func aPlanIsReadFromText() throws {
        let faults = try #require(FaultPlan("sync:1:1:eio"))
        let disk = Disk()
        let error = #expect(throws: StoreError.self) {
            let store = try disk.open {
                $0.faults = faults
                $0.synchronous = .full
            }
            _ = try store.restore(at: start)
            for later in 1...9 as ClosedRange<Int64> {
                try store.commit([.call(ringingCall(later))], at: start)
            }
        }
        #expect(error?.kind == .inputOutput)
        #expect(faults.hits == 1)
        for text in [
            "", "write", "write:1:1", "fsync:1:1:eio", "sync:-1:1:eio", "sync:1:0:eio",
            "sync:1:1:dead", "sync:1:1:eio:", "sync:x:1:eio", "sync:1:1:eio:once",
            "sync:1:1:eio:again:",
        ] {
            #expect(FaultPlan(text) == nil, "\(text)")
        }
    }

    @Test func aPlanMayBeginAgain() throws {
        let faults = try #require(FaultPlan("sync:3:1:eio:again"))
        let disk = Disk()
        for round in 1...5 {
            func use() throws {
                let store = try disk.open {
                    $0.faults = faults
                    $0.synchronous = .full
                }
                _ = try store.restore(at: start)
                for later in 1...9 as ClosedRange<Int64> {
                    try store.commit([.call(ringingCall(later))], at: start)
                }
            }
            #expect(throws: StoreError.self) { try use() }
            #expect(faults.hits == round)
        }
    }

    @Test func onlyFullWaitsForTheDisk() throws {
        for (mode, fails) in [
            (StoreOptions.Synchronous.full, true), (.normal, false), (.off, false),
        ] {
            let disk = Disk()
            let faults = try #require(FaultPlan())
            let store = try disk.open {
                $0.faults = faults
                $0.synchronous = mode
            }
            _ = try store.restore(at: start)
            faults.arm(.sync)
            let result = Result { try store.commit([.call(ringingCall(1))], at: start) }
            #expect(((try? result.get()) == nil) == fails, "\(mode)")
            faults.disarm()
        }
    }

    /// SQLite calls it a failure of the disk where it is the index of the log that has no room.
    @Test func aFullDiskIsFullWhateverFindsIt() {
        let noIndex: Int32 = 4_874  // SQLITE_IOERR_SHMSIZE
        #expect(DatabaseConnection.kind(of: noIndex, system: ENOSPC) == .diskFull)
        #expect(DatabaseConnection.kind(of: noIndex, system: EDQUOT) == .diskFull)
        #expect(DatabaseConnection.kind(of: noIndex, system: EIO) == .inputOutput)
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
