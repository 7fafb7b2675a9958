// What the store keeps of a canary, and what of it counts for all only with its promotion.

import CallModel
import Configuration
import PolicyHost
import Storage
import StoreContract
import TestSupport
import Testing

@testable import AgentServer

@Suite struct CanaryKeepingTests {
    private let folder = TemporaryFolder()

    private func deployment(_ text: String) throws -> Deployment {
        let path = "\(folder.path)/callagent.lua"
        folder.write(text, to: "callagent.lua")
        return try Deployment(file: path, seed: 1)
    }

    @Test func aStoreGivesItBack() throws {
        let canary = try deployment("answer_for = { \"desk\" }\n")
        let first = try #require(CanaryExtent("10%", salt: "spring"))
        var order = CanaryOrder(first, abortOnFailure: 3, since: Moment(5))
        order.extend(to: try #require(CanaryExtent("ann desk-*", salt: "g")), since: Moment(9))
        let store = MemoryStore()
        #expect(try CanaryInForce.kept(store.makeReader()) == nil)
        let kept = CanaryInForce(deployment: canary, order: order)
        _ = try store.commit([CanaryInForce.record(kept)], at: Moment(10))
        let found = try #require(try CanaryInForce.kept(store.makeReader()))
        #expect(found.name == canary.name && found.order == order)
        _ = try store.commit([CanaryInForce.record(nil)], at: Moment(11))
        #expect(try CanaryInForce.kept(store.makeReader()) == nil)
    }

    @Test func whatWaitsForThePromotionIsSaid() throws {
        let active = try deployment("answer_for = { \"a\" }\n")
        func waiting(_ text: String) throws -> [String] {
            let order = CanaryOrder(try #require(CanaryExtent("a", salt: "")))
            let canary = CanaryInForce(deployment: try deployment(text), order: order)
            return canary.waiting(beside: active)
        }
        #expect(try waiting("answer_for = { \"b\" }\ntimezone = \"Europe/Berlin\"\n").isEmpty)
        let lines = try waiting(
            "invite = { default = \"reject\" }\ngroups = { sales = { \"ann\" } }\n"
                + "devices_per_user = 3\n")
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("invite, groups: ") == true, "\(lines)")
    }

    @Test func theSwitchboardAsksBoth() throws {
        let active = try deployment("answer_for = { \"a\" }\n")
        let other = try deployment("answer_for = { \"b\" }\n")
        var options = try AgentOptions(active)
        let order = CanaryOrder(try #require(CanaryExtent("a b", salt: "")))
        options.add(CanaryInForce(deployment: other, order: order))
        #expect(!options.settings.answers(for: UserID("a")))
        #expect(options.settings.answers(for: UserID("b")))
    }
}
