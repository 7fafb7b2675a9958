// The numbering, acknowledging and resuming of events, at every edge.

import CallModel
import JSON
import Testing

@testable import CallWire

@Suite struct SessionTests {
    private let name = SessionID(high: 1, low: 2)
    private let other = SessionID(high: 3, low: 4)
    private let limits = SessionLimits()
    private let now = Moment(1_000_000)

    private func tail(_ number: Int) -> [UInt8] { Array("e\(number)".utf8) }

    /// An open session that has sent `count` events.
    private func opened(sent count: Int = 0) -> ClientSession {
        var session = ClientSession(id: name)
        _ = session.welcomed(limits: limits)
        for number in 0..<count { _ = session.number(tail(number + 1), limits: limits) }
        return session
    }

    private func resume(_ seq: UInt64, _ id: SessionID? = nil) -> Hello.Resume {
        Hello.Resume(session: id ?? name, seq: seq)
    }

    @Test func eventsAreNumberedFromOneWithoutGaps() {
        var session = opened()
        for number in 1...600 {
            #expect(session.number(tail(number), limits: limits) == UInt64(number))
        }
        #expect(session.lastSent == 600)
        #expect(session.lastNumbered == 600)
    }

    @Test func aSessionThatAnOwnerBeforeHadIsNumberedFromThere() {
        var session = ClientSession(id: name, after: 41)
        #expect((session.lastSent, session.lastNumbered, session.acknowledged) == (41, 41, 41))
        #expect(session.welcomed(limits: limits) == [])
        #expect(session.number(tail(1), limits: limits) == 42)
        session.detach(at: now, limits: limits)
        // What came before is not here to be told again.
        var behind = session
        #expect(behind.reconnect(resume(40), newID: other, at: now) == false)
        #expect(session.reconnect(resume(41), newID: other, at: now) == true)
        #expect(session.welcomed(limits: limits).map(\.seq) == [42])
    }

    @Test func aNewSessionTakesNothingBeforeItsWelcome() {
        var session = ClientSession(id: name)
        #expect(session.number(tail(1), limits: limits) == nil)
        #expect(session.welcomed(limits: limits) == [])
        #expect(session.number(tail(2), limits: limits) == 1)
    }

    @Test func whileDetachedEventsAreNumberedAndKept() {
        var session = opened(sent: 2)
        session.detach(at: now, limits: limits)
        #expect(session.state == .detached(until: now + 120_000))
        #expect(session.number(tail(3), limits: limits) == nil)
        #expect(session.lastNumbered == 3)
        #expect(session.lastSent == 2)
    }

