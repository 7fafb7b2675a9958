// Devices come and go; a user without any for a while is lost (A20).

import Bookkeeping
import CallModel

extension Switchboard {
    mutating func noteUse(of address: Address) {
        guard let place = users.find(address.user),
            let index = users[place].devices.firstIndex(where: { $0.id == address.device })
        else { return }
        users[place].devices[index].usedAt = now
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

    private mutating func returned(_ place: Int32) {
        wheel.cancel(users[place].lostTimer)
        users[place].lostTimer = .none
        if !users[place].isOnline {
            users[place].isOnline = true
            tellPresence(users[place].id, online: true)
        }
        noteConnected(place)
    }

    /// The user is connected in its live calls: only such users can be lost.
    private mutating func noteConnected(_ place: Int32) {
        let user = users[place].id
        for slot in users[place].calls {
            guard let index = calls[slot].index(of: user) else { continue }
            let idle = calls[slot].idleAlarm
            guard !calls[slot].participants[index].wasConnected || idle != nil else { continue }
            calls[slot].participants[index].wasConnected = true
            keepIdle(slot)
            effects.append(.persist([.call(calls[slot])]))
        }
    }

    private mutating func welcome(
        _ request: RequestID, _ place: Int32, _ address: Address, resumed: Bool
    ) {
        let live = visibleCalls(of: place)
        let shown = live.prefix(settings.welcomeCallsMax).map { calls[$0] }
        effects.append(.welcome(request, calls: shown, more: live.count > shown.count))
        guard !resumed else { return }
        for slot in live.prefix(settings.welcomeInvitationsMax).reversed() {
            let call = calls[slot]
            guard let index = call.index(of: address.user),
                call.participants[index].state.mayAnswer
            else { continue }
            tellIncoming(call, index, to: [address])
        }
    }

    /// The live calls that the user may see, the newest first. An account may be in very many.
    private func visibleCalls(of place: Int32) -> [CallSlot] {
        let user = users[place].id
        return users[place].calls.filter { calls[$0].participant(user)?.isVisible ?? false }
            .sorted { calls[$0].id > calls[$1].id }
    }

    mutating func deviceDisconnected(_ address: Address) {
        guard let place = users.find(address.user),
            let index = users[place].devices.firstIndex(where: { $0.id == address.device })
        else { return }
        users[place].devices[index].isConnected = false
        startLosing(place, at: now + settings.lostAfter)
    }

    mutating func deviceGone(_ address: Address, bye: Bool) {
        guard let place = users.find(address.user) else { return }
        users[place].devices.removeAll { $0.id == address.device }
        let isLast = users[place].devices.isEmpty
        startLosing(place, at: bye && isLast ? now : now + settings.lostAfter)
        users.releaseIfIdle(place)
    }

    /// A restored call's user: nobody is connected at a start, so it has to come back.
    mutating func expectReturn(of user: UserID) {
        let place = users.hold(user)
        users[place].isOnline = true
        startLosing(place, at: now + settings.lostAfter)
    }

    private mutating func startLosing(_ place: Int32, at moment: Moment) {
        guard users[place].isOnline, users[place].connectedCount == 0 else { return }
        guard users[place].lostTimer == .none || moment <= now else { return }
        wheel.cancel(users[place].lostTimer)
        users[place].lostTimer = .none
        if moment <= now {
            userIsLost(place)
        } else {
            users[place].lostTimer = wheel.schedule(TimerKey.user(place).packed, at: moment)
        }
    }

    mutating func userIsLost(_ place: Int32) {
        users[place].lostTimer = .none
        users[place].isOnline = false
        let user = users[place].id
        tellPresence(user, online: false)
        for slot in users[place].calls {
            if let index = calls[slot].index(of: user),
                self[Place(slot: slot, index: index)].wasConnected
            {
                lost(slot, index)
            }
        }
        users.releaseIfIdle(place)
    }

    private mutating func lost(_ slot: CallSlot, _ index: Int) {
        var commit = change(slot, by: .timer(.presence))
        if index == 0 { callerIsLost(&commit) }
        if commit.call.isLive { dismissAnsweredFor(&commit) }
        guard commit.changes.isEmpty else { return finish(&commit) }
        swap(&commit.call, &calls[slot])
        let idle = calls[slot].idleAlarm
        keepIdle(slot)
        if calls[slot].idleAlarm != idle { effects.append(.persist([.call(calls[slot])])) }
    }

    /// Starts or stops the time alone because of who is there.
    private mutating func keepIdle(_ slot: CallSlot) {
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

    /// Whether the user was connected in this call and is lost.
    func isLost(_ participant: Participant) -> Bool {
        guard participant.wasConnected else { return false }
        guard let place = users.find(participant.user) else { return true }
        return !users[place].isOnline
    }

    // MARK: The users' lists of calls

    mutating func join(_ user: UserID, _ slot: CallSlot) {
        let place = users.hold(user)
        users[place].calls.append(slot)
    }

    mutating func part(_ user: UserID, _ slot: CallSlot) {
        guard let place = users.find(user) else { return }
        users[place].calls.remove(slot)
        users.releaseIfIdle(place)
    }
}
