// A link to a node breaks, and with it the connections of all its clients.

import AgentCore
import CallClient
import CallCore
import CallModel
import ClusterCore
import ClusterStorage
import Configuration
import EventLoop
import Testing

@testable import AgentServer

@Suite struct PartingTests {
    private final class Home: LinkHome {
        let node = "a"
        let epoch: UInt32 = 1
        let maySpeak = true

        func isToken(_ shown: [UInt8]) -> Bool { false }
        func note(links: [String]) {}
        func readFingerprints(asked: Int) {}
    }

    @Test func ofTheClientsOfALinkThatBreaksSomePartInEachTurn() throws {
        let rig = try GatewayRig()
        defer { rig.close() }
        var cluster = Configuration.Cluster()
        cluster.link = "127.0.0.1:0"
        let plan = try #require(try LinkPlan(cluster, file: nil))
        let home = Home()
        let links = try OwnerLinks(
            plan, home, rig.gateway, ManagementDesk(), on: rig.waiter.loop,
            log: Log(level: .error, descriptor: -1))
        defer { links.close() }
        let endpoint = try #require(links.endpoint)
        var transport: Connection?
        Connector.connect(to: endpoint, on: rig.waiter.loop) { transport = try? $0.get() }
        try rig.waiter.wait(for: "a link") { transport != nil }
        var writer = LinkWriter(epoch: 1)
        writer.append(.greets(LinkGreeting(space: OwnerLinks.space, node: "b")))
        for number in 1...300 as ClosedRange<UInt32> {
            let hello =
                #"{"id":0,"op":"hello","data":{"token":"dev:u\#(number)","device":"phone"}}"#
            writer.append(.opens(StreamID(number), StreamOpening(host: "", agent: "")))
            writer.append(.says(StreamID(number), Array(hello.utf8)))
        }
        transport?.send(writer.bytes)
        func connected() -> Int {
            rig.exchange.switchboard.users(in: 0..<1_000).count { $0.connected > 0 }
        }
        try rig.waiter.wait(for: "all devices") { connected() == 300 }
        var (before, turns) = (300, [Int]())
        rig.waiter.loop.atEndOfTurn {
            let left = connected()
            if left < before { turns.append(before - left) }
            before = left
        }
        transport?.abort()
        try rig.waiter.wait(for: "the end of all") { connected() == 0 }
        #expect(turns.reduce(0, +) == 300)
        #expect(turns.allSatisfy { $0 <= OwnerLinks.partingsMax })
    }
}
