// What is committed together is written once.

import CallModel
import StoreContract
import Testing

@testable import Storage

@Suite struct StoreChangeTests {
    @Test func onlyTheLastVersionOfACallIsWritten() {
        let (one, other) = (ringingCall(1), ringingCall(2))
        let batch: [StoreChange] = [
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
