// Who leaves a call and comes back: when they came first is still known.

import CallModel
import Testing

@testable import CallCore

@Suite struct ComingBackTests {
    private let ann = UserID("ann")
    private let bob = UserID("bob")
    private let phone = DeviceID("phone")
    private let start = Moment(1_800_000_000_000)
    private var board: Switchboard

    init() {
        board = Switchboard(settings: Settings(), seed: 1, at: start)
    }

    @discardableResult
    private mutating func ask(
        _ user: UserID, _ operation: CallModel.Operation, after: Milliseconds
    ) -> [Effect] {
        board.handle(
            .request(
                Request(id: RequestID(1), user: user, device: phone, operation: operation)),
            at: start + after)
    }

    /// A call of Ann to Bob and Carl that Bob has accepted.
    private mutating func call() throws -> CallID {
        var invitation = Invitation(invitees: [bob, UserID("carl")])
        invitation.mode = .advanced
        ask(ann, .invite(invitation), after: 0)
        let id = try #require(board.liveCalls.first { _ in true }).id
        ask(bob, .call(id, .accept()), after: 10)
        return id
    }

    private var found: Call? { board.liveCalls.first { _ in true } }

    @Test mutating func joiningAgain() throws {
        let id = try call()
        ask(bob, .call(id, .leave()), after: 20)
        #expect(found?.returns.isEmpty == true)
        for moment in [Milliseconds(30), 50] {
            ask(bob, .call(id, .join()), after: moment)
            let call = try #require(found)
            #expect(call.participant(bob)?.state == .joined)
            #expect(call.participant(bob)?.invitedAt == start + moment)
            #expect(call.returns == [Call.Return(bob, firstAt: start)])
            ask(bob, .call(id, .leave()), after: moment + 10)
        }
    }

    @Test mutating func beingAddedAgain() throws {
        let id = try call()
        ask(bob, .call(id, .leave()), after: 20)
        ask(ann, .call(id, .add([bob, UserID("dan")])), after: 30)
        let call = try #require(found)
        #expect(call.participant(bob)?.state == .inviting)
        #expect(call.firstCame(bob) == start)
        #expect(call.firstCame(UserID("dan")) == start + 30)
        #expect(call.firstCame(UserID("eve")) == nil)
    }

    /// What is told of the end is told as to somebody who came first then.
    @Test mutating func itIsKnownAfterTheEnd() throws {
        let id = try call()
        ask(bob, .call(id, .leave()), after: 20)
        ask(bob, .call(id, .join()), after: 30)
        let stored = ask(ann, .call(id, .end()), after: 40).compactMap(\.stored).first
        #expect(stored?.state == .ended && stored?.firstCame(bob) == start)
    }
}

extension Effect {
    /// The call that it stores.
    fileprivate var stored: Call? {
        guard case .persist(let records) = self else { return nil }
        for case .call(let call) in records { return call }
        return nil
    }
}
