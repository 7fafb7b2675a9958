// A call into which people come and go for its whole life has had only so many.

import CallModel
import Testing

@testable import CallCore

@Suite struct CrowdTests {
    private let ann = UserID("ann")
    private let bob = UserID("bob")
    private let start = Moment(1_800_000_000_000)
    private var board: Switchboard

    init() {
        board = Switchboard(settings: Settings(), seed: 1, at: start)
    }

    private mutating func ask(_ user: UserID, _ operation: CallModel.Operation) -> Reply? {
        let request = Request(
            id: RequestID(1), user: user, device: DeviceID("phone"), operation: operation)
        for effect in board.handle(.request(request), at: start) {
            if case .reply(_, let reply) = effect { return reply }
        }
        return nil
    }

    private var found: Call? { board.liveCalls.first }

    /// A call that Bob has accepted, and that all places are taken of but `room`.
    private mutating func crowd(but room: Int) throws -> CallID {
        _ = ask(ann, .invite(Invitation(invitees: [bob])))
        let id = try #require(found).id
        _ = ask(bob, .call(id, .accept()))
        for number in 0..<Settings.participantsMax - 2 - room {
            let user = UserID("u\(number)")
            _ = ask(ann, .call(id, .add([user])))
            _ = ask(ann, .call(id, .cancel([user])))
        }
        #expect(found?.participants.count == Settings.participantsMax - room)
        return id
    }

    @Test mutating func theLastPlaceIsGivenOnce() throws {
        let id = try crowd(but: 1)
        let new = [UserID("new"), UserID("newer")]
        guard case .callWithErrors(_, _, let errors) = ask(ann, .call(id, .add(new))) else {
            Issue.record("nobody was added")
            return
        }
        #expect(errors == [InviteeError(new[1], .tooMany)])
        #expect(ask(ann, .call(id, .add([UserID("newest")])))?.refusalCode == .tooMany)
        #expect(found?.participants.count == Settings.participantsMax)
    }

    @Test mutating func whoWasThereBeforeMayComeAgain() throws {
        let id = try crowd(but: 0)
        #expect(ask(UserID("stranger"), .call(id, .join()))?.refusalCode == .tooMany)
        #expect(ask(UserID("u0"), .call(id, .join()))?.refusalCode == nil)
        #expect(ask(ann, .call(id, .add([UserID("u1")])))?.refusalCode == nil)
        #expect(found?.participant(UserID("u0"))?.state == .joined)
        #expect(found?.participant(UserID("u1"))?.state == .inviting)
        #expect(ask(ann, .call(id, .transfer(to: UserID("stranger"))))?.refusalCode != nil)
        #expect(found?.participants.count == Settings.participantsMax)
    }
}
