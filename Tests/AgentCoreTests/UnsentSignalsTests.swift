// What a client was not sent yet, by senders.

import AgentCore
import CallModel
import Testing

@Suite struct UnsentSignalsTests {
    @Test func whatIsSentCountsNoMore() {
        let (alice, mallory) = (UserID("alice"), UserID("mallory"))
        let unsent = UnsentSignals()
        unsent.note(from: mallory, bytes: 100, end: 150)
        unsent.note(from: alice, bytes: 10, end: 200)
        unsent.note(from: mallory, bytes: 30, end: 280)
        #expect(unsent.all == .init(count: 3, bytes: 140))
        unsent.sent(149)
        #expect(unsent.share(of: mallory) == .init(count: 2, bytes: 130))
        unsent.sent(150)
        #expect(unsent.share(of: mallory) == .init(count: 1, bytes: 30))
        #expect(unsent.share(of: alice) == .init(count: 1, bytes: 10))
        unsent.sent(280)
        #expect(unsent.all == .init())
    }
}
