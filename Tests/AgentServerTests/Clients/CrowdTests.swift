// Users who ask for very much at once, while others ask for little.

import AgentCore
import CallClient
import CallCore
import CallModel
import JSON
import Testing

@testable import AgentServer

private final class Waiter: WaitingClient {
    func goesOn() {}
}

@Suite struct CrowdTests {
    private let bob = UserID("bob")
    private let alice = UserID("alice")

    private func crowd(of count: Int, by user: UserID) -> Crowd {
        var crowd = Crowd()
        for _ in 0..<count { crowd.begins(user, isBehind: false) }
        return crowd
    }

    @Test func inACrowdEachUserBeginsOneMore() {
        var crowd = crowd(of: Crowd.requestsMax, by: bob)
        #expect(!crowd.holds(bob, isBehind: false))
        crowd.begins(bob, isBehind: false)
        #expect(crowd.holds(bob, isBehind: false))
        #expect(!crowd.holds(alice, isBehind: false))
        crowd.begins(alice, isBehind: false)
        #expect(crowd.holds(alice, isBehind: false))
    }

    @Test func oneRequestBelowIsNoCrowd() {
        let crowd = crowd(of: Crowd.requestsMax - 1, by: bob)
        #expect(!crowd.holds(bob, isBehind: false))
        // Unless very much waits for the store.
        var behind = crowd
        behind.begins(bob, isBehind: true)
        #expect(behind.holds(bob, isBehind: true))
    }

    @Test func whoHasNoNameIsNeverHeld() {
        var crowd = crowd(of: Crowd.requestsMax + 1, by: bob)
        crowd.begins(nil, isBehind: true)
        #expect(!crowd.holds(nil, isBehind: true))
    }

    @Test func atItsEndEverybodyGoesOn() {
        var crowd = crowd(of: Crowd.requestsMax + 1, by: bob)
        let client = Waiter()
        crowd.waits(client)
        #expect(crowd.end().map(ObjectIdentifier.init) == [ObjectIdentifier(client)])
        #expect(crowd.isEmpty && !crowd.holds(bob, isBehind: false))
    }

    // MARK: At the gateway

    private func invitation(_ id: Int) -> String {
        #"{"id":\#(id),"op":"call.invite","data":{"invitees":["carol"]}}"#
    }

    @Test func whoAsksForMuchWaitsForTheStoreAndOthersDoNot() throws {
        let store = StoreDouble()
        let rig = try GatewayRig(tokens: Strangers(), store: store)
        defer { rig.close() }
        // Else the time of a slow machine would end the crowd.
        rig.gateway.crowdTimer = nil
        let phone = try rig.device("bob", "phone")
        let laptop = try rig.device("bob", "laptop")
        let other = try rig.device("alice")
        for id in 1...60 { phone.say(invitation(id)) }
        func calls() -> Int { rig.exchange.switchboard.liveCallCount }
        try rig.waiter.wait(for: "a crowd") { calls() == Crowd.requestsMax + 1 }
        laptop.say(invitation(1))
        other.say(invitation(1))
        try rig.waiter.wait(for: "somebody else's call") { calls() == Crowd.requestsMax + 2 }
        #expect(store.batches.count == 1)
        rig.exchange.receive(.committed(in: 0))
        try rig.waiter.wait(for: "all calls") { calls() == 62 }
    }

    @Test func aStoreThatHangsKeepsNobodyUnheard() throws {
        let store = StoreDouble()
        let rig = try GatewayRig(tokens: Strangers(), store: store)
        defer { rig.close() }
        let bob = try rig.device("bob")
        for id in 1...40 { bob.say(invitation(id)) }
        try rig.waiter.wait(for: "all calls") { rig.exchange.switchboard.liveCallCount == 40 }
        #expect(store.batches.count == 1)
    }
}
