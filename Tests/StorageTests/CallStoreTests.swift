// Calls, live and ended: one suite for the store on disk and the one in memory.

import CallModel
import StoreContract
import Testing

@Suite struct CallStoreTests {
    @Test(arguments: Kind.allCases)
    func aLiveCallIsFoundAsItWasCommitted(kind: Kind) throws {
        let rig = try Rig(kind)
        var dice = Dice(seed: 1)
        var calls: [Call] = []
        for place in 0..<50 { calls.append(dice.call(id: callID(Int64(place)))) }
        for call in calls { try rig.commit(.call(call)) }
        for call in calls { #expect(try rig.reader.call(call.id) == call) }
        #expect(try rig.reader.call(callID(99)) == nil)
    }

    @Test(arguments: Kind.allCases)
    func restoringGivesLiveCallsOnly(kind: Kind) throws {
        let rig = try Rig(kind)
        let (first, second, third) = (ringingCall(1), ringingCall(2), ringingCall(3))
        try rig.commit(.call(third), .call(first), .call(second))
        try rig.commit(.call(ended(second, at: start + 9)))
        let state = try rig.restored(at: start + 10)
        #expect(state.core.calls == [first, third])
        #expect(try rig.reader.call(second.id) == ended(second, at: start + 9))
    }

    @Test(arguments: Kind.allCases)
    func ofSeveralVersionsInOneBatchTheLastCounts(kind: Kind) throws {
        let rig = try Rig(kind)
        let call = ringingCall(1)
        try rig.commit(.call(call), .call(ended(call, at: start + 1)))
        #expect(try rig.reader.call(call.id)?.state == .ended)
        #expect(try rig.restored(at: start).core.calls.isEmpty)
        #expect(try rig.page("ann").calls.count == 1)
    }

    @Test(arguments: Kind.allCases)
    func anEndedCallMayStillChange(kind: Kind) throws {
        let rig = try Rig(kind)
        var call = ended(ringingCall(1), at: start + 5)
        try rig.commit(.call(call))
        call.items = [Call.Item(key: "k", value: "v")]
        try rig.commit(.call(call))
        #expect(try rig.reader.call(call.id) == call)
        #expect(try rig.page("bob").calls == [call])
    }
}