    @Test func resumeReplaysEverythingAfterTheLastOneInOrder() {
        var session = opened(sent: 3)
        session.detach(at: now, limits: limits)
        _ = session.number(tail(4), limits: limits)
        #expect(session.reconnect(resume(2), newID: other, at: now + 5) == true)
        #expect(session.id == name)
        #expect(session.state == .welcoming(resumed: true))
        #expect(session.number(tail(5), limits: limits) == nil)
        #expect(
            session.welcomed(limits: limits) == [
                NumberedEvent(seq: 3, tail: tail(3)), NumberedEvent(seq: 4, tail: tail(4)),
                NumberedEvent(seq: 5, tail: tail(5)),
            ])
        #expect(session.number(tail(6), limits: limits) == 6)
    }

    @Test(arguments: [
        (0, false), (1, false), (2, true), (3, true), (5, true), (6, false), (99, false),
    ])
    func resumeNeedsAcknowledgedToLastSent(_ seq: UInt64, _ resumes: Bool) {
        var session = opened(sent: 5)
        session.acknowledge(2)
        session.detach(at: now, limits: limits)
        _ = session.number(tail(6), limits: limits)  // numbered, but never sent
        #expect(session.reconnect(resume(seq), newID: other, at: now) == resumes)
        #expect(session.id == (resumes ? name : other))
        #expect(session.lastNumbered == (resumes ? 6 : 0))
    }

    @Test func theResumedNumberCountsAsAcknowledgement() {
        var session = opened(sent: 5)
        session.detach(at: now, limits: limits)
        #expect(session.reconnect(resume(4), newID: other, at: now) == true)
        session.detach(at: now, limits: limits)
        var older = session
        #expect(older.reconnect(resume(3), newID: other, at: now) == false)
        #expect(session.reconnect(resume(4), newID: other, at: now) == true)
        #expect(session.welcomed(limits: limits).map(\.seq) == [5])
    }

    @Test func resumeWorksUntilTheWindowCloses() {
        for (later, resumes) in [(119_999, true), (120_000, false), (500_000, false)] {
            var session = opened(sent: 1)
            session.detach(at: now, limits: limits)
            #expect(
                session.reconnect(resume(1), newID: other, at: now + Int64(later)) == resumes)
        }
    }

    @Test func anotherSessionsNameOrNoneBeginsAnew() {
        for wish in [resume(1, other), Hello.Resume(session: nil, seq: 1), nil] {
            var session = opened(sent: 1)
            session.detach(at: now, limits: limits)
            #expect(session.reconnect(wish, newID: other, at: now) == false)
            #expect(session == ClientSession(id: other))
        }
    }

    @Test func aSecondConnectionMayResumeWhileTheFirstStillLooksAlive() {
        var session = opened(sent: 3)
        #expect(session.reconnect(resume(1), newID: other, at: now) == true)
        #expect(session.welcomed(limits: limits).map(\.seq) == [2, 3])
    }

    @Test func afterByeNothingIsResumed() {
        var session = opened(sent: 3)
        session.logOut()
        #expect(session.state == .gone)
        #expect(session.number(tail(4), limits: limits) == nil)
        #expect(session.reconnect(resume(3), newID: other, at: now) == false)
        #expect(session.state == .welcoming(resumed: false))
    }

    @Test func aSessionIsGoneWhenItsTimeIsOver() {
        var session = opened(sent: 3)
        #expect(session.nextDeadline == nil)
        #expect(session.expire(at: now + 999_999) == false)
        session.detach(at: now, limits: limits)
        #expect(session.nextDeadline == now + 120_000)
        #expect(session.expire(at: now + 119_999) == false)
        #expect(session.expire(at: now + 120_000) == true)
        #expect(session.expire(at: now + 120_001) == false)
        #expect(session.state == .gone)
        #expect(session.nextDeadline == nil)
    }

    @Test func aConnectionLostBeforeTheWelcome() {
        var fresh = ClientSession(id: name)
        fresh.detach(at: now, limits: limits)
        #expect(fresh.state == .gone)
        var resumed = opened(sent: 3)
        resumed.detach(at: now, limits: limits)
        #expect(resumed.reconnect(resume(1), newID: other, at: now) == true)
        resumed.detach(at: now + 10, limits: limits)
        #expect(resumed.state == .detached(until: now + 120_010))
        #expect(resumed.reconnect(resume(1), newID: other, at: now + 20) == true)
        #expect(resumed.welcomed(limits: limits).map(\.seq) == [2, 3])
    }

    @Test func detachingTwiceDoesNotLengthenTheWindow() {
        var session = opened()
        session.detach(at: now, limits: limits)
        session.detach(at: now + 50_000, limits: limits)
        #expect(session.state == .detached(until: now + 120_000))
    }

    @Test func acknowledgementsAreCumulativeAndClamped() {
        var session = opened(sent: 5)
        for (seq, left) in [
            (Int64.min, 5), (0, 5), (2, 3), (1, 3), (2, 3), (4, 1), (.max, 0), (-1, 0),
        ] {
            session.acknowledge(seq)
            var copy = session
            let known = UInt64(5 - left)
            #expect(copy.reconnect(resume(known), newID: other, at: now) == true)
            #expect(copy.welcomed(limits: limits).count == left)
        }
        #expect(session.number(tail(6), limits: limits) == 6)
    }

    @Test func acknowledgingWhatWasNumberedButNotSentIsClamped() {
        var session = opened(sent: 1)
        session.detach(at: now, limits: limits)
        _ = session.number(tail(2), limits: limits)
        session.acknowledge(2)
        #expect(session.reconnect(resume(1), newID: other, at: now) == true)
        #expect(session.welcomed(limits: limits).map(\.seq) == [2])
    }

    @Test func tooManyEventsAreForgottenFromTheFront() {
        var few = limits
        few.heldEvents = 3
        var session = opened()
        for number in 1...5 { _ = session.number(tail(number), limits: few) }
        session.detach(at: now, limits: few)
        var tooOld = session
        #expect(tooOld.reconnect(resume(1), newID: other, at: now) == false)
        #expect(session.reconnect(resume(2), newID: other, at: now) == true)
        #expect(session.welcomed(limits: few).map(\.seq) == [3, 4, 5])
    }

    @Test func tooManyBytesAreForgottenFromTheFront() {
        var few = limits
        few.heldBytes = 4
        var session = opened()
        for number in 1...3 { _ = session.number(tail(number), limits: few) }
        var tooOld = session
        #expect(tooOld.reconnect(resume(0), newID: other, at: now) == false)
        var exact = session
        #expect(exact.reconnect(resume(1), newID: other, at: now) == true)
        #expect(session.number(Array(repeating: 0x20, count: 5), limits: few) == 4)
        #expect(session.reconnect(resume(4), newID: other, at: now) == true)
    }

    @Test func whoWasToldResumedLosesNothingWhileTheWelcomeWaits() {
        var few = limits
        few.heldEvents = 2
        var session = opened(sent: 2)
        session.detach(at: now, limits: few)
        #expect(session.reconnect(resume(1), newID: other, at: now) == true)
        for number in 3...6 { _ = session.number(tail(number), limits: few) }
        #expect(session.welcomed(limits: few).map(\.seq) == [2, 3, 4, 5, 6])
        #expect(session.lastSent == 6)
        session.detach(at: now, limits: few)
        #expect(session.reconnect(resume(3), newID: other, at: now) == false)
    }

    @Test func whatWasForgottenBeforeItWasSentCannotBeResumed() {
        var few = limits
        few.heldEvents = 2
        var session = opened(sent: 1)
        session.detach(at: now, limits: few)
        for number in 2...5 { _ = session.number(tail(number), limits: few) }
        for seq in [0, 1, 2, 3, 5] as [UInt64] {
            var copy = session
            #expect(copy.reconnect(resume(seq), newID: other, at: now) == false)
        }
    }

    @Test func anIdleSessionIsSmall() {
        #expect(MemoryLayout<ClientSession>.stride <= 96)
        #expect(MemoryLayout<LineMachine>.stride <= 64)
        #expect(MemoryLayout<RequestRate>.stride == 8)
    }

    @Test func sessionsAreNamedByThirtyTwoHexDigits() {
        #expect(name.description == "00000000000000010000000000000002")
        #expect(SessionID(name.description) == name)
        #expect(SessionID("5e") == nil)
    }
}

