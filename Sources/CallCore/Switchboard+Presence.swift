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

    mutating func deviceConnected(_ request: RequestID, _ address: Address, resumed: Bool) {
        let place = users.hold(address.user)
        if let index = users[place].devices.firstIndex(where: { $0.id == address.device }) {
            users[place].devices[index].isConnected = true
            users[place].devices[index].usedAt = now
        } else {
            replaceIdlest(place)
            users[place].devices.append(.init(address.device, usedAt: now))
        }
        returned(place)
        welcome(request, place, address, resumed: resumed)
    }

    /// Makes room for one more device (A15).
    private mutating func replaceIdlest(_ place: Int32) {
        while users[place].devices.count >= max(1, settings.devicesPerUser) {
            guard let idlest = users[place].devices.min(by: { $0.usedAt < $1.usedAt }) else {
                return
            }
            users[place].devices.removeAll { $0.id == idlest.id }
            effects.append(.replace(Address(users[place].id, idlest.id)))
        }
    }

    /// A request that came without a connection was heard over one that ended then. It counts
    /// too when the others end, whose ends may long be silent.
    mutating func heardAlone(_ user: UserID) {
        let place = users.hold(user)
        losing(place, heard: now, ended: now)
        guard users[place].connectedCount == 0 else { return }
        returned(place)
        startLosing(place, at: users[place].lostAt)
    }

    private mutating func returned(_ place: Int32) {
        wheel.cancel(users[place].lostTimer)
        users[place].lostTimer = .none
        users[place].isLost = false
        if !users[place].isOnline {
            users[place].isOnline = true
            tellPresence(users[place].id, online: true)
        }
        noteConnected(place)
    }

    private mutating func welcome(
        _ request: RequestID, _ place: Int32, _ address: Address, resumed: Bool
    ) {
        let live = LiveCalls(
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
        losing(place, heard: heard, ended: ended)
        startLosing(place, at: users[place].lostAt)
    }

    mutating func deviceGone(_ address: Address, bye: Bool) {
        guard let place = users.find(address.user) else { return }
        let wasConnected = users[place].devices.contains {
            $0.id == address.device && $0.isConnected
        }
        users[place].devices.removeAll { $0.id == address.device }
        if wasConnected { losing(place, heard: now, ended: now) }
        let isLast = users[place].devices.isEmpty
        startLosing(place, at: bye && isLast ? now : users[place].lostAt, bye: bye)
        users.releaseIfIdle(place)
    }

    /// A restored call's user: nobody is connected at a start, so it has to come back.
    mutating func expectReturn(of user: UserID) {
        let place = users.hold(user)
        users[place].isOnline = true
        losing(place, heard: now, ended: now)
        startLosing(place, at: users[place].lostAt)
    }

    /// Nobody has to leave a restored call because of an absence before the start: whoever does
    /// not come back is lost again (A20), and has as long to return as anybody else.
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

    /// A connection over which something was heard last at `heard` came to its end at `ended`.
    private mutating func losing(_ place: Int32, heard: Moment, ended: Moment) {
        let moment = max(heard + settings.lostAfter, ended + settings.lostAfterEnd)
        users[place].lostAt = max(users[place].lostAt, moment)
    }

    private mutating func startLosing(_ place: Int32, at moment: Moment, bye: Bool = false) {
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
        endNoting(of: users[place].id)
        users[place].lostTimer = .none
        users[place].isOnline = false
        users[place].isLost = true
        let user = users[place].id
        tellPresence(user, online: false)
        for slot in users[place].calls {
            if let index = calls[slot].index(of: user),
                self[Place(slot: slot, index: index)].wasConnected
            {
                lost(slot, index, bye: bye)
            }
        }
        if users[place].calls.isEmpty { users[place].isLost = false }
        users.releaseIfIdle(place)
    }

    /// The participant at `index` came into the call and is lost to it already: it left while the
    /// operation was held, shaped or queued. Silence loses nobody so soon after it was heard
    /// asking for it (`heardAt`), and so who is lost before that said `bye`.
    mutating func cameLost(_ slot: CallSlot, _ index: Int, heardAt: Moment?) {
        users[users.hold(calls[slot].participants[index].user)].isLost = true
        let saidBye = heardAt.map { now < $0 + settings.lostAfter } ?? false
        lost(slot, index, bye: saidBye)
    }

    private mutating func lost(_ slot: CallSlot, _ index: Int, bye: Bool) {
        var commit = change(slot, by: .timer(.presence))
        let hadMedia = commit.call.participants[index].mediaConnected
        if index == 0 { callerIsLost(&commit) }
        if commit.call.isLive { dismissAnsweredFor(&commit) }
        if commit.call.isLive { joinedIsLost(&commit, index, bye: bye) }
        guard commit.changes.isEmpty, commit.notices.isEmpty, commit.call.isLive else {
            return finish(&commit)
        }
        swap(&commit.call, &calls[slot])
        let idle = calls[slot].idleAlarm
        keepIdle(slot)
        if calls[slot].idleAlarm != idle || calls[slot].participants[index].deliveryAlarm != nil
            || calls[slot].participants[index].mediaConnected != hadMedia
        {
            effects.append(.persist([.call(calls[slot])]))
        }
    }

    /// What the mode says of a joined user who is lost (K107). Whom the policies answer for is
    /// there without a device (A22).
    private func joinedIsLost(_ commit: inout Commit, _ index: Int, bye: Bool) {
        guard commit.call.participants[index].state == .joined,
            !commit.call.participants[index].isUnattended
        else { return }
        let mode = settings.mode(commit.call.mode)
        switch mode.lost {
        case .stays: break
        case .leaves(let time): commit.call.participants[index].deliveryAlarm = now + time
        case .media where commit.call.state != .active: break
        case .media where bye: commit.mediaIsGone()
        case .media: commit.mediaIsDown(index, within: mode.reconnectWithin, at: now)
        }
    }

    /// Starts or stops the time alone because of who is there.
    mutating func keepIdle(_ slot: CallSlot) {
        var call = calls[slot]
        updateIdle(&call)
        calls[slot].idleAlarm = call.idleAlarm
        rearm(slot)
    }

    private func callerIsLost(_ commit: inout Commit) {
        guard commit.call.state == .ringing else { return }
        switch settings.mode(commit.call.mode).callerLost {
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
    func isConnected(_ user: UserID) -> Bool {
        guard let place = users.find(user) else { return false }
        return users[place].devices.contains { $0.isConnected }
    }

    /// Whether the user was heard in this call and is lost. Who is in it by a policy's decision
    /// alone has nothing that could be lost (A22).
    public func isLost(_ participant: Participant) -> Bool {
        guard participant.wasConnected, !participant.isUnattended else { return false }
        guard let place = users.find(participant.user) else { return true }
        return !users[place].isOnline
    }

    // MARK: Busy

    /// A live call other than the one at `slot` in which the user is pending or joined; who is
    /// joined but lost does not count there (A12, K107).
    func busyCall(of user: UserID, besides slot: CallSlot? = nil) -> CallSlot? {
        guard let place = users.find(user) else { return nil }
        return users[place].calls.first(where: { $0 != slot && isCounted(place, in: $0) })
    }

    /// The same among calls in which the user is joined.
    func joinedCall(of user: UserID, besides slot: CallSlot? = nil) -> CallSlot? {
        guard let place = users.find(user) else { return nil }
        return users[place].calls.first(where: {
            $0 != slot && calls[$0].participant(user)?.state == .joined && isCounted(place, in: $0)
        })
    }

    /// The calls that make the user at `place` busy, the one at `slot` not counted.
    func busyCount(of place: Int32, besides slot: CallSlot?) -> Int {
        guard users[place].isLost else {
            let isThere = slot.map { users[place].calls.contains($0) } ?? false
            return users[place].calls.count - (isThere ? 1 : 0)
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

    /// The refusal of who is busy in the call at `slot`; a call that the policies still think
    /// about is not named (F57).
    func busy(_ user: UserID, in slot: CallSlot) -> Refusal {
        let isKnown = calls[slot].participant(user)?.isVisible ?? false
        return Refusal(
            .busy, "\(user) is in another call",
            detail: isKnown ? .call(calls[slot].id) : nil)
    }

    // MARK: The users' lists of calls

    mutating func join(_ user: UserID, _ slot: CallSlot) {
        let place = users.hold(user)
        users[place].calls.append(slot)
    }

    /// One live call more or less that the user made. It stays one when its caller leaves it.
    mutating func countMade(by user: UserID, _ change: Int32) {
        let place = users.hold(user)
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
