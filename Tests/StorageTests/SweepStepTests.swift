// The stores of this process remove what is too old a little at a time.

import CallModel
import StoreContract
import TestSupport
import Testing

@testable import Storage

@Suite struct SweepStepTests {
    private let folder = TemporaryFolder()

    private func stores(_ change: (inout StoreLimits) -> Void) throws -> [any CallStore] {
        var limits = StoreLimits()
        change(&limits)
        let stores: [any CallStore] = [
            try embedded(in: StateDirectory(claiming: folder.state), limits),
            MemoryStore(limits: limits),
        ]
        for store in stores { _ = try store.restore(at: start) }
        return stores
    }

    @Test func keysGoInSteps() throws {
        for store in try stores({ $0.sweepStep = 2 }) {
            let ann = UserID("ann")
            for place in 0..<5 as Range<Int64> {
                let kept = KeptReply(bodyHash: 1, reply: [])
                let entry = KeyEntry(user: ann, key: "\(place)", at: start + place, kept: kept)
                try store.commit([.key(entry)], at: start + 1)
            }
            let now = start + 24 * 3_600_000 + 3
            let reader = try store.makeReader()
            #expect(try store.sweep(at: now) == true)
            #expect(try reader.reply(of: ann, under: "1") == nil)
            #expect(try reader.reply(of: ann, under: "2") != nil)
            #expect(try store.sweep(at: now) == true)
            #expect(try reader.reply(of: ann, under: "3") == nil)
            #expect(try store.sweep(at: now) == false)
            #expect(try reader.reply(of: ann, under: "4") != nil)
        }
    }

    @Test func endedCallsGoInSteps() throws {
        for store in try stores({ ($0.sweepStep, $0.retention) = (2, 1_000) }) {
            for later in 1...5 as ClosedRange<Int64> {
                try store.commit([.call(ended(ringingCall(later), at: start + later))], at: start)
            }
            let reader = try store.makeReader()
            func kept() throws -> [CallID] {
                try reader.page(of: UserID("bob"), matching: ListQuery()).calls.map(\.id)
            }
            #expect(try store.sweep(at: start + 1_003) == true)
            #expect(try kept() == [5, 4, 3].map { callID($0) })
            #expect(try store.sweep(at: start + 1_003) == false)
            #expect(try kept() == [5, 4].map { callID($0) })
        }
    }
}
