// The limits of the transport are those of the operator's file.

import AgentCore
import CallWire
import Configuration
import Testing
import WebProtocols

@testable import AgentServer

@Suite struct ServerLimitsTests {
    @Test func anEmptyFileMeansTheDefaults() {
        #expect(ServerLimits(Configuration()) == ServerLimits())
        #expect(ServerLimits().wire == WireLimits())
        #expect(ServerLimits().http == HTTPLimits())
        #expect(ServerLimits().session == SessionLimits())
    }

    @Test(arguments: [(40, 20), (128, 64), (640, 576), (1_000, 900), (20_000, 18_000)])
    func clientsLeaveDescriptorsForTheRest(_ allowed: Int, _ room: Int) {
        #expect(DescriptorLimit.connections(of: allowed) == room)
    }

    @Test(arguments: [64, 500, 576, 577, 999, 100_000])
    func asManyDescriptorsAreAdvisedAsAreNeeded(_ connections: Int) {
        let needed = DescriptorLimit.needed(for: connections)
        #expect(DescriptorLimit.connections(of: needed) >= connections)
        // Of two numbers that allow as many the higher one may be advised.
        #expect(DescriptorLimit.connections(of: needed - 2) < connections)
    }

    @Test func aStoreThatStaysAwayIsTriedLessOften() {
        let pauses = (0...11).map { ServerLimits().reopenPause(after: $0) }
        #expect(pauses.prefix(3) == [1_000, 1_500, 2_000])
        #expect(pauses.suffix(4) == [5_000, 5_000, 5_000, 5_000])
    }
}
