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

    /// The live call at `slot`.
    subscript(slot: CallSlot) -> Call {
        get {
            guard let call = slab[Int(slot)] else {
                preconditionFailure("no live call at slot \(slot)")
            }
            return call
        }
        set { slab[Int(slot)] = newValue }
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
    private var calls: [CallID: Call] = [:]
    private var order: [(id: CallID, until: Moment)] = []
    private var first = 0

    /// The ended call `id`, if it is still kept.
    subscript(id: CallID) -> Call? { calls[id] }

    /// Keeps `call` until `moment`, or until `limit` others came after it.
    mutating func keep(_ call: Call, until moment: Moment, limit: Int) {
        if calls.updateValue(call, forKey: call.id) == nil {
            order.append((call.id, moment))
        }
        while order.count - first > limit { forgetFirst() }
    }

    /// Replaces a kept call that changed.
    mutating func update(_ call: Call) {
        if calls[call.id] != nil { calls[call.id] = call }
    }

    /// Forgets what is not kept any longer.
    mutating func forget(at now: Moment) {
        while first < order.count, order[first].until <= now { forgetFirst() }
    }

    private mutating func forgetFirst() {
        calls[order[first].id] = nil
        first += 1
        if first > 1_024, first * 2 > order.count {
            order.removeFirst(first)
            first = 0
        }
    }
}
