// After a start live calls come in pages, and whoever asks has theirs first.

import AgentCore
import CallCore
import CallModel
import CallWire
import EventLoop
import StoreContract
import Testing

@testable import AgentServer

@Suite struct LoadingTests {
    private static let start = Moment(Clock.wallMilliseconds())

    /// A call of `caller` with `callee` who both joined it.
    private static func joined(_ number: UInt64, _ caller: String, _ callee: String) -> Call {
        var call = Call(
            id: CallID(high: number, low: 1), mode: .managed, kind: "audio", ringTime: 60_000,
            deliveryCheck: nil, createdAt: start)
        for (place, user) in [caller, callee].enumerated() {
            var one = Participant(
                user: UserID(user), role: place == 0 ? .caller : .invitee, state: .joined,
                at: start)
            (one.device, one.wasConnected) = (DeviceID("phone"), true)
            one.invitedBy = place == 0 ? nil : UserID(caller)
            call.participants.append(one)
        }
        call.state = .active
        call.revision = 2
        return call
    }

    /// A start of a store with live calls: of alice and bob, of eve and bob, and many others.
    private final class Start {
        let rig: ExchangeRig
        let calls: [Call]

        init(_ adjust: (inout ServerLimits) -> Void = { $0.liveCallsPage = 3 }) throws {
            calls =
                [joined(7, "alice", "bob"), joined(8, "eve", "bob")]
                + (9..<20).map { joined($0, "x\($0)", "y\($0)") }
            var state = StoredState()
            state.core.lastCall = calls.last?.id
            rig = try ExchangeRig(restored: state, adjust)
            rig.exchange.restore(state)
        }

        /// What the store answers to `query`.
        private func found(_ query: LiveCallQuery) -> LiveCalls {
            let isOfAll = query.users.isEmpty && query.calls.isEmpty
            let all = calls.filter { call in
                let isWanted =
                    isOfAll || query.calls.contains(call.id)
                    || query.users.contains { call.participant($0) != nil }
                return isWanted && query.covers(call.id)
            }
            var found = LiveCalls()
            found.calls = Array(all.prefix(query.limit))
            if all.count > query.limit { found.lookedUpTo = found.calls.last?.id }
            return found
        }

        /// The queries for pages, or those about users, that the store has not answered.
        func queries(ofUsers: Bool) -> [LiveCallQuery] {
            rig.store.open.compactMap { query in
                guard case .liveCalls(let query) = query else { return nil }
                let isOfAll = query.users.isEmpty && query.calls.isEmpty
                return isOfAll != ofUsers ? query : nil
            }
        }

        /// The store answers one of them.
        func answer(ofUsers: Bool) throws {
            let query = try #require(queries(ofUsers: ofUsers).first)
            rig.exchange.receive(
                rig.store.answer(.liveCalls(query), .liveCalls(found(query), damage: [])))
        }

        /// The store answers everything that is asked.
        func answerAll() throws {
            while rig.exchange.isLoading {
                let isOfUsers = !queries(ofUsers: true).isEmpty
                if isOfUsers || !queries(ofUsers: false).isEmpty {
                    try answer(ofUsers: isOfUsers)
                } else {
                    rig.turn()
                    rig.commit()
                }
            }
        }
    }

    private func invite(_ user: String) -> CallModel.Operation {
        var invitation = Invitation(invitees: [UserID(user)])
        invitation.mode = .managed
        return .invite(invitation)
    }

