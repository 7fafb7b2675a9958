// How many users everybody may invite in a minute.

import CallModel
import Testing

@testable import AgentServer

@Suite struct InvitationRatesTests {
    private let ann = UserID("ann")
    private let now = Moment(1_800_000_000_000)

    @Test func `Whom plugins forward to has a place of the minute, or none`() {
        let rates = InvitationRates(perMinute: 5)
        #expect(rates.admitForward(of: ann, at: now), "nothing is counted of a development token")
        #expect(rates.admit(4, of: ann, at: now) == nil)
        let forwards = (0..<3).map { _ in rates.admitForward(of: ann, at: now) }
        #expect(forwards == [true, false, false])
        #expect(rates.admit(1, of: ann, at: now) == 12_000)
        #expect(rates.admitForward(of: ann, at: now + 12_000))
    }

    @Test func `More at once than a minute has places for never pass`() {
        let rates = InvitationRates(perMinute: 1)
        #expect(rates.admit(9, of: ann, at: now) == 60_000)
        #expect(rates.admit(1, of: ann, at: now) == nil, "nothing was counted of those")
        rates.configure(perMinute: 0)
        #expect(rates.admit(99, of: ann, at: now) == nil && rates.admitForward(of: ann, at: now))
    }

    @Test func `Who has invited nobody for a while is forgotten`() {
        let rates = InvitationRates(perMinute: 2)
        for number in 0..<2_000 { _ = rates.admit(1, of: UserID("user-\(number)"), at: now) }
        _ = rates.admit(2, of: ann, at: now + 30_000)
        rates.forget(at: now + 40_000)
        #expect(rates.admit(1, of: ann, at: now + 40_000) == 20_000)
        #expect(rates.admitForward(of: UserID("user-0"), at: now + 40_000))
    }
}
