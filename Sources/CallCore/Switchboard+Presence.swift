// Devices come and go; a user without any for a while is lost (A20).

import Collections
import CallModel

extension Switchboard {
    /// Notes when a device asked last; returns whether it has a connection.
    mutating func noteUse(of address: Address) -> Bool {
        guard let place = users.find(address.user),
            let index = users[place].devices.firstIndex(where: { $0.id == address.device })
        else { return false }
        users[place].devices[index].usedAt = now
        return users[place].devices[index].isConnected
    }

    /// A session begins or is resumed: its device is one of the user's from now on (A15).
    mutating func deviceConnected(_ request: RequestID, _ address: Address, resumed: Bool) {
        let place = users.findOrAdd(address.user)
        if let index = users[place].devices.firstIndex(where: { $0.id == address.device }) {
            users[place].devices[index].isConnected = true
            users[place].devices[index].usedAt = now
        } else {
            replaceIdlest(place)
            users[place].devices.append(.init(address.device, usedAt: now))
        }
        cameBack(place)
        welcome(request, place, address, resumed: resumed)
    }

    /// Makes room for one more device (A15). One with which the user is in a call is not idle: it
    /// goes only when all are.
    private mutating func replaceIdlest(_ place: Int32) {
        while users[place].devices.count >= max(1, settings.devicesPerUser) {
            let (id, all) = (users[place].id, users[place].devices)
            let parts = users[place].calls.newest(Self.looksAtOnce)
                .compactMap { calls[$0].participant(id) }
            let idle = all.filter { one in !parts.contains { $0.isJoined(with: one.id) } }
            guard let idlest = (idle.isEmpty ? all : idle).min(by: { $0.usedAt < $1.usedAt })
            else { return }
            users[place].devices.removeAll { $0.id == idlest.id }
            effects.append(.replace(Address(users[place].id, idlest.id)))
        }
    }

    /// A request without a connection counts as a frame on a connection that ended with it (A20).
    /// It also counts when the user's other connections end, which may have been silent for long.
    mutating func heardWithoutConnection(_ user: UserID) {
        let place = users.findOrAdd(user)
        noteLastHeard(place, heard: now, ended: now)
        guard users[place].connectedCount == 0 else { return }
        cameBack(place)
        startLossTimer(place, at: users[place].lostAt)
    }

    /// A device is heard again: the user is not lost.
    private mutating func cameBack(_ place: Int32) {
        wheel.cancel(users[place].lostTimer)
        users[place].lostTimer = .none
        users[place].isLost = false
        if !users[place].isOnline {
            users[place].isOnline = true
            tellPresence(users[place].id, online: true)
        }
        noteConnected(place)
    }

    /// The reply to a new or resumed session: the user's live calls (B31) and, in a new session,
    /// the invitations that may still be answered (B32).
    private mutating func welcome(
        _ request: RequestID, _ place: Int32, _ address: Address, resumed: Bool
    ) {
        let live = VisibleCalls(
            visibleTo: users[place], in: calls,
            shown: min(settings.welcomeCallsMax, settings.welcomeInvitationsMax))
        let shown = live.inTurn(atMost: settings.welcomeCallsMax).map { calls[$0] }
        effects.append(.welcome(request, calls: shown, more: live.count > shown.count))
        guard !resumed else { return }
        for slot in live.inTurn(atMost: settings.welcomeInvitationsMax).reversed() {
            let call = calls[slot]
            guard let index = call.index(of: address.user),
                call.participants[index].state.mayAnswer
            else { continue }
            tellIncoming(call, index, to: [address])
        }
    }

    mutating func deviceDisconnected(_ address: Address, heard: Moment, ended: Moment) {
        guard let place = users.find(address.user),
            let index = users[place].devices.firstIndex(where: { $0.id == address.device })
        else { return }
        users[place].devices[index].isConnected = false
        noteLastHeard(place, heard: heard, ended: ended)
        startLossTimer(place, at: users[place].lostAt)
    }

    /// The session cannot be resumed any more; `bye`: the user logged out: nobody waits for them.
    mutating func deviceGone(_ address: Address, bye: Bool) {
        guard let place = users.find(address.user) else { return }
        let wasConnected = users[place].devices.contains {
            $0.id == address.device && $0.isConnected
        }
        users[place].devices.removeAll { $0.id == address.device }
        if wasConnected { noteLastHeard(place, heard: now, ended: now) }
        let isLast = users[place].devices.isEmpty
        startLossTimer(place, at: bye && isLast ? now : users[place].lostAt, bye: bye)
        users.releaseIfIdle(place)
    }

