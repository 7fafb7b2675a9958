// What one turn does of what very many calls have at once: deadlines, a user who goes on with one
// of them, users who are lost together.

import CallModel
import Testing

@testable import CallCore

@Suite struct BoundedTurnTests {
    private let bob = UserID("bob")
    private let phone = DeviceID("phone")
    private let start = Moment(1_800_000_000_000)
    private var board = Switchboard(
        settings: Settings(), seed: 1, at: Moment(1_800_000_000_000))

    private mutating func ask(
        _ user: UserID, _ operation: CallModel.Operation, at moment: Moment
    ) -> [Effect] {
        board.handle(
            .request(Request(id: RequestID(1), user: user, device: phone, operation: operation)),
            at: moment)
    }

    /// A call that rings for ten minutes; returns its id.
    @discardableResult
    private mutating func call(
        _ caller: UserID, _ invitees: [UserID], _ mode: ModeRow, at moment: Moment? = nil
    ) throws -> CallID {
        var invitation = Invitation(invitees: invitees)
        (invitation.mode, invitation.timeout) = (mode, 600_000)
        let effects = ask(caller, .invite(invitation), at: moment ?? start)
        return try #require(effects.newCall)
    }

    private mutating func accept(
        _ id: CallID, holding: Bool = false, at moment: Moment
    ) -> [Effect] {
        var acceptance = Acceptance()
        acceptance.holdActive = holding
        return ask(bob, .call(id, .accept(acceptance)), at: moment)
    }

    /// Lets the deadlines come; returns how many records each of these turns stores.
    private mutating func run(until end: Moment) -> [Int] {
        var stored: [Int] = []
        while let next = board.nextDeadline, next < end {
            stored.append(board.handle(.deadlineReached, at: next).stored)
        }
        return stored
    }

    // MARK: Deadlines

    @Test mutating func ofVeryManyDeadlinesATurnFiresSome() throws {
        for _ in 0..<1_000 { try call(UserID("mallory"), [bob], .common) }
        let end = start + 600_000
        var turns: [Int] = []
        while board.liveCallCount > 0 {
            // What others do meanwhile makes a turn no longer.
            var stored = board.handle(.deadlineReached, at: end).stored
            for _ in 0..<5 {
                stored += board.handle(.deviceGone(bob, phone, bye: true), at: end).stored
            }
            turns.append(stored)
            try #require(turns.count < 100)
        }
        #expect(turns.reduce(0, +) == 1_000)
        #expect(turns.allSatisfy { $0 <= Switchboard.firedAtOnce })
    }

    @Test mutating func whoAnswersTooLateIsTooLateThoughItsDeadlineWaits() throws {
        var last = CallID(high: 0, low: 0)
        for _ in 0..<1_000 { last = try call(UserID("mallory"), [bob], .common) }
        _ = board.handle(.deadlineReached, at: start + 600_000)
        #expect(board.call(last)?.isLive == true)
        let effects = accept(last, at: start + 600_000)
        #expect(effects.refusal == .expired)
        #expect(board.call(last)?.isLive == false)
        _ = run(until: start + 600_001)
        #expect(board.liveCallCount == 0)
    }

    @Test mutating func aMillisecondLaterTheOthersHaveTheirTurnWhateverComesIn() throws {
        for _ in 0..<300 { try call(UserID("mallory"), [bob], .common) }
        for later in 0..<20 {
            _ = ask(UserID("alice"), .list(ListQuery()), at: start + 600_000 + Int64(later))
        }
        #expect(board.liveCallCount == 0)
    }

    // MARK: Going on with one call

    @Test mutating func whoGoesOnWithOneOfVeryManyCallsEndsTheOthersAFewAtATime() throws {
        for number in 0..<300 { try call(bob, [UserID("\(number)")], .direct) }
        let chosen = try call(UserID("alice"), [bob], .direct)
        let stored = accept(chosen, at: start).stored
        #expect(stored > 1 && stored <= Switchboard.notedAtOnce + 1)
        let turns = run(until: start + 1_000)
        #expect(turns.allSatisfy { $0 <= Switchboard.notedAtOnce })
        #expect(board.liveCalls.map(\.id) == [chosen])
    }

