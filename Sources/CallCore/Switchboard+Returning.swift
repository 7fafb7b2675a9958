// Users who come back to very many calls, or are lost in them. That is noted in a few calls at a
// time, so that nobody else has to wait for it.

import Collections
import CallModel

/// Calls of a user who is back, or lost, in which that is not noted yet.
struct Sweep: Sendable {
    let user: UserID
    /// How it was lost, with `bye` or without; nil: it is back.
    let bye: Bool?
    /// The last element is the next one: taking it off an array is cheap at the end.
    var calls: [CallSlot]
}

extension Switchboard {
    /// A user is noted in so many calls in one turn; the next turn is a millisecond later. Each
    /// note may be written to the store, and each loss may be told.
    static let notedAtOnce = 64
    /// Looking at a call in which there is nothing to note is that much cheaper.
    private static let looksPerNote = 16

    /// Notes in the user's live calls that it is connected: only such users can be lost (A20).
    mutating func noteConnected(_ place: Int32) {
        sweeps.removeAll { $0.user == users[place].id }
        sweep(place, bye: nil)
    }

    /// Notes in the user's live calls that it is back, or lost if `bye` tells how.
    mutating func sweep(_ place: Int32, bye: Bool?) {
        let (user, calls) = (users[place].id, users[place].calls.last(.max))
        // Whoever was back for a moment only is noted there before it is lost.
        let isFirst = !sweeps.contains { $0.user == user }
        var left = isFirst ? Self.notedAtOnce * Self.looksPerNote : 0
        goOn(Sweep(user: user, bye: bye, calls: calls.reversed()), &left)
    }

    /// Goes on with users whose turn it is.
    mutating func goOnSweeping() {
        sweepTimer = .none
        var left = Self.notedAtOnce * Self.looksPerNote
        let waiting = sweeps
        sweeps = []
        for sweep in waiting { goOn(sweep, &left) }
    }

    /// Notes while something is `left` of the turn, and the rest a moment later.
    private mutating func goOn(_ sweep: Sweep, _ left: inout Int) {
        var rest = sweep
        while left > 0, let slot = rest.calls.popLast() {
            left -= 1
            guard calls[slot].isLive, let index = calls[slot].index(of: rest.user) else { continue }
            let wasThere = calls[slot].participants[index].wasConnected
            guard rest.bye == nil ? needsNote(slot, index) : wasThere else { continue }
            left -= Self.looksPerNote - 1
            if let bye = rest.bye { lost(slot, index, bye: bye) } else { note(slot, index) }
        }
        guard rest.calls.isEmpty else {
            sweeps.append(rest)
            guard sweepTimer == .none else { return }
            return sweepTimer = wheel.schedule(TimerKey.sweep, at: now + 1)
        }
        guard rest.bye != nil, let place = users.find(rest.user) else { return }
        if users[place].calls.isEmpty { users[place].isLost = false }
        users.releaseIfIdle(place)
    }

    private func needsNote(_ slot: CallSlot, _ index: Int) -> Bool {
        calls[slot].participants[index].state.isLive
            && (!calls[slot].participants[index].wasConnected || calls[slot].idleAlarm != nil
                || isBack(slot, index))
    }

    /// Who joined has a delivery alarm only while he is away (K107).
    private func isBack(_ slot: CallSlot, _ index: Int) -> Bool {
        calls[slot].participants[index].state == .joined
            && calls[slot].participants[index].deliveryAlarm != nil
    }

    private mutating func note(_ slot: CallSlot, _ index: Int) {
        let (isBack, idle) = (isBack(slot, index), calls[slot].idleAlarm)
        let isNew = !calls[slot].participants[index].wasConnected
        if isBack { calls[slot].participants[index].deliveryAlarm = nil }
        calls[slot].participants[index].wasConnected = true
        keepIdle(slot)
        // A user without a connection comes here with every request: write only what is new.
        if isNew || isBack || calls[slot].idleAlarm != idle {
            effects.append(.persist([.call(calls[slot])]))
        }
    }

    /// Notes now who is back in a call where a deadline of its absence has come: it may be in very
    /// many, and this one's turn is later.
    mutating func noteBack(in slot: CallSlot) {
        for index in calls[slot].participants.indices
        where isBack(slot, index) && !isLost(calls[slot].participants[index]) {
            note(slot, index)
        }
        keepIdle(slot)
    }
}

/// The live calls that a user may see, the newest first. There may be very many.
struct VisibleCalls {
    /// So many of a user's calls are looked at, those that it came into last.
    private static let looksMax = 8_192
    private let slots: [CallSlot]
    /// Callers in turn; nil where all calls are shown.
    private let turns: Turns?
    /// How many there are, or a few more.
    let count: Int

    /// The calls that `user` may see. Turns are needed only if there are more than `shown`.
    init(visibleTo user: UserState, in calls: CallTable, shown: Int) {
        let last = user.calls.last(Self.looksMax)
        var found: [(id: CallID, slot: CallSlot)] = []
        found.reserveCapacity(last.count)
        for slot in last {
            guard let index = calls[slot].index(of: user.id),
                calls[slot].participants[index].isVisible
            else { continue }
            found.append((calls[slot].id, slot))
        }
        // They come in about the order in which they were made: sorting has little to do.
        found.sort { $0.id < $1.id }
        slots = found.reversed().map(\.slot)
        count = slots.count + user.calls.count - last.count
        turns = slots.count > shown ? Turns(slots.map { calls[$0].caller }) : nil
    }

    /// `count` calls at most, taken from the callers in turn; the newest first.
    func inTurn(atMost count: Int) -> [CallSlot] {
        turns.map { $0.places(atMost: count).map { slots[$0] } } ?? slots
    }
}
