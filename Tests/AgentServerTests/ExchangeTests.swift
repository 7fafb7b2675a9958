// What leaves when, what the store gets, and what happens when it fails.

import CallCore
import CallModel
import CallWire
import EventLoop
import Storage
import StoreContract
import Testing

@testable import AgentCore
@testable import AgentServer

@Suite struct ExchangeTests {
    private func invite(_ users: String...) -> CallModel.Operation {
        var invitation = Invitation(invitees: users.map { UserID($0) })
        invitation.mode = .common
        return .invite(invitation)
    }

    // MARK: The barrier

    @Test func replyAndEventsWaitUntilTheirChangeIsDurable() throws {
        let rig = try ExchangeRig()
        defer { rig.close() }
        rig.connect("alice")
        rig.connect("bob")
        let number = rig.ask(invite("bob"))
        rig.turn()
        #expect(rig.clients.news() == [])
        #expect(rig.store.batches.count == 1)
        rig.commit()
        #expect(rig.clients.news() == ["reply \(number)", "incoming bob"])
    }

    @Test func whatIsAskedMeanwhileStandsInLine() throws {
        let rig = try ExchangeRig()
        defer { rig.close() }
        let first = rig.ask(invite("bob"))
        rig.turn()
        let second = rig.ask(invite("carol"))
        let third = rig.ask(.list(ListQuery()))
        rig.turn()
        #expect(rig.store.batches.count == 1, "one batch at a time is with the store")
        #expect(rig.store.queries.isEmpty, "a page shows what was stored before it")
        rig.commit()
        #expect(rig.clients.news() == ["reply \(first)"])
        rig.turn()
        #expect(rig.store.batches.count == 2)
        rig.commit()
        #expect(rig.clients.news() == ["reply \(second)"])
        #expect(rig.store.queries.count == 1)
        rig.exchange.receive(rig.store.news(to: rig.store.queries[0], .page(CallPage())))
        #expect(rig.clients.news() == ["page \(third)"])
    }

    @Test func allChangesOfOneTurnShareABatch() throws {
        let rig = try ExchangeRig()
        defer { rig.close() }
        for _ in 0..<50 { rig.ask(invite("bob")) }
        rig.turn()
        #expect(rig.store.batches.map(\.count) == [50])
        rig.commit()
        #expect(rig.clients.news().count == 50)
    }

    /// Has so many calls made by one batch, and returns the numbers of their requests.
    private func storeCalls(_ count: Int, _ rig: ExchangeRig) -> [UInt64] {
        let numbers = (0..<count).map { _ in rig.ask(invite("bob")) }
        rig.turn()
        return numbers
    }

    @Test func ofVeryManyEffectsBehindOneCommitATurnPerformsSome() throws {
        let rig = try ExchangeRig()
        defer { rig.close() }
        let numbers = storeCalls(2_000, rig)
        var (told, turns) = ([String](), [Int]())
        rig.loop.atEndOfTurn {
            let news = rig.clients.news()
            if !news.isEmpty { turns.append(news.count) }
            told += news
            if told.count == 2_000 { rig.loop.stop() }
        }
        let last = rig.ask(.list(ListQuery()))
        rig.commit()
        #expect(rig.exchange.hasOpenCommits && rig.exchange.isBehind)
        rig.run()
        #expect(told == numbers.map { "reply \($0)" })
        #expect(turns.allSatisfy { $0 <= Exchange.performedMax } && turns.count <= 9)
        rig.turn()
        #expect(rig.store.queries.count == 1, "page \(last) comes behind them")
        #expect(!rig.exchange.hasOpenCommits && !rig.exchange.isBehind)
    }

    @Test func theNextBatchGoesToTheStoreWhileEffectsHaveTheirTurns() throws {
        let rig = try ExchangeRig()
        defer { rig.close() }
        let numbers = storeCalls(1_000, rig)
        let next = rig.ask(invite("carol"))
        rig.commit()
        #expect(rig.store.batches.count == 2)
        rig.commit()
        var told = rig.clients.news()
        #expect(told.count == Exchange.performedMax)
        rig.loop.atEndOfTurn {
            told += rig.clients.news()
            if told.count == 1_001 { rig.loop.stop() }
        }
        rig.run()
        #expect(told == (numbers + [next]).map { "reply \($0)" })
    }