    @Test mutating func whoGoesOnWithAnotherOneMeanwhileKeepsThatToo() throws {
        let kept = try call(UserID("carol"), [bob], .direct)
        for number in 0..<300 { try call(bob, [UserID("\(number)")], .direct) }
        let next = try call(UserID("dave"), [bob], .direct)
        let first = try call(UserID("alice"), [bob], .direct)
        _ = accept(first, at: start)
        _ = accept(next, holding: true, at: start + 1)
        _ = run(until: start + 1_000)
        #expect(Set(board.liveCalls.map(\.id)) == [kept, first, next])
        #expect(board.call(first)?.participant(bob)?.held == true)
        #expect(board.call(next)?.participant(bob)?.held == false)
        #expect(board.call(kept)?.participant(bob)?.state == .inviting)
    }

    @Test mutating func whoTakesOneOfVeryManyCallsOffHoldEndsTheOthersAFewAtATime() throws {
        let first = try call(UserID("alice"), [bob], .direct)
        _ = accept(first, at: start)
        _ = ask(bob, .call(first, .hold(on: true, force: false)), at: start)
        for number in 0..<300 { try call(bob, [UserID("\(number)")], .direct) }
        let asked = ask(bob, .call(first, .hold(on: false, force: false)), at: start)
        #expect(asked.refusal == .wrongState)
        let forced = ask(bob, .call(first, .hold(on: false, force: true)), at: start).stored
        #expect(forced > 1 && forced <= Switchboard.notedAtOnce + 1)
        _ = run(until: start + 1_000)
        #expect(board.liveCalls.map(\.id) == [first])
    }

    @Test mutating func whoChoosesOverAndOverAddsNoWork() throws {
        let first = try call(UserID("alice"), [bob], .direct)
        _ = accept(first, at: start)
        for number in 0..<1_000 { try call(bob, [UserID("\(number)")], .direct) }
        var looks = 0
        for _ in 0..<50 {
            _ = ask(bob, .call(first, .hold(on: true, force: false)), at: start)
            _ = ask(bob, .call(first, .hold(on: false, force: true)), at: start)
            looks = max(looks, board.sweeps.reduce(0) { $0 + $1.calls.count })
        }
        #expect(looks > 0 && looks <= 1_001)
    }

    /// What is done later comes out as if each choice had been carried out at once.
    @Test(arguments: UInt64(1)...30)
    mutating func choicesThatFollowEachOtherEndAsIfEachWasAtOnce(_ seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        // The calls that are left, and whether bob holds them.
        var held: [CallID: Bool] = [:]
        for number in 0..<300 {
            held[try callThatIsAccepted(by: UserID("\(number)"))] = false
        }
        for step in 0..<40 {
            let someone = UserID("caller-\(step)")
            switch Int.random(in: 0..<20, using: &dice) {
            case 0..<8:
                let chosen = try call(someone, [bob], .direct)
                #expect(accept(chosen, holding: true, at: start).refusal == nil)
                held = held.mapValues { _ in true }
                held[chosen] = false
            case 8:
                let chosen = try call(someone, [bob], .direct)
                #expect(accept(chosen, at: start).refusal == nil)
                held = [chosen: false]
            default:
                let ids = held.keys.filter { held[$0] == true }.sorted { $0 < $1 }
                guard let chosen = ids.randomElement(using: &dice) else { continue }
                let hold = CallAction.hold(on: false, force: true)
                guard ask(bob, .call(chosen, hold), at: start).refusal == nil else { continue }
                held = held.filter { $0.value }
                held[chosen] = false
            }
            try #require(board.sweeps.count <= 3)
        }
        _ = run(until: start + 1_000)
        let left = board.liveCalls.map { ($0.id, $0.participant(bob)?.held ?? false) }
        let wrong = Dictionary(left) { $1 }.filter { held[$0.key] != $0.value }
        #expect(wrong.isEmpty)
        #expect(left.count == held.count)
    }