    @Test func whoIsInACallIsBusyFromTheFirstAnswer() throws {
        let start = try Start()
        let rig = start.rig
        defer { rig.close() }
        let own = rig.ask(invite("dave"), as: "alice")
        let others = rig.ask(invite("bob"), as: "carol")
        #expect(rig.clients.news() == [])
        try start.answer(ofUsers: true)
        rig.turn()
        if !start.queries(ofUsers: true).isEmpty { try start.answer(ofUsers: true) }
        rig.turn()
        rig.commit()
        guard case .refused(let refusal)? = rig.clients.replies[own] else {
            Issue.record("alice can call although she is in a call")
            return
        }
        #expect(refusal.code == .busy && rig.exchange.isLoading)
        #expect(rig.clients.replies[others] != nil)
        let calls = rig.store.batches.indices.flatMap { rig.store.calls(ofBatch: $0) }
        let call = try #require(calls.last { $0.caller == UserID("carol") })
        #expect(call.participants[1].state == .rejected, "\(call.participants[1].state)")
    }

    @Test func whereUsersCannotBeLookedUpTheyWaitUntilAllIsLoaded() throws {
        let start = try Start()
        let rig = start.rig
        defer { rig.close() }
        let asked = rig.ask(invite("dave"), as: "alice")
        let query = try #require(start.queries(ofUsers: true).first)
        let late = StoreError(.unreachable, path: "database", operation: "reading live calls")
        rig.exchange.receive(rig.store.answer(.liveCalls(query), .failed(late)))
        rig.turn()
        #expect(rig.exchange.isReady, "a slow look-up is no reason to serve nobody")
        #expect(start.queries(ofUsers: true).isEmpty)
        try start.answerAll()
        rig.turn()
        rig.commit()
        guard case .refused(let refusal)? = rig.clients.replies[asked] else {
            Issue.record("alice can call although she is in a call")
            return
        }
        #expect(refusal.code == .busy)
    }

    @Test func aPageThatCannotBeReadIsAFailureOfTheStore() throws {
        let start = try Start()
        let rig = start.rig
        defer { rig.close() }
        let query = try #require(start.queries(ofUsers: false).first)
        let lost = StoreError(.unreachable, path: "database", operation: "reading live calls")
        rig.exchange.receive(rig.store.answer(.liveCalls(query), .failed(lost)))
        #expect(!rig.exchange.isReady)
    }

    @Test func aDeviceThatConnectsWaitsForItsCallsAndOnlyForThose() throws {
        let start = try Start()
        let rig = start.rig
        defer { rig.close() }
        rig.exchange.feed(
            .deviceConnected(RequestID(90), UserID("bob"), DeviceID("phone"), resumed: false))
        #expect(rig.clients.news() == [])
        try start.answer(ofUsers: true)
        rig.turn()
        rig.commit()
        #expect(rig.clients.news().contains("welcome 90"))
        #expect(rig.exchange.switchboard.facts(of: UserID("bob")).calls == 2)
        #expect(rig.exchange.isLoading)
    }

