// When a user is lost, by what was heard of them and when their connections ended.

import CallCore
import CallModel
import Testing

@Suite struct PresenceTests {
    private let alice = UserID("alice")
    private let phone = DeviceID("phone")
    private let start = Moment(1_800_000_000_000)
    private var board: Switchboard

    init() {
        board = Switchboard(settings: Settings(), seed: 1, at: start)
        _ = board.handle(.deviceConnected(RequestID(1), alice, phone, resumed: false), at: start)
        var invitation = Invitation(invitees: [UserID("bob")])
        invitation.mode = .advanced
        _ = board.handle(.request(request(2, .invite(invitation))), at: start)
    }

    private func request(_ number: UInt64, _ operation: CallModel.Operation) -> Request {
        Request(id: RequestID(number), user: alice, device: phone, operation: operation)
    }

    /// Whether the call has ended because its caller was lost.
    private mutating func isLost(after time: Milliseconds) -> Bool {
        _ = board.handle(.deadlineReached, at: start + time)
        return board.liveCallCount == 0
    }

    @Test mutating func aSilentConnectionEndedAtItsLastFrame() {
        let disconnected = Input.deviceDisconnected(alice, phone, heard: start, ended: start)
        _ = board.handle(disconnected, at: start + 33_000)
        #expect(!isLost(after: 34_999))
        #expect(isLost(after: 35_000))
    }

    @Test mutating func aConnectionThatBreaksAfterALongSilenceLeavesTenSeconds() {
        let end = start + 33_000
        let disconnected = Input.deviceDisconnected(alice, phone, heard: start, ended: end)
        _ = board.handle(disconnected, at: end)
        #expect(!isLost(after: 42_999))
        #expect(isLost(after: 43_000))
    }

    @Test mutating func theLastFrameOfAnyDeviceCounts() {
        let tablet = DeviceID("tablet")
        _ = board.handle(.deviceConnected(RequestID(3), alice, tablet, resumed: false), at: start)
        let heard = start + 20_000
        _ = board.handle(
            .deviceDisconnected(alice, tablet, heard: heard, ended: heard), at: heard)
        _ = board.handle(
            .deviceDisconnected(alice, phone, heard: start, ended: start), at: start + 33_000)
        #expect(!isLost(after: 54_999))
        #expect(isLost(after: 55_000))
    }

    @Test mutating func aRequestOfOnesOwnCountsAsAFrame() {
        _ = board.handle(
            .deviceDisconnected(alice, phone, heard: start, ended: start), at: start)
        var own = request(3, .list(ListQuery()))
        own.standsAlone = true
        _ = board.handle(.request(own), at: start + 30_000)
        #expect(!isLost(after: 64_999))
        #expect(isLost(after: 65_000))
    }

    @Test mutating func aRequestOfAServersKeyDoesNot() {
        _ = board.handle(
            .deviceDisconnected(alice, phone, heard: start, ended: start), at: start)
        _ = board.handle(.request(request(3, .list(ListQuery()))), at: start + 30_000)
        #expect(isLost(after: 35_000))
    }

    /// The connection is dead, but its end is noticed later than the request came.
    @Test mutating func aRequestBesideASilentConnectionCountsToo() {
        var own = request(3, .list(ListQuery()))
        own.standsAlone = true
        _ = board.handle(.request(own), at: start + 30_000)
        _ = board.handle(
            .deviceDisconnected(alice, phone, heard: start, ended: start), at: start + 33_000)
        #expect(!isLost(after: 64_999))
        #expect(isLost(after: 65_000))
    }

    /// A server's key acts for somebody who was never heard, and so cannot be lost.
    @Test mutating func whomOnlyAServersKeySpeaksForIsNeverLost() {
        let dave = UserID("dave")
        var invitation = Invitation(invitees: [UserID("erin")])
        invitation.mode = .advanced
        invitation.timeout = 600_000
        _ = board.handle(
            .request(
                Request(
                    id: RequestID(3), user: dave, device: DeviceID("http"),
                    operation: .invite(invitation))), at: start)
        _ = board.handle(.deadlineReached, at: start + 599_999)
        #expect(board.liveCalls.contains { $0.caller == dave })
    }

