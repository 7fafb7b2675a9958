// Who comes back to very many calls: what one turn does for them, and what they are shown.

import CallModel
import Testing

@testable import CallCore

@Suite struct ReturningTests {
    private let bob = UserID("bob")
    private let phone = DeviceID("phone")
    private let start = Moment(1_800_000_000_000)
    private var board: Switchboard

    init() {
        board = Switchboard(settings: Settings(), seed: 1, at: start)
    }

    /// Calls of `caller` to Bob that ring for long.
    private mutating func call(_ count: Int, by caller: String, _ mode: ModeRow = .advanced) {
        for _ in 0..<count {
            var invitation = Invitation(invitees: [bob])
            invitation.mode = mode
            invitation.timeout = 600_000
            _ = board.handle(
                .request(
                    Request(
                        id: RequestID(1), user: UserID(caller), device: phone,
                        operation: .invite(invitation))), at: start)
        }
    }

    private mutating func hello(at moment: Moment) -> [Effect] {
        board.handle(.deviceConnected(RequestID(2), bob, phone, resumed: false), at: moment)
    }

    /// Returns the records that are to be stored.
    private mutating func goodbye(at moment: Moment) -> Int {
        board.handle(.deviceGone(bob, phone, bye: true), at: moment).stored
    }

    private mutating func accept(_ id: CallID) {
        _ = board.handle(
            .request(
                Request(
                    id: RequestID(4), user: bob, device: phone, operation: .call(id, .accept()))),
            at: start)
    }

    /// Lets the deadlines come; returns how many records each of these turns stores.
    private mutating func run(until end: Moment) -> [Int] {
        var stored: [Int] = []
        while let next = board.nextDeadline, next < end {
            stored.append(board.handle(.deadlineReached, at: next).stored)
        }
        return stored
    }

    /// In how many calls it is known that Bob was connected.
    private var known: Int {
        board.liveCalls.count { $0.participant(bob)?.wasConnected == true }
    }

    @Test mutating func oneTurnNotesAFewCallsAndTheOthersTheRest() {
        call(1_000, by: "mallory")
        let effects = hello(at: start)
        #expect(effects.stored == Switchboard.notedAtOnce)
        var turns = 0
        while let next = board.nextDeadline, next < start + 1_000 {
            let effects = board.handle(.deadlineReached, at: next)
            #expect(effects.stored <= Switchboard.notedAtOnce)
            turns += 1
        }
        #expect(known == 1_000)
        #expect((14...40).contains(turns))
    }

    @Test mutating func aFewCallsAreNotedAtOnce() {
        call(Switchboard.notedAtOnce, by: "mallory")
        _ = hello(at: start)
        #expect(known == Switchboard.notedAtOnce && board.sweeps.isEmpty)
        let again = hello(at: start)
        #expect(again.stored == 0)
    }

    @Test mutating func theCallsThatSomebodyCameIntoLastAreToldWithoutTheOthers() {
        call(100, by: "mallory")
        let calls: [CallID] = board.liveCalls.map(\.id).sorted().reversed()
        #expect(board.callIDs(of: bob, atMost: 3) == Array(calls.prefix(3)))
        #expect(board.callIDs(of: bob) == calls && board.callCount(of: bob) == 100)
        let nobody = UserID("nobody")
        #expect(board.callIDs(of: nobody).isEmpty && board.callCount(of: nobody) == 0)
    }

    @Test mutating func whoComesAgainGoesOnWhereHeWas() {
        call(200, by: "mallory")
        for later in 0..<4 as Range<Milliseconds> { _ = hello(at: start + later) }
        #expect(known == 200)
        _ = run(until: start + 100)
        #expect(board.sweeps.isEmpty)
    }

    @Test mutating func whoGoesAtOnceWasThereAllTheSame() {
        call(500, by: "mallory")
        _ = hello(at: start)
        _ = goodbye(at: start)
        let turns = run(until: start + 1_000)
        #expect(turns.allSatisfy { $0 <= Switchboard.notedAtOnce })
        #expect(known == 500 && board.sweeps.isEmpty)
        #expect(board.liveCallCount == 500)
    }

