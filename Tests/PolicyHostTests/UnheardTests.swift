// Two invitations in the same moment: the second is asked about before the core knows of the first.

import CallModel
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct UnheardTests {
    private static let lines = """
        on.invite(function(call)
          if call.extended_raw == "stranger" then return reject "declined" end
          if call.extended_raw == "slow" then sleep "1s" end
          if call.extended_raw == "other" then return forward "carl" end
          if call.callee.calls > 0 then return reject "busy" end
          return accept {}
        end)
        """

    private let rig: Rig

    init() throws { rig = try Rig(Self.lines) }

    /// Asks about a held invitation of bob; `heard`: how many answers the core knew of.
    private func ask(
        _ id: UInt64, _ data: String? = nil, heard: UInt64?, calls: Int = 0, isHeld: Bool = true
    ) -> Answer? {
        let hold = Question.Hold(since: rig.now, until: rig.now + 5, ringsByDefault: true)
        var question = Question(
            id: QuestionID(id), decideBy: rig.now + 2_000,
            subject: .invite(rig.call(data: data, id: id), callee: UserID("bob"), from: 0),
            facts: [
                UserFacts(UserID("ann"), calls: 0, devices: 1),
                UserFacts(UserID("bob"), calls: calls, devices: 1),
            ], hold: isHeld ? hold : nil)
        question.heard = heard
        return rig.host.handle(.asked(question), at: rig.now).answer
    }

    private let accepted = Answer.decided(.accept(wait: 0, extendedData: nil))
    private let busy = Answer.decided(.reject(busy: true, extendedData: nil))
    private let declined = Answer.decided(.reject(busy: false, extendedData: nil))

    @Test func whoWasLetInMakesTheAccountBusyForTheNextOne() {
        #expect(ask(1, heard: 0) == accepted)
        #expect(ask(2, heard: 0) == busy)
        #expect(ask(3, heard: 0) == busy)
    }

    @Test func whatTheCoreHasHeardItCountsItself() {
        #expect(ask(1, heard: 0) == accepted)
        #expect(ask(2, heard: 1) == accepted, "the first call is over, says the core")
        #expect(ask(3, heard: nil) == accepted)
    }

    @Test func aRefusedStrangerMakesNobodyBusy() {
        for id in 1...100 { #expect(ask(UInt64(id), "stranger", heard: 0) == declined) }
        #expect(ask(101, heard: 0) == accepted)
    }

    @Test func aHandlerThatWaitsHoldsNothingBackAndItsCallCounts() {
        #expect(ask(1, "slow", heard: 0) == nil)
        #expect(ask(2, heard: 0) == busy)
        #expect(ask(3, heard: 1) == accepted, "the core counts the first one, if it still lives")
    }

    @Test func whoWasForwardedToCountsAndWhoForwardedDoesNot() {
        #expect(ask(1, "other", heard: 0) == .decided(.forward([UserID("carl")])))
        #expect(ask(2, heard: 0) == accepted)
    }

    @Test func whatIsHeldNoLongerIsCountedByTheCore() {
        #expect(ask(1, heard: 0) == accepted)
        rig.now = rig.now + 5
        #expect(ask(2, heard: 0) == accepted, "the core counted the first one before it asked")
        #expect(ask(3, heard: 0, calls: 1) == busy)
    }
}
