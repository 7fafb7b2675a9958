// Devices come and go; a user without any for a while is lost (A20).

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
            users[place].devices.append(
                .init(id: address.device, isConnected: true, usedAt: now))
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
        if let timer = users[place].lostTimer {
            wheel.cancel(timer)
            users[place].lostTimer = nil
        }
        guard !users[place].isOnline else { return noteConnected(place) }
        users[place].isOnline = true
        tellPresence(users[place].id, online: true)
        noteConnected(place)
    }

    /// The user is connected in its live calls: only such users can be lost.
    private mutating func noteConnected(_ place: Int32) {
        let user = users[place].id
        for slot in users[place].calls {
            guard let index = calls[slot].index(of: user) else { continue }
            let hadIdle = calls[slot].idleAlarm != nil
            guard !calls[slot].participants[index].wasConnected || hadIdle else { continue }
            var call = calls[slot]
            call.participants[index].wasConnected = true
            updateIdle(&call)
            calls[slot] = call
            effects.append(.persist([.call(call)]))
            rearm(slot)
        }
    }

    private mutating func welcome(
        _ request: RequestID, _ place: Int32, _ address: Address, resumed: Bool
    ) {
        let live = users[place].calls.map { calls[$0] }
            .filter { $0.participant(address.user)?.isVisible ?? false }
            .sorted { $0.id > $1.id }
        let shown = live.prefix(settings.welcomeCallsMax)
        effects.append(
            .welcome(request, calls: Array(shown), more: live.count > shown.count))
        guard !resumed else { return }
        for call in live.prefix(settings.welcomeInvitationsMax).reversed() {
            guard let index = call.index(of: address.user),
                call.participants[index].state.mayAnswer
            else { continue }
            tellIncoming(call, index, to: [address])
        }
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
        if let timer = users[place].lostTimer {
            guard moment <= now else { return }
            wheel.cancel(timer)
            users[place].lostTimer = nil
        }
        if moment <= now {
            userIsLost(place)
        } else {
            users[place].lostTimer = wheel.schedule(TimerKey.user(place).packed, at: moment)
        }
    }

    mutating func userIsLost(_ place: Int32) {
        users[place].lostTimer = nil
        users[place].isOnline = false
        let user = users[place].id
        tellPresence(user, online: false)
        for slot in users[place].calls {
            let call = calls[slot]
            if let participant = call.participant(user), participant.wasConnected {
                lost(participant, in: call, slot)
            }
        }
        users.releaseIfIdle(place)
    }

    private mutating func lost(_ participant: Participant, in call: Call, _ slot: CallSlot) {
        var commit = Commit(call, slot: slot, actor: .timer(.presence))
        if participant.role == .caller {
            callerIsLost(&commit, settings.mode(call.mode))
        }
        if commit.call.isLive { dismissAnsweredFor(&commit) }
        if commit.changes.isEmpty {
            updateIdle(&commit.call)
            guard commit.call.idleAlarm != call.idleAlarm else { return }
            calls[slot] = commit.call
            effects.append(.persist([.call(commit.call)]))
            rearm(slot)
        } else {
            finish(commit)
        }
    }

    private func callerIsLost(_ commit: inout Commit, _ mode: Mode) {
        guard commit.call.state == .ringing else { return }
        switch mode.callerLost {
        case .runsOn: break
        case .cancels:
            cancelWhole(&commit, .callerLost)
        case .failsAccept:
            for index in commit.call.participants.indices
            where commit.call.participants[index].state == .accepting {
                commit.move(index, to: .failed, .callerOffline)
            }
        }
    }

    // MARK: The users' lists of calls

    mutating func join(_ user: UserID, _ slot: CallSlot) {
        let place = users.hold(user)
        users[place].calls.append(slot)
    }

    mutating func part(_ user: UserID, _ slot: CallSlot) {
        guard let place = users.find(user) else { return }
        users[place].calls.removeAll { $0 == slot }
        users.releaseIfIdle(place)
    }
}
