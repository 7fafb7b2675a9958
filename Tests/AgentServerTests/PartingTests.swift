// A link to a node breaks, and with it the connections of all its clients.

import AgentCore
import CallClient
import CallCore
import CallModel
import ClusterCore
import ClusterStorage
import Configuration
import Testing

@testable import AgentServer
@testable import EventLoop

@Suite struct PartingTests {
    private final class Home: LinkHome {
        let node = "a"
        let epoch: UInt32 = 1
        let maySpeak = true

        func isToken(_ shown: [UInt8]) -> Bool { false }
        func note(links: [String]) {}
        func readFingerprints(asked: Int) {}
    }

    /// An owner's links, and one to them over which 300 clients say hello.
    private func bringClients(
        to rig: GatewayRig, from home: Home
    ) throws -> (links: OwnerLinks, transport: Connection) {
        var cluster = Configuration.Cluster()
        cluster.link = "127.0.0.1:0"
        let plan = try #require(try LinkPlan(cluster, file: nil))
        let links = try OwnerLinks(
            plan, home, rig.gateway, ManagementDesk(), on: rig.waiter.loop,
            log: Log(level: .error, descriptor: -1))
        let endpoint = try #require(links.endpoint)
        var made: Connection?
        Connector.connect(to: endpoint, on: rig.waiter.loop) { made = try? $0.get() }
        try rig.waiter.wait(for: "a link") { made != nil }
        let transport = try #require(made)
        var writer = LinkWriter(epoch: 1)
        writer.append(.greets(LinkGreeting(space: OwnerLinks.space, node: "b")))
        for number in 1...300 as ClosedRange<UInt32> {
            let hello =
                #"{"id":0,"op":"hello","data":{"token":"dev:u\#(number)","device":"phone"}}"#
            writer.append(.opens(StreamID(number), StreamOpening(host: "", agent: "")))
            writer.append(.says(StreamID(number), Array(hello.utf8)))
        }
        transport.send(writer.bytes)
        return (links, transport)
    }

    private func connected(_ rig: GatewayRig) -> Int {
        rig.exchange.switchboard.users(in: 0..<1_000).count { $0.connected > 0 }
    }

    @Test func clientsOfANodeThatComeTogetherHaveTurnsThatAreNotLong() throws {
        let rig = try GatewayRig()
        defer { rig.close() }
        // Each look at the stopwatch is half a millisecond after the last one.
        var elapsed: Int64 = 1
        rig.waiter.loop.stopwatch = {
            elapsed += 500_000
            return elapsed
        }
        var (before, turns) = (0, [Int]())
        rig.waiter.loop.atEndOfTurn {
            let now = connected(rig)
            if now > before { turns.append(now - before) }
            before = now
        }
        let home = Home()
        let (links, _) = try bringClients(to: rig, from: home)
        defer { links.close() }
        try rig.waiter.wait(for: "all devices") { connected(rig) == 300 }
        #expect(turns.allSatisfy { $0 <= 3 })
    }

    @Test func ofTheClientsOfALinkThatBreaksSomePartInEachTurn() throws {
        let rig = try GatewayRig()
        defer { rig.close() }
        let home = Home()
        let (links, transport) = try bringClients(to: rig, from: home)
        defer { links.close() }
        try rig.waiter.wait(for: "all devices") { connected(rig) == 300 }
        var (before, turns) = (300, [Int]())
        rig.waiter.loop.atEndOfTurn {
            let left = connected(rig)
            if left < before { turns.append(before - left) }
            before = left
        }
        transport.abort()
        try rig.waiter.wait(for: "the end of all") { connected(rig) == 0 }
        #expect(turns.reduce(0, +) == 300)
        #expect(turns.allSatisfy { $0 <= OwnerLinks.partingsMax })
    }
}
