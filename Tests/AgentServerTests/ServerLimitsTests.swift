// The limits of the transport are those of the operator's file.

import PolicyHost
import Testing

@testable import AgentServer

@Suite struct ServerLimitsTests {
    @Test func anEmptyFileMeansTheDefaults() {
        #expect(ServerLimits(Configuration()) == ServerLimits())
    }
}
