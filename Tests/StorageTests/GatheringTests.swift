// What is gathered on its way to the log is there for others as soon as a commit returns.

import CallModel
import StoreContract
import TestSupport
import Testing

@testable import Storage

@Suite struct GatheringTests {
    /// The state that a process would leave if it were killed now.
    private func leftOver(of disk: Disk) -> Disk {
        let copy = Disk()
        for name in ["callagent.db", "callagent.db-wal"] { copy.write(disk.read(name), to: name) }
        return copy
    }

    /// A call whose record is `bytes` long or longer.
    private func call(_ later: Int64, bytes: Int) -> Call {
        var call = ringingCall(later)
        call.extendedData = String(repeating: "x", count: bytes)
        return call
    }

    /// Sizes of a batch: one page, several, about what is gathered at once, and far more, which
    /// leaves the page cache before the transaction ends.
    @Test(arguments: [1, 5, 15, 16, 17, 40, 700])
    func aCommitOfAnySizeIsThere(count: Int) throws {
        for synchronous in [StoreOptions.Synchronous.off, .full] {
            let disk = Disk()
            let store = try disk.open {
                $0.synchronous = synchronous
                $0.cacheKiB = 256
            }
            _ = try store.restore(at: start)
            let reader = try store.makeReader()
            var calls: [Call] = []
            for round in 0..<3 as Range<Int64> {
                let batch = (0..<Int64(count)).map { call(round * 1_000 + $0, bytes: 3_900) }
                try store.commit(batch.map { .call($0) }, at: start)
                calls += batch
                for call in batch { #expect(try reader.call(call.id) == call) }
                #expect(try leftOver(of: disk).restored().core.calls == calls)
            }
        }
    }

    /// Pages of one transaction that are written to the log twice, because the cache is small and
    /// every table is touched again and again.
    @Test func whatIsWrittenOverInOneCommitIsThere() throws {
        let disk = Disk()
        let store = try disk.open { $0.cacheKiB = 64 }
        _ = try store.restore(at: start)
        try store.commit((0..<300).map { .call(call($0, bytes: 2_000)) }, at: start)
        let over = (0..<300).map { ended(call($0, bytes: 2_000), at: start + 1 + $0) }
        let live = (300..<600).map { call($0, bytes: 100) }
        try store.commit(zip(over, live).flatMap { [.call($0), .call($1)] }, at: start)
        let copy = leftOver(of: disk)
        #expect(try copy.restored().core.calls == live)
        let again = try copy.open { $0.check = .whole }
        _ = try again.restore(at: start)
        let reader = try again.makeReader()
        for call in over { #expect(try reader.call(call.id) == call) }
    }
}