    @Test mutating func whoIsLostInVeryManyCallsIsLostInAFewAtOnce() {
        for number in 0..<300 { call(1, by: "caller-\(number)", .group) }
        _ = hello(at: start)
        _ = run(until: start + 100)
        for call in board.liveCalls { accept(call.id) }
        #expect(goodbye(at: start + 100) == Switchboard.notedAtOnce)
        let turns = run(until: start + 1_000)
        #expect(turns.reduce(0, +) == 300 - Switchboard.notedAtOnce)
        #expect(turns.allSatisfy { $0 <= Switchboard.notedAtOnce })
        // A minute later it has left all of them.
        _ = run(until: start + 62_000)
        #expect(board.liveCalls.allSatisfy { $0.participant(bob)?.state == .left })
    }

    @Test mutating func whoComesBackInTheMiddleIsNotLostInTheRest() {
        for number in 0..<300 { call(1, by: "caller-\(number)", .group) }
        _ = hello(at: start)
        for call in board.liveCalls { accept(call.id) }
        _ = goodbye(at: start)
        _ = hello(at: start + 1)
        _ = run(until: start + 200_000)
        #expect(board.liveCalls.count { $0.participant(bob)?.state == .joined } == 300)
    }

    @Test mutating func whoIsBackInVeryManyCallsIsNotThrownOutBeforeHisTurn() {
        call(5_000, by: "mallory")
        call(1, by: "alice", .group)
        _ = hello(at: start)
        let last = board.liveCalls.map(\.id).max() ?? CallID(high: 0, low: 0)
        accept(last)
        _ = run(until: start + 1_000)
        _ = goodbye(at: start + 1_000)
        _ = run(until: start + 60_990)
        // The deadline of its absence comes while others of its calls are looked at.
        _ = hello(at: start + 60_999)
        #expect(board.sweeps.count == 1)
        _ = board.handle(.deadlineReached, at: start + 61_100)
        #expect(board.call(last)?.participant(bob)?.state == .joined)
    }

    @Test mutating func whoIsInMoreCallsThanAreCountedIsBusyInAll() throws {
        call(65, by: "mallory")
        _ = hello(at: start)
        let calls = board.liveCalls.map(\.id).sorted()
        for id in calls { accept(id) }
        #expect(board.facts(of: bob).calls == 65)
        _ = goodbye(at: start)
        _ = run(until: start + 100)
        #expect(board.facts(of: bob).calls == 65 && board.busyCall(of: bob) != nil)
        _ = board.handle(
            .request(
                Request(
                    id: RequestID(3), user: UserID("mallory"), device: phone,
                    operation: .call(calls[0], .end()))), at: start + 100)
        #expect(board.facts(of: bob).calls == 0 && board.busyCall(of: bob) == nil)
    }

    @Test mutating func callsThatEndMeanwhileAreLeftOut() {
        call(300, by: "mallory")
        _ = hello(at: start)
        for call in board.liveCalls {
            _ = board.handle(
                .request(
                    Request(
                        id: RequestID(3), user: call.caller, device: phone,
                        operation: .call(call.id, .cancel()))), at: start)
        }
        while let next = board.nextDeadline, next < start + 1_000 {
            let effects = board.handle(.deadlineReached, at: next)
            #expect(effects.stored == 0)
        }
        #expect(board.sweeps.isEmpty)
    }

    /// The choice against its plainest wording: the newest of each caller first, in turn.
    @Test(arguments: [
        [0, 0, 0], [5, 0, 0], [30, 1, 0], [300, 2, 20], [40, 40, 40], [7, 3, 11], [100, 1, 1],
    ])
    mutating func eachCallersCallsAreShownInTurn(_ counts: [Int]) {
        for (caller, count) in zip(["mallory", "alice", "carol"], counts) {
            call(count, by: caller)
        }
        let calls = board.liveCalls.sorted { $0.id > $1.id }
        var made: [UserID: Int] = [:]
        let turns = calls.map { call in
            defer { made[call.caller, default: 0] += 1 }
            return made[call.caller] ?? 0
        }
        for most in [1, 2, 10, 100] {
            let first = calls.indices.sorted { (turns[$0], $0) < (turns[$1], $1) }.prefix(most)
            board.settings.welcomeCallsMax = most
            let effects = hello(at: start)
            #expect(effects.shown == first.sorted().map { calls[$0].id })
        }
    }
}

extension [Effect] {
    /// Records that are to be stored.
    fileprivate var stored: Int {
        reduce(0) { if case .persist(let records) = $1 { $0 + records.count } else { $0 } }
    }

    /// The calls of a welcome.
    fileprivate var shown: [CallID] {
        for effect in self {
            if case .welcome(_, let calls, _) = effect { return calls.map(\.id) }
        }
        return []
    }
}
