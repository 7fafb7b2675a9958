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

    @Test func aStoreThatStaysAwayIsTriedLessOften() {
        let pauses = (0...11).map { ServerLimits().reopenPause(after: $0) }
        #expect(pauses.prefix(3) == [1_000, 1_500, 2_000])
        #expect(pauses.suffix(4) == [5_000, 5_000, 5_000, 5_000])
    }
}
