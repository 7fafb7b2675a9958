// Records of the core become records of the store, and are written once.

import CallModel
import Testing

@testable import Storage

@Suite struct StoreRecordTests {
    private func stored(_ record: Record) -> StoreRecord {
        StoreRecord(record, encode: { Array("\($0)".utf8) }, newJob: { JobID(9) })
    }

    @Test func recordsOfTheCoreAreTakenOver() {
        let call = ringingCall(1)
        #expect(stored(.call(call)) == .call(call))
        let key = KeyRecord(
            user: UserID("ann"), key: IdempotencyKey("k", bodyHash: 7), at: start, reply: .done)
        let kept = KeptReply(bodyHash: 7, reply: Array("done".utf8))
        #expect(
            stored(.key(key))
                == .key(KeyEntry(user: UserID("ann"), key: "k", at: start, kept: kept)))
        let job = PushJob(.invite, callID: call.id, user: UserID("bob"))
        #expect(stored(.push(job)) == .push(.add(JobID(9), job)))
        let address = Address(UserID("bob"), DeviceID("phone"))
        #expect(
            stored(.registration(address, provider: "fcm", nil))
                == .registration(address, provider: "fcm", nil))
    }

    @Test func onlyTheLastVersionOfACallIsWritten() {
        let (one, other) = (ringingCall(1), ringingCall(2))
        let batch: [StoreRecord] = [
            .call(one), .seen(UserID("ann"), upTo: start), .call(other), .call(one),
            .call(ended(one, at: start)),
        ]
        let superseded = Superseded(batch)
        #expect(batch.indices.filter { !superseded.contains($0) } == [1, 2, 4])
    }

    /// A call that begins and ends within one batch never touches the table of live calls.
    @Test func aCallOfOneBatchIsWrittenToHistoryOnly() throws {
        let disk = Disk()
        try disk.with { store in
            _ = try store.restore(at: start)
            let call = ringingCall(1)
            try store.commit([.call(call), .call(ended(call, at: start))], at: start)
            try store.close()
        }
        try disk.execute(
            """
            CREATE TRIGGER witness BEFORE INSERT ON live_call BEGIN SELECT RAISE(FAIL, 'live'); END
            """)
        try disk.with { store in
            _ = try store.restore(at: start)
            let call = ringingCall(2)
            try store.commit([.call(call), .call(ended(call, at: start))], at: start)
            let error = #expect(throws: StoreError.self) {
                try store.commit([.call(ringingCall(3))], at: start)
            }
            #expect(error?.detail.contains("live") == true)
        }
    }
}
