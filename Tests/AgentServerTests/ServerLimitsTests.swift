// The limits of the transport are those of the operator's file.

import CallWire
import PolicyHost
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
}
