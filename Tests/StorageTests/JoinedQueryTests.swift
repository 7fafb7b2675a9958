// What belongs to one decision is asked at once.

import CallModel
import Storage
import StoreContract
import Testing

@Suite struct JoinedQueryTests {
    private let bob = UserID("bob")

    @Test(arguments: Kind.allCases)
    func missedCallsComeAsTheyAreNow(kind: Kind) throws {
        let rig = try Rig(kind)
        let call = ended(ringingCall(1), at: start + 5)
        try rig.commit(.call(call), .missed(bob, call.id, at: start + 5))
        try rig.commit(.missed(bob, callID(2), at: start + 6))
        #expect(
            try rig.reader.missedCalls(of: bob, limit: 9) == [
                MissedCall(callID: callID(2), at: start + 6, call: nil),
                MissedCall(callID: call.id, at: start + 5, call: call),
            ])
    }

    @Test(arguments: Kind.allCases)
    func registrationsComeWithTheCall(kind: Kind) throws {
        let rig = try Rig(kind)
        let push = PushRegistration(provider: "fcm", token: "t")
        let phone = Address(bob, DeviceID("phone"))
        try rig.commit(
            .call(ringingCall(1)), .registration(phone, provider: "fcm", push), at: start)
        for (id, expected) in [(callID(1), ringingCall(1)), (callID(2), nil)] {
            let answer = try rig.reader.answer(.registrations(bob, with: id))
            guard case .registrations(let found, let call) = answer else {
                Issue.record("\(answer)")
                continue
            }
            #expect(found == [Registration(phone, push, at: start)] && call == expected)
        }
    }

    @Test(arguments: Kind.allCases)
    func everyKeyHasItsPlaceInTheAnswer(kind: Kind) throws {
        let rig = try Rig(kind)
        try rig.commit(.value(.set(plugin: "p", key: "b", value: [1], expiresAt: nil)))
        let answer = try rig.reader.answer(
            .values(plugin: "p", keys: ["a", "b", "b"], at: start))
        guard case .values(let values) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(values == [nil, [1], [1]])
    }

    @Test(arguments: Kind.allCases)
    func webhooksAreChosenByReceiverCallAndEvent(kind: Kind) throws {
        let rig = try Rig(kind)
        for id in 1...1_200 as ClosedRange<Int64> {
            let job = WebhookJob(
                JobID(id), endpoint: id % 400 == 0 ? "log" : "crm", call: callID(id % 2),
                type: "call.ended", at: start, body: [])
            try rig.commit(.webhook(.add(job)))
        }
        func ids(_ change: (inout WebhookFilter) -> Void) throws -> [Int64] {
            var filter = WebhookFilter(.open, limit: 2)
            change(&filter)
            return try rig.reader.webhooks(filter).map(\.job.id.value)
        }
        #expect(try ids { $0.endpoint = "log" } == [400, 800], "behind many others")
        #expect(try ids { ($0.endpoint, $0.after) = ("log", JobID(800)) } == [1_200])
        #expect(try ids { $0.call = callID(1) } == [1, 3])
        #expect(try ids { $0.id = JobID(7) } == [7])
        #expect(try ids { ($0.id, $0.endpoint) = (JobID(7), "log") }.isEmpty)
        #expect(try ids { ($0.id, $0.state) = (JobID(7), .failed) }.isEmpty)
    }

    @Test(arguments: Kind.allCases)
    func theGenerationBeforeIsTheLastThatWasNotTakenBack(kind: Kind) throws {
        let rig = try Rig(kind)
        for (later, name) in [(1, "a"), (2, "b"), (3, "c")] as [(Int64, String)] {
            let generation = StoredGeneration(name: name, files: [])
            try rig.commit(.generation(.activate(generation, at: start + later)))
        }
        #expect(try rig.reader.generation(named: nil)?.name == "b")
        try rig.commit(.generation(.rollBack(name: "b", at: start + 4)))
        #expect(try rig.reader.generation(named: nil)?.name == "a")
    }
}
