// How many bytes each user sends: who sends too many, and until when that counts.

import AgentCore
import CallModel
import Testing

/// How much of one user is read, and for how long what was too much counts.
@Suite struct ReceivedBytesTests {
    private let bob = UserID("bob")
    private let alice = UserID("alice")

    @Test func eachUserHasItsOwnShare() {
        var received = ReceivedBytes()
        let sent = [(100, bob), (1, bob), (100, alice)]
        let isOver = sent.map { received.note($0.0, of: $0.1, share: 100) }
        #expect(isOver == [false, true, false])
        #expect(received.isOver(bob, share: 100) && !received.isOver(alice, share: 100))
    }

    @Test func whatWasTooMuchCountsUntilItIsPaid() {
        var received = ReceivedBytes()
        _ = received.note(350, of: bob, share: 100)
        for left in [250, 150, 50] {
            received.endPeriod(share: 100)
            #expect(received.isOver(bob, share: left - 1) && !received.isOver(bob, share: left))
        }
        received.endPeriod(share: 100)
        #expect(received.isEmpty)
    }

    @Test func aShareThatAReloadRaisesCountsAtOnce() {
        var received = ReceivedBytes()
        _ = received.note(350, of: bob, share: 100)
        #expect(!received.isOver(bob, share: 400))
        received.endPeriod(share: 400)
        #expect(received.isEmpty)
    }
}