    /// Nobody is connected at a start: the user of a restored call has as long to come back as
    /// after a lost connection (A20).
    mutating func expectReturn(of user: UserID) {
        let place = users.findOrAdd(user)
        users[place].isOnline = true
        noteLastHeard(place, heard: now, ended: now)
        startLossTimer(place, at: users[place].lostAt)
    }

    /// An absence from before the start must not end a user's part: the server was away too.
    /// Whoever does not come back is lost again, in the usual time (A20).
    mutating func forgetAbsence(_ slot: CallSlot) {
        var isChanged = false
        for index in calls[slot].participants.indices
        where calls[slot].participants[index].state == .joined
            && calls[slot].participants[index].deliveryAlarm != nil
        {
            calls[slot].participants[index].deliveryAlarm = nil
            isChanged = true
        }
        if isChanged { effects.append(.persist([.call(calls[slot])])) }
    }

    /// A connection ended at `ended`, on which the last frame came at `heard`: moves the moment of
    /// loss, never to an earlier one (A20).
    private mutating func noteLastHeard(_ place: Int32, heard: Moment, ended: Moment) {
        let moment = max(heard + settings.lostAfter, ended + settings.lostAfterEnd)
        users[place].lostAt = max(users[place].lostAt, moment)
    }

    /// Starts the timer of the loss, or reports it at once when `moment` has passed. A timer that
    /// runs stays: without a connection nothing moves that moment.
    private mutating func startLossTimer(_ place: Int32, at moment: Moment, bye: Bool = false) {
        guard users[place].isOnline, users[place].connectedCount == 0 else { return }
        guard users[place].lostTimer == .none || moment <= now else { return }
        wheel.cancel(users[place].lostTimer)
        users[place].lostTimer = .none
        if moment <= now {
            userIsLost(place, bye: bye)
        } else {
            users[place].lostTimer = wheel.schedule(TimerKey.user(place), at: moment)
        }
    }

    mutating func userIsLost(_ place: Int32, bye: Bool = false) {
        users[place].lostTimer = .none
        users[place].isOnline = false
        users[place].isLost = true
        tellPresence(users[place].id, online: false)
        sweep(place, .lost) { board, slot, index in
            guard board.calls[slot].participants[index].wasConnected else { return false }
            board.lost(slot, index, bye: bye)
            return true
        }
    }

    /// The participant at `index` has joined and is lost already: their devices disconnected while
    /// the operation was held, shaped or queued. Silence counts only `lostAfter` later than the
    /// request (`heardAt`), so a user who is lost earlier than that has said `bye`.
    mutating func joinedAfterLoss(_ slot: CallSlot, _ index: Int, heardAt: Moment?) {
        users[users.findOrAdd(calls[slot].participants[index].user)].isLost = true
        let saidBye = heardAt.map { now < $0 + settings.lostAfter } ?? false
        lost(slot, index, bye: saidBye)
    }

    /// What the loss means for one call: the caller first, because that may end it (R11).
    mutating func lost(_ slot: CallSlot, _ index: Int, bye: Bool) {
        var commit = change(slot, by: .timer(.presence))
        let hadMedia = commit.call.participants[index].mediaConnected
        if index == 0 { callerIsLost(&commit) }
        if commit.call.isLive { dismissAnsweredFor(&commit) }
        if commit.call.isLive { joinedIsLost(&commit, index, bye: bye) }
        // Others wait for their turn behind it.
        let isNext = commit.call.participants[index].state.mayAnswer && commit.call.isLive
        let hasTurn = isNext && commit.call.turn(of: index) != nil
        if hasTurn { commit.move(index, to: .failed, .offline) }
        guard commit.changes.isEmpty, commit.notices.isEmpty, commit.call.isLive else {
            return finish(&commit)
        }
        // Nothing that anybody is told: no commit, so that `revision` does not grow (C36).
        swap(&commit.call, &calls[slot])
        let idle = calls[slot].idleAlarm
        keepIdle(slot)
        if calls[slot].idleAlarm != idle || calls[slot].participants[index].deliveryAlarm != nil
            || calls[slot].participants[index].mediaConnected != hadMedia
        {
            effects.append(.persist([.call(calls[slot])]))
        }
    }

    /// Applies the mode's rule for joined users who are lost (K107). A participant without a device
    /// by a policy's decision has nothing to lose (A22).
    private func joinedIsLost(_ commit: inout Commit, _ index: Int, bye: Bool) {
        guard commit.call.participants[index].state == .joined,
            !commit.call.participants[index].isUnattended
        else { return }
        let mode = commit.call.mode
        switch mode.lost {
        case .stays: break
        case .leaves: commit.call.participants[index].deliveryAlarm = now + mode.lostAfter
        case .media where commit.call.state != .active: break
        case .media where bye: commit.mediaIsGone()
        case .media: commit.mediaIsDown(index, within: mode.lostAfter, at: now)
        }
    }