    /// A call of bob's in which both have joined.
    private mutating func callThatIsAccepted(by callee: UserID) throws -> CallID {
        let id = try call(bob, [callee], .direct)
        try #require(ask(callee, .call(id, .accept()), at: start).refusal == nil)
        return id
    }

    @Test mutating func manyCallsOfOneUserKeepNobodyElseWaiting() throws {
        let first = try call(UserID("alice"), [bob], .direct)
        _ = accept(first, at: start)
        _ = ask(bob, .call(first, .hold(on: true, force: false)), at: start)
        for number in 0..<3_000 { try call(bob, [UserID("\(number)")], .direct) }
        let carol = UserID("carol")
        for number in 0..<20 {
            let id = try call(UserID("c\(number)"), [carol], .group)
            _ = ask(carol, .call(id, .accept()), at: start)
        }
        _ = board.handle(.deviceConnected(RequestID(2), carol, phone, resumed: false), at: start)
        _ = ask(bob, .call(first, .hold(on: false, force: true)), at: start)
        _ = board.handle(.deviceGone(carol, phone, bye: true), at: start)
        _ = run(until: start + 5)
        #expect(board.sweeps.contains { $0.user == bob })
        #expect(!board.sweeps.contains { $0.user == carol })
    }

    // MARK: Many users at once

    @Test mutating func usersWhoAreLostTogetherShareATurn() throws {
        let users = (0..<40).map { UserID("u\($0)") }
        for user in users {
            _ = board.handle(.deviceConnected(RequestID(2), user, phone, resumed: false), at: start)
        }
        for number in 0..<50 {
            let id = try call(UserID("caller-\(number)"), users, .group)
            for user in users { _ = ask(user, .call(id, .accept()), at: start) }
        }
        _ = run(until: start + 100)
        var stored = 0
        for user in users {
            stored += board.handle(.deviceGone(user, phone, bye: true), at: start + 100).stored
        }
        #expect(stored <= Switchboard.notedAtOnce + 4 * users.count)
        _ = run(until: start + 1_000)
        #expect(board.sweeps.isEmpty)
        #expect(
            board.liveCalls.allSatisfy { call in
                users.allSatisfy { call.participant($0)?.deliveryAlarm != nil }
            })
    }

    // MARK: What is asked at once

    @Test mutating func ofVeryManyCallsThoseAreLookedAtThatAUserCameIntoLast() throws {
        let managed = try call(UserID("dave"), [bob], .managed)
        let joined = try call(UserID("alice"), [bob], .advanced)
        _ = accept(joined, at: start)
        #expect(accept(managed, at: start).refusal == .busy)
        for _ in 0..<Switchboard.looksAtOnce { try call(UserID("mallory"), [bob], .advanced) }
        #expect(accept(managed, at: start).refusal == nil)
    }

    @Test mutating func aCallerInVeryManyCallsIsBusyForTheLastOfThem() throws {
        let first = try call(bob, [UserID("alice")], .ringing)
        for _ in 0..<Switchboard.looksAtOnce { try call(UserID("mallory"), [bob], .advanced) }
        try call(bob, [UserID("carol")], .ringing)
        #expect(board.call(first)?.isLive == true)
        var invitation = Invitation(invitees: [UserID("dave")])
        invitation.mode = .ringing
        #expect(ask(bob, .invite(invitation), at: start).refusal == .busy)
    }
}

extension [Effect] {
    /// Records that are to be stored.
    fileprivate var stored: Int {
        reduce(0) { if case .persist(let records) = $1 { $0 + records.count } else { $0 } }
    }

    /// Why the request was refused.
    fileprivate var refusal: Refusal.Code? {
        for effect in self {
            if case .reply(_, .refused(let refusal)) = effect { return refusal.code }
        }
        return nil
    }

    /// The call that was made.
    fileprivate var newCall: CallID? {
        for effect in self {
            guard case .persist(let records) = effect, case .call(let call)? = records.first
            else { continue }
            return call.id
        }
        return nil
    }
}