    /// A caller who is in a session but lost is not busy for a server's key (A10, K107); with a
    /// request of their own they are back.
    @Test mutating func whoIsLostIsNotBusyAsACaller() throws {
        let bob = UserID("bob")
        var session = Invitation(invitees: [alice])
        session.mode = .ringing
        _ = board.handle(.deviceConnected(RequestID(3), bob, phone, resumed: false), at: start)
        _ = board.handle(
            .request(
                Request(id: RequestID(4), user: bob, device: phone, operation: .invite(session))),
            at: start)
        let id = try #require(board.liveCalls.first { $0.caller == bob }?.id)
        _ = board.handle(.request(request(5, .call(id, .accept()))), at: start)
        _ = board.handle(
            .deviceDisconnected(alice, phone, heard: start, ended: start), at: start)
        var own = request(6, .invite(Invitation(invitees: [UserID("erin")], mode: .ringing)))
        #expect(board.handle(.request(own), at: start + 34_999).isRefused(.busy))
        own.standsAlone = true
        #expect(board.handle(.request(own), at: start + 35_000).isRefused(.busy))
        own.standsAlone = false
        #expect(board.handle(.request(own), at: start + 69_999).isRefused(.busy))
        #expect(!board.handle(.request(own), at: start + 70_000).isRefused(.busy))
    }

    /// Every request over HTTP passes by all calls of its user (A20): what did not change is not
    /// written again.
    @Test mutating func whoAsksWithoutAConnectionWritesNothing() throws {
        let carol = UserID("carol")
        func own(_ number: UInt64, _ user: UserID, _ operation: CallModel.Operation) -> Input {
            var request = Request(
                id: RequestID(number), user: user, device: phone, operation: operation)
            request.standsAlone = true
            return .request(request)
        }
        let invitation = Invitation(invitees: [UserID("dave")], mode: .group)
        _ = board.handle(own(3, carol, .invite(invitation)), at: start)
        let id = try #require(board.liveCalls.first { $0.caller == carol }?.id)
        _ = board.handle(own(4, UserID("dave"), .call(id, .accept())), at: start)
        _ = board.handle(own(5, UserID("dave"), .call(id, .leave())), at: start)
        let alone = try #require(board.call(id)?.idleAlarm)
        let effects = board.handle(own(6, carol, .list(ListQuery())), at: start + 1_000)
        #expect(!effects.contains { if case .persist = $0 { true } else { false } })
        #expect(board.call(id)?.idleAlarm == alone)
    }

    /// An answer may be shaped for as long as it takes to be lost by silence: that is no bye, after
    /// which a direct call would end.
    @Test(arguments: [false, true])
    mutating func whoIsLostBySilenceWhileItsAnswerIsShapedSaidNoBye(saysBye: Bool) throws {
        let bob = UserID("bob")
        var settings = Settings()
        (settings.hooks, settings.decideWithin) = ([.incomingData], 50_000)
        _ = board.handle(.configured(settings), at: start)
        _ = board.handle(.deviceConnected(RequestID(3), bob, phone, resumed: false), at: start)
        let invitation = Invitation(invitees: [bob], mode: .direct)
        _ = board.handle(.request(request(4, .invite(invitation))), at: start)
        let id = try #require(board.liveCalls.first { $0.mode == .direct }?.id)
        let accept = CallModel.Operation.call(id, .accept(), saying: "x")
        _ = board.handle(
            .request(Request(id: RequestID(5), user: bob, device: phone, operation: accept)),
            at: start)
        let gone: Input =
            saysBye
            ? .deviceGone(bob, phone, bye: true)
            : .deviceDisconnected(bob, phone, heard: start, ended: start)
        _ = board.handle(gone, at: start)
        let moment = start + (saysBye ? 34_999 : 35_000)
        let question = try #require(board.unanswered.first)
        _ = board.handle(.answered(question, .data("x")), at: moment)
        #expect(board.call(id)?.participant(bob)?.state == .joined)
        #expect(board.call(id)?.isLive == !saysBye)
    }
}

extension Invitation {
    fileprivate init(invitees: [UserID], mode: ModeRow) {
        self.init(invitees: invitees)
        self.mode = mode
    }
}

extension [Effect] {
    fileprivate func isRefused(_ code: Refusal.Code) -> Bool {
        contains {
            if case .reply(_, .refused(let refusal)) = $0 { refusal.code == code } else { false }
        }
    }
}
