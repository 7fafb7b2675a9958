// How many users everybody may invite in a minute.

import CallModel
import Testing

@testable import AgentCore

@Suite struct InvitationRatesTests {
    private let ann = UserID("ann")
    private let now = Moment(1_800_000_000_000)

    @Test func whomPluginsForwardToHasAPlaceOfTheMinuteOrNone() {
        var rates = InvitationRates(perMinute: 5)
        let isUncounted = rates.admitForward(of: ann, at: now)
        #expect(isUncounted, "nothing is counted of a development token")
        let wait = rates.admit(4, of: ann, at: now)
        #expect(wait == nil)
        let forwards = (0..<3).map { _ in rates.admitForward(of: ann, at: now) }
        #expect(forwards == [true, false, false])
        let next = rates.admit(1, of: ann, at: now)
        let later = rates.admitForward(of: ann, at: now + 12_000)
        #expect(next == 12_000 && later)
    }

    @Test func moreAtOnceThanAMinuteHasPlacesForNeverPass() {
        var rates = InvitationRates(perMinute: 1)
        let waits = [rates.admit(9, of: ann, at: now), rates.admit(1, of: ann, at: now)]
        #expect(waits == [60_000, nil], "nothing was counted of the nine")
        rates.configure(perMinute: 0)
        let wait = rates.admit(99, of: ann, at: now)
        let mayForward = rates.admitForward(of: ann, at: now)
        #expect(wait == nil && mayForward)
    }

    @Test func whoHasInvitedNobodyForAWhileIsForgotten() {
        var rates = InvitationRates(perMinute: 2)
        for number in 0..<2_000 { _ = rates.admit(1, of: UserID("user-\(number)"), at: now) }
        _ = rates.admit(2, of: ann, at: now + 30_000)
        rates.forget(at: now + 40_000)
        let wait = rates.admit(1, of: ann, at: now + 40_000)
        let isForgotten = rates.admitForward(of: UserID("user-0"), at: now + 40_000)
        #expect(wait == 20_000 && isForgotten)
    }
}
