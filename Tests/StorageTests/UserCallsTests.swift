// The calls of one user stay sorted, whichever come and go.

import CallModel
import Testing

@testable import Storage

@Suite struct UserCallsTests {
    private func all(_ calls: UserCalls) -> [CallID] {
        Array(calls.ids(in: (from: callID(0), below: callID(1_000_000))))
    }

    @Test func newOnesComeAtTheEndAndOldOnesGoFromTheFront() {
        var calls = UserCalls()
        for number in Int64(1)...500 {
            calls.insert(callID(Int64(number)))
            if number % 3 != 0 { calls.remove(callID(number - number / 3)) }
            #expect(all(calls) == all(calls).sorted())
        }
        for id in all(calls) { calls.remove(id) }
        #expect(calls.isEmpty && all(calls).isEmpty)
        calls.insert(callID(7))
        #expect(all(calls) == [callID(7)])
    }

    @Test func othersFindTheirPlaceAndNoneIsThereTwice() {
        var calls = UserCalls()
        for number in [5, 9, 5, 1, 7, 9, 3] { calls.insert(callID(Int64(number))) }
        #expect(all(calls) == [1, 3, 5, 7, 9].map { callID($0) })
        for number in [5, 1, 4, 9] { calls.remove(callID(Int64(number))) }
        #expect(all(calls) == [3, 7].map { callID($0) })
        calls.insert(callID(1))
        #expect(all(calls) == [1, 3, 7].map { callID($0) })
    }

    @Test func aRangeHasItsLowerEndAndNotItsUpper() {
        var calls = UserCalls()
        for number in 1...9 { calls.insert(callID(Int64(number))) }
        let some = calls.ids(in: (from: callID(3), below: callID(6)))
        #expect(Array(some) == [3, 4, 5].map { callID($0) })
        #expect(calls.ids(in: (from: callID(6), below: callID(3))).isEmpty)
    }

    @Test func usersAreFoundAsLongAsTheyHaveCalls() {
        var all = Participations()
        var model: [String: Set<CallID>] = [:]
        var dice = Dice(seed: 5)
        for _ in 0..<4_000 {
            let user = "user-\(dice.number(0...60))"
            let call = callID(Int64(dice.number(1...8)))
            // Now few and now many, so that users come and go.
            if dice.chance(model.count > 30 ? 30 : 60) {
                all.insert(UserID(user), call)
                model[user, default: []].insert(call)
            } else {
                all.remove(UserID(user), call)
                model[user]?.remove(call)
                if model[user]?.isEmpty == true { model[user] = nil }
            }
            #expect(self.all(all[UserID(user)]) == (model[user] ?? []).sorted())
        }
        for number in 0...60 {
            let user = "user-\(number)"
            #expect(self.all(all[UserID(user)]) == (model[user] ?? []).sorted())
        }
    }
}