@Suite struct SessionModelTests {
    /// A session against the plainest model of it: a list of everything ever numbered.
    @Test(arguments: 0..<20)
    func whateverHappensAReplayIsWhatTheModelSays(_ seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        var limits = SessionLimits()
        limits.heldEvents = 8
        var session = ClientSession(id: SessionID(high: 0, low: 0))
        var (all, sent, acknowledged, sessions): ([[UInt8]], Int, Int, UInt64) = ([], 0, 0, 1)
        var now = Moment(0)
        _ = session.welcomed(limits: limits)
        for step in 0..<2_000 {
            now = now + Int64(dice.next() % 100)
            switch dice.next() % 6 {
            case 0, 1, 2:
                all.append(Array("\(step)".utf8))
                if session.number(all[all.count - 1], limits: limits) != nil { sent = all.count }
            case 3:
                let seq = Int(dice.next() % UInt64(all.count + 2))
                session.acknowledge(Int64(seq))
                acknowledged = max(acknowledged, min(seq, sent))
            case 4: session.detach(at: now, limits: limits)
            default:
                let seq = Int(dice.next() % UInt64(all.count + 1))
                let newest = max(acknowledged, all.count - limits.heldEvents)
                let resumes = seq >= newest && seq <= sent
                let wish = Hello.Resume(session: session.id, seq: UInt64(seq))
                let newID = SessionID(high: 0, low: sessions)
                #expect(session.reconnect(wish, newID: newID, at: now) == resumes)
                if !resumes {
                    (all, acknowledged) = ([], 0)
                    sessions += 1
                }
                let replay = session.welcomed(limits: limits)
                #expect(replay.map(\.tail) == (resumes ? Array(all[seq...]) : []))
                acknowledged = resumes ? max(acknowledged, seq) : 0
                sent = all.count
            }
        }
        #expect(sessions > 5)
    }
}