    @Test func whereMuchComesInEveryTurnTheQueueDoesNotGrow() throws {
        let rig = try ExchangeRig()
        defer { rig.close() }
        _ = storeCalls(2_000, rig)
        rig.commit()
        var (asked, told, most) = (2_000, 0, 0)
        for _ in 0..<60 {
            for _ in 0..<700 { rig.ask(invite()) }
            asked += 700
            rig.turn()
            if rig.store.isCommitting { rig.commit() }
            told += rig.clients.news().count
            most = max(most, asked - told)
        }
        #expect(most <= 2_700 && asked - told < 1_000)
    }

    @Test func whatWasDurableBeforeTheStoreFailedIsTold() throws {
        let rig = try ExchangeRig()
        defer { rig.close() }
        let numbers = storeCalls(1_000, rig)
        rig.commit()
        let lost = rig.ask(invite("carol"))
        rig.turn()
        rig.fail()
        let told = rig.clients.news()
        #expect(told.prefix(1_000) == numbers.map { "reply \($0)" }[...])
        #expect(!told.contains("reply \(lost)"))
    }

    @Test func policiesAreAskedBeforeTheCommit() throws {
        let rig = try ExchangeRig(answering: ["support"])
        defer { rig.close() }
        rig.ask(invite("support"))
        #expect(rig.policies.asked.count == 1)
        #expect(rig.store.batches.isEmpty && rig.clients.news() == [])
    }

