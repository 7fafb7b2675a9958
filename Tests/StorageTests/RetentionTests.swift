// Old calls are forgotten, and everything that belongs to them.

import CallModel
import StoreContract
import Testing

@testable import Storage

@Suite struct RetentionTests {
    private let retention: Milliseconds = 90 * 24 * 3_600_000

    @Test(arguments: Kind.allCases)
    func endedCallsAreForgottenAtTheirAge(kind: Kind) throws {
        let rig = try Rig(kind)
        let live = ringingCall(0)
        try rig.commit(.call(live))
        for later in 1...5 as ClosedRange<Int64> {
            try rig.commit(.call(ended(ringingCall(later), at: start + later * 10)))
            try rig.commit(
                .missed(UserID("bob"), callID(later), at: start + later * 10),
                .push(
                    .outcome(
                        PushOutcome(
                            job: JobID(later), call: callID(later),
                            address: Address(UserID("bob"), DeviceID("phone")), provider: "fcm",
                            kind: .missed, at: start + later, result: "sent"))))
        }
        let now = start + 30 + retention
        try rig.sweep(at: now)
        #expect(try rig.page("bob").calls.map(\.id) == [5, 4, 0].map { callID($0) })
        #expect(try rig.reader.call(callID(3)) == nil)
        #expect(try rig.reader.call(callID(4)) != nil)
        #expect(try rig.reader.missedCount(of: UserID("bob")) == 2)
        #expect(try rig.reader.pushOutcomes(of: callID(3)).isEmpty)
        #expect(try rig.reader.pushOutcomes(of: callID(4)).count == 1)
        #expect(try rig.reader.call(live.id) == live, "a live call has no age here")
    }

    @Test func memoryKeepsTheLastEndedCalls() throws {
        let rig = try Rig(.memory)
        var limits = StoreLimits()
        limits.endedCallsInMemory = 3
        rig.limit(to: limits)
        let live = ringingCall(0)
        try rig.commit(.call(live))
        for later in 1...3 as ClosedRange<Int64> {
            try rig.commit(.call(ended(ringingCall(later), at: start + later)))
        }
        #expect(try rig.reader.call(callID(1)) != nil)
        try rig.commit(.call(ended(ringingCall(4), at: start + 4)))
        #expect(try rig.reader.call(callID(1)) == nil)
        #expect(try rig.page("ann").calls.map(\.id) == [4, 3, 2, 0].map { callID($0) })
        #expect(try rig.page("ann").calls.last == live)
    }

    @Test func memoryForgetsWhoMissedACallThatIsForgotten() {
        var calls = MemoryCalls()
        let bob = UserID("bob")
        for later in 1...2 as ClosedRange<Int64> {
            _ = calls.put(ended(ringingCall(later), at: start + later), endedMax: 9)
            calls.miss(bob, callID(later), at: start + later)
        }
        #expect(calls.sweep(upTo: start + 1, step: 9).count == 1)
        #expect(calls.missedCount(of: bob) == 1)
        #expect(calls.sweep(upTo: start + 2, step: 9).count == 1)
        #expect(calls.missedCount(of: bob) == 0 && calls.missedCalls(of: bob, limit: 9).isEmpty)
    }

    @Test(arguments: Kind.allCases)
    func aChangedLimitCountsFromTheNextSweepOn(kind: Kind) throws {
        let rig = try Rig(kind)
        try rig.commit(.call(ended(ringingCall(1), at: start + 1)))
        try rig.sweep(at: start + 70_000)
        #expect(try rig.reader.call(callID(1)) != nil)
        var limits = StoreLimits()
        limits.retention = 1_000
        rig.limit(to: limits)
        try rig.sweep(at: start + 140_000)
        #expect(try rig.reader.call(callID(1)) == nil)
    }
}
