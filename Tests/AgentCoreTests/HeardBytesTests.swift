// How much each user says: who says too much, and until when that counts.

import AgentCore
import CallModel
import Testing

/// How much of one user is read, and for how long what was too much counts.
@Suite struct HeardBytesTests {
    private let bob = UserID("bob")
    private let alice = UserID("alice")

    @Test func eachUserHasItsOwnShare() {
        var heard = HeardBytes()
        let said = [(100, bob), (1, bob), (100, alice)]
        let isOver = said.map { heard.note($0.0, of: $0.1, share: 100) }
        #expect(isOver == [false, true, false])
        #expect(heard.isOver(bob, share: 100) && !heard.isOver(alice, share: 100))
    }

    @Test func whatWasTooMuchCountsUntilItIsPaid() {
        var heard = HeardBytes()
        _ = heard.note(350, of: bob, share: 100)
        for left in [250, 150, 50] {
            heard.endWhile(share: 100)
            #expect(heard.isOver(bob, share: left - 1) && !heard.isOver(bob, share: left))
        }
        heard.endWhile(share: 100)
        #expect(heard.isEmpty)
    }

    @Test func aShareThatAReloadRaisesCountsAtOnce() {
        var heard = HeardBytes()
        _ = heard.note(350, of: bob, share: 100)
        #expect(!heard.isOver(bob, share: 400))
        heard.endWhile(share: 400)
        #expect(heard.isEmpty)
    }
}