    @Test func aRefusalThatAPolicyDecidesWithinOneTurnIsOneBatch() throws {
        let rig = try ExchangeRig(answering: ["support"])
        defer { rig.close() }
        rig.connect("alice")
        let number = rig.ask(invite("support"))
        let question = try #require(rig.policies.asked.first)
        rig.exchange.feed(
            .answered(
                question.id,
                .invite(.reject(busy: true, extendedData: nil), by: "busy", next: 1)))
        #expect(rig.clients.news() == [])
        rig.turn()
        #expect(rig.store.batches.count == 1)
        #expect(rig.store.calls(ofBatch: 0).map(\.state) == [.ended], "it was decided at once")
        rig.commit()
        #expect(
            rig.clients.news() == [
                "reply \(number)", "changed alice", "ended alice",
            ])
        #expect(rig.endedCalls.count == 1)
    }

    @Test func aBatchWaitsAMomentForPoliciesAtWorkAndNotForLong() throws {
        let rig = try ExchangeRig(answering: ["support"])
        defer { rig.close() }
        rig.ask(invite("bob"))
        rig.policies.isThinking = true
        rig.turn()
        // On a busy machine that turn may have taken the whole moment.
        if rig.store.batches.isEmpty {
            rig.store.onSubmit = { [unowned rig] in rig.loop.stop() }
            rig.run()
        }
        #expect(rig.store.batches.count == 1)
    }

    @Test func aStoreKeepsOnlyTheLastStateOfACallOfOneBatch() throws {
        let rig = try ExchangeRig(answering: ["support"])
        defer { rig.close() }
        rig.ask(invite("support"))
        let question = try #require(rig.policies.asked.first)
        rig.exchange.feed(
            .answered(
                question.id,
                .invite(.reject(busy: false, extendedData: nil), by: "no", next: 1)))
        rig.turn()
        let store = MemoryStore()
        _ = try store.restore(at: Moment(0))
        try store.commit(rig.store.batches[0], at: rig.exchange.now())
        #expect(try store.restore(at: rig.exchange.now()).core.lastCall == nil)
        let id = try #require(rig.store.calls(ofBatch: 0).first?.id)
        guard case .call(let call?) = try store.answer(.call(id)) else {
            Issue.record("it is not stored")
            return
        }
        #expect(call.state == .ended)
    }

    @Test func whoCountsIsToldTheSumWhenItIsDurable() throws {
        let rig = try ExchangeRig()
        defer { rig.close() }
        var told: [Stored] = []
        let change = ValueChange.increment(plugin: "p", key: "n", by: 2, expiresAt: nil)
        rig.exchange.store([.value(change)]) { told.append($0) }
        rig.turn()
        #expect(told.isEmpty)
        var result = CommitResult()
        result.counters = [.sum(42)]
        rig.exchange.receive(.committed(result, in: 0))
        #expect(told == [.counted(.sum(42))])
    }

    // MARK: Overload

    @Test func aStoreThatIsLateHoldsNewChangesOff() throws {
        let rig = try ExchangeRig { $0.commitWithin = -1 }
        defer { rig.close() }
        #expect(rig.exchange.overload == nil)
        rig.ask(invite("bob"))
        rig.turn()
        let refusal = try #require(rig.exchange.overload)
        #expect(refusal.code == .unavailable && refusal.retryAfter == 1_000)
        // The store is done, and the loop has not read it yet.
        rig.store.isCommitting = false
        #expect(rig.exchange.overload == nil)
        rig.commit()
        #expect(rig.exchange.overload == nil)
    }

    @Test func aCommitThatTookLongerThanTheLimitIsCountedAndNoneThatTookAsLong()
        throws
    {
        let rig = try ExchangeRig { $0.commitWithin = 700 }
        defer { rig.close() }
        for duration: Milliseconds in [0, 700, 701] {
            #expect(rig.exchange.lateCommits == 0)
            rig.ask(invite("bob"))
            rig.turn()
            rig.commit(in: duration)
        }
        #expect(rig.exchange.lateCommits == 1)
    }

    @Test func aStoreInTimeHoldsNobodyOff() throws {
        let rig = try ExchangeRig { $0.commitWithin = 60_000 }
        defer { rig.close() }
        rig.ask(invite("bob"))
        rig.turn()
        #expect(rig.exchange.overload == nil)
        rig.commit()
        #expect(rig.exchange.lateCommits == 0 && rig.exchange.commitAge == 0)
    }

    @Test func pluginsThatAreBehindHoldInvitationsOffAndOneEventLessDoesNot() throws {
        let rig = try ExchangeRig { $0.policyBacklog = 3 }
        defer { rig.close() }
        rig.policies.backlog = 2
        #expect(rig.exchange.policyOverload == nil)
        rig.policies.backlog = 3
        let refusal = try #require(rig.exchange.policyOverload)
        #expect(refusal.code == .unavailable && refusal.retryAfter == 1_000)
        #expect(rig.exchange.overload == nil)
    }

    @Test func tooManyEventsOfAnAccountHoldItOffAndOneLessDoesNot() throws {
        let rig = try ExchangeRig { $0.reportsPerCause = 3 }
        defer { rig.close() }
        rig.policies.waiting = [UserID("ann"): 2, UserID("bob"): 3]
        #expect(rig.exchange.reportOverload(of: UserID("ann")) == nil)
        let refusal = try #require(rig.exchange.reportOverload(of: UserID("bob")))
        #expect(refusal.code == .rateLimited && refusal.retryAfter == 1_000)
        #expect(rig.exchange.overload == nil && rig.exchange.policyOverload == nil)
    }

    @Test func tooMuchThatWaitsHoldsNewChangesOffAndOneLessDoesNot() throws {
        // An invitation between users without devices is one reply.
        let rig = try ExchangeRig { $0.heldBytes = 4 * 1_024 }
        defer { rig.close() }
        for _ in 0..<4 { rig.ask(invite("bob")) }
        #expect(rig.exchange.overload == nil)
        rig.ask(invite("bob"))
        #expect(rig.exchange.overload?.code == .unavailable)
        rig.turn()
        rig.commit()
        #expect(rig.exchange.overload == nil)
    }

    // MARK: Failure

    @Test func whenTheStoreFailsNothingBehindTheBarrierLeaves() throws {
        let rig = try ExchangeRig()
        defer { rig.close() }
        rig.connect("alice")
        rig.ask(invite("bob"))
        var told: [Stored] = []
        rig.exchange.store([.value(.remove(plugin: "p", key: "k"))]) { told.append($0) }
        rig.turn()
        rig.fail()
        #expect(rig.clients.news() == ["drop"])
        #expect(!rig.exchange.isReady && rig.exchange.overload?.code == .unavailable)
        #expect(told == [.lost])
    }

    @Test func whileTheStoreIsAwayNothingHappensAndALateWordOfItCountsForNothing()
        throws
    {
        let rig = try ExchangeRig()
        defer { rig.close() }
        rig.ask(invite("bob"))
        rig.turn()
        rig.fail()
        _ = rig.clients.news()
        rig.commit()
        rig.ask(invite("carol"))
        var told: [Stored] = []
        rig.exchange.store([.value(.remove(plugin: "p", key: "k"))]) { told.append($0) }
        #expect(told == [.lost])
        rig.turn()
        #expect(rig.clients.news() == [] && rig.store.batches.count == 1)
        rig.exchange.receive(.opened())
        rig.ask(invite("dave"))
        rig.turn()
        #expect(rig.clients.news() == [], "the barrier holds after all that")
        rig.commit()
        #expect(rig.clients.news().count == 1)
    }

    @Test func theStoreIsOpenedAgainAndAgainUntilItIsBack() throws {
        let rig = try ExchangeRig { $0.reopenAfter = 0 }
        defer { rig.close() }
        rig.turn()
        rig.store.onReopen = { [unowned rig] in
            if rig.store.reopenings < 3 { return rig.fail() }
            rig.exchange.receive(.opened())
            rig.loop.stop()
        }
        rig.fail()
        rig.run()
        #expect(rig.store.reopenings == 3 && rig.exchange.isReady)
        #expect(rig.clients.news() == ["drop"], "clients are sent away once")
    }

    @Test func whoWaitsForTheStoreToBeBackNeedNotWaitForMore() throws {
        let rig = try ExchangeRig()
        defer { rig.close() }
        let outbox = OutboxDouble()
        rig.exchange.outbox = outbox
        var isTold = false
        outbox.onReturn = { [unowned rig] in rig.exchange.store([]) { isTold = $0 == .durable } }
        rig.fail()
        rig.exchange.receive(.opened())
        #expect(isTold)
    }

    @Test func whatIsStoredGoesOnAndWhatIsNotHasNeverBeen() throws {
        let rig = try ExchangeRig()
        defer { rig.close() }
        rig.connect("alice")
        rig.ask(invite("bob"))
        rig.turn()
        rig.commit()
        let stored = try #require(rig.store.calls(ofBatch: 0).last)
        rig.ask(invite("carol"))
        rig.turn()
        let lost = try #require(rig.store.calls(ofBatch: 1).last)
        rig.fail()
        var state = StoredState()
        state.core.calls = [stored]
        rig.exchange.receive(.opened(state))
        #expect(rig.exchange.switchboard.liveCalls.map(\.id) == [stored.id])
        #expect(rig.endedCalls == [lost.id], "its handlers are told")
    }

    @Test func aLateAnswerToAQuestionOfBeforeIsNoAnswerToANewOne() throws {
        let rig = try ExchangeRig(answering: ["support"])
        defer { rig.close() }
        rig.ask(invite("support"))
        let old = try #require(rig.policies.asked.first)
        rig.turn()
        rig.fail()
        #expect(rig.policies.withdrawn == [old.id])
        rig.exchange.receive(.opened())
        rig.ask(invite("support"))
        let new = try #require(rig.policies.asked.last)
        #expect(new.id != old.id)
        rig.exchange.feed(
            .answered(
                old.id, .invite(.reject(busy: false, extendedData: nil), by: "no", next: 1)))
        rig.exchange.feed(.thinking(new.id))
        #expect(rig.exchange.switchboard.liveCallCount == 1, "nobody was refused")
    }

    @Test func questionsThatWereOpenAtTheEndAreAskedAgainAtTheStart() throws {
        let before = try ExchangeRig(answering: ["support"])
        defer { before.close() }
        before.ask(invite("support"))
        before.exchange.feed(.thinking(try #require(before.policies.asked.first).id))
        before.turn()
        var state = StoredState()
        state.core.calls = [try #require(before.store.calls(ofBatch: 0).last)]
        let after = try ExchangeRig(answering: ["support"], restored: state)
        defer { after.close() }
        after.exchange.restore(state)
        let question = try #require(after.policies.asked.first)
        #expect(question.decideBy >= after.exchange.now())
        after.exchange.feed(
            .answered(
                question.id, .invite(.accept(wait: 0, extendedData: nil), by: "yes", next: 1)))
        after.turn()
        #expect(
            after.store.calls(ofBatch: 0).last?.participants.map(\.state) == [.joined, .joined])
    }

    @Test func whoAsksForWhatCannotBeReadIsToldSoAndNobodyElse() throws {
        var state = StoredState()
        let now = Moment(Clock.wallMilliseconds())
        state.core.keys = [KeyMark(user: UserID("alice"), key: "k", bodyHash: 0, at: now)]
        let rig = try ExchangeRig(restored: state)
        defer { rig.close() }
        rig.exchange.restore(state)
        let requests = [
            rig.ask(.list(ListQuery())), rig.ask(.call(CallID(high: 1, low: 2), .get)),
            rig.ask(invite("bob"), key: "k"), rig.ask(invite("bob"), key: "k"),
        ]
        #expect(rig.store.queries.count == 3, "the repetition waits for the first")
        let error = StoreError(.damagedRecord, path: "test", operation: "read")
        for query in rig.store.queries {
            rig.exchange.receive(rig.store.news(to: query, .failed(error)))
        }
        #expect(rig.clients.news() == requests.map { "reply \($0)" })
        for request in requests {
            guard case .refused(let refusal)? = rig.clients.replies[request] else {
                Issue.record("\(request) was not refused")
                continue
            }
            #expect(refusal.code == .unavailable && refusal.retryAfter == 1_000)
        }
        #expect(rig.exchange.isReady)
        rig.ask(invite("bob"), key: "k")
        #expect(rig.store.queries.count == 4, "the key is free to be tried again")
    }

    /// (G84)
    @Test func whoWaitsForTheStoreOverAChangeOfWhatIsReadAsksAgain() throws {
        var state = StoredState()
        let now = Moment(Clock.wallMilliseconds())
        state.core.keys = [KeyMark(user: UserID("alice"), key: "k", bodyHash: 0, at: now)]
        let rig = try ExchangeRig(restored: state)
        defer { rig.close() }
        rig.exchange.restore(state)
        let call = CallID(high: 1, low: 2)
        let requests = [rig.ask(invite("bob"), key: "k"), rig.ask(.call(call, .get))]
        rig.exchange.configure(Settings(), ServerLimits())
        #expect(rig.clients.news() == [], "what is read alike may be decided later")
        var limits = ServerLimits()
        limits.wire.extendedDataBytes = 100
        rig.exchange.configure(Settings(), limits)
        #expect(rig.clients.news() == requests.map { "reply \($0)" })
        for request in requests {
            guard case .refused(let refusal)? = rig.clients.replies[request] else {
                Issue.record("\(request) was not refused")
                continue
            }
            #expect(refusal.code == .unavailable)
        }
        let key = StoreQuery.reply(UserID("alice"), key: "k")
        rig.exchange.receive(rig.store.news(to: key, .reply(nil)))
        rig.exchange.receive(rig.store.news(to: .call(call), .call(nil)))
        #expect(rig.clients.news() == [], "what the store says then is nobody's")
        rig.ask(invite("bob"), key: "k")
        #expect(rig.store.queries.count == 3, "the key is free to be tried again")
    }
}