    /// Starts or stops the idle time when somebody is lost or comes back (C38).
    mutating func keepIdle(_ slot: CallSlot) {
        var call = calls[slot]
        updateIdle(&call)
        calls[slot].idleAlarm = call.idleAlarm
        rearm(slot)
    }

    /// Applies the mode's rule for a caller who is lost before anybody joined (R11).
    private func callerIsLost(_ commit: inout Commit) {
        guard commit.call.state == .ringing else { return }
        switch commit.call.mode.callerLost {
        case .runsOn: break
        case .cancels: commit.cancelWhole(.callerLost)
        case .failsAccept:
            for index in commit.call.participants.indices
            where commit.call.participants[index].state == .accepting {
                commit.move(index, to: .failed, .callerOffline)
            }
        }
    }

    /// Whether the user has a live connection.
    mutating func isConnected(_ user: UserID) -> Bool {
        guard let place = users.find(user) else { return false }
        return users[place].devices.contains { $0.isConnected }
    }

    /// Whether the user was heard in this call and is lost (A20). A participant without a device by
    /// a policy's decision is never lost (A22).
    public func isLost(_ participant: Participant) -> Bool {
        guard participant.wasConnected, !participant.isUnattended else { return false }
        guard let place = users.find(participant.user) else { return true }
        return !users[place].isOnline
    }

    // MARK: Busy

    /// Of a user in more calls than this, all count: each question would look at every one.
    private static let countedMax = 64

    /// A live call other than the one at `slot` in which the user is pending or joined; who is
    /// joined but lost does not count there (A12, K107).
    mutating func busyCall(of user: UserID, besides slot: CallSlot? = nil) -> CallSlot? {
        guard let place = users.find(user) else { return nil }
        let isLong = users[place].calls.count > Self.countedMax
        return users[place].calls.first { $0 != slot && (isLong || isCounted(place, in: $0)) }
    }

    /// The same among calls in which the user is joined.
    func joinedCall(of user: UserID, besides slot: CallSlot? = nil) -> CallSlot? {
        guard let place = users.find(user) else { return nil }
        return users[place].calls.newest(Self.looksAtOnce).last {
            $0 != slot && calls[$0].participant(user)?.state == .joined && isCounted(place, in: $0)
        }
    }

    /// The calls that make the user at `place` busy, the one at `slot` not counted.
    func busyCount(of place: Int32, besides slot: CallSlot?) -> Int {
        let count = users[place].calls.count
        guard users[place].isLost, count <= Self.countedMax else {
            let isThere = slot.map { users[place].calls.contains($0) } ?? false
            return count - (isThere ? 1 : 0)
        }
        return users[place].calls.count(where: { $0 != slot && isCounted(place, in: $0) })
    }

    /// Whether the call at `slot` makes the user at `place` busy.
    func isCounted(_ place: Int32, in slot: CallSlot) -> Bool {
        guard users[place].isLost, let index = calls[slot].index(of: users[place].id) else {
            return true
        }
        let participant = calls[slot].participants[index]
        return participant.state != .joined || !isLost(participant)
    }

    /// The refusal for a user who is busy in the call at `slot`. A call about which the policies
    /// still decide is not named: the user must not learn of it (F57).
    func busy(_ user: UserID, in slot: CallSlot) -> Refusal {
        let isKnown = calls[slot].participant(user)?.isVisible ?? false
        return Refusal(
            .busy, "\(user) is in another call",
            detail: isKnown ? .call(calls[slot].id) : nil)
    }

    // MARK: The users' lists of calls

    mutating func join(_ user: UserID, _ slot: CallSlot) {
        let place = users.findOrAdd(user)
        users[place].calls.append(slot)
    }

    /// Counts one live call more or less that the user made. It still counts when its caller
    /// leaves: else leaving would be the way around the limit.
    mutating func countMade(by user: UserID, _ change: Int32) {
        let place = users.findOrAdd(user)
        users[place].callsMade += change
        users.releaseIfIdle(place)
    }

    /// How many of the live calls `user` made.
    public func liveCalls(madeBy user: UserID) -> Int {
        users.find(user).map { Int(users[$0].callsMade) } ?? 0
    }

    mutating func part(_ user: UserID, _ slot: CallSlot) {
        guard let place = users.find(user) else { return }
        users[place].calls.remove(slot)
        users.releaseIfIdle(place)
    }
}
