// What becomes of signals when a session keeps too many events.

import CallModel
import Testing

@testable import CallWire

@Suite struct KeptSignalTests {
    private let name = SessionID(high: 1, low: 2)
    private let next = SessionID(high: 3, low: 4)
    private let now = Moment(1_000_000)
    private let call = CallID(high: 1, low: 1)
    private let alice = UserID("alice")
    private let mallory = UserID("mallory")

    private var limits: SessionLimits {
        var limits = SessionLimits()
        limits.heldEvents = 8
        limits.heldBytes = 800
        return limits
    }

    private func tail(_ text: String, bytes: Int = 0) -> [UInt8] {
        Array(text.utf8) + [UInt8](repeating: 0x20, count: bytes)
    }

    /// A session that has sent one event and lost its connection.
    private func away() -> ClientSession {
        var session = ClientSession(id: name)
        _ = session.welcomed(limits: limits)
        _ = session.number(tail("first"), limits: limits)
        session.detach(at: now, limits: limits)
        return session
    }

    private func send(
        _ session: inout ClientSession, _ text: String, by user: UserID, bytes: Int = 0
    ) {
        let mark = SignalMark(call, from: user)
        _ = session.number(tail(text, bytes: bytes), mark, limits: limits)
    }

    private func fill(_ session: inout ClientSession, _ count: Int = 8) {
        for number in 0..<count { _ = session.number(tail("x\(number)"), limits: limits) }
    }

    /// What the next session tells of the call to a client that got the events up to `seq`.
    private func told(_ session: inout ClientSession, after seq: UInt64 = 1) -> [String] {
        let resume = Hello.Resume(session: session.id, seq: seq)
        #expect(session.reconnect(resume, newID: next, at: now) == false)
        #expect(session.welcomed(limits: limits) == [])
        return session.takeUntold(of: call).map { String(decoding: $0.tail, as: UTF8.self) }
    }

    @Test func aSignalThatIsPushedOutIsToldInTheNextSession() {
        var session = away()
        send(&session, "candidate", by: alice)
        fill(&session)
        #expect(told(&session) == ["candidate"])
        #expect(session.id == next)
        #expect(session.takeUntold(of: call).count == 0)
        #expect(session.number(tail("candidate"), limits: limits) == 1)
    }

    @Test func soIsOneThatIsStillAmongTheEvents() {
        var session = away()
        send(&session, "one", by: alice)
        fill(&session)
        send(&session, "two", by: alice)
        #expect(told(&session) == ["one", "two"])
    }

    @Test func whatTheClientGotIsNotToldAgain() {
        var session = ClientSession(id: name)
        _ = session.welcomed(limits: limits)
        for text in ["one", "two"] { send(&session, text, by: alice) }
        session.detach(at: now, limits: limits)
        fill(&session, 9)
        var acknowledged = session
        acknowledged.acknowledge(2)
        #expect(told(&session) == ["two"])
        #expect(told(&acknowledged) == [])
    }

    @Test func aSessionThatGoesOnTellsThemInItsOwnNumbers() {
        var session = away()
        send(&session, "candidate", by: alice)
        fill(&session, 7)
        #expect(session.reconnect(.init(session: name, seq: 1), newID: next, at: now) == true)
        #expect(session.welcomed(limits: limits).count == 8)
        #expect(session.untoldSignals.isEmpty)
    }

    @Test func onlyTheCallThatIsAskedForIsTold() {
        var session = away()
        send(&session, "candidate", by: alice)
        fill(&session)
        #expect(session.reconnect(.init(session: name, seq: 1), newID: next, at: now) == false)
        #expect(session.untoldSignals == [SignalMark(call, from: alice)])
        #expect(session.takeUntold(of: CallID(high: 9, low: 9)).count == 0)
        #expect(session.takeUntold(of: call).count == 1)
    }

    @Test func whoSentMostLosesFirst() {
        var session = away()
        send(&session, "candidate", by: alice)
        for number in 0..<100 { send(&session, "m\(number)", by: mallory) }
        let told = told(&session)
        #expect(told.first == "candidate")
        #expect(told.last == "m99" && (15...17).contains(told.count))
    }

    @Test func whoSentTheLongestLosesFirst() {
        var session = away()
        for number in 0..<3 { send(&session, "a\(number)", by: alice) }
        for number in 0..<50 { send(&session, "m\(number)", by: mallory, bytes: 300) }
        let told = told(&session)
        #expect(told.prefix(3) == ["a0", "a1", "a2"])
        #expect(told.count > 3)
    }

    @Test func asManyArePushedOutAndKeptAsOfAllEvents() {
        var session = away()
        for number in 0..<8 { send(&session, "s\(number)", by: alice) }
        fill(&session, 8)
        var full = session
        #expect(told(&full).count == 8)
        send(&session, "s8", by: alice)
        fill(&session, 8)
        #expect(told(&session).count == 7, "an eighth is made room for")
    }

    @Test func whatComesBeforeTheWelcomeIsToldBehindIt() {
        var session = away()
        fill(&session, 9)
        #expect(session.reconnect(.init(session: name, seq: 1), newID: next, at: now) == false)
        send(&session, "meanwhile", by: alice)
        _ = session.number(tail("shown by the welcome"), limits: limits)
        _ = session.welcomed(limits: limits)
        #expect(session.lastNumbered == 0)
        #expect(session.takeUntold(of: call).count == 1)
    }

    @Test func whoStartsAnewOrSaidByeIsToldNothing() {
        for resume in [nil, Hello.Resume(session: next, seq: 1)] {
            var session = away()
            send(&session, "candidate", by: alice)
            fill(&session)
            _ = session.reconnect(resume, newID: next, at: now)
            #expect(session.untoldSignals.isEmpty)
        }
        var session = away()
        send(&session, "candidate", by: alice)
        fill(&session)
        session.logOut()
        #expect(told(&session).isEmpty)
    }

    @Test func whatANewSessionHasNotToldOutlivesItsLoss() {
        var session = away()
        send(&session, "candidate", by: alice)
        fill(&session)
        #expect(session.reconnect(.init(session: name, seq: 1), newID: next, at: now) == false)
        _ = session.welcomed(limits: limits)
        session.detach(at: now, limits: limits)
        #expect(session.reconnect(.init(session: next, seq: 0), newID: name, at: now) == true)
        _ = session.welcomed(limits: limits)
        #expect(session.takeUntold(of: call).count == 1)
    }
}