    @Test func whoseTurnItIsKeepsItsOrderAndNobodyWaitsForOthers() throws {
        let start = try Start()
        let rig = start.rig
        defer { rig.close() }
        let first = rig.ask(invite("eve"), as: "alice")
        try start.answer(ofUsers: true)
        // Alice is known now and eve is too; nobody knows zoe.
        let replies = [
            rig.ask(invite("zoe"), as: "alice"), rig.ask(invite("bob"), as: "alice"),
            rig.ask(invite("alice"), as: "eve"),
        ]
        #expect(
            rig.clients.news() == ["reply \(first)", "reply \(replies[2])"],
            "eve does not wait for alice")
        try start.answerAll()
        #expect(rig.clients.news() == ["reply \(replies[0])", "reply \(replies[1])"])
    }

    @Test func aCallThatHasEndedDoesNotComeBackWithAnOldPage() throws {
        let start = try Start()
        let rig = start.rig
        defer { rig.close() }
        rig.ask(.call(start.calls[0].id, .end()), as: "alice")
        while !start.queries(ofUsers: true).isEmpty { try start.answer(ofUsers: true) }
        rig.turn()
        rig.commit()
        #expect(rig.exchange.switchboard.call(start.calls[0].id)?.state == .ended)
        try start.answerAll()
        #expect(rig.exchange.switchboard.call(start.calls[0].id)?.state == .ended)
        #expect(rig.exchange.switchboard.liveCallCount == start.calls.count - 1)
        #expect(!rig.exchange.isLoading)
    }

    @Test func newCallsHaveIdsBehindAllThatAreStillToCome() throws {
        let start = try Start()
        let rig = start.rig
        defer { rig.close() }
        rig.ask(invite("zoe"), as: "yan")
        try start.answer(ofUsers: true)
        rig.turn()
        let made = try #require(rig.store.calls(ofBatch: 0).last)
        #expect(try made.id > #require(start.calls.last).id)
    }

    @Test func aStoreThatFailsWhileCallsAreLoadedIsReadFromTheBeginning() throws {
        let start = try Start()
        let rig = start.rig
        defer { rig.close() }
        var isDone = false
        rig.exchange.whenLoaded(UserID("bob")) { isDone = true }
        rig.fail()
        #expect(isDone && rig.clients.news() == ["drop"])
        var state = StoredState()
        state.core.lastCall = start.calls.last?.id
        rig.exchange.receive(.opened(state))
        try start.answerAll()
        #expect(rig.exchange.switchboard.liveCallCount == start.calls.count)
        #expect(rig.endedCalls.isEmpty)
    }

    @Test func aDamagedRecordCountsOnceWhoeverWasAskedAboutBefore() throws {
        let start = try Start()
        let rig = start.rig
        defer { rig.close() }
        func damage(_ detail: String) -> StoreError {
            StoreError(.damagedRecord, path: "test", operation: "reading a call", detail: detail)
        }
        func answer(ofUsers: Bool, _ damage: [StoreError]) throws {
            let query = try #require(start.queries(ofUsers: ofUsers).first)
            rig.exchange.receive(
                rig.store.answer(.liveCalls(query), .liveCalls(LiveCalls(), damage: damage)))
        }
        rig.ask(invite("zoe"), as: "yan")
        try answer(ofUsers: true, [damage("call 2")])
        #expect(rig.exchange.damagedCalls.text == nil)
        try answer(ofUsers: false, [damage("call 1"), damage("call 2")])
        #expect(
            rig.exchange.damagedCalls.text
                == "2 live calls are left out because their records are damaged: "
                + "call 1, and 1 more")
        rig.fail()
        rig.exchange.receive(.opened(StoredState()))
        #expect(rig.exchange.damagedCalls == DamagedCalls(), "a start reads all of them again")
    }

    /// (G84)
    @Test func whoWaitsForCallsOverAChangeOfWhatIsReadAsksAgain() throws {
        let start = try Start()
        let rig = start.rig
        defer { rig.close() }
        let asked = rig.ask(invite("bob"))
        var limits = ServerLimits()
        limits.wire.extendedDataBytes = 100
        rig.exchange.configure(Settings(), limits)
        guard case .refused(let refusal)? = rig.clients.replies[asked] else {
            Issue.record("it was not refused")
            return
        }
        #expect(refusal.code == .unavailable)
        try start.answerAll()
        rig.turn()
        #expect(rig.store.batches.isEmpty)
    }

    @Test func aDeadlineThatPassedMeanwhileFiresWithItsPage() throws {
        var ringing = Self.joined(5, "alice", "bob")
        ringing.state = .ringing
        ringing.participants[1].state = .inviting
        ringing.participants[1].deadlineAt = Self.start + -5_000
        var state = StoredState()
        state.core.lastCall = ringing.id
        let rig = try ExchangeRig(restored: state)
        defer { rig.close() }
        rig.exchange.restore(state)
        var found = LiveCalls()
        found.calls = [ringing]
        let query = try #require(rig.store.open.first)
        rig.exchange.receive(rig.store.answer(query, .liveCalls(found, damage: [])))
        rig.turn()
        #expect(rig.store.calls(ofBatch: 0).last?.participants[1].state != .inviting)
    }
}
