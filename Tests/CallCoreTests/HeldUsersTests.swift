// Who is in held invitations, and who waits behind them.

import Collections
import CallModel
import Testing

@testable import CallCore

@Suite struct HeldUsersTests {
    private let start = Moment(1_800_000_000_000)
    private let names = (0..<6).map { UserID("user\($0)") }

    private func held(_ users: [UserID]) -> HeldInvitation {
        var call = Call(
            id: CallID(high: 1, low: 1), mode: .managed, kind: "audio", ringTime: 60_000,
            deliveryCheck: nil, createdAt: start)
        for (place, user) in users.enumerated() {
            call.participants.append(
                Participant(
                    user: user, role: place == 0 ? .caller : .invitee, state: .joined, at: start))
        }
        let asker = Asker(
            RequestID(1), users[0], plugin: "", .list(ListQuery()))
        return HeldInvitation(asker: asker, call: call, errors: [], standard: .ring)
    }

    /// Adds and removes at random, and looks through all of them for what is right.
    @Test(arguments: 1...10) func theCountsAreThoseOfAllThatAreHeld(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (slab, users) = (Slab<HeldInvitation>(), HeldUsers())
        var places: [Int32] = []
        for step in 0..<400 {
            if step == 50 { users.keep(slab) }
            if places.isEmpty || Bool.random(using: &random) {
                let count = Int.random(in: 2...4, using: &random)
                let one = held(Array(names.shuffled(using: &random).prefix(count)))
                if users.isKept { users.add(one.call) }
                places.append(slab.insert(one))
            } else {
                let place = places.remove(at: Int.random(in: 0..<places.count, using: &random))
                if let one = slab.remove(at: place), users.isKept { users.remove(one.call) }
            }
            guard users.isKept else { continue }
            let calls = slab.values.map(\.call)
            for user in names {
                let isMember = calls.contains { $0.index(of: user) != nil }
                #expect(users.contains(.member(user)) == isMember)
                #expect(users.contains(.caller(user)) == calls.contains { $0.caller == user })
                let isCalled = calls.contains {
                    $0.caller == names[0] && $0.index(of: user) ?? 0 > 0
                }
                #expect(users.contains(.pair(caller: names[0], callee: user)) == isCalled)
            }
        }
    }

    /// What a burst of held invitations took is given back, and late answers find nothing there.
    @Test func aBurstLeavesNothingBehind() {
        var settings = Settings()
        settings.answerFor = Accounts(["support"])
        var board = Switchboard(settings: settings, seed: 1, at: start)
        for number in 1...200 {
            let request = Request(
                id: RequestID(UInt64(number)), user: UserID("u\(number)"),
                device: DeviceID("phone"),
                operation: .invite(Invitation(invitees: [UserID("support")])))
            _ = board.handle(.request(request), at: start)
        }
        #expect(board.held.placeCount == 200)
        let questions = board.unanswered
        _ = board.handle(.deadlineReached, at: start + settings.heldWithin)
        #expect(board.held.placeCount == 0 && !board.heldUsers.isKept)
        for question in questions {
            _ = board.handle(
                .answered(question, .invite(.ring(for: nil), by: "plugin", next: 1)),
                at: start + 6)
        }
        #expect(board.liveCallCount == 200)
    }
}
