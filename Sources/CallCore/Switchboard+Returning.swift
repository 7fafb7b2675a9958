// Users who come back to very many calls, are lost in them, or leave them for another one. That is
// noted in a few calls at a time, so that nobody else has to wait for it.

import Collections
import CallModel

/// Calls of a user in which something is not done yet.
struct Sweep: Sendable {
    /// What is done in a call where the user is the participant at that index; false: nothing is.
    typealias Act = @Sendable (inout Switchboard, CallSlot, Int) -> Bool

    /// Why it is done. Of each reason a user has one sweep at most: asking again adds none.
    enum Reason { case back, lost, hold, end, endAlsoHeld }

    let user: UserID
    let reason: Reason
    let act: Act
    /// The call for which the user settles the others.
    let chosen: CallSlot?
    /// The last element is the next one: taking it off an array is cheap at the end.
    var calls: [CallSlot]
}

extension Switchboard {
    /// A user is noted in so many calls in one turn; the next turn is a millisecond later. Each
    /// note may be written to the store, and each loss may be told.
    static let notedAtOnce = 64
    /// So many looks at calls in which there is nothing to note cost as much.
    private static let looksPerNote = 16
    /// Of a user in more calls, what is asked at once looks at the newest ones.
    static let looksAtOnce = notedAtOnce * looksPerNote

    /// Notes in the user's live calls that it is connected: only such users can be lost (A20).
    mutating func noteConnected(_ place: Int32) {
        sweeps.removeAll { $0.user == users[place].id && $0.reason == .lost }
        sweep(place, .back) { board, slot, index in
            guard board.needsNote(slot, index) else { return false }
            board.note(slot, index)
            return true
        }
    }

    /// Does something in the user's live calls, the oldest first.
    mutating func sweep(
        _ place: Int32, _ reason: Sweep.Reason, but chosen: CallSlot? = nil,
        _ act: @escaping Sweep.Act
    ) {
        let (user, calls) = (users[place].id, users[place].calls.newest(.max))
        var one = Sweep(user: user, reason: reason, act: act, chosen: chosen, calls: calls)
        if let same = sweeps.firstIndex(where: { $0.user == user && $0.reason == reason }) {
            return sweeps[same] = one
        }
        // Whoever was back for a moment only is noted there before they are lost.
        let isFirst = !sweeps.contains { $0.user == user }
        goOn(&one, atMost: isFirst ? max(looksLeft(), 4 * Self.looksPerNote) : 0)
        if !one.calls.isEmpty { sweeps.append(one) }
        goOnLater()
    }

    /// Of this millisecond. All users share them, but for a few that each user has.
    private mutating func looksLeft() -> Int {
        if swept.at != now { swept = (now, Self.looksAtOnce) }
        return swept.left
    }

    /// Goes on with users in turn. One is taken out meanwhile: its calls are not copied.
    mutating func goOnSweeping() {
        sweepTimer = .none
        while looksLeft() > 0, !sweeps.isEmpty {
            var one = sweeps.removeFirst()
            goOn(&one, atMost: min(looksLeft(), Self.looksAtOnce / 4))
            // Others come before its rest, but not what the same user asked for later.
            let next = sweeps.firstIndex { $0.user == one.user } ?? sweeps.endIndex
            if !one.calls.isEmpty { sweeps.insert(one, at: next) }
        }
        goOnLater()
    }

    private mutating func goOnLater() {
        guard !sweeps.isEmpty, sweepTimer == .none else { return }
        sweepTimer = wheel.schedule(TimerKey.sweep, at: now + 1)
    }

    private mutating func goOn(_ one: inout Sweep, atMost looks: Int) {
        var left = looks
        swept.left -= looks
        while left > 0, let slot = one.calls.popLast() {
            left -= 1
            guard calls[slot].isLive, let index = calls[slot].index(of: one.user),
                one.act(&self, slot, index)
            else { continue }
            left -= Self.looksPerNote - 1
        }
        swept.left += left
        if one.calls.isEmpty, one.reason == .lost, let place = users.find(one.user) {
            if users[place].calls.isEmpty { users[place].isLost = false }
            users.releaseIfIdle(place)
        }
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

    /// Notes now who is back in a call where a deadline comes: the call's turn may be later.
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
    private static let looksMax = 2_048
    private let slots: [CallSlot]
    /// Callers in turn; nil where all calls are shown.
    private let turns: Turns?
    /// How many there are, or a few more.
    let count: Int

    /// The calls that `user` may see. Turns are needed only if there are more than `shown`.
    init(visibleTo user: UserState, in calls: CallTable, shown: Int) {
        let newest = user.calls.newest(Self.looksMax)
        var found: [(id: CallID, slot: CallSlot)] = []
        for slot in newest {
            guard let index = calls[slot].index(of: user.id),
                calls[slot].participants[index].isVisible
            else { continue }
            found.append((calls[slot].id, slot))
        }
        // They come in about this order: sorting has little to do.
        found.sort { $0.id > $1.id }
        slots = found.map(\.slot)
        count = slots.count + user.calls.count - newest.count
        turns = slots.count > shown ? Turns(slots.map { calls[$0].caller }) : nil
    }

    /// `count` calls at most, taken from the callers in turn; the newest first.
    func inTurn(atMost count: Int) -> [CallSlot] {
        turns.map { $0.places(atMost: count).map { slots[$0] } } ?? slots
    }
}
