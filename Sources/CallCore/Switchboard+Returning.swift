// Users who come back to very many calls. They are noted in a few calls at a time, so that nobody
// else has to wait for it.

import Collections
import CallModel

/// Calls of a user who is back, in which that is not noted yet.
struct Returning: Sendable {
    let user: UserID
    /// The last element is the next one: taking it off an array is cheap at the end.
    var calls: [CallID]
}

extension Switchboard {
    /// A user is noted in so many calls in one turn; the next turn is a millisecond later. Each
    /// note is written to the store.
    static let notedAtOnce = 64

    /// Notes in the user's live calls that it is connected: only such users can be lost (A20).
    /// Calls that it has joined do not wait, because there its absence has a deadline (K107).
    mutating func noteConnected(_ place: Int32) {
        let user = users[place].id
        var rest: [CallID] = []
        var left = Self.notedAtOnce
        for slot in users[place].calls {
            guard let index = calls[slot].index(of: user), needsNote(slot, index) else { continue }
            if left > 0 || calls[slot].participants[index].state == .joined {
                note(slot, index)
                left -= 1
            } else {
                rest.append(calls[slot].id)
            }
        }
        returning.removeAll { $0.user == user }
        guard !rest.isEmpty else { return }
        rest.reverse()
        returning.append(Returning(user: user, calls: rest))
        scheduleNoting()
    }

    private func needsNote(_ slot: CallSlot, _ index: Int) -> Bool {
        !calls[slot].participants[index].wasConnected || calls[slot].idleAlarm != nil
            || isBack(slot, index)
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

    /// The rest is noted a moment later: a user of many calls must not hold up the others.
    private mutating func scheduleNoting() {
        guard notingTimer == .none else { return }
        notingTimer = wheel.schedule(TimerKey.returning, at: now + 1)
    }

    /// Notes the next calls of users who came back.
    mutating func noteMore() {
        notingTimer = .none
        var left = Self.notedAtOnce
        while left > 0, let first = returning.first {
            guard let id = returning[0].calls.popLast() else {
                returning.removeFirst()
                continue
            }
            guard let slot = calls.find(id), calls[slot].isLive,
                let index = calls[slot].index(of: first.user),
                calls[slot].participants[index].state.isLive,
                !calls[slot].participants[index].wasConnected
            else { continue }
            note(slot, index)
            left -= 1
        }
        if !returning.isEmpty { scheduleNoting() }
    }

    /// The user is lost before all its calls have the note. Now they get it, in memory only: these
    /// are calls that it has not answered, for which the note means nothing after a crash.
    mutating func endNoting(of user: UserID) {
        guard let place = returning.firstIndex(where: { $0.user == user }) else { return }
        for id in returning.remove(at: place).calls {
            guard let slot = calls.find(id), let index = calls[slot].index(of: user) else {
                continue
            }
            calls[slot].participants[index].wasConnected = true
        }
    }
}

/// The live calls that a user may see, the newest first. There may be very many.
struct VisibleCalls {
    private let slots: [CallSlot]
    /// Callers in turn; nil where all calls are shown.
    private let turns: Turns?

    /// How many there are.
    var count: Int { slots.count }

    /// The calls that `user` may see. Turns are needed only if there are more than `shown`.
    init(visibleTo user: UserState, in calls: CallTable, shown: Int) {
        var found: [(id: CallID, slot: CallSlot)] = []
        found.reserveCapacity(user.calls.count)
        for slot in user.calls {
            guard let index = calls[slot].index(of: user.id),
                calls[slot].participants[index].isVisible
            else { continue }
            found.append((calls[slot].id, slot))
        }
        // They come in about the order in which they were made: sorting has little to do.
        found.sort { $0.id < $1.id }
        slots = found.reversed().map(\.slot)
        turns = slots.count > shown ? Turns(slots.map { calls[$0].caller }) : nil
    }

    /// `count` calls at most, taken from the callers in turn; the newest first.
    func inTurn(atMost count: Int) -> [CallSlot] {
        turns.map { $0.places(atMost: count).map { slots[$0] } } ?? slots
    }
}
