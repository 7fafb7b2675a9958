// The live calls, and the ones that ended a moment ago.

import CallModel

/// The one timer of a call: its next deadline.
struct CallTimer: Sendable {
    let handle: TimerHandle
    let at: Moment
}

/// A slab of live calls, found by id. The slab keeps a call's timer beside it.
struct CallTable: Sendable {
    private var places: [CallID: CallSlot] = [:]
    private var slab: [Call?] = []
    private var timers: [CallTimer?] = []
    private var free: [CallSlot] = []

    /// Live calls.
    var count: Int { places.count }

    /// The place of the live call `id`.
    func find(_ id: CallID) -> CallSlot? { places[id] }

    /// The live call `id`.
    subscript(id: CallID) -> Call? { places[id].flatMap { slab[Int($0)] } }

    /// The live call at `slot`, read and changed where it stands. A slot is only ever held while
    /// its call lives: one without a call is a broken invariant, and traps.
    subscript(slot: CallSlot) -> Call {
        _read { yield slab[Int(slot)]! }
        _modify { yield &slab[Int(slot)]! }
    }

    /// Finds a place for `call`.
    mutating func insert(_ call: Call) -> CallSlot {
        precondition(places[call.id] == nil, "call \(call.id) is in the table twice")
        let slot: CallSlot
        if let reused = free.popLast() {
            slab[Int(reused)] = call
            slot = reused
        } else {
            slot = CallSlot(slab.count)
            slab.append(call)
            timers.append(nil)
        }
        places[call.id] = slot
        return slot
    }

    /// Frees the place of a call that ended.
    mutating func remove(_ slot: CallSlot) {
        places[self[slot].id] = nil
        slab[Int(slot)] = nil
        free.append(slot)
    }

    /// The timer of the call at `slot`.
    func timer(_ slot: CallSlot) -> CallTimer? { timers[Int(slot)] }

    /// Remembers the timer of the call at `slot`.
    mutating func setTimer(_ slot: CallSlot, _ timer: CallTimer?) {
        timers[Int(slot)] = timer
    }

    /// Every live call in order of its place.
    var all: [Call] { slab.compactMap { $0 } }
}

/// Calls that ended a moment ago, or were recalled: the answer to late requests without asking
/// the store.
struct EndedCalls: Sendable {
    private var calls = CallQueue()

    /// The ended call `id`, if it is still kept.
    subscript(id: CallID) -> Call? { calls[id] }

    /// Keeps `call` until `moment`, or until `limit` others came after it.
    mutating func keep(_ call: Call, until moment: Moment, limit: Int) {
        calls.put(call, stamp: moment)
        while calls.count > limit { calls.removeFirst() }
    }

    /// Replaces a kept call that changed.
    mutating func update(_ call: Call) { calls.update(call) }

    /// Forgets what is not kept any longer.
    mutating func forget(at now: Moment) {
        while let until = calls.oldest, until <= now { calls.removeFirst() }
    }
}
